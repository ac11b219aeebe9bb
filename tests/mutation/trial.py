"""A trial of a mutant: the tests run on a copy of the tree, in which one file is changed."""

import json
import os
import re
import select
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

#: Plugins that a run does without, and a warning about what has been imported before it.
PLUGINS = ("-pno:cacheprovider", "-pno:xdist", "-Wignore::pytest.PytestAssertRewriteWarning")

#: What runs the tests.
WARM = Path(__file__).with_name("warm.py")

#: Bytes of memory that a run may use. A mutant may allocate without end.
MEMORY = 8 << 30

#: Seconds that a run may take to start, and for each second that its tests took when the map was made.
START, FACTOR = 60.0, 5

PASSED, FAILED = 0, 1

#: What pytest says of a name that no test has.
_NOT_FOUND = re.compile(r"^ERROR: (?:file or directory )?not found: (.+)$", re.M)

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
        self._output = copy.with_name(f"{copy.name}.output")
        self._tried = 0
        self._runs = subprocess.Popen(
            [sys.executable, "-P", str(WARM)],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # what is read must not hide the next line from `select`
        )
        self._unchanged()

    def close(self) -> None:
        """Ends the process that runs the tests."""
        self._runs.communicate()

    def try_mutant(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> Outcome:
        """Runs the tests with the mutant until one fails. `seconds` is what they take without it."""
        path = self._copy / mutant.file
        source, times = path.read_text(), path.stat()
        try:
            path.write_text(mutant.applied(source))
            # another time than that of the original and of other mutants: what Python has compiled of them does not count
            self._tried += 1
            os.utime(path, (times.st_atime, times.st_mtime + 10 * self._tried))
            outcome = self.run(tests, seconds, mutant.file)
        finally:
            path.write_text(source)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            self._unchanged()
        if (
            outcome.verdict is Verdict.KILLED and not outcome.killer
        ):  # nothing ran: the mutant is not importable, or a map that is not refreshed has tests that are gone
            if gone := self._missing(tests):
                left = [test for test in tests if test not in gone]
                return self.try_mutant(mutant, left, seconds) if left else Outcome(Verdict.UNTRIED)
            return outcome if self.run(tests[:1], seconds).verdict is Verdict.SURVIVED else Outcome(Verdict.UNTRIED)
        return outcome

    def _missing(self, tests: Sequence[str]) -> set[str]:
        """Those of the tests that do not exist, or another case of them; of several files that are gone, the first."""
        self.run(["--collect-only", *tests], self._start)
        found = _NOT_FOUND.findall(self._output.read_text(errors="replace"))
        gone = {name.removeprefix(f"{self._copy}{os.sep}").partition("[")[0] for name in found}
        return {test for test in tests if test.partition("[")[0] in gone}

    def run(self, tests: Sequence[str], seconds: float, changed: str = "", *, until_failure: bool = True) -> Outcome:
        """Runs the tests on the copy, of which a file has `changed`. Survived: all have passed."""
        options = ["-q", "--tb=no", "-rfE", *PLUGINS, *(["-x"] if until_failure else [])]
        order = {
            "arguments": [*options, *tests],
            "changed": changed,
            "output": str(self._output),
            "memory": MEMORY,
        }
        self._write(order)
        process = self._read()
        in_time, *_ = select.select([self._runs.stdout], [], [], self._start + FACTOR * seconds)
        _end(process)
        code = self._read()
        if not in_time:
            return Outcome(Verdict.TIMED_OUT)
        if code == PASSED:
            return Outcome(Verdict.SURVIVED)
        return Outcome(Verdict.KILLED, "\n".join(_FIRST_FAILURE.findall(self._output.read_text(errors="replace"))))

    def _unchanged(self) -> None:
        self._write({})
        self._read()

    def _write(self, order: dict[str, object]) -> None:
        assert self._runs.stdin
        self._runs.stdin.write(f"{json.dumps(order)}\n".encode())

    def _read(self) -> int:
        assert self._runs.stdout
        return int(self._runs.stdout.readline())

    def failing(self, tests: Sequence[str], seconds: float) -> set[str]:
        """Those of the tests that fail in the copy without any mutant."""
        return set(self.run(tests, seconds, until_failure=False).killer.splitlines()) if tests else set()


def _end(process: int) -> None:
    """Ends a run and what it has started."""
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        pass
