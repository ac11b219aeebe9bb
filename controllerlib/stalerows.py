"""Heaps whose rows are not removed, but become stale: when such a heap is rebuilt."""


def is_mostly_stale(rows: int, live: int) -> bool:
    """Return whether a heap of `rows`, `live` of which are valid, should be rebuilt.

    A rebuild follows at least 64 changes, and three for each row that is valid, so that each change costs little.
    """
    return rows > 64 + 4 * live
