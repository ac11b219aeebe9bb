"""The controllers of CustomResourceDefinitions: naming, establishing and finalizing
(`apiextensions-apiserver/pkg/controller`).

A change of a definition adds and removes served resources, accepts names, and deletes the objects of a definition that
is being deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from fakekube.apiserver.apply import managedfields
from fakekube.apiserver.crd import definitionstatus
from fakekube.apiserver.crd.definition import COLLECTION, resources_of
from fakekube.apiserver.resource import Object, Resource
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas
from fakekube.apiserver.storage.store import Change, Entry, Store

_VERSION = "apiextensions.k8s.io/v1"


class ServedResources(Protocol):
    """The resources that the server serves at present."""

    def add(self, resource: Resource) -> None: ...

    def find(self, group: str, version: str, plural: str) -> Resource | None: ...


class Server(Protocol):
    """The parts of the API server that the controllers use."""

    store: Store
    schemas: BuiltinSchemas

    @property
    def catalog(self) -> ServedResources: ...

    @property
    def on_commit(self) -> Callable[[Change], None]: ...

    def stop_serving(self, collection: str) -> None: ...


class Clock(Protocol):
    """The time of the request that the controllers react to."""

    @property
    def now(self) -> str: ...


def changed(server: Server, change: Change, clock: Clock) -> None:
    """Reconciles a definition after a write."""
    entry = change.after
    either = entry or change.before
    assert either is not None
    if entry is not None and change.before is not None and _serves_the_same(change.before.object, entry.object):
        _note_approval(server, change.path, entry, clock)
        return
    if entry is None:
        server.stop_serving(change.path)
    elif entry.object["metadata"].get("deletionTimestamp"):
        _terminate(server, change.path, entry, clock)
    else:
        serve(server, change.path, entry)
    _accept_names(server, either.object["spec"]["group"], change.path, clock)


def _serves_the_same(before: Object, after: Object) -> bool:
    """Whether a write changes nothing that is served: such a write ends no watch (`updateCustomResourceDefinition`)."""
    if before["spec"] != after["spec"] or after["metadata"].get("deletionTimestamp"):
        return False
    names = [(one.get("status") or {}).get("acceptedNames") for one in (before, after)]
    established = [definitionstatus.is_true(one, "Established") for one in (before, after)]
    return names[0] == names[1] and established[0] == established[1] and established[0]


def object_gone(server: Server, change: Change, clock: Clock) -> None:
    """Finalizes the definition of a deleted object if the definition is being deleted and has no objects left."""
    entry = server.store.get(COLLECTION, change.collection)
    if entry is not None and entry.object["metadata"].get("deletionTimestamp"):
        _finalize(server, change.collection, entry, clock)


def serve(server: Server, path: str, entry: Entry) -> None:
    """Serve the resources of a stored definition, if it is established."""
    server.stop_serving(path)
    if definitionstatus.is_true(entry.object, "Established"):
        for resource in resources_of(entry.object):
            server.catalog.add(resource)


def _group(server: Server, group: str) -> Iterator[tuple[str, Entry]]:
    for path, entry in list(server.store.collection(COLLECTION).scan("", "", None)):
        if entry.object["spec"]["group"] == group:
            yield path, entry


def _note_approval(server: Server, path: str, entry: Entry, clock: Clock) -> None:
    """Sets the condition of the API approval policy after an annotation has changed."""
    found = definitionstatus.conformant(entry.object, clock.now)
    if found != entry.object:
        _update(server, path, entry, found, clock)


def _accept_names(server: Server, group: str, changed_path: str, clock: Clock) -> None:
    """Accepts names until nothing changes: a name that one definition releases may be wanted by another.

    `changed_path` is that of the definition that has changed. Of the others, only those without all their names change.
    """
    now, again = clock.now, True
    waiting = [
        path
        for path, one in _group(server, group)
        if path == changed_path or not definitionstatus.has_names(one.object)
    ]
    while again:
        again = False
        for path in waiting:
            entry = server.store.get(COLLECTION, path)
            if entry is None or entry.object["metadata"].get("deletionTimestamp"):
                continue
            every = (one.object for _, one in _group(server, group))  # read only if not all names are accepted
            named = definitionstatus.conformant(definitionstatus.named(entry.object, every, now), now)
            if named != entry.object:
                serve(server, path, _update(server, path, entry, named, clock))
                again = True


def _update(server: Server, path: str, entry: Entry, obj: Object, clock: Clock) -> Entry:
    """Writes the status of a definition, as the client of the controllers does."""
    schema = server.schemas.of_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert schema is not None, "definitions have a schema"
    obj = managedfields.with_own_status(entry.object, obj, schema, _VERSION, ("metadata", "spec"), clock.now)
    change = server.store.update(COLLECTION, path, entry, obj)
    server.on_commit(change)
    assert change.after is not None
    return change.after


def _terminate(server: Server, path: str, entry: Entry, clock: Clock) -> None:
    """Deletes the objects of a definition; objects with finalizers keep the definition until they are gone."""
    if definitionstatus.CLEANUP_FINALIZER not in (entry.object["metadata"].get("finalizers") or ()):
        return
    found = definitionstatus.condition(entry.object, "Terminating")
    if found is not None and found["reason"] == "InstanceDeletionPending":
        entry = _update(server, path, entry, definitionstatus.deleting(entry.object, clock.now), clock)
        for resource in resources_of(entry.object):
            if server.catalog.find(resource.group, resource.version, resource.plural) is not None:
                server.catalog.add(resource)
    for object_path, one in list(server.store.collection(path).scan("", "", None)):
        meta = one.object["metadata"]
        if not meta.get("finalizers"):
            server.on_commit(server.store.delete(path, object_path, one))
        elif not meta.get("deletionTimestamp"):
            marked = {
                **meta,
                "deletionTimestamp": clock.now,
                "deletionGracePeriodSeconds": 0,
                "generation": (meta.get("generation") or 0) + 1,
            }
            server.on_commit(server.store.update(path, object_path, one, {**one.object, "metadata": marked}))
    _finalize(server, path, entry, clock)


def _finalize(server: Server, path: str, entry: Entry, clock: Clock) -> None:
    """Removes the cleanup finalizer of a definition without objects, and the definition if no other is left."""
    waiting = definitionstatus.CLEANUP_FINALIZER in (entry.object["metadata"].get("finalizers") or ())
    if not waiting or server.store.collection(path).live:
        return
    cleaned = definitionstatus.cleaned(entry.object, clock.now)
    if cleaned["metadata"].get("finalizers"):
        _update(server, path, entry, cleaned, clock)
        return
    server.on_commit(server.store.delete(COLLECTION, path, entry))
    server.stop_serving(path)
    _accept_names(server, entry.object["spec"]["group"], path, clock)
