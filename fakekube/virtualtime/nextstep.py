"""The rule for what follows quiescence: a round of the gate, waking the test, moving time, or a deadlock."""

from fakekube.struct import Struct


class OpenGate(Struct, frozen=True):
    """Open the gate for a round, so that work queues hand out their items; then settle again."""


class Wake(Struct, frozen=True):
    """Wake the test: it waits for quiescence at this instant."""


class Jump(Struct, frozen=True):
    """Move time to `us`, where the next thing happens."""

    us: int


class Deadlocked(Struct, frozen=True):
    """Nothing can ever happen again."""


Step = OpenGate | Wake | Jump | Deadlocked

OPEN_GATE, WAKE, DEADLOCKED = OpenGate(), Wake(), Deadlocked()


def next_step(now: int, *, timer: int | None, goal: int | None, round_due: bool) -> Step:
    """What follows quiescence at `now`; all times in microseconds.

    timer: when the next timer fires.
    goal: the nearest instant that `settle` (goal = now) or `advance` waits for; None if neither is called, which means
        that the test itself is blocked and time may advance.
    round_due: the gate is closed, and no round was held since this instant began or a watch delivered events.
    """
    if round_due:
        return OPEN_GATE
    if goal is not None and goal <= now:
        return WAKE
    if timer is None:
        return DEADLOCKED if goal is None else Jump(goal)
    return Jump(timer if goal is None else min(timer, goal))
