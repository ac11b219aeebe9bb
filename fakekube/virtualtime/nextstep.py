"""What a quiescent bubble does next: hold a round of the gate, wake the test, move time, or give up."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenGate:
    """Let the queues hand out what this instant put into them, and settle again."""


@dataclass(frozen=True, slots=True)
class Wake:
    """Somebody waits for this instant to be quiet."""


@dataclass(frozen=True, slots=True)
class Jump:
    """Nothing more happens now; the next thing happens at `us`."""

    us: int


@dataclass(frozen=True, slots=True)
class Deadlocked:
    """Nothing will ever happen again."""


Step = OpenGate | Wake | Jump | Deadlocked

OPEN_GATE, WAKE, DEADLOCKED = OpenGate(), Wake(), Deadlocked()


def next_step(now: int, *, timer: int | None, goal: int | None, round_due: bool) -> Step:
    """Decide what follows quiescence at `now` (all times in microseconds).

    `timer` is when the next timer fires. `goal` is the nearest instant that `settle` (goal = now) or `advance`
    wait for; None when nobody does, which means that the test itself is blocked and time may run.
    `round_due`: the gate is shut, and has not been open since this instant became quiet or something new was told.
    """
    if round_due:
        return OPEN_GATE
    if goal is not None and goal <= now:
        return WAKE
    if timer is None:
        return DEADLOCKED if goal is None else Jump(goal)
    return Jump(timer if goal is None else min(timer, goal))
