"""Detects lists of which only the first page is read."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.response import StoredList
from fakekube.harness.detectors.detector import Exchange, Scene
from fakekube.harness.detectors.levels import Level


class PartialLists:
    """Lists with `limit` whose answer was cut off, by a program that never reads on with `continue`.

    A limit of one asks whether there is any object. A program that has read on once knows how, and may have found what
    it was looking for.
    """

    levels: Mapping[str, Level] = {"partial-list": "warn"}
    verbs: frozenset[str] = frozenset({"list"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the program and the path: what was cut off, for the text
        self._cut: dict[tuple[str, str], tuple[Exchange, str, int]] = {}
        self._continued: set[tuple[str, str]] = set()

    def answered(self, exchange: Exchange) -> None:
        request = exchange.request
        if not request.query:
            return
        place = (exchange.program, exchange.record.path)
        if request.option("continue"):
            self._continued.add(place)
            return
        limit, body = request.option("limit"), exchange.response.body
        if limit and limit != "1" and isinstance(body, StoredList) and body.metadata.get("continue"):
            self._cut[place] = exchange, limit, body.metadata.get("remainingItemCount", 0)

    def finish(self) -> None:
        for place, (exchange, limit, more) in self._cut.items():
            if place not in self._continued:
                self._scene.report(
                    "partial-list",
                    f"lists {exchange.record.path} with limit={limit} and never reads on with the `continue` of the "
                    f"answer{f': {more} objects were left out' if more else ''}{exchange.within}; read all pages, or "
                    "list without a limit",
                    who=exchange.who,
                    key=place,
                )

    def retire(self) -> None:
        self._cut.clear()


DETECTORS = (PartialLists,)
