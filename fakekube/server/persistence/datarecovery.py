"""Keeps a running server in a data directory, and recovers one from it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from functools import partial

import orjson

from fakekube.apiserver.apiserver import ApiServer, ServerState
from fakekube.apiserver.crd import COLLECTION
from fakekube.apiserver.crd.definitioncontrollers import serve
from fakekube.apiserver.storage.store import Change, Store
from fakekube.server.httpconnection import HeldWrites
from fakekube.server.persistence.datadir import DataDir
from fakekube.server.persistence.rowlog import Row
from fakekube.server.process.pacedloop import PacedLoop
from fakekube.server.runner import ServerRunner

#: The objects that say where the server listens, which each start writes.
_ADDRESSES = (("endpoints", "default/kubernetes"), ("endpointslices.discovery.k8s.io", "default/kubernetes"))

#: The exit status of a server that cannot write: what is not stored is not answered.
CANNOT_WRITE = 3


def recover(server: ApiServer, data: DataDir) -> bool:
    """Give a new server the state and the history of a directory; False if that has none."""
    store = _stored(data, server.store.window)
    if store is None:
        return False
    fresh = {place: server.store.get(*place) for place in _ADDRESSES}
    server.restore(ServerState(store, (), {}))
    for path, entry in server.store.collection(COLLECTION).live.items():
        serve(server, path, entry)
    for (collection, path), new in fresh.items():
        old = server.store.get(collection, path)
        if new is not None and old is not None:
            made = {**new.object, "metadata": old.object["metadata"]}
            if made != old.object:
                server.write(collection, path, made)
    return True


def _stored(data: DataDir, window: int) -> Store | None:
    store = Store(window)
    compacted = int(data.get("compacted") or 0)
    for row in data.rows():
        store.revision = row.revision - 1
        before = store.get(row.collection, row.path)
        if row.deleted:
            if before is not None:
                store.delete(row.collection, row.path, before)
            continue
        obj = orjson.loads(row.value)
        if before is None:
            store.create(row.collection, row.path, obj, row.version)
        else:
            store.update(row.collection, row.path, before, obj, row.version)
    if not store.size():
        return None
    store.compact(compacted)
    store.compacted = max(store.compacted, compacted)
    return store


def keep(runner: ServerRunner, data: DataDir, ending: Callable[[], None] = lambda: None) -> HeldWrites | None:
    """Write each change from now on, before it is answered and before any watch delivers it.

    If changes are not written at once, those of one turn of the loop are one transaction. Returns what connections hold
    until it is written; None if they need not. `ending` is called before the process ends because a change cannot be
    written.
    """
    store = runner.apiserver.store
    held = None if data.is_written_at_once else HeldWrites()

    def written(write: Callable[..., None], *arguments: object) -> None:
        try:
            write(*arguments)
            if data.is_untidy:
                data.tidy(store.compacted)
        except sqlite3.Error as error:
            _end(error, ending)

    def replaced() -> None:
        written(data.replace, _rows(store), store.compacted)

    replaced()
    runner.on_write(
        partial(written, data.append) if held is None else _in_turns(data, held, partial(written, data.flush))
    )
    runner.restored.append(replaced)
    return held


def _in_turns(data: DataDir, held: HeldWrites, flush: Callable[[], None]) -> Callable[[Change], None]:
    """What notes a change, and has all changes of a turn of the loop written together."""

    def flushed() -> None:
        flush()
        held.release()

    def changed(change: Change) -> None:
        data.append(change)
        if held.is_held:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        if loop is None or (isinstance(loop, PacedLoop) and not loop.has_more):
            flushed()  # no other request comes in this turn
        else:
            held.hold()
            loop.call_soon(flushed)

    return changed


def _rows(store: Store) -> Iterator[Row]:
    """The current objects, and the history of all."""
    found: dict[int, Row] = {}
    for name, path, entry in store.entries():
        found[entry.revision] = Row(entry.revision, name, path, False, entry.version, entry.json)
    for change in store.changes():
        for one in (change.before, change.after):
            if one is not None:
                found[one.revision] = Row(one.revision, change.collection, change.path, False, one.version, one.json)
        if change.after is None:
            found[change.revision] = Row(change.revision, change.collection, change.path, True, "", b"")
    return iter([found[revision] for revision in sorted(found)])


def _end(error: sqlite3.Error, ending: Callable[[], None]) -> None:
    """End the process at once: a change that is not written must not be answered."""
    sys.stderr.write(f"fakekube: --data-dir: a change cannot be written: {error}\n")
    sys.stderr.flush()
    with contextlib.suppress(OSError):
        ending()
    os._exit(CANNOT_WRITE)
