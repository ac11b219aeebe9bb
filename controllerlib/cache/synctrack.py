"""Knowing when what was there at the beginning has been handled (client-go: tools/cache/synctrack).

Both trackers are `DoneChecker`s: `factory.wait_for` waits for them.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from controllerlib.tasks import OnceEvent

T = TypeVar("T", bound=Hashable)


class _Tracker:
    """Synced when the source is and nothing is under way."""

    def __init__(self, upstream: OnceEvent | None, name: str) -> None:
        self.name = name
        self._upstream = False
        #: set when it has synced
        self.synced = OnceEvent()
        if upstream is not None:
            upstream.add_callback(self.upstream_has_synced)

    def upstream_has_synced(self) -> None:
        """The source has synced: it has started all there are."""
        self._upstream = True
        self._look()

    def has_synced(self) -> bool:
        """Whether it has synced; once true, always true."""
        return self.synced.is_set()

    def _is_idle(self) -> bool:
        raise NotImplementedError

    def _look(self) -> None:
        if self._upstream and self._is_idle():
            self.synced.set()


class SingleFileTracker(_Tracker):
    """For events that are handled in order, one after the other: synced when the source is and nothing is under way."""

    def __init__(self, upstream: OnceEvent | None = None, *, expected: int = 0, name: str = "") -> None:
        """`upstream`: happens when the source has synced; without it somebody calls `upstream_has_synced`.

        `expected`: so many are under way already.
        """
        self._open = expected
        super().__init__(upstream, name)

    def start(self, count: int = 1) -> None:
        """So many objects of the initial list are about to be handled."""
        self._open += count

    def finished(self) -> None:
        """One was handled. Raises RuntimeError when none was under way."""
        if self._open == 0:
            raise RuntimeError(
                "synctrack: negative counter; this logic error means HasSynced may return incorrect value"
            )
        self._open -= 1
        self._look()

    def _is_idle(self) -> bool:
        return self._open == 0


class AsyncTracker(_Tracker, Generic[T]):
    """For keys that many workers handle: synced when the source is and no key of the initial list is under way.

    A key may be finished without ever having been started: that changes nothing.
    """

    def __init__(self, upstream: OnceEvent | None = None, *, name: str = "") -> None:
        """`upstream` as in SingleFileTracker."""
        self._open: set[T] = set()
        super().__init__(upstream, name)

    def start(self, key: T) -> None:
        """A key of the initial list is about to be handled."""
        self._open.add(key)

    def finished(self, key: T) -> None:
        """A key was handled."""
        self._open.discard(key)
        self._look()

    def _is_idle(self) -> bool:
        return not self._open
