"""Elements of field paths, which identify fields and list items (structured-merge-diff `fieldpath.PathElement`)."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.omitempty import KEY_DEFAULTS
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.goprint import go_quote


class BadItem(Exception):
    """A list item without a valid key."""


class BadElement(ValueError):
    """A text that is not a path element."""


def of_item(item: Any, schema: Schema) -> str:
    """The element of an item of an associative list. Raises BadItem."""
    if schema.item_keys:
        keys = schema.item_keys
        if len(keys) == 1 and type(item) is dict and type(value := item.get(keys[0])) is str:
            return f'k:{{"{keys[0]}":{_encoded_text(value)}}}'  # the most frequent case
        return _keyed(item, keys, schema.items)
    if isinstance(item, dict):
        raise BadItem("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise BadItem("not supported: associative list with lists as elements")
    if item is None:
        raise BadItem("associative list without keys has an element that's an explicit null")
    return "v:" + encoded(item)


def _keyed(item: Any, keys: tuple[str, ...], items: Schema | None) -> str:
    if item is None:
        raise BadItem("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise BadItem("associative list with keys may not have non-map elements")
    found = []
    for key in keys:
        if key in item:
            found.append((key, item[key]))
        else:
            default = _default(key, items)
            if default is not None:
                found.append((key, default))
            elif not since(34):
                raise BadItem(
                    f"associative list with keys has an element that omits key field {go_quote(key)} "
                    "(and doesn't have default value)"
                )
    if not found:
        listed = " ".join(go_quote(key) for key in keys)
        raise BadItem(
            f"associative list with keys has an element that omits all key fields [{listed}] "
            "(and doesn't have default values for any key fields)"
        )
    if len(found) == 1:
        key, value = found[0]
        return f'k:{{"{key}":{encoded(value)}}}'
    return "k:{" + ",".join(f'"{key}":{encoded(value)}' for key, value in sorted(found)) + "}"


def _default(key: str, items: Schema | None) -> Any:
    """The default of a key field; None if it has none."""
    field = items.fields.get(key) if items is not None else None
    if items is None or field is None:
        return None
    if field.default is not None or not items.name:
        return field.default
    found: Any = KEY_DEFAULTS.get(f"{items.name}.{key}")
    if found is None and key in items.required:
        found = "" if field.type == "string" else 0
    return found


def encoded(value: Any) -> str:
    """A value as JSON with Go's escapes."""
    if type(value) is str:
        return _encoded_text(value)
    if type(value) is int:
        return str(value)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


_json_text = json.JSONEncoder(ensure_ascii=False).encode


@lru_cache(maxsize=4096)
def _encoded_text(value: str) -> str:
    text = _json_text(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def check(pe: str) -> str:
    """The canonical form of an element. Raises BadElement."""
    kind, rest = pe[:2], pe[2:]
    try:
        if kind == "f:":
            return pe
        if kind == "v:":
            return "v:" + encoded(json.loads(rest))
        if kind == "k:":
            fields = json.loads(rest)
            if not isinstance(fields, dict):
                raise BadElement(f"no key fields: {pe}")
            return "k:{" + ",".join(f"{encoded(key)}:{encoded(fields[key])}" for key in sorted(fields)) + "}"
        if kind == "i:":
            return f"i:{int(rest)}"
    except ValueError as problem:
        raise BadElement(str(problem)) from None
    raise BadElement(f"unknown path element type: {pe}")


def comparable(pe: str) -> tuple[Any, ...]:
    """The sort key of elements of one type."""
    value = json.loads(pe[2:])
    if pe[0] == "k":
        return tuple((key, _ranked(value[key])) for key in sorted(value))
    return _ranked(value)


def _ranked(value: Any) -> tuple[int, Any]:
    """The sort key of a value: numbers, then strings, then booleans (`value.Compare`)."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, encoded(value))


def shown(path: tuple[str, ...]) -> str:
    """A path in a message: `.spec.containers[name="app"].image`."""
    return "".join(_shown_element(pe) for pe in path)


def _shown_element(pe: str) -> str:
    kind, rest = pe[0], pe[2:]
    if kind == "f":
        return "." + rest
    if kind == "k":
        fields = json.loads(rest)
        return "[" + ",".join(f"{key}={_shown_value(fields[key])}" for key in sorted(fields)) + "]"
    if kind == "v":
        return f"[={_shown_value(json.loads(rest))}]"
    return f"[{rest}]"


def _shown_value(value: Any) -> str:
    """A value in a message (`value.ToString`)."""
    if isinstance(value, str):
        return go_quote(value)
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ",".join(_shown_value(item) for item in value) + "]"
    if isinstance(value, dict):
        return "".join(f"{key}={_shown_value(value[key])}" for key in value)
    return goprint.plain(value)
