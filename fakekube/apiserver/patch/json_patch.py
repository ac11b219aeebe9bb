"""JSON Patch (RFC 6902) as implemented by the real server's library (evanphx/json-patch v4).

A missing member equals null in a test, is added by a replace, and is copied as null; negative list indexes count from
the end. Operations copy the paths that they change: the given document is never modified.

A test compares the texts of strings and numbers: `1.0` does not equal `1`, nor does `"\\u00e9"` equal `"é"`. If the
text of the patch is known, its tests are evaluated on `RawText` values instead of decoded ones.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from fakekube.apiserver.wire import gojson, integers
from fakekube.apiserver.wire.gojson import sorted_members
from fakekube.apiserver.wire.status import StatusError, bad_request, patch_rejected

#: The limit of the operations of a patch (`maxJSONPatchOperations`).
MAX_OPERATIONS = 10_000

#: The limit of the bytes that all `copy` operations of a patch create (`JSONPatchMaxCopyBytes`).
MAX_COPIED = 3 * 1024 * 1024

#: The limit of the tokens of a pointer: the nesting of bodies is limited as well.
MAX_TOKENS = 250

_ABSENT = object()


def check(patch: Any) -> list[dict[str, Any]]:
    """The operations of a decoded patch. Raises 400 if it is not a list of objects, 413 if it is too long."""
    if patch is None:
        return []
    if not isinstance(patch, list):
        what = gojson.type_name(patch)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp"
        )
    for operation in patch:
        if operation is not None and not isinstance(operation, dict):
            what = gojson.type_name(operation)
            raise bad_request(
                f"error decoding patch: json: cannot unmarshal {what} into Go value of type handlers.jsonPatchOp"
            )
    if len(patch) > MAX_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        raise StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")
    return [operation or {} for operation in patch]


#: The members of an operation, and those of them that are strings.
MEMBERS = frozenset({"op", "path", "from", "value"})
STRINGS = frozenset({"op", "path", "from"})


def check_members(body: bytes) -> None:
    """Raises 400 if a member of an operation is not a string but has to be (only if fields are validated)."""
    for operation in json.loads(body.decode("utf-8", "replace"), object_pairs_hook=tuple) or ():
        for key, value in operation or ():
            if key in STRINGS and value is not None and not isinstance(value, str):
                what = "object" if isinstance(value, tuple) else gojson.type_name(value)
                raise bad_request(
                    f"error decoding patch: json: cannot unmarshal {what} into Go struct field "
                    f"jsonPatchOp.{key} of type string"
                )


def unknown_members(operations: list[dict[str, Any]]) -> list[str]:
    """The errors of a strict decoder for unknown members."""
    return [f'unknown field "[{i}].{key}"' for i, one in enumerate(operations) for key in one if key not in MEMBERS]


class TestFailed(Exception):
    """A `test` operation whose value differs."""


class RawText(str):
    """The text of a string or a number in JSON."""

    __slots__ = ()


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def raw_values(text: str) -> Any:
    """The value of a JSON text with the texts of its strings and numbers instead of their values."""
    quoted = _STRING.sub(lambda match: json.dumps(match[0]), text)
    return json.loads(quoted, object_pairs_hook=_raw_object, parse_int=RawText, parse_float=RawText)


def _raw_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {json.loads(key, strict=False): value for key, value in pairs}


def check_tests(document: Any, operations: list[dict[str, Any]], body: bytes) -> None:
    """Raises 422 if a test fails on the texts of the document and of the patch, or an operation before it."""
    if not any(operation.get("op") == "test" for operation in operations):
        return
    texts = raw_values(body.decode("utf-8", "replace"))
    raw = [
        {**one, "value": text["value"]} if text and "value" in text else one
        for one, text in zip(operations, texts, strict=True)
    ]
    apply(raw_values(gojson.go_json(document)), raw)


def apply(document: Any, operations: list[dict[str, Any]]) -> Any:
    """The document after all operations. Raises 422 if one does not apply."""
    try:
        return _applied(document, operations)
    except TestFailed:
        raise patch_rejected() from None


def apply_if_tests_hold(document: Any, operations: list[dict[str, Any]]) -> Any:
    """The same, but the document is unchanged if a `test` operation fails."""
    try:
        return _applied(document, operations)
    except TestFailed:
        return document


def _applied(document: Any, operations: list[dict[str, Any]]) -> Any:
    """`apply`, which raises TestFailed if a test fails."""
    copied = 0
    for operation in operations:
        name, path = operation.get("op"), operation.get("path")
        if not isinstance(name, str) or name not in OPERATIONS or not isinstance(path, str):
            raise patch_rejected()
        if name == "copy":
            copied += _size(_get(document, _from(operation)))
            if copied > MAX_COPIED:
                raise patch_rejected()
        document = OPERATIONS[name](document, _tokens(path), operation)
    return document


def _size(value: Any) -> int:
    """The size of a value as JSON in bytes. Raises 422 if it is nested too deeply to be encoded."""
    try:
        return 0 if value is _ABSENT else len(orjson.dumps(value))
    except orjson.JSONEncodeError:
        raise patch_rejected() from None


def _tokens(pointer: str) -> list[str]:
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise patch_rejected()
    tokens = [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]
    if len(tokens) > MAX_TOKENS:
        raise patch_rejected()
    return tokens


def _position(items: list[Any], token: str, *, inserting: bool = False) -> int:
    """A list index; -1 is the last item, or with `inserting` the end of the list."""
    try:
        index = integers.parse_int(token)
    except ValueError:
        raise patch_rejected() from None
    size = len(items) + (1 if inserting else 0)
    if index < -size or index >= size:
        raise patch_rejected()
    return index + size if index < 0 else index


def _child(parent: Any, token: str) -> Any:
    if isinstance(parent, dict):
        return parent.get(token, _ABSENT)
    if isinstance(parent, list):
        return parent[_position(parent, token)]
    raise patch_rejected()


def _get(document: Any, tokens: list[str]) -> Any:
    """The value at a pointer; _ABSENT if the last member is missing. Raises 422 if a parent is missing."""
    for i, token in enumerate(tokens):
        document = _child(document, token)
        if document is _ABSENT and i < len(tokens) - 1:
            raise patch_rejected()
    return document


def _edit(document: Any, tokens: list[str], change: Any) -> Any:
    """The document after `change(parent, last token)` on a copy of the parent of a pointer.

    Maps on the way are sorted, as Go encodes them: unknown fields are reported in this order.
    """
    if not tokens:
        raise patch_rejected()
    token, rest = tokens[0], tokens[1:]
    if not isinstance(document, dict | list):
        raise patch_rejected()
    copy: Any = document.copy()
    if not rest:
        change(copy, token)
        return sorted_members(copy)
    child = _child(document, token)
    if child is _ABSENT or child is None:
        raise patch_rejected()
    key = token if isinstance(copy, dict) else _position(copy, token)
    copy[key] = _edit(child, rest, change)
    return sorted_members(copy)


def _put(value: Any) -> Any:
    def change(parent: Any, token: str) -> None:
        if isinstance(parent, dict):
            parent[token] = value
        elif token == "-":
            parent.append(value)
        else:
            parent.insert(_position(parent, token, inserting=True), value)

    return change


def _add(document: Any, tokens: list[str], operation: dict[str, Any]) -> Any:
    return _edit(document, tokens, _put(operation.get("value")))


def _remove(document: Any, tokens: list[str], operation: dict[str, Any]) -> Any:
    def change(parent: Any, token: str) -> None:
        if isinstance(parent, dict):
            if token not in parent:
                raise patch_rejected()
            del parent[token]
        else:
            del parent[_position(parent, token)]

    return _edit(document, tokens, change)


def _replace(document: Any, tokens: list[str], operation: dict[str, Any]) -> Any:
    value = operation.get("value")

    def change(parent: Any, token: str) -> None:
        parent[token if isinstance(parent, dict) else _position(parent, token)] = value

    return _edit(document, tokens, change) if tokens else value


def _from(operation: dict[str, Any]) -> list[str]:
    source = operation.get("from")
    if not isinstance(source, str) or not source:
        raise patch_rejected()
    return _tokens(source)


def _move(document: Any, tokens: list[str], operation: dict[str, Any]) -> Any:
    source = _from(operation)
    value = _get(document, source)
    return _add(_remove(document, source, {}), tokens, {"value": None if value is _ABSENT else value})


def _copy(document: Any, tokens: list[str], operation: dict[str, Any]) -> Any:
    value = _get(document, _from(operation))
    return _add(document, tokens, {"value": None if value is _ABSENT else value})


def _test(document: Any, tokens: list[str], operation: dict[str, Any]) -> Any:
    value = _get(document, tokens)
    have = None if value is _ABSENT else value
    want = operation.get("value")
    if not _same(have, want):
        raise TestFailed
    return document


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true does not equal 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


OPERATIONS = {"add": _add, "remove": _remove, "replace": _replace, "move": _move, "copy": _copy, "test": _test}
