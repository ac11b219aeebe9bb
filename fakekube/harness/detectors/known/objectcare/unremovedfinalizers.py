"""Detects finalizers of programs without reconciles that nothing removes any more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from fakekube.apiserver.storage.store import Change, Entry
from fakekube.harness.detectors.detector import FAR, Exchange, Scene, meta_of
from fakekube.harness.detectors.levels import Level
from fakekube.server.clients import ClientProcess
from fakekube.struct import Struct

#: When kopf tries a handler again, in its annotations or in the status.
_DELAYED = re.compile(rb'delayed\\?":\s*\\?"([0-9T:.+Z-]+)')


class Held(Struct, frozen=True):
    """A finalizer, the request that has added it, and the process of its program."""

    exchange: Exchange
    finalizer: str
    process: ClientProcess


class UnremovedFinalizers:
    """Finalizers of clients without reconciles on objects that have been terminating for five minutes.

    Reported if the client still runs (it has an open watch, or has made other requests since the deletion), has made no
    request about the object for five minutes and does not wait for a retry: one of kopf, as far as the object has its
    progress.
    """

    levels: Mapping[str, Level] = {"unremoved-finalizer": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the object's collection and path
        self._held: dict[tuple[str, str], list[Held]] = {}

    def finalized(self, change: Change, exchange: Exchange) -> None:
        if change.after is None or exchange.doing is not None:
            return
        client = self._scene.runner.client
        process = next((one.process for one in self._scene.operators if one.process is client), None)
        if client is None or process is not None:
            return  # an operator of controllerlib: its runnables are not judged
        for finalizer in sorted(_finalizers(change.after) - _finalizers(change.before)):
            held = Held(exchange, finalizer, client)
            self._held.setdefault((change.collection, change.path), []).append(held)

    def finish(self) -> None:
        for place, all_held in self._held.items():
            entry = self._scene.store.get(*place)
            if entry is None or "deletionTimestamp" not in meta_of(entry.object):
                continue
            for held in all_held:
                if held.finalizer in _finalizers(entry) and self._is_forgotten(held, entry):
                    self._scene.report(
                        "unremoved-finalizer",
                        f"{place[0]} {place[1]} is being deleted since {meta_of(entry.object)['deletionTimestamp']} "
                        f"and keeps the finalizer {held.finalizer}, which this client has added "
                        f"({held.exchange.record}); it has made no request about the object for five minutes: remove "
                        "the finalizer when what it protects is cleaned up",
                        who=held.exchange.who,
                        key=(place, held.finalizer),
                    )

    def _is_forgotten(self, held: Held, entry: Entry) -> bool:
        """Whether the client runs and has done nothing about the object for five minutes, nor waits to do so."""
        now, seconds = self._scene.now(), self._scene.runner.clock.monotonic()
        age = (now - datetime.fromisoformat(str(meta_of(entry.object)["deletionTimestamp"]))).total_seconds()
        if age < FAR or held.process.fenced or held.process.ended:
            return False
        first, runs = held.exchange.record, self._watches(held.process)
        who = (first.user_agent, first.group, first.resource, first.namespace, entry.object["metadata"]["name"])
        for one in reversed(self._scene.runner.log):
            if one.at < seconds - age:
                break
            runs = runs or one.user_agent == first.user_agent
            if one.at >= seconds - FAR and (one.user_agent, one.group, one.resource, one.namespace, one.name) == who:
                return False
        return runs and not any(datetime.fromisoformat(until) > now for until in _delays(entry.object))

    def _watches(self, process: ClientProcess) -> bool:
        """Whether a process has an open watch."""
        return any(watch.client is not None and watch.client[1] is process for watch in self._scene.runner.watches)

    def retire(self) -> None:
        self._held.clear()


def _finalizers(entry: Entry | None) -> frozenset[str]:
    return frozenset(meta_of(entry.object).get("finalizers") or ()) if entry is not None else frozenset()


def _delays(obj: Mapping[str, Any]) -> list[str]:
    """The times of retries in the annotations and the status of an object."""
    kept = orjson.dumps([meta_of(obj).get("annotations"), obj.get("status")])
    return [found.decode() if found[-6:-5] in b"+-Z" or found.endswith(b"Z") else f"{found.decode()}+00:00"
            for found in _DELAYED.findall(kept)]  # fmt: skip


DETECTORS = (UnremovedFinalizers,)
