"""The gate of stepped mode: while it is shut work queues hand nothing out, during a round watches stand still."""

from collections.abc import Callable


class Gate:
    """A door between work queues and their workers.

    Stepped mode keeps it shut except while a quiescent bubble opens it for a round; so every watch event of an
    instant is in the queues, and coalesced there, before the first reconcile of that instant begins. What the
    reconciles of a round write is told when all of them have come as far as they can: nobody hears of it sooner over
    one way to the server than over another. Then comes another round, until a round has nothing to tell. Within a round
    one after the other is let through: the next when those before have come as far as they can.
    """

    def __init__(self, *, is_open: bool = True) -> None:
        self._open = is_open
        self._listeners: tuple[Callable[[], object], ...] = ()
        self._resting: list[Callable[[], None]] = []
        #: whether it is open for a round
        self.in_round = False
        self._one_by_one = self._taken = self._comes = False

    def is_open(self) -> bool:
        return self._open

    def add_listener(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` each time the gate opens; it must not block. Returns what ends that.

        True says that somebody comes: in a round, others are not called before he has.
        """
        self._listeners += (callback,)
        return lambda: self.remove_listener(callback)

    def remove_listener(self, callback: Callable[[], object]) -> None:
        """Forget `callback`; not an error when it is not known (a queue may close twice)."""
        self._listeners = tuple(listener for listener in self._listeners if listener != callback)

    def open(self) -> None:
        if not self._open:
            self._open = True
            self._call()

    def _call(self) -> None:
        self._comes = False
        for listener in self._listeners:
            if listener() is True and self.in_round and self._one_by_one:
                self._comes = True
                return

    def close(self) -> None:
        self._open = False

    def taken(self) -> None:
        """Something was handed out: in a round the gate shuts behind it."""
        if self.in_round and self._one_by_one:
            self._taken = True
            self._open = False

    def begin_round(self, *, one_by_one: bool = True) -> None:
        self.in_round, self._one_by_one, self._taken = True, one_by_one, False
        self.open()

    def next_one(self) -> None:
        """Open it again for who comes next in this round, if it shut behind somebody, or he did not come after all."""
        if self._taken or self._comes:
            self._taken, self._open = False, True
            self._call()

    def end_round(self) -> bool:
        """Shut it, and call those who wait for that; whether there were any. Nothing outside a round."""
        if not self.in_round:
            return False
        self.in_round = False
        self.close()
        resting, self._resting = self._resting, []
        for callback in resting:
            callback()
        return bool(resting)

    def when_round_ends(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, when the round is over; it must not block."""
        self._resting.append(callback)

    def __repr__(self) -> str:
        return f"<Gate {'open' if self._open else 'shut'} listeners={len(self._listeners)}>"
