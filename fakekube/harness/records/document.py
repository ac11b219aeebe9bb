"""A timeline as a JSON document: its entries, their causes, and what they changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import orjson

from fakekube.harness.records.entry import MICROSECOND, stored_key
from fakekube.harness.records.fielddiff import changed_fields
from fakekube.harness.records.objectversions import Version, Versions
from fakekube.harness.records.story import Joined, Row

#: The version of the document's structure.
FORMAT = 1

#: The most bytes of stored objects in a document, of one of them, and the most fields of one change.
OBJECTS, OBJECT, FIELDS = 4_000_000, 100_000, 200


def document(
    joined: Joined,
    versions: Versions,
    epoch: datetime,
    dropped: int,
    title: str,
    last: int | None = None,
    failure: str = "",
) -> dict[str, Any]:
    """The document with all entries, or the `last` ones. Times are in microseconds since the `epoch`.

    failure: why the test failed; "" if it did not.
    """
    rows = list(joined.rows.values())
    shown = rows if last is None else rows[max(0, len(rows) - last) :]
    changes = _changes(versions, {row.entry.serial for row in shown})
    return {
        "format": FORMAT,
        "title": title,
        "failure": failure,
        "epoch": epoch.isoformat(),
        "dropped": dropped + len(rows) - len(shown),
        "entries": [_entry(row, epoch, changes.get(row.entry.serial, ())) for row in shown],
    }


def encoded(found: dict[str, Any]) -> str:
    """A document as text."""
    try:
        return orjson.dumps(found, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
    except TypeError:  # text that is not Unicode, as names of files in messages of errors may be
        return json.dumps(found, default=str)


def _entry(row: Row, epoch: datetime, changes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    entry, summary = row
    return {
        "serial": entry.serial,
        "at": (entry.at - epoch) // MICROSECOND,
        "took": summary.duration // MICROSECOND,
        "actor": entry.actor,
        "kind": entry.kind,
        "what": entry.what,
        "rv": entry.resource_version,
        "cause": entry.cause,
        "object": "" if entry.object is None else str(entry.object),
        "because": entry.because,
        "failed": summary.failed,
        "system": summary.system,
        "facts": summary.facts,
        "changes": changes,
    }


def _changes(versions: Versions, shown: set[int]) -> dict[int, list[dict[str, Any]]]:
    """The changes of each entry, by its serial. The newest objects are included as a whole, up to OBJECTS bytes."""
    found: dict[int, list[dict[str, Any]]] = {}
    embedded: list[tuple[dict[str, Any], Version]] = []
    for version, before in _with_before(versions):
        serial = version.request or version.serial
        if serial not in shown:
            continue
        change = _change(version, before)
        found.setdefault(serial, []).append(change)
        embedded.append((change, version))
    size = 0
    for change, version in reversed(embedded):
        size += len(version.json)
        if size > OBJECTS:
            break
        if 0 < len(version.json) <= OBJECT:
            change["stored"] = orjson.loads(version.json)
    return found


def _with_before(versions: Versions) -> Iterator[tuple[Version, Version | None]]:
    """Each change with the one of the same object before it."""
    latest: dict[tuple[str, str], Version] = {}
    for version in versions.read():
        key = version.collection, version.path
        yield version, latest.get(key)
        latest[key] = version


def _change(version: Version, before: Version | None) -> dict[str, Any]:
    fields: list[tuple[str, Any, Any, bool, bool]] = []
    total = 0
    if version.json and before is not None and before.json and not version.created:
        for one in changed_fields(orjson.loads(before.json), orjson.loads(version.json)):
            total += 1
            if total <= FIELDS:
                fields.append(tuple(one))
    return {
        "object": str(stored_key(version.collection, version.path)),
        "revision": version.revision,
        "verb": "deleted" if not version.json else "created" if version.created else "updated",
        "known": version.created or before is not None,
        "fields": fields,
        "more": max(0, total - FIELDS),
    }
