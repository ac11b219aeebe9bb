"""What a change of a definition does to the server: resources appear and go, names are given, and a definition that
goes takes its objects along (`apiextensions-apiserver/pkg/controller`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.call import RequestContext, Server
from fakekube.apiserver.crd import definition as crd
from fakekube.apiserver.crd import lifecycle
from fakekube.apiserver.storage.store import Change, Entry

Object = dict[str, Any]


def changed(server: Server, change: Change, context: RequestContext) -> None:
    """A definition was written."""
    entry = change.after
    either = entry or change.before
    assert either is not None
    if entry is None:
        server.stop_serving(change.path)
    elif entry.object["metadata"].get("deletionTimestamp"):
        _terminate(server, change.path, entry, context)
    else:
        _serve(server, change.path, entry)
    _settle(server, either.object["spec"]["group"], context)


def object_gone(server: Server, change: Change, context: RequestContext) -> None:
    """An object was deleted; it may be the last that a definition waits for."""
    entry = server.store.get(crd.COLLECTION, change.collection)
    if entry is not None and entry.object["metadata"].get("deletionTimestamp"):
        _finish(server, change.collection, entry, context)


def _serve(server: Server, path: str, entry: Entry) -> None:
    server.stop_serving(path)
    if lifecycle.is_true(entry.object, "Established"):
        for resource in crd.resources_of(entry.object):
            server.catalog.add(resource)


def _group(server: Server, group: str) -> Iterator[tuple[str, Entry]]:
    for path, entry in list(server.store.collection(crd.COLLECTION).scan("", "", None)):
        if entry.object["spec"]["group"] == group:
            yield path, entry


def _settle(server: Server, group: str, context: RequestContext) -> None:
    """Give names until nothing changes: a name that one definition lets go may be what another waits for."""
    again = True
    while again:
        again = False
        for path, entry in _group(server, group):
            if entry.object["metadata"].get("deletionTimestamp"):
                continue
            others = [one.object for _, one in _group(server, group)]
            named = lifecycle.conformant(lifecycle.named(entry.object, others, context.now), context.now)
            if named != entry.object:
                _serve(server, path, _update(server, path, entry, named))
                again = True


def _update(server: Server, path: str, entry: Entry, obj: Object) -> Entry:
    change = server.store.update(crd.COLLECTION, path, entry, obj)
    server.on_commit(change)
    assert change.after is not None
    return change.after


def _terminate(server: Server, path: str, entry: Entry, context: RequestContext) -> None:
    """Delete the objects; those with finalizers hold their definition until they are gone."""
    if lifecycle.CLEANUP_FINALIZER not in (entry.object["metadata"].get("finalizers") or ()):
        return
    found = lifecycle.condition(entry.object, "Terminating")
    if found is not None and found["reason"] == "InstanceDeletionPending":
        entry = _update(server, path, entry, lifecycle.deleting(entry.object, context.now))
        for resource in crd.resources_of(entry.object):
            if server.catalog.find(resource.group, resource.version, resource.plural) is not None:
                server.catalog.add(resource)
    for object_path, one in list(server.store.collection(path).scan("", "", None)):
        meta = one.object["metadata"]
        if not meta.get("finalizers"):
            server.on_commit(server.store.delete(path, object_path, one))
        elif not meta.get("deletionTimestamp"):
            marked = {
                **meta,
                "deletionTimestamp": context.now,
                "deletionGracePeriodSeconds": 0,
                "generation": (meta.get("generation") or 0) + 1,
            }
            server.on_commit(server.store.update(path, object_path, one, {**one.object, "metadata": marked}))
    _finish(server, path, entry, context)


def _finish(server: Server, path: str, entry: Entry, context: RequestContext) -> None:
    """Without objects the definition lets go."""
    waiting = lifecycle.CLEANUP_FINALIZER in (entry.object["metadata"].get("finalizers") or ())
    if not waiting or server.store.collection(path).live:
        return
    cleaned = lifecycle.cleaned(entry.object, context.now)
    if cleaned["metadata"].get("finalizers"):
        _update(server, path, entry, cleaned)
        return
    server.on_commit(server.store.delete(crd.COLLECTION, path, entry))
    server.stop_serving(path)
    _settle(server, entry.object["spec"]["group"], context)
