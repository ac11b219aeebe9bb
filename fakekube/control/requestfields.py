"""The fields of requests: those of the arguments that a test passes, in camelCase, with their types as JSON Schema."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from fakekube.apiserver.wire.status import StatusError
from fakekube.virtualtime.durations import Duration

Schema = dict[str, Any]

#: Seconds, or text as Go writes durations.
DURATION: Schema = {"anyOf": [{"type": "number"}, {"type": "string"}], "example": "30s"}

_TYPES: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}

#: The Python types of the values of a JSON type; `True` is no number.
_VALUES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "boolean": (bool,), "integer": (int,), "number": (int, float), "object": (Mapping,),
    "array": (list,), "null": (type(None),),
}  # fmt: skip


def camel(name: str) -> str:
    """`user_agent` as `userAgent`."""
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def snake(name: str) -> str:
    """`userAgent` as `user_agent`."""
    return re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", name)


def schema_of(kind: Any) -> Schema:
    """The JSON Schema of an annotation."""
    if kind == Duration:
        return dict(DURATION)
    if kind in _TYPES:
        return dict(_TYPES[kind])
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"type": "string", "enum": list(parts)}
    if origin in (Union, types.UnionType):
        some = [schema_of(part) for part in parts if part is not type(None)]
        found = some[0] if len(some) == 1 else {"anyOf": some}
        return {**found, "nullable": True} if type(None) in parts else found
    if inspect.isclass(origin) and issubclass(origin, Mapping):
        return {"type": "object"}
    if inspect.isclass(origin) and issubclass(origin, Sequence):
        return {"type": "array", "items": schema_of(parts[0]) if parts else {}}
    return {}


def of_options(accepted: Any, without: Iterable[str] = ()) -> dict[str, Schema]:
    """The fields of a TypedDict."""
    hints = {name: kind for name, kind in get_type_hints(accepted).items() if name not in without}
    return {camel(name): schema_of(kind) for name, kind in hints.items()}


def of_function(function: Callable[..., Any], without: Iterable[str] = ()) -> dict[str, Schema]:
    """The fields of the arguments of a function, with their defaults."""
    hints = _hints(function)
    found: dict[str, Schema] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("self", *without) or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        schema = schema_of(hints.get(name))
        if isinstance(parameter.default, str | int | float | bool):
            schema["default"] = parameter.default
        found[camel(name)] = schema
    return found


def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError:  # of a type that is imported for type checkers only
        return {}


def arguments(where: str, given: Any, accepted: Mapping[str, Schema]) -> dict[str, Any]:
    """The arguments of a call, in snake_case. Raises 400 for unknown fields and values of another type."""
    if not isinstance(given, Mapping):
        wanted = f"an object with the fields {', '.join(accepted)}" if accepted else "an empty object"
        raise invalid(f"{where}={given!r} is not {wanted}")
    for name, value in given.items():
        if name not in accepted:
            near = get_close_matches(name, accepted, 1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise invalid(f"{where}: unknown field {name!r}{hint} (accepted: {', '.join(accepted) or 'none'})")
        if not _fits(value, accepted[name]):
            raise invalid(f"{where}: {name}={value!r} is not {_wanted(accepted[name])}")
    return {snake(name): value for name, value in given.items()}


def check_required(where: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Raises 400 if arguments of a function are missing."""
    for name, parameter in inspect.signature(function).parameters.items():
        is_required = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
        if is_required and name not in ("self", *options):
            raise invalid(f"{where}: the field {camel(name)!r} is required")


def invalid(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def _fits(value: Any, schema: Schema) -> bool:
    if value is None:
        return bool(schema.get("nullable")) or not schema
    if "anyOf" in schema:
        return any(_fits(value, one) for one in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kinds = _VALUES.get(schema.get("type", ""))
    if kinds is None:
        return True
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)


def _wanted(schema: Schema) -> str:
    if "anyOf" in schema:
        return " or ".join(_wanted(one) for one in schema["anyOf"])
    if "enum" in schema:
        return f"one of {', '.join(map(repr, schema['enum']))}"
    kind = schema.get("type", "any value")
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"


def spoken(message: str, names: Iterable[str]) -> str:
    """A message about arguments in terms of the fields: names in camelCase, `true` and `null`."""
    words = {snake(name): name for name in names if snake(name) != name}
    for old, new in (*words.items(), ("True", "true"), ("False", "false"), ("None", "null")):
        message = re.sub(rf"\b{old}\b", new, message)
    return message.replace(".always()", '"always": true').replace("pods(name=", '{"name": ')
