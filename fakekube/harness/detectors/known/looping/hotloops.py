"""Detects operators that trigger themselves: hot loops and slow ones."""

from __future__ import annotations

from collections.abc import Mapping

from controllerlib.controller import Outcome
from fakekube.harness.detectors.detector import CHANGES, SHORT, UPDATES, Doing, Scene, Sent
from fakekube.harness.detectors.levels import Level
from fakekube.struct import Struct, field
from fakekube.virtualtime.errors import HotLoop

#: Writes to one object in a chain of reconciles that trigger each other.
LIMIT = 100

#: The same, where the chain continues by retries and short requeues.
SLOW_LIMIT = 20

#: How many written versions are remembered.
REMEMBERED = 20_000

#: The causes that carry the object of an event.
EVENTS = frozenset({"added", "updated", "deleted"})


class Chain(Struct):
    """Reconciles of one key, each caused only by the writes of those before it.

    writes: their number by the path of the object. path, times: the object that was written most, and how often.
    """

    writes: dict[str, int] = field(default_factory=dict)
    path: str = ""
    times: int = 0
    events: int = 0

    def wrote(self, path: str) -> None:
        """Count a write."""
        times = self.writes[path] = self.writes.get(path, 0) + 1
        if times > self.times:
            self.path, self.times = path, times


class HotLoops:
    """Raises HotLoop in a controller whose reconcile writes an object again because of its own last write.

    A chain ends when anything else triggers the key. A chain that continues by retries and short requeues is reported
    at the end.
    """

    levels: Mapping[str, Level] = {"hot-loop": "error"}
    raises: bool = True
    calls: frozenset[str] = CHANGES | {"delete"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._chains: dict[tuple[int, str, str], Chain] = {}
        self._made: dict[str, tuple[int, str, str]] = {}
        #: the keys that were last requeued after a short time
        self._short: set[tuple[int, str, str]] = set()

    def _started(self, doing: Doing) -> None:
        who = doing.who
        chain = self._chains.get(who)
        if chain is None:
            return
        if not self._continues(doing):
            del self._chains[who]
            return
        if doing.run.causes and doing.run.causes[0].kind in EVENTS:
            chain.events += 1
        path, times = chain.path, chain.times
        if chain.events >= LIMIT and times >= LIMIT:
            causes = ", ".join(map(str, doing.run.causes))
            raise HotLoop(
                f"controller {doing.run.controller!r} has written {path} {times} times in reconciles of {doing.key} "
                f"that its own writes trigger, while nothing else changed; the last time because of: {causes}"
            )
        if times == SLOW_LIMIT and chain.events < SLOW_LIMIT // 2:
            self._report(doing, path, times)

    def _report(self, doing: Doing, path: str, times: int) -> None:
        text = f"has written {path} {times} times in reconciles of {doing.key}, while nothing else changed"
        self._scene.report("hot-loop", text, who=doing.run.controller, key=doing.who)

    def _continues(self, doing: Doing) -> bool:
        """Whether all causes are the controller's own writes to this key, retries or short requeues."""
        for cause in doing.run.causes:
            if cause.kind in EVENTS:
                if self._made.get(cause.resource_version) != doing.who:
                    return False
            elif cause.kind == "requeue_after":
                if doing.who not in self._short:
                    return False
            elif cause.kind not in ("retry", "requeue"):
                return False
        return True

    def called(self, doing: Doing, sent: Sent) -> None:
        version, known, who = sent.after, self._made, doing.who
        if not version or version in known or not 200 <= sent.code < 300:
            return
        known[version] = who
        if len(known) > REMEMBERED:
            del known[next(iter(known))]
        if sent.verb in UPDATES and version != sent.before:
            chain = self._chains.get(who)
            if chain is None:
                if not self._chains:  # otherwise it follows already
                    self._scene.follow(started=self._started)
                chain = self._chains[who] = Chain()
            chain.wrote(sent.path)

    def requeued(self, doing: Doing, outcome: Outcome) -> None:
        self._scene.follow(finished=self._finished)  # which is called for this reconcile, too

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        after = outcome.requeue_after
        if after is not None and after < SHORT:
            self._short.add(doing.who)
        else:
            self._short.discard(doing.who)

    def finish(self) -> None:
        """Nothing is left to report."""


DETECTORS = (HotLoops,)
