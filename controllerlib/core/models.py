"""Objects of other libraries, seen as plain JSON objects."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any


def as_object(value: Any) -> dict[str, Any]:
    """A JSON object from a mapping, a model of the official client, or anything with `to_dict`; raises TypeError."""
    plain = to_json(value)
    if not isinstance(plain, dict):
        raise TypeError(f"not a Kubernetes object: {type(value).__name__}")
    return plain


#: What JSON has as it is; nearly everything in an object is of these.
_PLAIN = frozenset({str, int, float, bool, type(None)})


def to_json(value: Any) -> Any:
    """JSON from mappings, sequences, dates and models of the official client (by their `attribute_map`)."""
    if type(value) in _PLAIN or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    names = getattr(value, "attribute_map", None)
    if isinstance(names, Mapping):
        pairs = ((names[attribute], getattr(value, attribute)) for attribute in names)
        return {name: to_json(item) for name, item in pairs if item is not None}
    if callable(getattr(value, "to_dict", None)):
        return to_json(value.to_dict())
    raise TypeError(f"cannot be written as JSON: {type(value).__name__}")
