"""Detects operators that record more Events of an object than anybody reads."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.harness.detectors.detector import Exchange, Scene, meta_of
from fakekube.harness.detectors.levels import Level

#: Events of one object within the seconds after which a cluster deletes them (kube-apiserver `--event-ttl`).
LIMIT = 1000
LIFETIME = 3600.0


class EventFloods:
    """A thousand Events of one object within an hour, by one program.

    client-go's recorder sends at most 25 and then one in five minutes; each of them is an object of etcd for an hour.
    """

    levels: Mapping[str, Level] = {"event-flood": "warn"}
    creates: frozenset[str] = frozenset({"events"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the program and the object: when the first Event was recorded, and the number since
        self._counts: dict[tuple[str, str, str, str], tuple[float, int]] = {}

    def created(self, exchange: Exchange) -> None:
        record = exchange.record
        body = exchange.body()
        about = (body.get("involvedObject") or body.get("regarding")) if isinstance(body, Mapping) else None
        if not isinstance(about, Mapping):
            return
        kind, name = str(about.get("kind", "")), str(about.get("name", ""))
        place = (exchange.program, kind, str(about.get("namespace", "")), name)
        began, times = self._counts.get(place, (record.at, 0))
        if record.at >= began + LIFETIME:
            began, times = record.at, 0
        self._counts[place] = began, times + 1
        if times + 1 == LIMIT:
            reason = body.get("reason", "") or meta_of(body).get("name", "")
            self._scene.report(
                "event-flood",
                f"has recorded {LIMIT} Events of {kind} {name} within {record.at - began:g} s, the last with the "
                f"reason {reason}{exchange.within}: a cluster keeps each of them for an hour; record what has changed, "
                "or use a recorder that counts equal Events",
                who=exchange.who,
                key=place,
            )

    def finish(self) -> None:
        """Nothing is left to report."""


DETECTORS = (EventFloods,)
