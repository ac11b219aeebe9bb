"""Expectations: what a controller has written and its informers have not shown yet (`ControllerExpectations`).

A controller that counts pods in a cache that lacks the pods that it has just created would create them again. So it
notes how many creations and which deletions it expects, and does nothing until it has seen them.
"""

from __future__ import annotations

from collections.abc import Iterable

from controllerlib.clock import Clock
from fakekube.struct import Struct

#: Seconds after which expectations that were not met count no longer (controller.ExpectationsTimeout).
TIMEOUT = 300.0


class _Expected(Struct):
    since: float
    creations: int = 0
    deletions: int = 0
    #: The uids or names of the objects whose deletion is expected; None if deletions are only counted.
    keys: set[str] | None = None


class Expectations:
    """The expected creations and deletions of each controlling object, by its key `namespace/name`.

    Source: kubernetes, controller.UIDTrackingControllerExpectations.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected: dict[str, _Expected] = {}

    def satisfied(self, key: str) -> bool:
        """Whether everything that was expected has been seen, nothing was expected, or the expectation has expired."""
        expected = self._expected.get(key)
        if expected is None or (expected.creations <= 0 and expected.deletions <= 0):
            return True
        return self._clock.monotonic() - expected.since > TIMEOUT

    def expect_creations(self, key: str, number: int) -> None:
        """Expect `number` creations, and forget what was expected before."""
        self._expected[key] = _Expected(self._clock.monotonic(), creations=number)

    def expect_deletions(self, key: str, of: Iterable[str]) -> None:
        """Expect the deletions of the objects `of`, by uid or name, and forget what was expected before."""
        keys = set(of)
        self._expected[key] = _Expected(self._clock.monotonic(), deletions=len(keys), keys=keys)

    def expect(self, key: str, *, creations: int, deletions: int) -> None:
        """Expect creations and deletions that are counted only, and forget what was expected before."""
        self._expected[key] = _Expected(self._clock.monotonic(), creations, deletions)

    def creation_observed(self, key: str, number: int = 1) -> None:
        """A creation was seen, or `number` of them have failed."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations -= number

    def deletion_observed(self, key: str, of: str) -> None:
        """The deletion of an object was seen or has failed; one that was expected by name counts once."""
        expected = self._expected.get(key)
        if expected is None:
            return
        if expected.keys is None:
            expected.deletions -= 1
        elif of in expected.keys:
            expected.keys.remove(of)
            expected.deletions -= 1

    def forget(self, key: str) -> None:
        """Forget what is expected for a controlling object, which is gone."""
        self._expected.pop(key, None)
