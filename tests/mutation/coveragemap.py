"""Which tests reach which lines, and how long they take: made once with coverage, and kept in a file that git ignores."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from coverage.numbits import numbits_to_nums

from tests.mutation.durations import VARIABLE

SCHEMA = """
CREATE TABLE IF NOT EXISTS test (id INTEGER PRIMARY KEY, name TEXT UNIQUE, passed INTEGER, seconds REAL, breadth INTEGER);
CREATE TABLE IF NOT EXISTS reached (file TEXT, test INTEGER, lines BLOB);
CREATE INDEX IF NOT EXISTS reached_file ON reached (file);
CREATE TABLE IF NOT EXISTS source (file TEXT PRIMARY KEY, digest TEXT);
"""

#: Branches are not recorded: their rows would be ten times as many.
#: The file is named here and not in the environment, which runs of pytest inside of tests would inherit.
CONFIGURATION = "[run]\nbranch = false\ncore = ctrace\nsource = {source}\ndata_file = {data}\n"


#: Where this package is imported from.
HOME = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Reaching:
    """One test that runs lines of a file: how many lines of all files it runs (`breadth`), and its seconds."""

    name: str
    lines: frozenset[int]
    breadth: int
    seconds: float


class CoverageMap:
    """The map of a source tree, kept in a file. Close it, or use it as a context manager."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        self._database = sqlite3.connect(path)
        self._database.executescript(SCHEMA)

    def __enter__(self) -> "CoverageMap":
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def changed(self, digests: dict[str, str]) -> set[str]:
        """The files that have another text than when the map was made, were added or were deleted."""
        known = dict(self._database.execute("SELECT file, digest FROM source"))
        return {file for file in known.keys() | digests.keys() if known.get(file) != digests.get(file)}

    def test_files(self, files: Iterable[str]) -> set[str]:
        """The files of the tests that reach one of these files."""
        names = [
            name
            for file in files
            for (name,) in self._database.execute(
                "SELECT name FROM test WHERE id IN (SELECT test FROM reached WHERE file = ?)", (file,)
            )
        ]
        return {name.partition("::")[0] for name in names}

    def reaching(self, file: str) -> list[Reaching]:
        """The tests that run a line of this file and passed when the map was made."""
        rows = self._database.execute(
            "SELECT name, lines, breadth, seconds FROM reached JOIN test ON id = test WHERE file = ? AND passed ORDER BY name",
            (file,),
        )
        lines: dict[str, Reaching] = {}
        for name, numbits, breadth, seconds in rows:
            before = lines[name].lines if name in lines else frozenset()
            lines[name] = Reaching(name, before | frozenset(numbits_to_nums(numbits)), breadth, seconds)
        return list(lines.values())

    def tests_of(self, file: str) -> list[Reaching]:
        """The tests of a file that passed when the map was made, without their lines."""
        rows = self._database.execute(
            "SELECT name, breadth, seconds FROM test WHERE name LIKE ? AND passed ORDER BY name", (f"{file}::%",)
        )
        return [Reaching(name, frozenset(), breadth, seconds) for name, breadth, seconds in rows]

    def record(self, run: "Run", root: Path, digests: dict[str, str], tests: Collection[str]) -> None:
        """Replaces what is known of the files `tests` by what one run of them recorded; `digests` are of all files then."""
        with self._database as database:
            self._forget(tests)
            for name, (passed, seconds) in json.loads(run.durations.read_text()).items():
                database.execute("INSERT OR REPLACE INTO test VALUES (NULL, ?, ?, ?, 0)", (name, passed, seconds))
            ids = dict(database.execute("SELECT name, id FROM test"))
            breadths: Counter[int] = Counter()
            recorded = sqlite3.connect(run.data)
            rows = recorded.execute(
                "SELECT path, context, numbits FROM line_bits JOIN file ON file.id = file_id"
                " JOIN context ON context.id = context_id WHERE context != ''"
            )
            prefix = f"{root}{os.sep}"
            for path, context, numbits in rows:
                name, _, phase = context.rpartition("|")
                if name in ids and phase != "teardown":
                    database.execute(
                        "INSERT INTO reached VALUES (?, ?, ?)", (path.removeprefix(prefix), ids[name], numbits)
                    )
                    breadths[ids[name]] += sum(byte.bit_count() for byte in numbits)
            recorded.close()
            database.executemany(
                "UPDATE test SET breadth = ? WHERE id = ?", [(value, key) for key, value in breadths.items()]
            )
            rerun = {file: digest for file, digest in digests.items() if file in tests or not file.startswith("tests/")}
            database.executemany("INSERT OR REPLACE INTO source VALUES (?, ?)", rerun.items())

    def forget(self, tests: Collection[str]) -> None:
        """Forgets the tests of these files, which count as changed until they are recorded again."""
        with self._database:
            self._forget(tests)

    def _forget(self, tests: Collection[str]) -> None:
        for file in tests:
            own = f"{file}::%"
            self._database.execute("DELETE FROM reached WHERE test IN (SELECT id FROM test WHERE name LIKE ?)", (own,))
            self._database.execute("DELETE FROM test WHERE name LIKE ?", (own,))
            self._database.execute("DELETE FROM source WHERE file = ?", (file,))


@dataclass(frozen=True, slots=True)
class Run:
    """The files that a run of tests with coverage writes."""

    data: Path
    durations: Path


def digests(root: Path, packages: Iterable[str]) -> dict[str, str]:
    """The digests of all sources of the packages and of the files of tests."""
    files = [path for package in packages for path in sorted((root / package).rglob("*.py"))]
    files += sorted((root / "tests").rglob("test_*.py"))
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def refreshed(
    path: Path, root: Path, packages: Collection[str], places: Collection[str], processes: int = 2
) -> CoverageMap:
    """The map of this tree: made if it does not exist; where files have changed, their tests run again.

    `places` are the folders whose tests count. Those files of tests run that have changed, or reach a source that has. (What
    tests share does not count: it moves no line of a source.) Each folder is recorded when it has run, so that what is
    interrupted continues.
    """
    known = CoverageMap(path)
    now = digests(root, packages)
    changed = known.changed(now)
    tests = {file for file in now if any(Path(place) in Path(file).parents or place == file for place in places)}
    rerun = sorted((changed | known.test_files(changed)) & tests)
    known.forget(rerun)
    for _, group in groupby(rerun, key=lambda file: Path(file).parts[:2]):
        files = list(group)
        with tempfile.TemporaryDirectory() as temporary:
            run = Run(Path(temporary, "data"), Path(temporary, "durations"))
            _run(root, packages, run, files, processes)
            known.record(run, root, now, files)
    return known


def _run(root: Path, packages: Iterable[str], run: Run, tests: list[str], processes: int) -> None:
    configuration = run.data.with_name("rc")
    configuration.write_text(CONFIGURATION.format(source=",".join(packages), data=run.data))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (root, HOME))), VARIABLE: str(run.durations)}
    plugins = [
        f"--cov-config={configuration}",
        "--cov",
        "--cov-context=test",
        "--cov-report=",
        "-ptests.mutation.durations",
    ]
    # a test is three times as slow with its lines recorded
    options = ["-q", f"-n{processes}", "--tb=no", "--timeout=600", "-pno:cacheprovider"]
    # a test that fails is left out of the map, so the result of the run does not matter
    subprocess.run([sys.executable, "-m", "pytest", *options, *plugins, *tests], cwd=root, env=environment, check=False)
