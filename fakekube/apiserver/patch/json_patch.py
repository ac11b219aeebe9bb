"""JSON Patch (RFC 6902) as implemented by the real server's library (evanphx/json-patch v4).

A missing member equals null in a test, is added by a replace, and is copied as null; negative list indexes count from
the end. Operations change a copy of the document in place, so that thousands of them on a large map are quick; the
given document is never modified.

A test compares the texts of strings and numbers: `1.0` does not equal `1`, nor does `"\\u00e9"` equal `"é"`. If the
text of the patch is known, its tests are evaluated on `RawText` values instead of decoded ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from fakekube.apiserver.features import since
from fakekube.apiserver.wire import gojson, integers
from fakekube.apiserver.wire.goprint import go_quote
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


class Rejected(Exception):
    """An operation does not apply; the text is that of the real server's library."""


class TestFailed(Rejected):
    """A `test` operation whose value differs."""


class _NoContainer(Exception):
    """No map or list is at the parent of a path."""


class _BadKey(Exception):
    """A map or list that does not have a key."""


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
        return applied(document, operations)
    except Rejected:
        raise patch_rejected() from None


def applied(document: Any, operations: list[dict[str, Any]]) -> Any:
    """The document after all operations. Raises Rejected, and TestFailed if a test fails.

    Maps on the paths of an operation are sorted, as Go encodes them: unknown fields and rejected objects are reported
    in this order.
    """
    draft, copied = _Draft(_own(document)), 0
    for operation in operations:
        name = operation.get("op")
        if not isinstance(name, str) or name not in OPERATIONS:
            raise Rejected(f"Unexpected kind: {name if isinstance(name, str) else 'unknown'}")
        copied += OPERATIONS[name](draft, operation)
        if copied > MAX_COPIED:
            raise Rejected(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{copied}, exceeding the limit {MAX_COPIED}"
            )
    return draft.finished()


def _own(value: Any) -> Any:
    """A deep copy, which keeps texts of numbers."""
    if isinstance(value, dict):
        return {key: item if type(item) is str else _own(item) for key, item in value.items()}
    return [_own(item) for item in value] if isinstance(value, list) else value


class _Draft:
    """A document that operations change in place, and the maps on their paths."""

    def __init__(self, document: Any) -> None:
        self.document: Any = document
        self._passed: dict[int, dict[str, Any]] = {}

    def edit(self, pointer: str, change: Callable[[Any, str], None]) -> None:
        """Calls `change(parent, last token)`. Raises _NoContainer if there is no such parent; see also `change`."""
        *tokens, last = _tokens(pointer)
        parent = self.document
        for token in tokens:
            self._pass(parent)
            try:
                parent = _get(parent, token)
            except _BadKey:
                raise _NoContainer from None
        self._pass(parent)
        change(parent, last)

    def _pass(self, container: Any) -> None:
        if isinstance(container, dict):
            self._passed[id(container)] = container
        elif not isinstance(container, list):
            raise _NoContainer

    def pass_all(self, value: Any) -> None:
        """A value that was compared: all its maps are in order."""
        if isinstance(value, dict | list):
            self._pass(value)
            for item in value.values() if isinstance(value, dict) else value:
                self.pass_all(item)

    def finished(self) -> Any:
        for found in self._passed.values():
            members = sorted(found.items())
            found.clear()
            found.update(members)
        return self.document


def _member(operation: dict[str, Any], name: str) -> str:
    """The `path` or `from` of an operation. Raises Rejected if it is absent or no string."""
    value = operation.get(name)
    if isinstance(value, str):
        return value
    verb = operation["op"]
    if value is None:
        why = f"operation{',' if name == 'from' else ''} missing {name} field: missing value"
    else:
        why = f"json: cannot unmarshal {gojson.type_name(value)} into Go value of type string"
    if name == "path" and verb in ("add", "remove", "copy"):
        why = "missing value"
    raise Rejected(f"{verb} operation failed to decode {name}: {why}")


def _tokens(pointer: str) -> list[str]:
    """The keys of a pointer; what stands before its first slash is ignored. Raises _NoContainer if it has no slash."""
    parts = pointer.split("/")[1:]
    if not parts or len(parts) > MAX_TOKENS:
        raise _NoContainer
    return parts if "~" not in pointer else [part.replace("~1", "/").replace("~0", "~") for part in parts]


def _number(token: str) -> int:
    try:
        return integers.parse_int(token)
    except ValueError:
        raise _BadKey(f"strconv.Atoi: parsing {go_quote(token)}: invalid syntax") from None


def _position(items: list[Any], token: str, *, inserting: bool = False) -> int:
    """A list index; -1 is the last item, or with `inserting` the end of the list. Raises _BadKey."""
    try:
        index = _number(token)
    except _BadKey as problem:
        raise _BadKey(f"value was not a proper array index: '{token}': {problem}" if inserting else problem) from None
    size = len(items) + (1 if inserting else 0)
    if index < -size or index >= size:
        raise _BadKey(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + size if index < 0 else index


def _get(parent: Any, token: str) -> Any:
    """A member of a map or an item of a list; _ABSENT if a map does not have it. Raises _BadKey."""
    return parent.get(token, _ABSENT) if isinstance(parent, dict) else parent[_position(parent, token)]


def _put(parent: Any, token: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[token] = value
    elif token == "-":
        parent.append(value)
    else:
        parent.insert(_position(parent, token, inserting=True), value)


def _take(parent: Any, token: str) -> Any:
    """Remove a member or an item and return it."""
    if isinstance(parent, list):
        return parent.pop(_position(parent, token))
    if token not in parent:
        raise _BadKey(f"Unable to remove nonexistent key: {token}: missing value")
    return parent.pop(token)


def _add(draft: _Draft, operation: dict[str, Any]) -> int:
    path, value = _member(operation, "path"), _own(operation.get("value"))
    try:
        draft.edit(path, partial(_put, value=value))
    except _NoContainer:
        raise Rejected(f'add operation does not apply: doc is missing path: "{path}": missing value') from None
    except _BadKey as problem:
        raise Rejected(f"error in add for path: '{path}': {problem}") from None
    return 0


def _remove(draft: _Draft, operation: dict[str, Any]) -> int:
    path = _member(operation, "path")
    try:
        draft.edit(path, _take)
    except _NoContainer:
        raise Rejected(f'remove operation does not apply: doc is missing path: "{path}": missing value') from None
    except _BadKey as problem:
        raise Rejected(f"error in remove for path: '{path}': {problem}") from None
    return 0


def _replace(draft: _Draft, operation: dict[str, Any]) -> int:
    path, value = _member(operation, "path"), _own(operation.get("value"))
    if path == "":
        if not isinstance(value, dict | list):
            if not since(35):  # a library that returned no error
                return 0
            raise Rejected("replace operation value must be object or array: %!w(<nil>)")
        draft.document = value
        return 0

    def change(parent: Any, token: str) -> None:
        parent[token if isinstance(parent, dict) else _position(parent, token)] = value

    try:
        draft.edit(path, change)
    except _NoContainer:
        raise Rejected(f"replace operation does not apply: doc is missing path: {path}: missing value") from None
    except _BadKey:
        raise Rejected(f"replace operation does not apply: doc is missing key: {path}: missing value") from None
    return 0


def _move(draft: _Draft, operation: dict[str, Any]) -> int:
    source = _member(operation, "from")
    found: list[Any] = []
    try:
        draft.edit(source, lambda parent, token: found.append(_take(parent, token)))
    except _NoContainer:
        raise Rejected(f"move operation does not apply: doc is missing from path: {source}: missing value") from None
    except _BadKey as problem:
        raise Rejected(f"error in move for path: '{_tokens(source)[-1]}': {problem}") from None
    path = _member(operation, "path")
    try:
        draft.edit(path, partial(_put, value=found[0]))
    except _NoContainer:
        raise Rejected(
            f"move operation does not apply: doc is missing destination path: {path}: missing value"
        ) from None
    except _BadKey as problem:
        raise Rejected(f"error in move for path: '{path}': {problem}") from None
    return 0


def _copy(draft: _Draft, operation: dict[str, Any]) -> int:
    """Returns the size of what was copied, in bytes of JSON."""
    source = _member(operation, "from")
    found: list[Any] = []
    try:
        draft.edit(source, lambda parent, token: found.append(_get(parent, token)))
    except _NoContainer:
        raise Rejected(f"copy operation does not apply: doc is missing from path: {source}: missing value") from None
    except _BadKey as problem:
        raise Rejected(f"error in copy for from: '{source}': {problem}") from None
    path, value = _member(operation, "path"), found[0]
    try:
        size = 0 if value is _ABSENT else len(orjson.dumps(value))
    except orjson.JSONEncodeError:  # nested too deeply to be encoded
        raise Rejected("error while performing deep copy: exceeded max depth") from None
    try:
        draft.edit(path, partial(_put, value=None if value is _ABSENT else _own(value)))
    except _NoContainer:
        raise Rejected(
            f"copy operation does not apply: doc is missing destination path: {path}: missing value"
        ) from None
    except _BadKey as problem:
        raise Rejected(f"error while adding value during copy: {problem}") from None
    return size


def _test(draft: _Draft, operation: dict[str, Any]) -> int:
    path, want = _member(operation, "path"), operation.get("value")
    failed = TestFailed(f"testing value {path} failed: test failed")
    if path == "":
        if not _same(draft.document, want):
            raise failed
        draft.pass_all(draft.document)
        return 0

    def compare(parent: Any, token: str) -> None:
        have = _get(parent, token)
        if not _same(None if have is _ABSENT else have, want):
            raise failed
        draft.pass_all(have)

    try:
        draft.edit(path, compare)
    except _NoContainer:
        raise Rejected(f"test operation does not apply: is missing path: {path}: missing value") from None
    except _BadKey as problem:
        raise Rejected(f"error in test for path: '{path}': {problem}") from None
    return 0


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true does not equal 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


OPERATIONS: dict[str, Callable[[_Draft, dict[str, Any]], int]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
