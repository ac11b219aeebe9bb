"""Detects reconciles that fail: for ever, by a bug, or until they are retried."""

from __future__ import annotations

import re
from dataclasses import dataclass

from controllerlib import ApiError
from controllerlib.controller import Outcome, RecoveredPanic
from fakekube.harness.detectors.detector import Doing, Observed, Scene
from fakekube.harness.detectors.texts.places import shown_error
from fakekube.harness.unhandled import ends_the_operator

#: Conflicts in a row after which an operator does not just repeat a write that lost a race.
CONFLICTS = 3


#: The message of a request that the authorizer denies.
_DENIED = re.compile(r'User "([^"]+)" cannot ')


@dataclass(slots=True)
class Failures:
    """The failures of one key since it last succeeded."""

    operator: Observed
    controller: str
    key: str
    text: str
    times: int
    is_bug: bool
    is_conflict: bool
    denied: str = ""
    """The user whom RBAC has denied the request."""
    #: whether the object existed and was not being deleted at the last failure, and when the last reconcile started
    was_live: bool = False
    is_live: bool = False

    def __str__(self) -> str:
        return f"{self.text} ({self.times} times)" if self.times > 1 else self.text


class ReconcileErrors:
    """Reports keys whose last reconcile failed, bugs, and (`retried-error`) failures that a retry has repaired.

    A reconcile of a deleted object repairs nothing that failed while it existed.
    Not reported: what happened while a fault affected the reconcile, conflicts that a retry has repaired, errors
    of controllers whose errors or results the test has read, and denied requests of users whose permissions it has
    compared.
    """

    names: tuple[str, ...] = ("reconcile-error", "retried-error")

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._failing: dict[tuple[int, str, str], Failures] = {}
        self._repaired: list[Failures] = []
        self._abandoned: list[Failures] = []

    def started(self, doing: Doing) -> None:
        if self._failing and (known := self._failing.get(doing.who)) is not None:
            known.is_live = self._is_live(doing)

    def _is_live(self, doing: Doing) -> bool:
        entry = self._scene.reconciled(doing)
        return entry is not None and "deletionTimestamp" not in entry.object["metadata"]

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        error, who = outcome.error, doing.who
        if error is None:
            if self._failing and (over := self._failing.pop(who, None)) is not None and not over.is_conflict:
                (self._abandoned if over.was_live and not over.is_live else self._repaired).append(over)
            return
        if ends_the_operator(error) or (self._scene.faults and self._scene.fault_hits() > doing.faults):
            return
        known = self._failing.get(who)
        if known is not None:
            known.times += 1
            known.was_live = self._is_live(doing)
            return
        text = f"{doing} failed with {shown_error(error)}"
        conflict = isinstance(error, ApiError) and error.code == 409
        bug = isinstance(error, RecoveredPanic)
        denied = _DENIED.search(str(error)) if isinstance(error, ApiError) and error.code == 403 else None
        user = denied[1] if denied is not None else ""
        self._failing[who] = Failures(
            doing.operator, doing.inspected_as, doing.key, text, 1, bug, conflict, user, self._is_live(doing)
        )

    def finish(self) -> None:
        inspected = self._scene.inspected()
        for failures in self._failing.values():
            few = failures.is_conflict and failures.times < CONFLICTS
            seen = failures.controller in inspected or failures.denied in inspected
            if not seen and not few and not failures.operator.is_killed:
                self._scene.report("reconcile-error", f"{failures}, and has not succeeded since")
        for failures in self._abandoned:
            if failures.controller not in inspected and failures.denied not in inspected:
                self._scene.report(
                    "reconcile-error", f"{failures}, and had not succeeded when {failures.key} was deleted"
                )
        for failures in self._repaired:
            if failures.controller in inspected or failures.denied in inspected:
                continue
            if failures.is_bug:
                self._scene.report("reconcile-error", f"{failures}, which is a bug although a retry succeeded")
            else:
                self._scene.report("retried-error", f"{failures}, then succeeded")
