"""Callbacks that are called when something has changed."""

from collections.abc import Callable


class Notifier:
    """Calls its listeners, in the order in which they were added."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []

    def add(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def discard(self, listener: Callable[[], None]) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)

    def is_awaited(self) -> bool:
        return bool(self._listeners)

    def notify(self) -> None:
        if self._listeners:
            for listener in tuple(self._listeners):
                listener()
