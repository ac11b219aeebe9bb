"""Plans that have failed, kept in a file for each test: they are tried first until they have passed often enough.

A line is `PLAN  # passed N: WHAT FAILED`. The file may be committed, so that everybody tries them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fakekube.simulation.plan import Plan, parse_plan

#: After so many explorations in a row in which it passes, a plan is dropped.
PASSES = 3

#: At most so many plans are kept; the latest ones.
MOST = 100

_LINE = re.compile(r"(?P<plan>.*?)(?:\s+# passed (?P<passed>\d+)(?:: (?P<why>.*))?)?")


@dataclass(frozen=True, slots=True)
class Kept:
    """A plan that has failed, in how many explorations in a row it has passed since, and what failed."""

    plan: Plan
    passed: int = 0
    why: str = ""

    def __str__(self) -> str:
        return f"{self.plan}  # passed {self.passed}" + (f": {self.why}" if self.why else "")


def parse_kept(text: str) -> Sequence[Kept]:
    """The plans of a file. Empty lines and comments are left out. Raises ValueError naming the line and the reason."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line.strip())
        if match is None or not match["plan"] or match["plan"].startswith("#"):
            continue
        try:
            plan = parse_plan(match["plan"])
        except ValueError as error:
            raise ValueError(f"line {number}: {error}; correct the line, or remove it") from None
        found.append(Kept(plan, int(match["passed"] or 0), match["why"] or ""))
    return found


def updated(kept: Sequence[Kept], *, failed: Iterable[tuple[Plan, str]], passed: Iterable[Plan] = ()) -> Sequence[Kept]:
    """The plans that are kept after an exploration in which some plans have failed, and others have passed."""
    known = {str(one.plan): one for one in kept}
    for plan in passed:
        if (one := known.get(str(plan))) is not None:
            known[str(plan)] = replace(one, passed=one.passed + 1)
    for plan, why in failed:
        known.pop(str(plan), None)
        known[str(plan)] = Kept(plan, 0, why)
    return [one for one in known.values() if one.passed < PASSES][-MOST:]


class PlanStore:
    """The file of one test. It is made when a plan fails, and removed with its last plan."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def plans(self) -> Sequence[Plan]:
        """The plans that are tried first. Raises ValueError naming the file, the line and the reason."""
        return [one.plan for one in self._read()]

    def update(self, *, failed: Iterable[tuple[Plan, str]], passed: Iterable[Plan]) -> None:
        """Note the result of an exploration. A directory that cannot be written to keeps nothing."""
        with suppress(OSError, ValueError):  # a file that cannot be read any more stays as it is
            before = self._read()  # another worker may have written meanwhile
            after = updated(before, failed=failed, passed=passed)
            if after != before:
                self._write(after)

    def _read(self) -> Sequence[Kept]:
        try:
            return parse_kept(self._path.read_text(encoding="utf-8"))
        except OSError:
            return ()
        except ValueError as error:
            raise ValueError(f"{self._path}: {error}") from None

    def _write(self, kept: Sequence[Kept]) -> None:
        if not kept:
            self._path.unlink(missing_ok=True)
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        new.write_text("".join(f"{one}\n" for one in kept), encoding="utf-8")
        new.replace(self._path)
