"""Recognizes the present time in what clients write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from fakekube.harness.detectors.detector import Doing, leaves, meta_of
from fakekube.struct import Struct

Field = tuple[str | int, ...]

#: Fields that the server sets.
_OF_THE_SERVER = frozenset({"creationTimestamp", "deletionTimestamp", "managedFields"})


def writes_present(body: Any, now: datetime) -> bool:
    """Whether an object has the present time in a field that is not the time of a change."""
    return any(not _is_transition(one) for one in present_fields(body, now))


def has_kept_times(doing: Doing, body: Any, now: datetime) -> bool:
    """Whether all present times in an object were copied from the operator's cache."""
    return all(is_kept(doing, body, one) for one in present_fields(body, now) if not _is_transition(one))


def _is_transition(field: Field) -> bool:
    """Whether a field has by convention the time of a change, as those of conditions."""
    return str(field[-1]).endswith("TransitionTime")


def is_kept(doing: Doing, body: Any, field: Field) -> bool:
    """Whether a value is the same Python object as in the operator's cache: a copy of an object shares its leaves."""
    manager = doing.operator.manager
    if manager is None or not isinstance(body, Mapping):
        return False
    informer = manager.cache.informers.find(body.get("apiVersion", ""), body.get("kind", ""))
    meta = meta_of(body)
    key = f"{meta['namespace']}/{meta.get('name')}" if meta.get("namespace") else str(meta.get("name"))
    stores = [shared.indexer for shared in informer.informers.values()] if informer is not None else []
    value = at_path(body, field)
    return any(at_path(obj, field) is value for store in stores if (obj := store.get_by_key(key)) is not None)


def at_path(value: Any, field: Field) -> Any:
    """The value at a path; None if it does not exist."""
    for step in field:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def present_fields(body: Any, now: datetime) -> tuple[Field, ...]:
    """The fields of an object that have the present time: a date and time, or seconds or milliseconds since 1970."""
    if not isinstance(body, dict | list):
        return ()
    text = texts_of(now)
    if not _may_have(body, text):
        return ()  # as most objects
    if isinstance(body, dict) and isinstance(meta := body.get("metadata"), dict):
        body = {**body, "metadata": {name: value for name, value in meta.items() if name not in _OF_THE_SERVER}}
        if not _may_have(body, text):
            return ()  # the time was only in what the server sets
    return tuple(
        path for path, value in leaves(body) if is_present(value, text) and not _OF_THE_SERVER.intersection(path)
    )


def _may_have(body: Any, text: Texts) -> bool:
    """Whether an object may have this time: its JSON is searched much faster than its fields are."""
    try:
        raw = orjson.dumps(body)
    except TypeError:  # no JSON
        return False
    return raw.find(text.raw_time) >= 0 or raw.find(text.raw_seconds) >= 0  # `in` is slow for bytes in 3.11


class Texts(Struct, frozen=True):
    """A time in the forms in which objects have it."""

    date: str
    time: str
    seconds: int
    since_1970: str
    #: what the JSON of an object with the time has: the time of day, or the seconds
    raw_time: bytes
    raw_seconds: bytes


#: The time that was asked for last, with its forms: many objects are written at one instant.
_last: tuple[datetime, Texts] | None = None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def texts_of(now: datetime) -> Texts:
    """The forms of a time."""
    global _last
    last = _last
    if last is None or last[0] is not now:
        raw = orjson.dumps(now, default=datetime.isoformat)[1:20]  # much faster than isoformat(); without the quote
        since = now - _EPOCH
        text, seconds = raw.decode(), since.days * 86400 + since.seconds
        since_1970 = str(seconds)
        last = _last = now, Texts(text[:10], text[11:], seconds, since_1970, raw[11:], since_1970.encode())
    return last[1]


def is_number(value: Any) -> bool:
    """Whether a value is a number, or text of digits."""
    return isinstance(value, int | float) or (isinstance(value, str) and value.isdigit())


def is_present(value: Any, text: Texts) -> bool:
    """Whether a value is a time, of any precision."""
    if isinstance(value, str):
        return (value[11:19] == text.time and value[:10] == text.date) or value.startswith(text.since_1970)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return int(value) == text.seconds or int(value) // 1000 == text.seconds
