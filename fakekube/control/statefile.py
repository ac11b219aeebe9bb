"""Files with the state of a cluster: a line of JSON for each object, after a line that says what the file is.

Manifests in YAML are read, too, as kwok and `kubectl get -o yaml` write them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import orjson

from fakekube.apiserver.apiserver import ApiServer, ServerState
from fakekube.apiserver.crd import COLLECTION
from fakekube.apiserver.registry.core.service.allocation import ADDRESSES
from fakekube.apiserver.storage.store import Store, path_of
from fakekube.harness.state import exporting, selecting
from fakekube.harness.state.selecting import Scope
from fakekube.server import manifests

Object = dict[str, Any]

KIND, FORMAT = "fakekube.Snapshot", 1

#: Collections whose objects stay although a file does not have them: records, and what follows from others.
_STAY = frozenset({
    COLLECTION, ADDRESSES, "events", "leases.coordination.k8s.io", "apiservices.apiregistration.k8s.io",
})  # fmt: skip


class BadFile(Exception):
    """A file that is no state of a cluster; the message says why."""


def saved(server: ApiServer) -> bytes:
    """The whole state, without Events and Leases."""
    objects = list(selecting.objects(server, Scope(None, None, 0)))
    head = {
        "kind": KIND, "format": FORMAT, "objects": len(objects), "revision": str(server.store.revision),
        "version": server.version["gitVersion"],
    }  # fmt: skip
    return b"".join(orjson.dumps(one) + b"\n" for one in (head, *objects))


def exported(server: ApiServer, initial: Store, *, clean: bool) -> str:
    """The objects that are others than in an earlier store, as YAML for any cluster."""
    changed = selecting.objects(server, Scope(None, None, initial.revision))
    return exporting.manifests([obj for obj in changed if _is_other(server, initial, obj, clean)], clean=clean)


def _is_other(server: ApiServer, initial: Store, obj: Object, clean: bool) -> bool:
    """Whether an object has another content: a restore writes each object again."""
    [place] = places(server, [obj])
    before, now = (
        {**entry.object, "kind": obj["kind"]} if (entry := store.get(*place)) is not None else None
        for store in (initial, server.store)
    )
    if before is None or now is None:
        return True
    return exporting.portable(before, clean=clean) != exporting.portable(now, clean=clean)


def parsed(text: str) -> list[Object]:
    """The objects of a file, namespaces and definitions first. Raises BadFile."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith(f'{{"kind":"{KIND}"'):
        return _manifests(text)
    try:
        head, *objects = [orjson.loads(line) for line in lines]
    except orjson.JSONDecodeError as problem:
        raise BadFile(f"the file is torn: {problem}") from None
    if head.get("format") != FORMAT:
        raise BadFile(f"the file has the format {head.get('format')}, which is of a newer version (known: {FORMAT})")
    if head.get("objects") != len(objects):
        raise BadFile(f"the file is torn: it has {len(objects)} of {head.get('objects')} objects")
    return manifests.ordered(objects)


def _manifests(text: str) -> list[Object]:
    placed, problems = manifests.placed_in(text, "line")
    if problems or not placed:
        raise BadFile(f"the file is no snapshot and no manifests: {problems[0] if problems else 'it is empty'}")
    return manifests.ordered([one.object for one in placed])


def pruned(state: ServerState, wanted: Iterable[tuple[str, str]]) -> ServerState:
    """A state without the objects that are not wanted, by their collections and keys."""
    store, kept = state.store.copy(state.store.window), frozenset(wanted)
    for name, path, entry in list(store.entries()):
        if name not in _STAY and (name, path) not in kept:
            store.delete(name, path, entry)
    return replace(state, store=store)


def places(server: ApiServer, objects: Sequence[Object]) -> list[tuple[str, str]]:
    """The collections and keys of the objects whose kinds the server has."""
    found = []
    for obj in objects:
        resource = server.catalog.find_kind(obj["apiVersion"], obj["kind"])
        if resource is not None:
            meta = obj.get("metadata") or {}
            namespace = (meta.get("namespace") or "default") if resource.namespaced else ""
            found.append((resource.collection, path_of(namespace, str(meta.get("name", "")))))
    return found
