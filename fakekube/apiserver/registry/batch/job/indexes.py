"""Sets of completion indexes of a Job, as text: `1,3-5` (`validateIndexesFormat`)."""

from __future__ import annotations

import re

from fakekube.apiserver.wire.goprint import go_quote

_index = re.compile(r"[+-]?[0-9]+", re.ASCII)


class BadIndexes(Exception):
    """The text is not a valid set of indexes; the message is the API server's."""


def count_of(text: str, completions: int) -> int:
    """Returns the number of indexes. Raises BadIndexes."""
    last: int | None = None
    total = 0
    for part in text.split(",") if text else ():
        low, high = _interval(part, completions)
        if last is not None and last >= low:
            raise _not_increasing(last, low)
        total += high - low + 1
        last = high
    return total


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """Returns the first index that is in both sets, in the API server's order of search; None if there is none."""
    if not completed or not failed:
        return None
    ours, theirs = _readable(completed, completions), _readable(failed, completions)
    while ours and theirs:
        (low, high), (other_low, other_high) = ours[0], theirs[0]
        if low <= other_high and other_low <= high:
            return max(low, other_low)
        (ours if low <= other_low else theirs).pop(0)
    return None


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for part in text.split(","):
        try:
            found.append(_interval(part, completions))
        except BadIndexes:
            continue
    return found


def _interval(text: str, completions: int) -> tuple[int, int]:
    low, *more = text.split("-")
    if len(more) > 1:
        why = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise BadIndexes(f"the fragment {go_quote(text)} {why}")
    start = _number(low, completions)
    if not more:
        return start, start
    end = _number(more[0], completions)
    if start >= end:
        raise _not_increasing(start, end)
    return start, end


def _number(text: str, completions: int) -> int:
    if not _index.fullmatch(text):
        raise BadIndexes(f"cannot convert string to integer for index: {go_quote(text)}")
    if int(text) >= completions:
        raise BadIndexes(f"too large index: {go_quote(text)}")
    return int(text)


def _not_increasing(previous: int, current: int) -> BadIndexes:
    return BadIndexes(f"non-increasing order, previous: {previous}, current: {current}")
