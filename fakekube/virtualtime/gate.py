"""The gate of stepped mode: while it is shut, work queues hand nothing out."""

from collections.abc import Callable


class Gate:
    """A door between work queues and their workers.

    Stepped mode keeps it shut except while a quiescent bubble opens it for one round; so every watch event of an
    instant is in the queues, and coalesced there, before the first reconcile of that instant begins.
    """

    def __init__(self, *, is_open: bool = True) -> None:
        self._open = is_open
        self._listeners: list[Callable[[], None]] = []

    def is_open(self) -> bool:
        return self._open

    def add_listener(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` each time the gate opens; it must not block. Returns what ends that."""
        self._listeners.append(callback)
        return lambda: self.remove_listener(callback)

    def remove_listener(self, callback: Callable[[], None]) -> None:
        """Forget `callback`; not an error when it is not known (a queue may close twice)."""
        if callback in self._listeners:
            self._listeners.remove(callback)

    def open(self) -> None:
        if self._open:
            return
        self._open = True
        for listener in tuple(self._listeners):
            listener()

    def close(self) -> None:
        self._open = False

    def __repr__(self) -> str:
        return f"<Gate {'open' if self._open else 'shut'} listeners={len(self._listeners)}>"
