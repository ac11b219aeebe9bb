"""Collections of garbage during an exploration, whose runs of killed clients end with one."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_collections() -> Iterator[None]:
    """Leave what was there before out of collections."""
    if gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
