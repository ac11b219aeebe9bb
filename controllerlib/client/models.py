"""Conversion between JSON objects and models of the official client or of other libraries."""

import re
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Protocol, TypeVar

M = TypeVar("M")

#: Types that JSON represents as they are; almost every value in an object has one of them.
_PLAIN = frozenset({str, int, float, bool, type(None)})
_TEXT = frozenset({str})
#: Fields of type MicroTime, which always have a fraction of a second.
_MICRO_TIMES = frozenset({"acquireTime", "renewTime", "pingTime", "eventTime", "lastObservedTime"})
_LIST = re.compile(r"list\[(.*)\]")
_DICT = re.compile(r"dict\(str, (.*)\)")
_SCALARS = frozenset({"str", "int", "float", "bool", "object", "date", "bytes"})


class Model(Protocol):
    """A model of the official client, or of another library with the same method."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        ...


#: An object that can be written: a JSON object or a model.
Writable = Mapping[str, Any] | Model


def as_object(value: Any) -> dict[str, Any]:
    """Convert a mapping, a model of the official client, or any object with `to_dict` to a JSON object; raises
    TypeError.
    """
    if isinstance(value, tuple):
        raise TypeError(
            "not a Kubernetes object: a tuple (add_finalizer and remove_finalizer return the object and whether it was "
            "changed: obj, changed = add_finalizer(obj, ...))"
        )
    plain = to_json(value)
    if not isinstance(plain, dict):
        raise TypeError(f"not a Kubernetes object: {type(value).__name__}")
    return plain


def to_json(value: Any) -> Any:
    """Convert mappings, sequences, dates and models (by their `attribute_map`) to JSON."""
    form = type(value)
    if form is dict:  # nearly all are: no look at abstract classes
        if _PLAIN.issuperset(map(type, value.values())) and _TEXT.issuperset(map(type, value)):
            return value.copy()
        return {
            (key if type(key) is str else str(key)): item if type(item) in _PLAIN else _field(key, item)
            for key, item in value.items()
        }
    if form is list:
        return [item if type(item) in _PLAIN else to_json(item) for item in value]
    if form in _PLAIN or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): item if type(item) in _PLAIN else _field(key, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, date):
        return _time(value, micro=False)
    names = getattr(value, "attribute_map", None)
    if isinstance(names, Mapping):
        pairs = ((names[attribute], getattr(value, attribute)) for attribute in names)
        return {name: _field(name, item) for name, item in pairs if item is not None}
    if callable(getattr(value, "to_dict", None)):
        return to_json(value.to_dict())
    raise TypeError(f"cannot be written as JSON: {type(value).__name__}")


def as_model(model: type[M], obj: Mapping[str, Any]) -> M:
    """Convert a JSON object to a model: `as_model(client.V1Pod, await reader.get("v1", "Pod", name))`.

    Fields that the model does not have are dropped. ValueError if a required field is missing, TypeError if `model` is
    not a model class.
    """
    if callable(from_dict := getattr(model, "from_dict", None)):
        found: M = from_dict(dict(obj))
        return found
    types, names = getattr(model, "openapi_types", None), getattr(model, "attribute_map", None)
    if not isinstance(types, Mapping) or not isinstance(names, Mapping):
        raise TypeError(f"not a model: {model.__name__}")
    values = {attribute: _read(types[attribute], obj.get(names[attribute]), model) for attribute in types}
    return model(**values)


def _field(name: object, value: Any) -> Any:
    form = type(value)
    if form is dict or form is list:
        return to_json(value)
    return _time(value, micro=name in _MICRO_TIMES) if isinstance(value, date) else to_json(value)


def _time(value: date, *, micro: bool) -> str:
    """Format a time by RFC 3339; without a time zone it is UTC."""
    if not isinstance(value, datetime):
        return value.isoformat()
    zoned = value if value.tzinfo else value.replace(tzinfo=UTC)
    return zoned.isoformat(timespec="microseconds" if micro else "auto").replace("+00:00", "Z")


def _read(name: str, value: Any, owner: type) -> Any:
    """Convert a value to the type that models of the official client before v36 call `name`."""
    if value is None or name in _SCALARS:
        return value
    if name == "datetime":
        return datetime.fromisoformat(value)
    if match := _LIST.fullmatch(name):
        return [_read(match[1], item, owner) for item in value]
    if match := _DICT.fullmatch(name):
        return {key: _read(match[1], item, owner) for key, item in value.items()}
    return as_model(_class(name, owner), value)


def _class(name: str, owner: type) -> type[Any]:
    """Return the class of that name from the module of `owner`, or from the package of all models."""
    for module in (owner.__module__, owner.__module__.rpartition(".")[0]):
        if isinstance(found := getattr(sys.modules.get(module), name, None), type):
            return found
    raise TypeError(f"no model {name} in the package of {owner.__name__}")
