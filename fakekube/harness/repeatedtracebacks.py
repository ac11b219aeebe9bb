"""Shortens captured logs: a traceback that is logged again and again is shown once, with the number of the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import controllerlib
from fakekube.struct import Struct, field

#: The folders of this package and of controllerlib, whose frames a log shows only if there are no others.
_OWN = tuple(f"{folder}/" for folder in (Path(controllerlib.__file__ or "").parent, Path(__file__).parents[1]))

_CHAINS = ("The above exception was the direct cause", "During handling of the above exception")

#: What the lines of other log records begin with, in pytest's format.
_LEVELS = ("CRITICAL ", "ERROR ", "WARNING ", "INFO ", "DEBUG ")

#: Characters of a message that a count shows.
_SHOWN = 160


class _First(Struct):
    """The first traceback of its kind. `at`: the line of the result after which its count belongs.

    head: the line before it, usually the message of the log record. rest: further lines of its exception's message.
    """

    head: str
    at: int
    rest: Sequence[str]
    others: int = 0
    heads: set[str] = field(default_factory=set)
    last: str = ""

    def __str__(self) -> str:
        times = f"{self.others:,} time{'s' if self.others > 1 else ''} more"
        if self.heads <= {self.head}:
            return f"(this traceback is logged {times})"
        return (
            f"(this traceback is logged {times}, with {len(self.heads | {self.head}):,} different messages; the last: "
            f"{self.last[:_SHOWN]})"
        )


def without_repetitions(text: str) -> str:
    """The text of a log, in which tracebacks with the same frames and types of exceptions are shown once.

    The line before a traceback is left out with it. Frames of this package are left out of the others.
    """
    lines = text.split("\n")
    found: dict[tuple[str, ...], _First] = {}
    kept: list[str] = []
    at = after = 0
    while at < len(lines):
        if not _is_start(lines[at]):
            kept.append(lines[at])
            at += 1
            continue
        end = _end(lines, at)
        block, head = lines[at:end], kept.pop() if at > after and kept[-1:] != [""] and kept else ""
        signature = tuple(map(_kind, block))
        first = found.get(signature)
        if first is None:
            kept += [head] if head else []
            kept += _without_own_frames(block)
            found[signature] = _First(head, len(kept), _rest(lines, end))
        else:
            end += _equal(first.rest, lines[end:])
            first.others, first.last = first.others + 1, head
            first.heads.add(head)
        at = after = end
    for first in sorted(found.values(), key=lambda one: -one.at):
        if first.others:
            place = first.at + len(first.rest)
            kept.insert(place if kept[first.at : place] == first.rest else first.at, str(first))
    return "\n".join(kept)


def _is_start(line: str) -> bool:
    return line.startswith("Traceback (most recent call last)") or "+ Exception Group Traceback (most rec" in line


def _end(lines: Sequence[str], at: int) -> int:
    """The line after a traceback, with those of the exceptions that it is chained to."""
    while True:
        is_group = "+ Exception Group" in lines[at]
        if _is_start(lines[at]):
            at += 1
            while at < len(lines) and lines[at].startswith("  "):
                at += 1
        if not is_group and at < len(lines) and lines[at]:
            at += 1  # the exception
        if not (at + 3 < len(lines) and lines[at] == lines[at + 2] == "" and lines[at + 1].startswith(_CHAINS)):
            return at
        at += 3


def _kind(line: str) -> str:
    """What a line of a traceback has in common with those of the same kind: an exception has its type."""
    if line.startswith(" ") and not line.lstrip().startswith("|"):
        return line if line.startswith('  File "') else ""
    return line if 'File "' in line else line.partition(":")[0]


def _rest(lines: Sequence[str], at: int) -> Sequence[str]:
    """The further lines of an exception's message."""
    end = at
    while end < len(lines) and lines[end] and not (lines[end].startswith(_LEVELS) or _is_start(lines[end])):
        if end + 1 < len(lines) and _is_start(lines[end + 1]):
            break  # the line before the next traceback
        end += 1
    return list(lines[at:end])


def _equal(rest: Sequence[str], lines: Sequence[str]) -> int:
    """The number of further lines that a repeated message has, if it is the same."""
    return len(rest) if rest and list(lines[: len(rest)]) == list(rest) else 0


def _without_own_frames(block: Sequence[str]) -> Sequence[str]:
    kept: list[str] = []
    code: str | None = None
    for line in block:
        if code is not None and line.startswith(code):
            continue
        before, is_frame, file = line.partition('File "')
        code = f"{before}  " if is_frame and file.startswith(_OWN) else None
        if code is None:
            kept.append(line)
    return kept if any('File "' in line for line in kept) else block
