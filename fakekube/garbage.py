"""Collections of garbage (`gc`), which look at what is no garbage, too: all modules, and whatever a test has made."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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


def leave_out_what_is_loaded() -> None:
    """Keep collections from looking at what exists now, once in a process: modules and tests are not garbage."""
    if not gc.get_freeze_count():
        gc.freeze()
