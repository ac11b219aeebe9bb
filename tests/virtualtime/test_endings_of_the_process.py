"""Calls that would end the test's own process, child processes, and handlers of signals."""

import _thread
import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic

import pytest

from fakekube.virtualtime import Bubble, NotQuiescent
from fakekube.virtualtime.errors import BubbleClosed, ProcessEnded
from fakekube.virtualtime.patches.commands.childprocesses import Children, kill_tree, named
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, running_in

ME = os.getpid()
ENDLESS = [sys.executable, "-S", "-c", "import signal; signal.pause()"]


FATAL = [
    ("os.kill", lambda: os.kill(ME, signal.SIGTERM), f"os.kill({ME}, 15)"),
    ("os.kill", lambda: os.kill(ME, 9), f"os.kill({ME}, 9)"),
    ("os.kill", lambda: os.kill(0, signal.SIGTERM), "os.kill(0, "),
    ("os.kill", lambda: os.kill(-os.getpgrp(), signal.SIGTERM), "os.kill(-"),
    ("os.killpg", lambda: os.killpg(os.getpgrp(), signal.SIGTERM), "os.killpg("),
    ("os.killpg", lambda: os.killpg(0, signal.SIGTERM), "os.killpg(0, "),
    ("os._exit", lambda: os._exit(3), "os._exit(3)"),
    ("os.abort", lambda: os.abort(), "os.abort()"),
    ("signal.raise_signal", lambda: signal.raise_signal(signal.SIGTERM), "signal.raise_signal("),
    ("signal.pthread_kill", lambda: signal.pthread_kill(_thread.get_ident(), signal.SIGHUP), "signal.pthread_kill("),
]


@pytest.mark.parametrize(
    ("call", "said"), [row[1:] for row in FATAL], ids=[row[2].replace(str(ME), "ME") for row in FATAL]
)
def test_what_ends_the_process_is_an_error_of_the_test_too(bubble, call, said):
    def works():
        with pytest.raises(ProcessEnded):
            call()

    thread = bubble.thread(works, name="worker")
    bubble.join(thread)
    assert thread.error is None
    (error,) = bubble.failures
    assert str(error).startswith("thread worker called " + said)
    assert "use run_process()" in str(error)


@pytest.mark.parametrize(
    "call",
    [
        lambda: os.kill(ME, 0),
        *((lambda number=number: os.kill(ME, number)) for number in (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG)),
        lambda: signal.raise_signal(signal.SIGWINCH),
        lambda: signal.pthread_kill(_thread.get_ident(), signal.SIGUSR1),
        lambda: os.kill(ME, signal.SIGUSR1),
    ],
)
def test_what_ends_nothing_is_called(bubble, call):
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        call()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert bubble.failures == []


@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_signals_to_others_are_sent(bubble, kill):
    process = subprocess.Popen(ENDLESS, start_new_session=True)
    getattr(os, kill.__name__)(process.pid, signal.SIGTERM)
    assert process.wait(10) == -signal.SIGTERM
    assert bubble.failures == []


def test_who_ends_the_process_is_named(bubble):
    process = SimulatedProcess("backup-operator")

    async def dies():
        os._exit(1)

    bubble.loop.create_task(dies(), name="plain")
    bubble.loop.start_process(dies(), process)
    bubble.settle()
    assert [str(error).partition(" called")[0] for error in bubble.failures] == ["task plain", "backup-operator"]
    assert bubble.loop.tasks.under_test() == []


def test_a_timer_of_what_has_ended_does_nothing(bubble):
    process = SimulatedProcess("operator")

    async def sets(seconds):
        asyncio.get_running_loop().call_later(seconds, os.kill, ME, signal.SIGKILL)

    bubble.loop.start_process(sets(10), process)
    bubble.settle()
    assert process.ended
    bubble.advance(20)
    assert bubble.failures == []

    async def creates():
        await bubble.loop.create_task(sets(10))

    async def stays():
        await bubble.loop.create_task(sets(10))
        await asyncio.sleep(100)

    bubble.run(creates())
    bubble.advance(20)
    assert bubble.failures == []
    bubble.loop.set_exception_handler(lambda *_: None)
    task = bubble.loop.create_task(stays())
    bubble.advance(20)
    assert len(bubble.failures) == 1
    task.cancel()
    with running_in(process):  # an operator that has ended
        assert os._exit(0) is None
    assert len(bubble.failures) == 1


def test_in_real_threads_and_child_processes_nothing_is_changed(bubble):
    seen = []
    before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    real = threading.Thread(target=lambda: seen.append(os.kill(ME, signal.SIGUSR2)))
    real.start()
    real.join()
    signal.signal(signal.SIGUSR2, before)
    child = os.fork()
    if child == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert (seen, bubble.failures) == ([None], [])


def test_other_timers_are_not_changed(bubble):
    called = []
    bubble.loop.call_later(1, called.append, 1)
    bubble.loop.call_later(1, [].append, 1)
    bubble.advance(2)
    assert called == [1]


# --- handlers of signals in threads that stand for a process


def in_operator(bubble, function):
    """The result of a function in the main thread of an operator."""
    found = []
    thread = bubble.thread(lambda: found.append(function()))
    bubble.join(thread)
    assert thread.error is None
    return found[0]


def test_handlers_are_those_of_the_thread(bubble):
    def works():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.signal(signal.SIGTERM, signal.SIG_IGN) is signal.SIG_DFL
        assert signal.signal(signal.SIGTERM, int(signal.SIG_DFL)) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.signal(signal.SIGINT, print) is signal.default_int_handler
        for wrong in ("x", 7):
            with pytest.raises(TypeError, match="signal handler must be"):
                signal.signal(signal.SIGTERM, wrong)
        with pytest.raises(ValueError):
            signal.signal(1234, print)
        assert signal.set_wakeup_fd(5) == -1
        assert signal.set_wakeup_fd(-1, warn_on_full_buffer=False) == 5
        return threading.main_thread() is threading.current_thread()

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert in_operator(bubble, works)
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert threading.main_thread() is threading.current_thread()


def test_the_threads_of_an_operator_know_its_main_thread(bubble):
    process, seen = SimulatedProcess("operator"), []

    def works():
        inner = threading.Thread(target=lambda: seen.append(threading.main_thread()))
        inner.start()
        inner.join()
        seen.append(threading.current_thread())

    with running_in(process):
        bubble.join(bubble.thread(works))
    assert seen[0] is seen[1]

    async def main():
        return await asyncio.to_thread(threading.main_thread)

    assert bubble.run(main()) is threading.main_thread()


# --- child processes


def test_a_process_is_named_by_its_command():
    process = subprocess.Popen(["true", "a b"])
    assert named(process) == f"process {process.pid} (true 'a b')"
    for args, shown in (("sh -c x", "sh -c x"), (b"x", "x"), ("y" * 100, "y" * 100), ("y" * 101, "y" * 97 + "...")):
        process.args = args
        assert named(process) == f"process {process.pid} ({shown})"
    process.wait()


def test_a_tree_of_processes_is_killed():
    script = (
        "import signal, subprocess; c = subprocess.Popen(['sleep', '1000']); print(c.pid, flush=True); c.wait(); "
        "signal.pause()"
    )
    for own_group in (False, True):
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", script], stdout=subprocess.PIPE, start_new_session=own_group
        )
        child = int(process.stdout.readline())
        kill_tree(process)
        assert process.wait(10) == -signal.SIGKILL
        process.stdout.close()
        end = monotonic() + 10
        status = Path(f"/proc/{child}/stat")
        while status.exists() and ") Z " not in status.read_text():
            assert monotonic() < end
    kill_tree(process)  # it has ended


def test_what_still_runs_is_killed_and_its_waits_end():
    children, processes = Children(5), [subprocess.Popen(ENDLESS), subprocess.Popen(["true"])]
    processes[1].wait()
    for process in processes:
        children.add(process)

    def wait():
        with children.awaiting(processes[0], is_limited=False):
            assert children.awaited() == (named(processes[0]),)
            children.kill_all()
            assert processes[0].returncode == -signal.SIGKILL

    with pytest.raises(BubbleClosed, match=r"process \d+ \(.*\) was killed, because the test has ended"):
        wait()
    assert children.awaited() == ()
    with children.awaiting(processes[1], known_as="process true"):
        assert children.awaited() == ("process true",)
    children.kill_all()


@pytest.mark.slow
def test_a_process_that_is_waited_for_without_a_time_out_has_four_patiences():
    children, process = Children(0.05), subprocess.Popen(ENDLESS)
    with pytest.raises(subprocess.TimeoutExpired), children.awaiting(process, is_limited=False):
        process.wait(0.3)
    begun = monotonic()
    with (
        pytest.raises(NotQuiescent, match=r"has not ended after 0\.2 s of real time, and was killed"),
        children.awaiting(process),
    ):
        process.wait(10)
    assert 0.2 <= monotonic() - begun < 2


def test_commands_report_as_subprocess_does(bubble):
    fails = [
        sys.executable,
        "-S",
        "-c",
        "import sys; print(sys.stdin.read()); print('e', file=sys.stderr); sys.exit(3)",
    ]

    async def in_coroutine(**options):
        return await bubble.run_process(fails, **options)

    for run in (
        lambda **options: bubble.run_process(fails, **options),
        lambda **options: bubble.run(in_coroutine(**options)),
    ):
        done = run(input="hello")
        assert (done.args, done.returncode, done.stdout, done.stderr) == (fails, 3, "hello\n", "e\n")
        done = run(input="x", capture_output=False, stdout=subprocess.PIPE)
        assert (done.stdout, done.stderr) == ("x\n", None)
        with pytest.raises(subprocess.CalledProcessError) as failed:
            run(input="hello", check=True)
        error = failed.value
        assert (error.returncode, error.cmd, error.output, error.stderr) == (3, fails, "hello\n", "e\n")
    assert bubble.run_process(["true"], check=True).stdout == ""
    assert bubble.clock.us == 0


@pytest.mark.slow
def test_a_command_of_a_coroutine_holds_time_for_as_long_as_it_takes():
    with Bubble(wall_clock=False, patience=0.05) as bubble:
        slow = [sys.executable, "-S", "-c", "import time; time.sleep(0.2)"]

        async def main():
            work = asyncio.ensure_future(bubble.run_process(slow, timeout=5))
            await asyncio.sleep(0)
            assert bubble.clock.holds == (f"process {' '.join(slow)}",)
            assert bubble.clock.is_held_endlessly()
            await work
            return bubble.clock.us, bubble.clock.holds

        bubble.loop.call_later(3600, int)
        assert bubble.run(main()) == (0, ())


def test_a_command_that_cannot_start_is_an_error_of_the_coroutine(bubble):
    async def main():
        with pytest.raises(FileNotFoundError):
            await bubble.run_process(["no-such-command"])
        with pytest.raises(subprocess.TimeoutExpired):
            await bubble.run_process(ENDLESS, timeout=0.1)

    bubble.run(main())


def test_a_coroutine_that_waits_for_a_process_is_noted_once_unless_it_only_asks(bubble):
    noted = []
    bubble.on_blocking_call(print, lambda what, place: noted.append((what, place.function.rpartition(".")[2])))

    process = subprocess.Popen(ENDLESS)
    owner, other = SimulatedProcess("operator"), SimulatedProcess("other")

    async def works():
        with running_in(other), pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.01)  # it is not the process of this task
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0)
        assert noted == []
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=0.01)
        process.kill()
        process.wait()
        process.wait()
        names.append(named(process))

    names = []
    bubble.loop.start_process(works(), owner)
    bubble.settle()
    assert noted == [(f"waits for the {names[0]}", "works")] * 2
