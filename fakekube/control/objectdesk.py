"""What the page of a server shows of its objects: kinds, rows, one object with its relatives, versions, and changes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import orjson

from fakekube.apiserver.resource import Object, Resource
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.apiserver.wire import yamlencoder
from fakekube.apiserver.wire.status import StatusError
from fakekube.control import journal
from fakekube.control.operation import operation
from fakekube.control.steering import Steering
from fakekube.server.controldoor import Answered

#: The most events that wait for a slow reader. After these it gets the event `again`, and has to load everything again.
WAITING = 10_000

#: The most generations of dependents that are shown.
DEPTH = 10

Place = tuple[str, str]
"""The collection and the path of an object."""


class ObjectDesk:
    """Reads the store itself, so that nothing of it is a request."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering

    @operation("GET", "/kinds")
    def kinds(self) -> Any:
        """The kinds that are served, with the number of their objects."""
        sizes = self._steering.runner.apiserver.store.sizes()
        items = [
            {"collection": name, "kind": one.kind, "apiVersion": one.api_version, "objects": sizes.get(name, 0)}
            for name, one in self._served().items()
        ]
        return {"items": sorted(items, key=lambda one: (one["kind"], one["apiVersion"]))}

    @operation("GET", "/objects")
    def objects(self, collection: str) -> Any:
        """The objects of a collection as rows: path, time of creation, and the phase, if any."""
        store = self._steering.runner.apiserver.store
        if collection not in self._served():
            raise StatusError(404, "NotFound", f"there is no collection {collection!r} (GET /kinds lists them)")
        rows = [_row(path, entry.object) for path, entry in store.collection(collection).live.items()]
        return {"revision": str(store.revision), "rows": rows}

    @operation("GET", "/object")
    def object(self, collection: str, path: str) -> Any:
        """One object as YAML, its versions that are not compacted, its owners and its dependents."""
        store = self._steering.runner.apiserver.store
        served = self._served()
        entry = store.get(collection, path) if collection in served else None
        changes = [one for one in store.changes() if (one.collection, one.path) == (collection, path)]
        if entry is None and not changes:
            raise StatusError(404, "NotFound", f"there is no object {path!r} in {collection!r}")
        newest = entry or changes[-1].before
        last: Object = newest.object if newest is not None else {}
        shown = self._steering.read(served[collection], path) or last
        meta = {name: value for name, value in (shown.get("metadata") or {}).items() if name != "managedFields"}
        relatives = _Relatives(self._all(), {name: one.kind for name, one in served.items()})
        return {
            "yaml": yamlencoder.encode({**shown, "metadata": meta}).decode(), "exists": entry is not None,
            "versions": [_version(one) for one in changes],
            "owners": relatives.owners(last), "dependents": relatives.dependents(last),
        }  # fmt: skip

    @operation("GET", "/changes", content_type="text/event-stream")
    def changes(self) -> Any:
        """Server-sent events: each `change` of an object, with its row, and each `request`; `again` if some were
        left out because the client reads too slowly."""
        return Answered(200, b": changes\n\n", "text/event-stream", self._stream(), {"Cache-Control": "no-store"})

    async def _stream(self) -> AsyncGenerator[bytes, None]:
        runner = self._steering.runner
        queue: asyncio.Queue[bytes] = asyncio.Queue()

        def put(name: str, value: Any) -> None:
            if queue.qsize() < WAITING:
                queue.put_nowait(_event(name, value))
            elif queue.qsize() == WAITING:
                queue.put_nowait(_event("again", {}))

        def changed(change: Change) -> None:
            row = None if change.after is None else _row(change.path, change.after.object)
            put("change", {"collection": change.collection, "path": change.path, "row": row})

        began = self._steering.clock.epoch.timestamp()
        ends = [
            runner.on_write(changed),
            runner.on_request(lambda record: put("request", journal.shown(record, began))),
        ]
        restored = _event("again", {})
        runner.restored.append(follow := lambda: queue.put_nowait(restored))
        try:
            while True:
                parts = [await queue.get()]
                while not queue.empty():  # one write for what has happened at once
                    parts.append(queue.get_nowait())
                yield b"".join(parts)
        finally:
            for end in ends:
                end()
            runner.restored.remove(follow)

    def _served(self) -> Mapping[str, Resource]:
        """The resource of each collection, in its first version."""
        found: dict[str, Resource] = {}
        for one in self._steering.runner.apiserver.catalog.resources():
            if "list" in one.verbs:
                found.setdefault(one.collection, one)
        return found

    def _all(self) -> Mapping[Place, Entry]:
        store = self._steering.runner.apiserver.store
        return {(name, path): entry for name, path, entry in store.entries()}


class _Relatives:
    """The owners and dependents among objects."""

    def __init__(self, entries: Mapping[Place, Entry], kinds: Mapping[str, str]) -> None:
        self._kinds = kinds
        self._by_uid: dict[str, tuple[Place, Object]] = {}
        self._owned: dict[str, list[tuple[Place, Object]]] = defaultdict(list)
        for place, entry in entries.items():
            obj = entry.object
            meta = obj.get("metadata") or {}
            self._by_uid[meta.get("uid", "")] = place, obj
            for owner in meta.get("ownerReferences") or ():
                self._owned[owner.get("uid", "")].append((place, obj))

    def _named(self, place: Place, obj: Object) -> Object:
        kind, name = self._kinds.get(place[0], place[0]), (obj.get("metadata") or {}).get("name", "")
        return {"kind": kind, "name": name, "collection": place[0], "path": place[1]}

    def owners(self, obj: Object) -> list[Object]:
        """The owners, each with its own; `exists`: whether it is there."""
        return self._owners(obj, DEPTH)

    def _owners(self, obj: Object, depth: int) -> list[Object]:
        found = []
        for owner in ((obj.get("metadata") or {}).get("ownerReferences") or ()) if depth else ():
            known = self._by_uid.get(owner.get("uid", ""))
            if known is None:
                found.append({"kind": owner.get("kind", ""), "name": owner.get("name", ""), "exists": False})
            else:
                found.append({**self._named(*known), "exists": True, "owners": self._owners(known[1], depth - 1)})
        return found

    def dependents(self, obj: Object) -> list[Object]:
        """What has the object as an owner, each with its own dependents."""
        return self._dependents((obj.get("metadata") or {}).get("uid", ""), DEPTH)

    def _dependents(self, uid: str, depth: int) -> list[Object]:
        return [
            {
                **self._named(place, obj),
                "dependents": self._dependents((obj.get("metadata") or {}).get("uid", ""), depth - 1),
            }
            for place, obj in (self._owned.get(uid, ()) if uid and depth else ())
        ]


def _row(path: str, obj: Object) -> list[str]:
    meta, status = obj.get("metadata") or {}, obj.get("status")
    phase = status.get("phase", "") if isinstance(status, dict) else ""
    going = "Terminating" if meta.get("deletionTimestamp") else ""
    return [path, meta.get("creationTimestamp") or "", going or (phase if isinstance(phase, str) else "")]


def _version(change: Change) -> Object:
    before, after = (None if one is None else one.object for one in (change.before, change.after))
    return {"revision": str(change.revision), "verb": _verb(change), "object": after, "before": before}


def _verb(change: Change) -> str:
    return "create" if change.before is None else "delete" if change.after is None else "update"


def _event(name: str, value: Any) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(value) + b"\n\n"
