"""The gate of stepped mode: while it is closed, work queues hand out no items; during a round, watches are paused."""

from collections.abc import Callable


class Gate:
    """Stands between work queues and their workers.

    Stepped mode keeps the gate closed except for rounds, which it holds when the bubble is quiescent. So all watch
    events of an instant are queued, and deduplicated, before the first reconcile of that instant begins. Within a round
    one worker is let through at a time; the next follows when the bubble is quiescent again. Watches deliver what the
    round has written when it ends, so that the order does not depend on the transport. Rounds repeat until one writes
    nothing.
    """

    def __init__(self, *, is_open: bool = True) -> None:
        self._open = is_open
        self._listeners: tuple[Callable[[], object], ...] = ()
        self._round_end_callbacks: list[Callable[[], None]] = []
        #: whether it is open for a round
        self.in_round: bool = False
        #: whether a round lets one worker through at a time; an item was handed out; a listener has claimed its turn
        self._one_by_one = self._taken = self._claimed = False

    def is_open(self) -> bool:
        return self._open

    def add_listener(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` each time the gate opens; it must not block. Returns a function that removes it.

        If it returns True, it will take an item: in a round no other listener is called before that.
        """
        self._listeners += (callback,)
        return lambda: self.remove_listener(callback)

    def remove_listener(self, callback: Callable[[], object]) -> None:
        """Remove `callback`; an unknown one is not an error, as a queue may close twice."""
        self._listeners = tuple(listener for listener in self._listeners if listener != callback)

    def open(self) -> None:
        if not self._open:
            self._open = True
            self._call()

    def _call(self) -> None:
        self._claimed = False
        for listener in self._listeners:
            if listener() is True and self.in_round and self._one_by_one:
                self._claimed = True
                return

    def close(self) -> None:
        self._open = False

    def taken(self) -> None:
        """A work queue has handed out an item: in a round this closes the gate."""
        if self.in_round and self._one_by_one:
            self._taken = True
            self._open = False

    def begin_round(self, *, one_by_one: bool = True) -> None:
        self.in_round, self._one_by_one, self._taken = True, one_by_one, False
        self.open()

    def next_one(self) -> None:
        """Let the next worker of this round through, if one has taken an item or did not use its turn."""
        if self._taken or self._claimed:
            self._taken, self._open = False, True
            self._call()

    def end_round(self) -> bool:
        """Close the gate and run the callbacks of `when_round_ends`; returns whether there were any."""
        if not self.in_round:
            return False
        self.in_round = False
        self.close()
        callbacks, self._round_end_callbacks = self._round_end_callbacks, []
        for callback in callbacks:
            callback()
        return bool(callbacks)

    def when_round_ends(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, when the round ends; it must not block."""
        self._round_end_callbacks.append(callback)

    def __repr__(self) -> str:
        return f"<Gate {'open' if self._open else 'closed'} listeners={len(self._listeners)}>"
