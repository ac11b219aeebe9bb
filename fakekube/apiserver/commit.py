"""The functions through which requests change the store.

In a dry run they return the entry that the write would store, and store nothing.
"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.storage.store import Entry, stamped

Object = dict[str, Any]


def create(call: Call, collection: str, path: str, stored: Object, *, dry_run: bool) -> Entry:
    """Store a new object. The caller checks that there is none at `path`."""
    if dry_run:
        return Entry(0, stored)
    server = call.server
    change = server.committed(server.store.create(collection, path, stored), call.context)
    assert change.after is not None
    return change.after


def update(call: Call, collection: str, path: str, before: Entry, stored: Object, *, dry_run: bool) -> Entry:
    """Store a changed object; an unchanged object is not written."""
    if stored == before.object:
        return before
    if dry_run:
        return Entry(before.revision, stored)
    server = call.server
    change = server.committed(server.store.update(collection, path, before, stored), call.context)
    assert change.after is not None
    return change.after


def delete(call: Call, collection: str, path: str, before: Entry, *, dry_run: bool) -> Entry:
    """Remove an object. Returns it with the revision of its deletion."""
    if dry_run:
        return before
    server = call.server
    revision = server.committed(server.store.delete(collection, path, before), call.context).revision
    return Entry(revision, stamped(before.object, revision))
