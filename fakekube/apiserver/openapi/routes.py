"""A route: one operation of the API, as web services register it (go-restful `Route`), and its names."""

from __future__ import annotations

import re

from fakekube.apiserver.openapi.parameters import Parameter, in_path
from fakekube.apiserver.resource import Object
from fakekube.struct import Struct

#: The type of a response that is a string.
TEXT = ""

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"

NAMESPACE = in_path("namespace", "object name and auth scope, such as for teams and projects")


class Body(Struct, frozen=True):
    """The body of a request: the full name of its type."""

    type: str
    required: bool = True


class Route(Struct, frozen=True):
    """One operation.

    `operation` is the verb and the rest of its name in web services: `read`, `NamespacedPod`. `answer` is the full name
    of the type of its response. `kind` is the group, version and kind that it is about; None: none.
    """

    path: str
    method: str
    operation: tuple[str, str]
    description: str
    answer: str
    action: str = ""
    kind: Object | None = None
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    codes: tuple[int, ...] = (200,)
    produces: tuple[str, ...] = (JSON, YAML, PROTOBUF)
    consumes: tuple[str, ...] = ("*/*",)

    @property
    def operation_id(self) -> str:
        """`readCoreV1NamespacedPod` (apiserver `endpoints/openapi`, GetOperationIDAndTags)."""
        verb, rest = self.operation
        return verb + "".join(_identifier(part, capital=True) for part in self._group_version()) + _upper(rest)

    @property
    def tag(self) -> str:
        """`core_v1`."""
        found = "_".join(_identifier(part, capital=False) for part in self._group_version())
        return found or _identifier(self.path.strip("/").partition("/")[0], capital=False)

    def _group_version(self) -> list[str]:
        parts = self.path.strip("/").split("/")
        if parts[0] == "api":
            parts = ["apis", "core", *parts[1:]]
        if parts[0] != "apis":
            return []
        return [part.removesuffix(".k8s.io") if not index else part for index, part in enumerate(parts[1:3])]


def description(verb: str, kind: str, sub: str) -> str:
    """What an operation does: `read status of the specified Pod`."""
    of = f" {sub} of" if sub else ""
    return {
        "get": f"read{of} the specified {kind}",
        "list": f"list{of} objects of kind {kind}",
        "create": f"create{of}{_article(kind)}{kind}",
        "update": f"replace{of} the specified {kind}",
        "patch": f"partially update{of} the specified {kind}",
        "delete": f"delete{of}{_article(kind)}{kind}",
        "deletecollection": f"delete collection of {kind}",
    }[verb]


def _article(noun: str) -> str:
    """` a `, ` an `, or a space before a plural (apiserver `endpoints/installer.go`, GetArticleForNoun)."""
    if noun.endswith("s") and not noun.endswith("ss"):
        return " "
    return " an " if noun[0] in "aeiouAEIOU" else " a "


def _identifier(text: str, *, capital: bool) -> str:
    """`rbac.authorization` -> `rbacAuthorization` or `RbacAuthorization` (ToValidOperationID)."""
    first, *words = re.split(r"[^a-z_0-9]", text)
    return (_upper(first) if capital else first) + "".join(map(_upper, words))


def _upper(word: str) -> str:
    return word[:1].upper() + word[1:]
