"""Two sequences of events aligned by what they are, not by when they happened: a line for each pair."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

#: Longer sequences are aligned without the elements that are frequent, for which the search takes quadratic time.
_LONG = 2_000

#: Lines that are shown before the first difference and from it on, and the width of the left column.
_BEFORE, _AFTER, _WIDTH = 3, 12, 58


class Line(NamedTuple):
    """The indices of an event on the left and on the right (None: there is none), and whether they are the same."""

    left: int | None
    right: int | None
    same: bool


def align(left: Sequence[Hashable], right: Sequence[Hashable]) -> Sequence[Line]:
    """The lines of two sequences of keys.

    What both begin with is always aligned, so that the first line that is not the same is the first difference.
    """
    equal = next(
        (at for at, (old, new) in enumerate(zip(left, right, strict=False)) if old != new), min(len(left), len(right))
    )
    lines = [Line(at, at, True) for at in range(equal)]
    frequent = max(len(left), len(right)) - equal > _LONG
    found = SequenceMatcher(None, left[equal:], right[equal:], autojunk=frequent)
    for tag, *spans in found.get_opcodes():
        lines += _lines(tag == "equal", *(equal + at for at in spans))
    return lines


def _lines(same: bool, start: int, end: int, other: int, other_end: int) -> Iterator[Line]:
    for step in range(max(end - start, other_end - other)):
        left, right = start + step, other + step
        yield Line(left if left < end else None, right if right < other_end else None, same)


def first_difference(lines: Sequence[Line]) -> int:
    """The number of the first line that is not the same; the number of lines if all are."""
    return next((at for at, line in enumerate(lines) if not line.same), len(lines))


def beside(
    lines: Sequence[Line], left: Sequence[str], right: Sequence[str], first: int, names: tuple[str, str], what: str
) -> Sequence[str]:
    """The texts of both sides beside each other, around the line `first`. `what`: the noun for lines left out."""
    start = max(0, first - _BEFORE)
    rows = [f"{names[0]:<{_WIDTH}} | {names[1]}"]
    if start:
        rows.append(f"{f'({start} equal {what})':<{_WIDTH}} |")
    for line in lines[start : first + _AFTER]:
        old = "" if line.left is None else left[line.left]
        new = "" if line.right is None else right[line.right]
        rows.append(f"{old[:_WIDTH]:<{_WIDTH}} {'|' if line.same else '≠'} {new}".rstrip())
    return rows
