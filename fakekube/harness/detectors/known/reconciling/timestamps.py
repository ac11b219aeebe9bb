"""Detects operators that write the present time and are triggered by that write."""

from __future__ import annotations

from collections.abc import Mapping

from controllerlib.controller import Outcome
from fakekube.harness.detectors.detector import CHANGES, Doing, Scene, Sent, changed_leaves, meta_of, shown_path
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.presenttime import Field, is_kept, is_present, present_fields, texts_of
from fakekube.struct import Struct, field

Who = tuple[int, str, str]

#: How many writes of the present time are remembered.
REMEMBERED = 1000

#: Seconds within which no heartbeat is repeated, and writes within them that are none.
QUICK, QUICK_WRITES = 5.0, 2


class Suspect(Struct):
    """A key that has written the present time and was triggered by that at once.

    `at`: the time of the last write of the present time. `wrote`: the triggered reconcile has written it again.
    `quick`: how many reconciles have written nothing else although the last write was a few seconds ago.
    `probes`: the times at which a reconcile after the end of the test has written it.
    """

    doing: Doing
    path: str
    fields: tuple[Field, ...]
    at: float
    wrote: bool = False
    quick: int = 0
    probes: set[float] = field(default_factory=set)

    def text(self) -> str:
        """The finding."""
        fields = ", ".join(map(shown_path, self.fields))
        return (
            f"each reconcile of {self.doing.key} writes the present time to {fields} of {self.path}, and that write "
            "triggers the next one; it ends here only because virtual time stands still"
        )


class Stamped(Struct, frozen=True):
    """A write of the present time, which made the version `version`."""

    who: Who
    at: float
    path: str
    fields: tuple[Field, ...]


class TimestampLoops:
    """Two reconciles at the same instant write the same time, so that the second changes nothing and the loop ends.

    On a cluster time moves, and it never ends. Whether a reconcile always writes the time, or only when something has
    changed, shows at a later time: a later reconcile that does not write it clears the key; the keys that remain in
    `suspects` are to be reconciled twice more when the test has ended, a second apart. Those that then write nothing
    but the time, both times, are reported: a heartbeat waits for longer than a second.
    """

    levels: Mapping[str, Level] = {"timestamp-loop": "error"}
    calls: frozenset[str] = CHANGES

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the version that the write has made
        self._stamped: dict[str, Stamped] = {}
        self._echoes: dict[int, Stamped] = {}
        #: by the identity of the run: whether its writes of the time have changed nothing else
        self._runs: dict[int, bool] = {}
        self._cleared: set[Who] = set()
        self.suspects: dict[Who, Suspect] = {}
        self.is_probing: bool = False

    def _started(self, doing: Doing) -> None:
        if doing.who in self._cleared:
            return
        for cause in doing.run.causes:
            made = self._stamped.get(cause.resource_version)
            if made is not None and made.who == doing.who and made.at == doing.at:
                self._echoes[id(doing.run)] = made
                known = self.suspects.get(doing.who)
                if known is None or known.path != made.path:
                    self._scene.follow(finished=self._finished)
                    self.suspects[doing.who] = Suspect(doing, made.path, made.fields, doing.at)

    def called(self, doing: Doing, sent: Sent) -> None:
        if not 200 <= sent.code < 300:
            return
        fields = present_fields(sent.body, self._scene.now())
        if not fields:
            return
        path, version = sent.path, sent.after
        if sent.verb == "create":
            path = f"{path}/{meta_of(sent.answer).get('name', '')}"
        suspect = self.suspects.get(doing.who)
        if suspect is not None and suspect.path == path and any(one in fields for one in suspect.fields):
            alone = version in self._stamped or self._is_alone(path, version)
            self._runs[id(doing.run)] = alone and self._runs.get(id(doing.run), True)
            echo = self._echoes.get(id(doing.run))
            if (
                echo is not None
                and alone
                and any(one in suspect.fields and not is_kept(doing, sent.body, one) for one in fields)
            ):
                suspect.wrote = True
        self._scene.follow(started=self._started)
        self._stamped[version] = Stamped(doing.who, doing.at, path, fields)
        if len(self._stamped) > REMEMBERED:
            del self._stamped[next(iter(self._stamped))]

    def _is_alone(self, path: str, version: str) -> bool:
        """Whether the write that made a version has changed nothing but times."""
        place = self._scene.place(path)
        if place is None or not version.isdigit():
            return False
        collection = self._scene.store.collection(place[0])
        before, after = collection.at(place[1], int(version) - 1), collection.at(place[1], int(version))
        if before is None or after is None:
            return False
        text = texts_of(self._scene.now())
        return all(is_present(value, text) for _, value in changed_leaves(before.object, after.object))

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        alone = self._runs.pop(id(doing.run), None)
        self._echoes.pop(id(doing.run), None)
        suspect = self.suspects.get(doing.who)
        if suspect is None or outcome.error is not None:
            return
        if alone is not None:
            suspect.quick += alone and suspect.at < doing.at < suspect.at + QUICK
            suspect.at = doing.at
            if self.is_probing and alone:
                suspect.probes.add(doing.at)
        elif doing.at > suspect.at and not self.is_probing and not self._is_terminating(suspect):
            del self.suspects[doing.who]
            self._cleared.add(doing.who)

    def can_be_probed(self, suspect: Suspect) -> bool:
        """Whether the object still exists, so that a reconcile shows what it writes."""
        return not self._is_terminating(suspect)

    def _is_terminating(self, suspect: Suspect) -> bool:
        entries = [self._scene.entry(suspect.path)]
        if suspect.doing.run.controller in suspect.doing.operator.reconciled:
            entries.append(self._scene.reconciled(suspect.doing))
        return any(entry is None or "deletionTimestamp" in meta_of(entry.object) for entry in entries)

    def finish(self) -> None:
        for suspect in self.suspects.values():
            if self._is_terminating(suspect) and (suspect.wrote or suspect.quick >= QUICK_WRITES):
                self._report(suspect)  # it cannot be reconciled once more

    def judge(self) -> None:
        """Report the keys that both probes have found to write nothing but the present time."""
        for suspect in self.suspects.values():
            if len(suspect.probes) > 1:
                self._report(suspect)

    def _report(self, suspect: Suspect) -> None:
        self._scene.report("timestamp-loop", suspect.text(), who=suspect.doing.run.controller, key=id(suspect))


DETECTORS = (TimestampLoops,)
