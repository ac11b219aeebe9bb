"""N7: a process that does not end is named in one short error, and killed with its own children."""

import asyncio
import os
import select
import subprocess
import sys
from contextlib import suppress

import pytest

from fakekube import FakeKube
from fakekube.virtualtime import NotQuiescent

#: A shell, the child that it waits for, and a file with the numbers of both.
ENDLESS = ["sh", "-c", "sleep 3600 & echo $$ $! > {path}.part; mv {path}.part {path}; echo; wait"]


@pytest.fixture
def command(tmp_path):
    """Starts a child of its own; the pipes of both are those of its parent."""
    path = tmp_path / "pids"
    yield [*ENDLESS[:2], ENDLESS[2].format(path=path)]
    for pid in map(int, path.read_text().split()):
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            ended, _, _ = select.select([descriptor], [], [], 5)
            os.close(descriptor)
            assert ended


def popen(kube, command):
    subprocess.Popen(command).wait()


def run(kube, command):
    subprocess.run(command, capture_output=True, check=True)


def run_process(kube, command):
    kube.run_process(command)


@pytest.mark.slow
@pytest.mark.parametrize("how", [popen, run, run_process])
def test_n7_the_test_waits_for_one(command, how):
    with FakeKube(patience=0.3) as kube:
        with pytest.raises(NotQuiescent, match=r"\Aprocess \d+ \(sh .*\) has not ended after 1.2 s of real") as caught:
            how(kube, command)
        assert "\n" not in str(caught.value)
        kube.advance(60)


@pytest.mark.slow
@pytest.mark.parametrize("how", [popen, run, run_process])
def test_n7_a_thread_waits_for_one(command, how):
    kube = FakeKube(patience=0.3).__enter__()
    kube.thread(how, kube, command)
    with pytest.raises(NotQuiescent, match=r"\Abusy for 0.3 s: thread .* process .*sh .* What still runs") as caught:
        kube.advance(60)
    assert "\n" not in str(caught.value)
    kube.close()


async def exec_(kube, command):
    process = await asyncio.create_subprocess_exec(*command)
    await process.wait()


async def run_process_async(kube, command):
    await kube.run_process(command)


@pytest.mark.slow
@pytest.mark.parametrize("how", [exec_, run_process_async])
def test_n7_a_coroutine_waits_for_one(command, how):
    with FakeKube(patience=0.3) as kube:
        kube.task(how(kube, command))
        with pytest.raises(NotQuiescent, match=r"process .*sh ") as caught:
            kube.settle()
        assert "\n" not in str(caught.value)


def test_n7_one_for_which_nothing_waits_ends_with_the_cluster(command):
    with FakeKube() as kube:
        with subprocess.Popen(command, stdout=subprocess.PIPE).stdout as output:
            assert output.readline() == b"\n"
        kube.advance(60)


@pytest.mark.slow
def test_n7_a_time_out_of_run_process_kills_its_children_too(command):
    with FakeKube() as kube, pytest.raises(subprocess.TimeoutExpired):
        kube.run_process(command, timeout=0.5)


def test_n7_one_that_was_started_before_the_cluster_goes_on():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with FakeKube():
        pass
    assert process.poll() is None
    process.communicate(b"\n")
    assert process.returncode == 0


def test_n7_run_process_is_as_subprocess_run():
    with FakeKube() as kube:
        done = kube.run_process([sys.executable, "-c", "print(input())"], input="a")
        assert (done.returncode, done.stdout, done.stderr) == (0, "a\n", "")
        with pytest.raises(subprocess.CalledProcessError):
            kube.run_process([sys.executable, "-c", "raise SystemExit(3)"], check=True)
        with pytest.raises(FileNotFoundError):
            kube.run_process(["/nowhere/program"])
