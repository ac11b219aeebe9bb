"""Shows at which run an exploration is, if it takes long."""

from __future__ import annotations

from collections.abc import Callable

from fakekube.simulation.plan import Plan
from fakekube.simulation.results.runnumber import run_of

#: The real seconds after which there is a line, and between two of them.
SECONDS = 5.0

#: The same with `-v`; with `-vv` each run has a line.
VERBOSE = 1.0


class StatusLine:
    """Writes lines like `run 34 of 200: crash@create cm/a#1`.

    write: writes a line. now: real seconds. runs: the budget. verbosity: that of pytest.
    """

    def __init__(
        self, write: Callable[[str], None], now: Callable[[], float], name: str, runs: int, verbosity: int = 0
    ) -> None:
        self._write, self._now, self._name = write, now, name
        self._runs = runs
        self._interval = SECONDS if verbosity < 1 else VERBOSE if verbosity < 2 else 0.0
        self._last = now()
        self._run = ""

    def begins(self, number: int, plan: Plan) -> None:
        """A run begins."""
        what = " + ".join(map(str, plan.atoms)) or "without faults"
        self._run = f"run {run_of(number, self._runs)}: {what}"
        if self._now() - self._last >= self._interval:
            self._last = self._now()
            self._write(f"{self._name} {self._run}")

    def interrupted(self) -> None:
        """The exploration was interrupted."""
        if self._run:
            self._write(f"{self._name} interrupted in {self._run}")
