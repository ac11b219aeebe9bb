"""A trial of a mutant: the tests run on a copy of the tree, in which one file is changed."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from tests.mutation.mutants import Mutant

#: What the copy does without: what git ignores, and git itself.
LEFT_OUT = (
    ".git",
    ".venv",
    ".venvs",
    ".mutation",
    ".hypothesis",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".benchmarks",
    ".site",
)

#: Bytes of memory that a run may use. A mutant may allocate without end.
MEMORY = 8 << 30

#: Seconds that a run may take to start, and for each second that its tests took when the map was made.
START, FACTOR = 60.0, 5

PASSED, FAILED = 0, 1

_FIRST_FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.M)


class Verdict(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"
    UNREACHED = "unreached"  # no test runs it: a survivor
    EQUIVALENT = "equivalent"
    UNTRIED = "untried"  # its tests do not run without it either


class Outcome(NamedTuple):
    """The verdict of a run, and the test that failed first."""

    verdict: Verdict
    killer: str = ""


class Tree:
    """A copy of the tree in which mutants are tried one at a time. The original is never changed."""

    def __init__(self, root: Path, copy: Path, start: float = START) -> None:
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
        self._copy, self._start = copy, start
        self._tried = 0

    def try_mutant(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> Outcome:
        """Runs the tests with the mutant until one fails. `seconds` is what they take without it."""
        path = self._copy / mutant.file
        source, times = path.read_text(), path.stat()
        try:
            path.write_text(mutant.applied(source))
            # another time than that of the original and of other mutants: what Python has compiled of them does not count
            self._tried += 1
            os.utime(path, (times.st_atime, times.st_mtime + 10 * self._tried))
            outcome = self.run(tests, seconds)
        finally:
            path.write_text(source)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        if (
            outcome.verdict is Verdict.KILLED and not outcome.killer
        ):  # nothing ran: the mutant is not importable, or the names are wrong
            return outcome if self.run(tests[:1], seconds).verdict is Verdict.SURVIVED else Outcome(Verdict.UNTRIED)
        return outcome

    def run(self, tests: Sequence[str], seconds: float, *, until_failure: bool = True) -> Outcome:
        """Runs the tests on the copy as it is. Survived: all have passed."""
        options = ["-q", "--tb=no", "-rfE", "-pno:cacheprovider", "-pno:xdist", *(["-x"] if until_failure else [])]
        environment = {**os.environ, "PYTHONPATH": str(self._copy)}
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=self._copy,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=_limit_memory,
        )
        try:
            output, _ = process.communicate(timeout=self._start + FACTOR * seconds)
        except subprocess.TimeoutExpired:
            return Outcome(Verdict.TIMED_OUT)
        finally:
            _end(process)
        if process.returncode == PASSED:
            return Outcome(Verdict.SURVIVED)
        return Outcome(Verdict.KILLED, "\n".join(_FIRST_FAILURE.findall(output)))

    def failing(self, tests: Sequence[str], seconds: float) -> set[str]:
        """Those of the tests that fail in the copy without any mutant."""
        return set(self.run(tests, seconds, until_failure=False).killer.splitlines()) if tests else set()


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _end(process: "subprocess.Popen[str]") -> None:
    """Ends the run and what it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()
