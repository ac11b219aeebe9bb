"""Compiles the CEL expressions of admission with the variables of their environment (`admission/plugin/cel`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from fakekube.apiserver.cel.checker import check
from fakekube.apiserver.cel.evaluate import Program
from fakekube.apiserver.cel.library.authorization import AUTHORIZER
from fakekube.apiserver.cel.parser import parse
from fakekube.apiserver.cel.tree import BadExpression
from fakekube.apiserver.cel.types import ANY, BOOL, DYN, STRING, DeclType, Type, list_of, map_of, messages, runtime_text
from fakekube.apiserver.cel.values import CelError
from fakekube.apiserver.features import minor, since
from fakekube.struct import Struct, replace


class Environment(Struct, frozen=True):
    """The variables of an admission expression besides the request and its objects, and its result type."""

    result: str = "bool"
    params: bool = False
    authorizer: bool = True
    variables: Sequence[tuple[str, str]] = ()
    """The names and expressions of the preceding variables."""
    patches: bool = False
    """Whether the types of patches are available: Object and JSONPatch."""


def _struct(type: str, /, **fields: Type) -> Type:
    return Type("struct", (), type, {key: DeclType(one, key=key) for key, one in fields.items()})


_LABELS = map_of(STRING, STRING)
_KIND = _struct("kubernetes.GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE = _struct("kubernetes.GroupVersionResource", group=STRING, version=STRING, resource=STRING)
_USER = _struct(
    "kubernetes.UserInfo", username=STRING, uid=STRING, groups=list_of(STRING), extra=map_of(STRING, list_of(STRING))
)

#: The type of `request`.
REQUEST = _struct(
    "kubernetes.AdmissionRequest", kind=_KIND, resource=_RESOURCE, subResource=STRING, requestKind=_KIND,
    requestResource=_RESOURCE, requestSubResource=STRING, name=STRING, namespace=STRING, operation=STRING,
    userInfo=_USER, dryRun=BOOL, options=DYN,
)  # fmt: skip

#: The type of `namespaceObject`.
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
    """An expression that does not compile; the message is the real server's.

    `internal`: the expression is valid, but creating its program fails.
    """

    def __init__(self, message: str, *, internal: bool = False) -> None:
        super().__init__(message)
        self.internal = internal


#: Result of an environment -> accepted kinds of types.
_RESULTS: Mapping[str, Sequence[str]] = {"bool": ("bool",), "string": ("string",), "string or null": ("string", "null")}

#: Type of the patch of a mutation -> result type of its expression.
_PATCHES: Mapping[str, Type] = {
    "ApplyConfiguration": Type("struct", (), "Object"),
    "JSONPatch": list_of(Type("struct", (), "JSONPatch")),
}

#: The message types of patch expressions.
_MESSAGES = {
    "Object": messages(None),
    "JSONPatch": messages({"op": STRING, "path": STRING, "from": STRING, "value": DYN}),
}


def compiled(text: str, environment: Environment) -> tuple[Program, Type]:
    """Compiles an expression. Returns the program and its type. Raises CompilationError."""
    return _compiled(text, environment, minor())


@lru_cache(maxsize=2048)
def _compiled(text: str, environment: Environment, version: int) -> tuple[Program, Type]:
    try:
        node = parse(text)
        found, _ = check(text, node, _types(environment))
    except BadExpression as problem:
        raise CompilationError(f"compilation failed: {problem}") from None
    wanted = _RESULTS.get(environment.result)
    if wanted is not None and found.kind not in wanted:
        one = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]".replace("null", "null_type")
        got = f" but got {runtime_text(found)}" if since(32) else ""
        raise CompilationError(f"must evaluate to {one}{got}")
    patch = _PATCHES.get(environment.result)
    if patch is not None and found != patch:
        raise CompilationError(f"must evaluate to {patch} but got {runtime_text(found)}")
    try:
        return Program(node), found
    except CelError as problem:
        raise CompilationError(f"program instantiation failed: {problem}", internal=True) from None


def typed_variables(environment: Environment, declared: Mapping[str, Type]) -> Mapping[str, Type]:
    """The types of variables where `object`, `oldObject` and `params` have declared types instead of dyn.

    A variable of the environment whose expression does not compile is dyn (`CompileAndStoreVariables`).
    """
    fields: dict[str, DeclType] = {}
    found = {**_variables(environment), **declared, "variables": Type("struct", (), "kubernetes.variables", fields)}
    for name, expression in environment.variables:
        try:
            fields[name] = DeclType(_composed(check(expression, parse(expression), found)[0]), key=name)
        except BadExpression:
            fields[name] = DeclType(DYN, key=name)
    return found


def type_problem(text: str, variables: Mapping[str, Type]) -> str:
    """What is wrong with the types of an expression, "" if nothing is. Its result may be of any type."""
    try:
        check(text, parse(text), variables)
    except BadExpression as problem:
        return str(problem)
    return ""


def problem_of(text: str, environment: Environment) -> CompilationError | None:
    """The error of an expression; None if it compiles."""
    try:
        compiled(text, _hashable(environment))
    except CompilationError as problem:
        return problem
    return None


def _hashable(environment: Environment) -> Environment:
    return replace(environment, variables=tuple(environment.variables))


def _variables(environment: Environment) -> dict[str, Type]:
    found = {"object": DYN, "oldObject": DYN, "request": REQUEST, "namespaceObject": NAMESPACE}
    if environment.patches:
        found |= _MESSAGES
    if environment.params:
        found["params"] = DYN
    if environment.authorizer:
        found["authorizer"] = AUTHORIZER
    return found


def _types(environment: Environment) -> dict[str, Type]:
    found = _variables(environment)
    fields: dict[str, DeclType] = {}
    for i, (name, expression) in enumerate(environment.variables):
        before = replace(environment, result="any", variables=tuple(environment.variables[:i]))
        try:
            fields[name] = DeclType(_composed(compiled(expression, before)[1]), key=name)
        except CompilationError:
            fields[name] = DeclType(DYN, key=name)
    if environment.variables:
        found["variables"] = Type("struct", (), "kubernetes.variables", fields)
    return found


#: The kinds of types that a variable keeps.
_KEPT = frozenset({"bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"})


def _composed(one: Type) -> Type:
    """The type of the variable of an expression: objects and opaque values are dyn (`convertCelTypeToDeclType`)."""
    if one.kind in ("list", "map"):
        return Type(one.kind, tuple(map(_composed, one.params)))
    return one if one.kind in _KEPT or one == ANY else DYN
