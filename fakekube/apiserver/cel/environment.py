"""CEL expressions of admission, compiled: what they may name, and of what types that is (`admission/plugin/cel`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from fakekube.apiserver.cel.checker import check
from fakekube.apiserver.cel.evaluate import Program
from fakekube.apiserver.cel.library.authorization import AUTHORIZER
from fakekube.apiserver.cel.parser import parse
from fakekube.apiserver.cel.tree import BadExpression
from fakekube.apiserver.cel.types import BOOL, DYN, STRING, DeclType, Type, list_of, map_of, messages


@dataclass(frozen=True, slots=True)
class Environment:
    """What an expression of admission may name beside the request and its objects, and what it may answer with."""

    result: str = "bool"
    params: bool = False
    authorizer: bool = True
    variables: Sequence[tuple[str, str]] = ()
    """Name and expression of those before it."""
    patches: bool = False
    """The types of patches: Object, JSONPatch."""


def _struct(type: str, /, **fields: Type) -> Type:
    return Type("struct", (), type, {key: DeclType(one, key=key) for key, one in fields.items()})


_LABELS = map_of(STRING, STRING)
_KIND = _struct("kubernetes.GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE = _struct("kubernetes.GroupVersionResource", group=STRING, version=STRING, resource=STRING)
_USER = _struct(
    "kubernetes.UserInfo", username=STRING, uid=STRING, groups=list_of(STRING), extra=map_of(STRING, list_of(STRING))
)

#: What `request` has.
REQUEST = _struct(
    "kubernetes.AdmissionRequest", kind=_KIND, resource=_RESOURCE, subResource=STRING, requestKind=_KIND,
    requestResource=_RESOURCE, requestSubResource=STRING, name=STRING, namespace=STRING, operation=STRING,
    userInfo=_USER, dryRun=BOOL, options=DYN,
)  # fmt: skip

#: What `namespaceObject` has.
NAMESPACE = _struct(
    "kubernetes.Namespace",
    metadata=_struct(
        "kubernetes.NamespaceMetadata", name=STRING, generateName=STRING, namespace=STRING, labels=_LABELS,
        annotations=_LABELS, UID=STRING, creationTimestamp=DYN, deletionTimestamp=DYN, deletionGracePeriodSeconds=DYN,
        generation=DYN, resourceVersion=STRING, finalizers=list_of(STRING),
    ),
    spec=_struct("kubernetes.NamespaceSpec", finalizers=list_of(STRING)),
    status=_struct("kubernetes.NamespaceStatus", phase=STRING),
)  # fmt: skip


class CompilationError(Exception):
    """An expression that is wrong; the text is the real server's."""


#: What an environment asks for -> the kinds of types that do.
_RESULTS: Mapping[str, Sequence[str]] = {"bool": ("bool",), "string": ("string",), "string or null": ("string", "null")}

#: What a mutation's expression gives: type of the patch -> type.
_PATCHES: Mapping[str, Type] = {
    "ApplyConfiguration": Type("struct", (), "Object"),
    "JSONPatch": list_of(Type("struct", (), "JSONPatch")),
}

#: What expressions of patches can write down.
_MESSAGES = {
    "Object": messages(None),
    "JSONPatch": messages({"op": STRING, "path": STRING, "from": STRING, "value": DYN}),
}


@lru_cache(maxsize=2048)
def compiled(text: str, environment: Environment) -> tuple[Program, Type]:
    """An expression that can be run, and its type. Raises Uncompiled."""
    try:
        node = parse(text)
        found, _ = check(text, node, _types(environment))
    except BadExpression as problem:
        raise CompilationError(f"compilation failed: {problem}") from None
    wanted = _RESULTS.get(environment.result)
    if wanted is not None and found.kind not in (*wanted, "dyn"):
        one = wanted[0] if len(wanted) == 1 else f"one of [{', '.join(wanted)}]"
        raise CompilationError(f"must evaluate to {one} but got {found}")
    patch = _PATCHES.get(environment.result)
    if patch is not None and found != patch and found.kind != "dyn":
        raise CompilationError(f"must evaluate to {patch} but got {found}")
    return Program(node), found


def problem_of(text: str, environment: Environment) -> str | None:
    """What is wrong with an expression; None: nothing."""
    try:
        compiled(text, _hashable(environment))
    except CompilationError as problem:
        return str(problem)
    return None


def _hashable(environment: Environment) -> Environment:
    return replace(environment, variables=tuple(environment.variables))


def _types(environment: Environment) -> dict[str, Type]:
    found = {"object": DYN, "oldObject": DYN, "request": REQUEST, "namespaceObject": NAMESPACE}
    if environment.patches:
        found |= _MESSAGES
    if environment.params:
        found["params"] = DYN
    if environment.authorizer:
        found["authorizer"] = AUTHORIZER
    fields: dict[str, DeclType] = {}
    for i, (name, expression) in enumerate(environment.variables):
        before = replace(environment, result="any", variables=tuple(environment.variables[:i]))
        try:
            fields[name] = DeclType(compiled(expression, before)[1], key=name)
        except CompilationError:
            fields[name] = DeclType(DYN, key=name)
    if environment.variables:
        found["variables"] = Type("struct", (), "kubernetes.variables", fields)
    return found
