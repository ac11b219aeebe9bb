"""Detects reconciles that fail: for ever, by a bug, or until they are retried."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from controllerlib import ApiError
from controllerlib.controller import Outcome, RecoveredPanic
from fakekube.harness.detectors.detector import Doing, Observed, Scene
from fakekube.harness.detectors.levels import Level
from fakekube.harness.detectors.texts.places import shown_error
from fakekube.harness.unhandled import ends_the_operator
from fakekube.struct import Struct, field

#: Conflicts in a row after which an operator does not just repeat a write that lost a race.
CONFLICTS = 3


#: The message of a request that the authorizer denies.
_DENIED = re.compile(r'User "([^"]+)" cannot ')


class Failure(Struct):
    """One kind of error of a key, with the text of the first one."""

    text: str
    is_bug: bool
    is_conflict: bool
    denied: str = ""
    """The user whom RBAC has denied the request."""
    times: int = 1

    def __str__(self) -> str:
        return f"{self.text} ({self.times} times)" if self.times > 1 else self.text


class Failures(Struct):
    """The failures of one key since it last succeeded, by the kind of the error: its type and, of an answer, its code.

    was_live: whether the object existed and was not being deleted at the last failure. is_live: the same, when the last
    reconcile started.
    """

    operator: Observed
    controller: str
    key: str
    kinds: dict[tuple[str, int], Failure] = field(default_factory=dict)
    was_live: bool = False
    is_live: bool = False

    def add(self, doing: Doing, error: BaseException) -> None:
        """Count a failure of a reconcile."""
        code = error.code if isinstance(error, ApiError) else 0
        kind = (type(_cause(error)).__name__, code)
        known = self.kinds.get(kind)
        if known is not None:
            known.times += 1
            return
        denied = _DENIED.search(str(error)) if code == 403 else None
        self.kinds[kind] = Failure(
            f"{doing} failed with {shown_error(error)}",
            isinstance(error, RecoveredPanic),
            code == 409,
            denied[1] if denied is not None else "",
        )


class ReconcileErrors:
    """Reports keys whose last reconcile failed, bugs, and (`retried-error`) failures that a retry has repaired.

    A reconcile of a deleted object repairs nothing that failed while it existed.
    Not reported: what happened while a fault affected the reconcile, conflicts that a retry has repaired, errors
    of controllers whose errors or results the test has read, and denied requests of users whose permissions it has
    compared.
    """

    levels: Mapping[str, Level] = {"reconcile-error": "error", "retried-error": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._failing: dict[tuple[int, str, str], Failures] = {}
        self._repaired: list[Failures] = []
        self._abandoned: list[Failures] = []

    def _started(self, doing: Doing) -> None:
        if (known := self._failing.get(doing.who)) is not None:
            known.is_live = self._is_live(doing)

    def _is_live(self, doing: Doing) -> bool:
        entry = self._scene.reconciled(doing)
        return entry is not None and "deletionTimestamp" not in entry.object["metadata"]

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        if outcome.error is None and (over := self._failing.pop(doing.who, None)) is not None:
            (self._abandoned if over.was_live and not over.is_live else self._repaired).append(over)

    def failed(self, doing: Doing, error: BaseException) -> None:
        if ends_the_operator(error) or (self._scene.faults and self._scene.fault_hits() > doing.faults):
            return
        known = self._failing.get(doing.who)
        if known is None:
            self._scene.follow(started=self._started, finished=self._finished)
            known = self._failing[doing.who] = Failures(doing.operator, doing.inspected_as, doing.key)
        known.add(doing, error)
        known.was_live = self._is_live(doing)

    def finish(self) -> None:
        for failures in self._failing.values():
            for failure in self._unseen(failures):
                few = failure.is_conflict and failure.times < CONFLICTS
                if not few and not failures.operator.process.fenced:
                    self._scene.report("reconcile-error", f"{failure}, and has not succeeded since")
        for failures in self._abandoned:
            for failure in self._unseen(failures):
                if not failure.is_conflict:
                    self._scene.report(
                        "reconcile-error", f"{failure}, and had not succeeded when {failures.key} was deleted"
                    )
        for failures in self._repaired:
            for failure in self._unseen(failures):
                if failure.is_bug:
                    self._scene.report("reconcile-error", f"{failure}, which is a bug although a retry succeeded")
                elif not failure.is_conflict:
                    self._scene.report("retried-error", f"{failure}, then succeeded")

    def _unseen(self, failures: Failures) -> Iterator[Failure]:
        """The failures that the test has not read itself."""
        inspected = self._scene.inspected()
        if failures.controller not in inspected:
            yield from (one for one in failures.kinds.values() if one.denied not in inspected)


def _cause(error: BaseException) -> BaseException:
    """The exception that controllerlib has recovered, or the error itself."""
    return error.__cause__ if isinstance(error, RecoveredPanic) and error.__cause__ is not None else error


DETECTORS = (ReconcileErrors,)
