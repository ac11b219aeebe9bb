"""Authorization checks in expressions (`apiserver/pkg/cel/library/authz.go`).

An `authorizer` makes checks for paths and resources; a check returns a decision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from fakekube.apiserver.cel.library.overload import overload
from fakekube.apiserver.cel.types import DeclType, Type
from fakekube.struct import Struct, field, replace

_PREFIX = "kubernetes.authorization."


class AuthorizationDecision(Struct, frozen=True):
    """The decision of a check."""

    cel_type: ClassVar[str] = f"{_PREFIX}Decision"
    allowed: bool
    reason: str = ""


class AuthorizationCheck(Struct, frozen=True):
    """A check for a path, or for a resource with attributes."""

    ask: Callable[[AuthorizationCheck, str], AuthorizationDecision]
    user: Any
    path: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def cel_type(self) -> str:
        """The name of its type in expressions."""
        kind = "ResourceCheck" if "resource" in self.fields else "GroupCheck" if self.fields else "PathCheck"
        return f"{_PREFIX}{kind}"

    def having(self, name: str, value: str) -> AuthorizationCheck:
        return replace(self, fields={**self.fields, name: value})


class Authorizer(dict[str, Any]):
    """The variable `authorizer`; `requestResource` is the check for the resource of the request."""

    cel_type: ClassVar[str] = f"{_PREFIX}Authorizer"
    start: AuthorizationCheck
    as_account: Callable[[str, str], Any]

    def __init__(
        self, start: AuthorizationCheck, request_resource: AuthorizationCheck, as_account: Callable[[str, str], Any]
    ) -> None:
        super().__init__(requestResource=request_resource)
        self.start, self.as_account = start, as_account

    def for_account(self, namespace: str, name: str) -> Authorizer:
        user = self.as_account(namespace, name)
        return Authorizer(replace(self.start, user=user), replace(self["requestResource"], user=user), self.as_account)


RESOURCE_CHECK = Type("struct", (), f"{_PREFIX}ResourceCheck")
AUTHORIZER = Type(
    "struct", (), f"{_PREFIX}Authorizer", {"requestResource": DeclType(RESOURCE_CHECK, key="requestResource")}
)


def _setting(name: str) -> Callable[[AuthorizationCheck, str], AuthorizationCheck]:
    return lambda check, value: check.having(name, value)


def _typed(signature: str) -> str:
    """A signature such as `Authorizer.(string) -> PathCheck` with the prefix of the types added."""
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision"):
        signature = signature.replace(name, _PREFIX + name)
    return signature


_ROWS: list[tuple[str, str, str, Callable[..., Any]]] = [
    ("path", "authorizer_path", "Authorizer.(string) -> PathCheck", lambda one, path: replace(one.start, path=path)),
    (
        "group", "authorizer_group", "Authorizer.(string) -> GroupCheck",
        lambda one, group: one.start.having("group", group),
    ),
    (
        "serviceAccount", "authorizer_serviceaccount", "Authorizer.(string, string) -> Authorizer",
        lambda one, namespace, name: one.for_account(namespace, name),
    ),
    ("resource", "groupcheck_resource", "GroupCheck.(string) -> ResourceCheck", _setting("resource")),
    *(
        (name, f"resourcecheck_{name.lower()}", "ResourceCheck.(string) -> ResourceCheck", _setting(name))
        for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    ),
    ("check", "pathcheck_check", "PathCheck.(string) -> Decision", lambda one, verb: one.ask(one, verb)),
    ("check", "resourcecheck_check", "ResourceCheck.(string) -> Decision", lambda one, verb: one.ask(one, verb)),
    ("errored", "decision_errored", "Decision.() -> bool", lambda one: False),
    ("error", "decision_error", "Decision.() -> string", lambda one: ""),
    ("allowed", "decision_allowed", "Decision.() -> bool", lambda one: one.allowed),
    ("reason", "decision_reason", "Decision.() -> string", lambda one: one.reason),
]  # fmt: skip

OVERLOADS = [overload(function, id, _typed(signature), run) for function, id, signature, run in _ROWS]
