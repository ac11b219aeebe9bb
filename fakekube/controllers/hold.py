"""A gate in front of the work queue of one controller, which a test closes to hold it or to step it."""

from __future__ import annotations

from collections.abc import Callable

from controllerlib.workqueue import Gate


class HoldGate:
    """Hands out items if it is not held, or if it has a permit, and if the gate behind it is open.

    Implements `controllerlib.workqueue.Gate`.
    """

    def __init__(self, behind: Gate | None = None) -> None:
        self._behind = behind
        self._listeners: list[Callable[[], object]] = []
        self._permits = 0
        self.held: bool = False

    def hold(self) -> None:
        """Hand out no further items."""
        self.held, self._permits = True, 0

    def release(self) -> None:
        """Hand out items again."""
        self.held = False
        self._opened()

    def permit(self) -> None:
        """Hand out one item although it is held."""
        self._permits += 1
        self._opened()

    def withdraw(self) -> bool:
        """Take back the permits that were not used; returns whether there were any."""
        unused, self._permits = self._permits > 0, 0
        return unused

    def is_open(self) -> bool:
        return self._passes() and (self._behind is None or self._behind.is_open())

    def taken(self) -> None:
        if self.held:
            self._permits -= 1
        if self._behind is not None:
            self._behind.taken()

    def add_listener(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` when both gates are open; see Gate."""
        self._listeners.append(callback)
        drop = self._behind.add_listener(lambda: callback() if self._passes() else None) if self._behind else None

        def remove() -> None:
            if callback in self._listeners:
                self._listeners.remove(callback)
            if drop is not None:
                drop()

        return remove

    def _passes(self) -> bool:
        return not self.held or self._permits > 0

    def _opened(self) -> None:
        if self.is_open():
            for listener in tuple(self._listeners):
                listener()
