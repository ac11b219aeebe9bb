"""The same test with the same seed gives the same log, byte for byte."""

import os
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager, nullcontext
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.determinism import scenario

ROOT = Path(__file__).parent.parent.parent

#: PYTHONHASHSEED of a process -> its runs: the second of a process, and the first with other hashes.
PROCESSES = {"0": 2, "random": 1}

#: Where the operating system's scheduler has a part: one of the processes runs while all cores are busy.
SCHEDULED = ("threads",)

#: Ends by itself if its parent is killed.
BURNER = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"


@contextmanager
def busy_cores():
    """As many processes as there are cores, each in an endless loop."""
    burners = [subprocess.Popen([sys.executable, "-c", BURNER]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


#: The hours of a run that takes long: a resync, and two runs of each controller or more.
HOURS = {"tcp": "14", "threads": "14"}


def digests(kind, hash_seed, runs, log, *options):
    command = [sys.executable, "-m", "tests.determinism.scenario", kind, "--runs", str(runs), "--log", str(log)]
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([*command, *options], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line.split()[0] for line in done.stdout.splitlines()]


def first_difference(one, other):
    for number, (mine, yours) in enumerate(zip_longest(one.splitlines(), other.splitlines())):
        if mine != yours:
            return f"line {number}:\n  {mine}\n  {yours}"
    return "none between the last runs of the processes"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", [*scenario.KINDS, scenario.WHOLE_CLUSTER])
def test_runs_give_the_same_log(kind, tmp_path):
    found = {}
    for hash_seed, runs in PROCESSES.items():
        with busy_cores() if kind in SCHEDULED and runs == 1 else nullcontext():
            found[hash_seed] = digests(kind, hash_seed, runs, tmp_path / hash_seed, "--hours", HOURS.get(kind, "24"))
    assert [len(each) for each in found.values()] == [*PROCESSES.values()]
    logs = [(tmp_path / hash_seed).read_text() for hash_seed in found]
    others = [text for text in logs if text != logs[0]]
    assert len({digest for some in found.values() for digest in some}) == 1, (
        f"{found}\nfirst difference: {first_difference(logs[0], (others or logs)[0])}"
    )


@pytest.mark.slow
def test_another_seed_gives_another_log(tmp_path):
    assert digests("direct", "0", 1, tmp_path / "a", "--seed", "1") != digests("direct", "0", 1, tmp_path / "b")


@pytest.fixture(scope="module")
def a_day():
    return scenario.run("direct")


def test_the_day_has_all_kinds_of_faults(a_day):
    """Otherwise equal logs would prove nothing."""
    log, reconciles, requests = a_day
    answers = Counter(line.rpartition(" -> ")[2].split()[0] for line in log.splitlines() if " -> " in line)
    assert min(answers["409"], answers["429"], answers["500"]) > 10
    assert reconciles > 1_000
    assert requests > 1_500
    for cause in ("added", "updated", "resync", "requeue_after", "retry"):
        assert f"[{cause}]" in log
    assert "failed: it failed, again in 0.005 s" in log


def test_every_object_has_its_reconciles(a_day):
    """24 h with a run about every 4 h for each controller: no object is missed, whatever fails."""
    log, _, _ = a_day
    words = [line.split() for line in log.splitlines()]
    runs = Counter(key for _, worker, key, *_ in words if worker.startswith("a/"))
    assert set(runs) == {f"default/w{number:02}" for number in range(50)}
    assert min(runs.values()) >= 6
