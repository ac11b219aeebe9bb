"""The functions through which requests change the store.

In a dry run they return the entry that the write would store, and store nothing.
"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.core.service import ipaddresses
from fakekube.apiserver.storage.store import Entry, stamped
from fakekube.apiserver.wire.gojson import is_same

Object = dict[str, Any]

SERVICES = "services"


def create(call: Call, collection: str, path: str, stored: Object, *, dry_run: bool, version: str = "") -> Entry:
    """Store a new object, which is in an API version. The caller checks that there is none at `path`."""
    if dry_run:
        return Entry(0, stored, version)
    server = call.server
    if collection == SERVICES:
        _reserve_addresses(call, None, stored)
    incomplete = collection == call.resource.collection and call.strategy.stored_incomplete(stored)
    created = server.store.create(collection, path, stored, version, incomplete=incomplete)
    change = server.committed(created, call.context)
    assert change.after is not None
    return change.after


def update(
    call: Call,
    collection: str,
    path: str,
    before: Entry,
    stored: Object,
    *,
    dry_run: bool,
    version: str | None = None,
) -> Entry:
    """Store a changed object, which is in an API version (None: that of `before`). An unchanged one is not written."""
    version = before.version if version is None else version
    if is_same(stored, before.object) and version == before.version and (dry_run or not before.incomplete):
        return before
    if dry_run:
        return Entry(before.revision, stored, version)
    server = call.server
    if collection == SERVICES:
        _reserve_addresses(call, before.object, stored)
    change = server.committed(server.store.update(collection, path, before, stored, version), call.context)
    assert change.after is not None
    if collection == SERVICES:
        _release_addresses(call, before.object, stored)
    return change.after


def delete(call: Call, collection: str, path: str, before: Entry, *, dry_run: bool) -> Entry:
    """Remove an object. Returns it with the revision of its deletion."""
    if dry_run:
        return before
    server = call.server
    revision = server.committed(server.store.delete(collection, path, before), call.context).revision
    if collection == SERVICES:
        _release_addresses(call, before.object, None)
    return Entry(revision, stamped(before.object, revision), before.version)


def _reserve_addresses(call: Call, before: Object | None, after: Object) -> None:
    """Create the IPAddresses of the addresses that a service gets."""
    server, context = call.server, call.context
    if not server.allocations.tracked:
        return
    meta = after["metadata"]
    for address in ipaddresses.added(before, after):
        uid = context.uid(f"{ipaddresses.COLLECTION}/{address}")
        obj = ipaddresses.ip_address(address, meta["namespace"], meta["name"], uid=uid, now=context.now)
        server.committed(server.store.create(ipaddresses.COLLECTION, address, obj), context)


def _release_addresses(call: Call, before: Object, after: Object | None) -> None:
    """Delete the IPAddresses of the addresses that a service no longer has."""
    server = call.server
    for address in ipaddresses.added(after, before):
        entry = server.store.get(ipaddresses.COLLECTION, address)
        if entry is not None:
            server.committed(server.store.delete(ipaddresses.COLLECTION, address, entry), call.context)
