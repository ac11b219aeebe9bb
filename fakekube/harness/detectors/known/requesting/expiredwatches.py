"""Detects clients that watch from an expired resourceVersion again and again."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.harness.detectors.detector import Exchange, Scene
from fakekube.harness.detectors.levels import Level
from fakekube.struct import Struct
from fakekube.virtualtime.errors import HotLoop

#: Refused watches from the same resourceVersion, without a list between them, that are reported, and that are a loop if
#: time stands still.
LIMIT = 5
LOOP = 100


class Series(Struct):
    """Watches from one resourceVersion that were answered with 410, one after the other."""

    version: str
    began: float
    times: int = 0


class ExpiredWatches:
    """Watches that are answered with 410 Expired and are opened from the same resourceVersion again.

    No retry can help: the client has to list, and to watch from the resourceVersion of the list. A list or a watch that
    is accepted ends the series.
    """

    levels: Mapping[str, Level] = {"expired-watch": "error"}
    verbs: frozenset[str] = frozenset({"watch", "list"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the program and the resource
        self._series: dict[tuple[str, str, str], Series] = {}

    def answered(self, exchange: Exchange) -> None:
        record, watch = exchange.record, exchange.response.watch
        is_expired = record.verb == "watch" and (
            record.code == 410 or (watch is not None and watch.refused is not None and watch.refused.code == 410)
        )
        if not is_expired:
            if self._series:
                self._series.pop((exchange.program, record.group, record.resource), None)
            return
        place, version = (
            (exchange.program, record.group, record.resource),
            exchange.request.option("resourceVersion") or "",
        )
        series = self._series.get(place)
        if series is None or series.version != version:
            series = self._series[place] = Series(version, record.at)
        series.times += 1
        if series.times >= LIMIT:
            self._judge(exchange, series)

    def _judge(self, exchange: Exchange, series: Series) -> None:
        path, lasted = exchange.record.path, exchange.record.at - series.began
        text = (
            f"watches {path} from the expired resourceVersion {series.version} again and again ({series.times} times "
            f"within {lasted:g} s), and gets 410 each time: it never sees a change again; list anew, and watch from "
            "the resourceVersion of the list"
        )
        if series.times == LIMIT:
            self._scene.report("expired-watch", text, who=exchange.who, key=(exchange.program, path))
        elif series.times == LOOP and lasted == 0:
            self._scene.fail("expired-watch", HotLoop(f"{exchange.who} {text}"))

    def finish(self) -> None:
        """Nothing is left to report."""


DETECTORS = (ExpiredWatches,)
