"""Why a write has changed nothing: which field was sent, what is stored instead, and for which reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fakekube.apiserver.schema.quantity import InvalidQuantity, canonical
from fakekube.harness.detectors.detector import leaves, shown_path, shown_value

#: The fields that a text names, and the characters of a value.
_FIELDS, _SHOWN = 3, 60

#: Metadata that the server sets, whatever is sent.
_OF_SERVER = frozenset(
    {"creationTimestamp", "generation", "managedFields", "namespace", "resourceVersion", "selfLink", "uid"}
)

#: Fields that are not defaulted if an update leaves them out.
_NOT_DEFAULTED = frozenset({"metadata", "status", "apiVersion", "kind"})

_ABSENT = object()


class Difference(NamedTuple):
    """A field that is stored otherwise than it was sent."""

    path: tuple[str | int, ...]
    sent: Any
    stored: Any

    def __str__(self) -> str:
        where = shown_path(self.path)
        if self.sent is _ABSENT:
            return f"{where} was left out and is stored as {shown_value(self.stored, _SHOWN)}, its default"
        sent = "null" if self.sent is None else shown_value(self.sent, _SHOWN)
        if self.stored is _ABSENT:
            if self.sent is None:
                return f"{where} was sent as null, and does not exist"
            if self.sent in ({}, []):
                return f"{where} was sent as {sent}, and an empty value is not stored"
            return f"{where} was sent as {sent} and is not stored: the schema does not have the field, and prunes it"
        stored = shown_value(self.stored, _SHOWN)
        return f"{where} was sent as {sent} and is stored as {stored}{_reason(self.sent, self.stored)}"


def why(verb: str, body: Any, stored: Any, subresource: str, has_status: bool) -> str:
    """Why an update or a patch has changed nothing, as an addition to a text; empty if that is not known.

    stored: the object in the version of the request. has_status: whether the kind has the subresource `status`.
    """
    if not isinstance(stored, Mapping):
        return ""
    if isinstance(body, Sequence) and not isinstance(body, str | bytes):
        found = list(_of_json_patch(body, stored))
    elif isinstance(body, Mapping):
        found = list(_of_update(body, stored) if verb == "update" else _of_merge_patch(body, stored))
    else:
        return ""
    found = [one for one in found if not _is_of_server(one.path)]
    ignored = [one for one in found if _is_ignored(one.path, subresource, has_status)]
    rest = [one for one in found if one not in ignored]
    texts = [str(one) for one in rest[:_FIELDS]]
    if ignored and not rest:
        texts = [f"{shown_path(ignored[0].path)} is not written by this request: {_elsewhere(subresource)}"]
    if len(rest) > _FIELDS:
        texts.append(f"and {len(rest) - _FIELDS} more fields")
    return "; ".join(texts) or "it sends what is stored"


def _of_update(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> Iterator[Difference]:
    ours, theirs = dict(leaves(sent)), dict(leaves(stored))
    for path, value in ours.items():
        if theirs.get(path, _ABSENT) != value and not (value is None and path not in theirs):
            yield Difference(path, value, _at(stored, path))
    for path, value in theirs.items():
        is_left_out = path not in ours and path[0] not in _NOT_DEFAULTED and not isinstance(path[-1], int)
        if is_left_out and _at(sent, path[:-1]) is not _ABSENT:
            yield Difference(path, _ABSENT, value)


def _of_merge_patch(patch: Mapping[str, Any], stored: Any, path: tuple[str | int, ...] = ()) -> Iterator[Difference]:
    """Fields of a merge patch. The items of lists in a strategic merge patch are not compared."""
    for key, value in patch.items():
        if key.startswith("$"):  # a directive
            continue
        here = stored.get(key, _ABSENT) if isinstance(stored, Mapping) else _ABSENT
        if isinstance(value, Mapping) and (isinstance(here, Mapping) or (here is _ABSENT and value)):
            yield from _of_merge_patch(value, here, (*path, key))
        elif (not isinstance(value, list) or here is _ABSENT) and here != value:
            yield Difference((*path, key), value, here)


def _of_json_patch(steps: Sequence[Any], stored: Any) -> Iterator[Difference]:
    for step in steps:
        if not isinstance(step, Mapping) or step.get("op") not in ("add", "replace") or "value" not in step:
            continue
        names = [name.replace("~1", "/").replace("~0", "~") for name in str(step.get("path", "")).split("/")[1:]]
        path = tuple(int(name) if name.isdigit() else name for name in names)
        if "-" not in path and (here := _at(stored, path)) != step["value"]:
            yield Difference(path, step["value"], here)


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        is_item = isinstance(value, list) and isinstance(key, int) and key < len(value)
        if not is_item and not (isinstance(value, Mapping) and key in value):
            return _ABSENT
        value = value[key]
    return value


def _reason(sent: Any, stored: Any) -> str:
    if sent is None:
        return ", its default"
    if isinstance(sent, str) != isinstance(stored, str) and str(sent) == str(stored):
        return f", as {'text' if isinstance(stored, str) else 'a number'}"
    try:
        if canonical(str(sent)) == canonical(str(stored)):
            return ", the same quantity in its canonical form"
    except InvalidQuantity:
        pass
    return ""


def _is_of_server(path: Sequence[str | int]) -> bool:
    if path[:1] in (("apiVersion",), ("kind",)):
        return True
    return len(path) > 1 and path[0] == "metadata" and path[1] in _OF_SERVER


def _is_ignored(path: Sequence[str | int], subresource: str, has_status: bool) -> bool:
    if subresource == "status":
        return path[0] not in ("status", "metadata")
    return not subresource and has_status and path[0] == "status"


def _elsewhere(subresource: str) -> str:
    if subresource:
        return f"the subresource {subresource} writes nothing else"
    return "it belongs to the subresource status"
