"""N4: processes whose Python, or whose libraries, lack a private name that clusters use."""

import subprocess
import sys
from pathlib import Path

import pytest

from fakekube.virtualtime.compatibility import requirements
from fakekube.virtualtime.compatibility.privatename import TESTED, PrivateName, installed
from tests import hiding
from tests.innerruns import LEAN

#: An operator that uses what the fallbacks replace: locks, a pool that is older than its cluster, a thread with an event
#: loop, a task that fails, and a coroutine that is never awaited.
SCRIPT = """
import asyncio, concurrent.futures, threading, warnings
from fakekube import FakeKube

pool = concurrent.futures.ThreadPoolExecutor(1)
pool.submit(int).result()

def work(done):
    with threading.RLock(), threading.Lock():
        pool.submit(int)
        done.append(threading.current_thread().name)

async def nothing():
    return len(asyncio.all_tasks())

async def both():
    return await asyncio.gather(nothing(), nothing())

for number in range(2):
    with FakeKube(detect={"all": "off"}) as fakekube:
        done = []
        fakekube.thread(work, done)
        fakekube.thread(asyncio.run, both())
        fakekube.advance(60)
        fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        assert len(done) == 1, done
pool.shutdown()
print("worked")
"""

OPTIONAL = [
    name
    for name in requirements.NAMES
    if not name.required and name.library == "Python" and not name.where.endswith((":Task", ":_GatheringFuture"))
]


def run(names, script=SCRIPT):
    """What a script prints and warns of in a process that lacks `names`."""
    hidden = "\n".join(f"hide({name.where!r}, {name.name!r})" for name in names)
    source = f"{Path(hiding.__file__).read_text()}\n{hidden}\n{script}"
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, cwd=Path(__file__).parents[2])


def warned(result):
    return [line.partition("CompatibilityWarning: ")[2] for line in result.stderr.splitlines() if "Compati" in line]


@pytest.mark.slow
def test_n4_a_cluster_works_without_the_optional_names_and_names_each_in_one_line():
    """N4: those of classes in C (Task) cannot be removed, and `_block` is an attribute of `_PyRLock`."""
    result = run(OPTIONAL)
    assert result.stdout == "worked\n", result.stderr
    assert warned(result) == [str(name) for name in OPTIONAL if name.name != "_block"]


@pytest.mark.slow
def test_n4_nothing_is_said_if_nothing_is_missing():
    """N4: the Python of this machine is one of those that are tested."""
    result = run([])
    assert (result.stdout, warned(result)) == ("worked\n", []), result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name for name in requirements.NAMES if name.required and name.name in ("_ready", "_time", "_waiters")],
    ids=lambda name: name.name,
)
def test_n4_a_required_name_is_refused_when_the_first_cluster_is_made(name):
    """N4: the error names it, the version that lacks it, and those that were tested."""
    result = run([name])
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert (
        last
        == f"fakekube.virtualtime.compatibility.privatename.IncompatibleVersion: fakekube does not work with {installed('Python')}: {name}"
    )
    assert last.endswith(f"(fakekube was tested with Python {TESTED['Python']})")


@pytest.mark.slow
def test_n4_a_required_name_of_freezegun_is_refused_only_with_freezegun():
    """N4: wall_clock=False needs none of it."""
    name = next(name for name in requirements.OF_FREEZEGUN if name.name == "_real_time_object_ids")
    script = "from fakekube import FakeKube\nwith FakeKube(wall_clock={}): print('worked')"
    assert run([name], script.format(False)).stdout == "worked\n"
    assert (
        f"IncompatibleVersion: fakekube does not work with {installed('freezegun')}: {name}"
        in run([name], script.format(True)).stderr
    )


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ((3, 11), ""),
        ((3, 13), ""),
        ((3, 14), "fakekube was not tested with Python 3.14 (tested: 3.11, 3.12 and 3.13)*"),
    ],
)
def test_n4_an_untested_python_is_named(version, said):
    """N4: one line, not a refusal: everything that clusters need may be there."""
    text = requirements.untested(version)
    assert text.startswith(said.removesuffix("*"))
    assert bool(text) == bool(said)


@pytest.mark.slow
def test_n4_an_untested_python_is_one_line_of_the_run_and_no_error_of_a_test(pytester):
    """N4: even with `-W error`."""
    pytester.makepyfile(
        untested="import sys\nimport fakekube.virtualtime.compatibility.requirements as it\nit.NEWEST_PYTHON = (3, 10)\n",
        test_it="def test_one(fakekube):\n    pass\n\ndef test_two(fakekube):\n    pass\n",
    )
    result = pytester.run(sys.executable, "-m", "pytest", "-puntested", *LEAN, "-Werror")
    result.assert_outcomes(passed=2, warnings=1)
    minor = ".".join(map(str, sys.version_info[:2]))
    result.stdout.fnmatch_lines([f"*CompatibilityWarning: fakekube was not tested with Python {minor} (tested: *"])


def test_a_name_of_a_library_that_is_not_imported_is_not_missing():
    assert not PrivateName("no_such_library.module", "_name", "nothing").is_missing()


@pytest.mark.slow
@pytest.mark.parametrize("table", ["NAMES", "OF_FREEZEGUN"])
def test_n4_a_required_name_is_one_line_in_the_report_of_a_test(pytester, table):
    """N4: that every cluster needs, or that one with a frozen clock needs; also of clusters that tests share."""
    name = next(name for name in getattr(requirements, table) if name.name in ("_waiters", "_real_time_object_ids"))
    pytester.makepyfile(
        hidden=f"{Path(hiding.__file__).read_text()}\nhide({name.where!r}, {name.name!r})",
        test_it="def test_one(fakekube):\n    pass\n\ndef test_two(fakekube_module):\n    pass\n",
    )
    result = pytester.run(sys.executable, "-m", "pytest", "-phidden", *LEAN)
    result.assert_outcomes(errors=2)
    line = f"fakekube does not work with {installed(name.library)}: {name}"
    for test in ("test_one", "test_two"):
        result.stdout.fnmatch_lines([f"*ERROR at setup of {test}*", line, "*"])


def test_the_check_does_not_change_the_names_of_threads():
    """Default names are numbered: a log of the first test of a process would differ from the same test's as the second."""
    script = """
import concurrent.futures, threading
from fakekube.virtualtime.compatibility import requirements
requirements.check_python()
print(threading.Thread().name, concurrent.futures.ThreadPoolExecutor()._thread_name_prefix)
"""
    assert run([], script).stdout == "Thread-1 ThreadPoolExecutor-0\n"


def test_each_name_is_one_of_a_library_with_tested_versions_and_says_what_is_lost():
    for name in (*requirements.NAMES, *requirements.OF_FREEZEGUN):
        assert name.library in TESTED
        assert str(name).startswith(
            f"{installed(name.library)} has no {name.where.rpartition(':')[2]}.{name.name}: {name.lost} ("
        )
        assert len(name.lost.split()) > 3
    required = {name.name for name in requirements.NAMES if name.required}
    assert {
        "_ready",
        "_selector",
        "_check_closed",
        "_context",
        "_when",
        "_exception",
        "_getframe",
        "_waiters",
        "_time",
    } <= required


@pytest.mark.parametrize(
    ("where", "name", "sample", "missing"),
    [
        ("threading", "Thread", None, False),
        ("threading", "no_such", None, True),
        ("threading:Thread", "start", None, False),
        ("threading:Thread", "no_such", None, True),
        ("threading:NoSuch", "start", None, True),
        ("threading:NoSuch", "start", lambda _: "x", False),
        ("threading:Thread", "no_such", lambda _: "x", True),
        ("threading:Thread", "upper", lambda given: given, False),
        ("threading:Thread", "upper", lambda _: None.x, False),
        ("no_such_library.part", "x", None, False),
        ("wave", "open", None, False),
    ],
)
def test_whether_a_name_is_missing(where, name, sample, missing):
    assert PrivateName(where, name, "lost", sample=sample).is_missing("given") is missing


def test_a_table_is_checked_once_and_the_rest_reported(monkeypatch):
    lines = []
    monkeypatch.setattr(requirements, "_report", lines.append)
    good = (PrivateName("threading", "Thread", "x", required=True), PrivateName("threading", "no_such", "it is lost"))
    for _ in range(2):
        requirements.check(good)
    assert [line.partition(": ")[2].partition(" (")[0] for line in lines] == ["it is lost"]
    bad = (PrivateName("threading", "no_such", "x", required=True), PrivateName("threading", "other", "y"))
    for _ in range(2):
        with pytest.raises(
            requirements.IncompatibleVersion,
            match=r"fakekube does not work with Python .* has no threading\.no_such: x",
        ):
            requirements.check(bad)
    assert len(lines) == 1
