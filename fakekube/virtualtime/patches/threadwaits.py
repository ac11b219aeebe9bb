"""What a thread of the bubble waits for, if nothing but another thread or a task can end its wait."""

import sys
import threading
from types import FrameType

from fakekube.struct import Struct
from fakekube.virtualtime.patches.locks import Lock
from fakekube.virtualtime.threads.bubblethread import BubbleThread, State
from fakekube.virtualtime.threads.callers import caller

#: What a thread says where it waits for another thread, not for a connection or a moment.
_FOR_OTHERS = ("waiting for a lock", "waiting for a queue", "waiting for an event", "waiting for the end of")

#: Modules whose objects threads wait for.
_PRIMITIVES = ("threading", "queue", "concurrent.futures._base", "fakekube.virtualtime.patches.locks")


class ThreadWait(Struct, frozen=True):
    """A wait without a timeout. what, place: for a text. objects: the lock, event, queue or future.

    owner: the identifier of the thread that holds the lock; 0 if it is none, or no lock.
    """

    what: str
    place: str
    objects: tuple[object, ...]
    owner: int = 0

    @property
    def is_lock(self) -> bool:
        return any(isinstance(one, Lock) for one in self.objects)


def wait_of(thread: BubbleThread) -> ThreadWait | None:
    """What a thread waits for; None if it runs, or waits for a moment, a connection or something outside."""
    frame = _frame(thread)
    if frame is None or thread.state is not State.PARKED or thread.is_timed or not thread.where.startswith(_FOR_OTHERS):
        return None
    found: list[object] = []
    place = caller(frame)
    while frame is not None and frame.f_globals.get("__name__", "").startswith((*_PRIMITIVES, "fakekube.virtualtime")):
        owner = frame.f_locals.get("self", frame.f_locals.get("target", frame.f_locals.get("condition")))
        if type(owner).__module__.startswith(_PRIMITIVES) and owner is not thread.real:  # which runs the wait
            found.append(owner)
        frame = frame.f_back
    lock = next((one for one in found if isinstance(one, Lock)), None)
    what = thread.where.removeprefix("waiting for ")
    if lock is None and found:
        what = next((_named(one) for one in reversed(found)), what)
    return ThreadWait(what, str(place), tuple(found), 0 if lock is None else lock.owner)


def frames_of(thread: BubbleThread) -> list[FrameType]:
    """The frames of a parked thread, innermost first."""
    frame, found = _frame(thread), []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def _frame(thread: BubbleThread) -> FrameType | None:
    """The innermost frame of a thread that does not run."""
    if thread.state is not State.PARKED or thread.real is None or thread.real.ident is None:
        return None
    return sys._current_frames().get(thread.real.ident)


def _named(one: object) -> str:
    if isinstance(one, threading.Thread):
        return f"the end of {one.name}"
    kind = type(one)
    module = kind.__module__.removesuffix("._base")
    return f"a {module}.{kind.__name__}"
