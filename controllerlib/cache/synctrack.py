"""Trackers of whether an initial list has been handled (client-go: tools/cache/synctrack).

Both are DoneCheckers, which `controllerlib.cache.wait_for` accepts.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from controllerlib.tasks import OnceEvent

T = TypeVar("T", bound=Hashable)


class _Tracker:
    """Synced when the source has synced and nothing is in progress."""

    def __init__(self, upstream: OnceEvent | None, name: str) -> None:
        self.name = name
        self._upstream = False
        #: Set when it has synced.
        self.synced = OnceEvent()
        if upstream is not None:
            upstream.add_callback(self.upstream_has_synced)

    def upstream_has_synced(self) -> None:
        """Record that the source has synced: it has delivered the whole initial list."""
        self._upstream = True
        self._look()

    def has_synced(self) -> bool:
        """Return whether it has synced; never changes back."""
        return self.synced.is_set()

    def _is_idle(self) -> bool:
        raise NotImplementedError

    def _look(self) -> None:
        if self._upstream and self._is_idle():
            self.synced.set()


class SingleFileTracker(_Tracker):
    """For objects that are handled sequentially: synced when the source has synced and no object is in progress."""

    def __init__(self, upstream: OnceEvent | None = None, *, expected: int = 0, name: str = "") -> None:
        """`upstream` is set when the source has synced; without it `upstream_has_synced` must be called.

        `expected`: the number of objects that are in progress already.
        """
        self._open = expected
        super().__init__(upstream, name)

    def start(self, count: int = 1) -> None:
        """Record that `count` objects of the initial list will be handled."""
        self._open += count

    def finished(self) -> None:
        """Record that one object was handled. Raises RuntimeError if none was in progress."""
        if self._open == 0:
            raise RuntimeError(
                "synctrack: negative counter; this logic error means HasSynced may return incorrect value"
            )
        self._open -= 1
        self._look()

    def _is_idle(self) -> bool:
        return self._open == 0


class AsyncTracker(_Tracker, Generic[T]):
    """For keys that several workers handle: synced when the source has synced and no initial key is in progress.

    Finishing a key that was not started has no effect.
    """

    def __init__(self, upstream: OnceEvent | None = None, *, name: str = "") -> None:
        """For `upstream` see SingleFileTracker."""
        self._open: set[T] = set()
        super().__init__(upstream, name)

    def start(self, key: T) -> None:
        """Record that a key of the initial list will be handled."""
        self._open.add(key)

    def finished(self, key: T) -> None:
        """Record that a key was handled."""
        self._open.discard(key)
        self._look()

    def _is_idle(self) -> bool:
        return not self._open
