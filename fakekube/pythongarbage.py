"""Collections of garbage (`gc`), which look at what is no garbage, too: all modules, and whatever a test has made."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: The thresholds of `gc.set_threshold` while a cluster is open; the usual ones are 700, 10 and 10.
SELDOM = (5_000, 20, 100)


@contextmanager
def no_collections() -> Iterator[None]:
    """Run no collection meanwhile, and therefore no finalizer of what only a cycle of references holds."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def starting() -> Iterator[None]:
    """Run no collection meanwhile, and keep later ones from looking at what was made: modules, a server's state."""
    with no_collections():
        yield
        leave_out_what_is_loaded()


def collect_seldom() -> Callable[[], None]:
    """Let more be made before collections look at it, and at all of it rarely, until the returned function is called.

    What a cluster stores and records is kept: with the usual thresholds, a test with thousands of objects spends a
    quarter of its time on looking at them.
    """
    before = gc.get_threshold()
    if not before[0]:
        return _nothing  # collections are off
    seldom = tuple(map(max, before, SELDOM))
    gc.set_threshold(*seldom)

    def undo() -> None:
        if gc.get_threshold() == seldom:
            gc.set_threshold(*before)

    return undo


def _nothing() -> None:
    pass


def leave_out_what_is_loaded() -> None:
    """Keep collections from looking at what exists now, once in a process: modules and tests are not garbage."""
    if not _left_out:
        _left_out.append(True)  # `gc.get_freeze_count` takes milliseconds: it walks through what is left out
        gc.freeze()


@contextmanager
def quick_collections() -> Iterator[None]:
    """Keep collections from looking at what was there before: runs that kill clients end with one."""
    if _left_out or gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


#: Whether this process leaves out what was loaded.
_left_out: list[bool] = []
