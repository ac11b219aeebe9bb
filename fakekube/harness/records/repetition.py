"""Folds rows that repeat, as those of an object that fails again and again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Row = Sequence[str]

#: What differs between the attempts of one reconcile: its number, and when it is tried again.
_ATTEMPT = re.compile(r"#\d+\b|, again in [\d.]+ m?s")

#: The most rows of one repetition: the requests of an attempt, and its reconcile.
_LONGEST = 4

#: Repetitions that are shown at the beginning and at the end.
_FIRST, _LAST = 2, 1


def folded(rows: Sequence[Row]) -> list[Row]:
    """The rows, of which repetitions of the same few are replaced by a row that counts them."""
    texts = [(row[1], _ATTEMPT.sub("", row[2]), row[4]) for row in rows]
    found: list[Row] = []
    at = 0
    while at < len(rows):
        size, times = max(((size, _times(texts, at, size)) for size in range(1, _LONGEST + 1)), key=_length)
        hidden = times - _FIRST - _LAST
        if hidden * size < 2:
            found.append(rows[at])
            at += 1
            continue
        found += rows[at : at + _FIRST * size]
        found.append(("", "", f"({hidden * size} rows like these)", "", ""))
        found += rows[at + (times - _LAST) * size : at + times * size]
        at += times * size
    return found


def _times(texts: Sequence[object], at: int, size: int) -> int:
    """How often the rows from `at` on are repeated, with themselves."""
    return 1 + sum(1 for _ in _repetitions(texts, at, size))


def _repetitions(texts: Sequence[object], at: int, size: int) -> Iterator[int]:
    first = texts[at : at + size]
    for start in range(at + size, len(texts) - size + 1, size):
        if texts[start : start + size] != first:
            return
        yield start


def _length(found: tuple[int, int]) -> tuple[int, int]:
    """The most rows that are folded; of several the shortest repetition."""
    size, times = found
    return (times - _FIRST - _LAST) * size, -size
