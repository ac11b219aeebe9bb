"""The event loop of a bubble: its tasks, timers, executors and errors."""

import asyncio
import concurrent.futures
import contextvars
import gc
import signal
import socket
import threading
import time

import pytest

from fakekube.virtualtime import HotLoop, NotQuiescent, VirtualTimeLoop
from fakekube.virtualtime.simulatedprocess import HARNESS, ProcessState, SimulatedProcess, running_in


async def idle():
    await asyncio.Event().wait()


async def fails(error):
    raise error


async def ended(*tasks):
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


# --- tasks


def test_new_tasks_are_announced_and_failed_ones_reported(loop):
    class Outcome(BaseException):
        """Of a test."""

    created, failed = [], []
    loop.on_task, loop.on_task_failure = created.append, failed.append
    loop.fatal_errors = (Outcome,)

    async def main():
        good, bad, gone = (loop.create_task(each) for each in (asyncio.sleep(0), fails(ValueError()), idle()))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([good, bad, gone])
        assert isinstance(bad.exception(), ValueError)
        return good, bad, gone

    good, bad, gone = loop.run_until_complete(main())
    assert created[1:] == [good, bad, gone]
    assert failed == [bad]
    with pytest.raises(Outcome):
        loop.run_until_complete(asyncio.wait([loop.create_task(fails(Outcome()))]))
    assert failed == [bad]


def test_an_error_of_the_loop_is_raised_once_after_the_callback(loop):
    log, error, other = [], LookupError("first"), LookupError("second")

    def fail():
        loop.fail_with(error)
        loop.fail_with(other)
        log.append("goes on")

    loop.call_soon(fail)
    with pytest.raises(LookupError, match="first"):
        loop.run_until_complete(idle())
    assert log == ["goes on"]
    loop.fail_with(error)  # raised before
    loop.run_until_complete(asyncio.sleep(0))


def test_the_loop_knows_hot_loops_that_were_found_elsewhere(loop):
    async def main():
        loop.fail_with(HotLoop("elsewhere"))
        await idle()

    assert not loop.was_hot
    with pytest.raises(HotLoop):
        loop.run_until_complete(main())
    assert loop.was_hot


def test_what_is_not_quiescent_is_raised_where_the_test_waits(loop):
    async def main():
        loop.call_soon(loop.fail_with, NotQuiescent("busy"))
        with pytest.raises(NotQuiescent, match="busy"):
            await loop.advance(5)
        return "went on"

    assert loop.run_until_complete(main()) == "went on"


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interruption_of_a_task_is_raised_once(loop, error):
    caught = []

    async def waits():
        try:
            await loop.create_task(fails(error()))
        except error:
            caught.append(1)
            raise

    with pytest.raises(error):
        loop.run_until_complete(waits())
    loop.run_until_complete(asyncio.sleep(0))
    assert len(caught) <= 1
    gc.collect()


def test_the_test_is_known_while_it_runs_and_is_ended_if_the_loop_fails(loop):
    log = []

    async def test():
        log.append((loop.runs_test(), loop.running(), loop.runs_cancelled()))
        loop.call_soon(loop.fail_with, LookupError())
        try:
            await idle()
        finally:
            log.append((loop.runs_test(), loop.runs_cancelled()))

    with pytest.raises(LookupError):
        loop.run_test(test())
    assert log == [(True, "task test (test_the_test_is_known_while_it_runs_and_is_ended_if_the_loop_fails.<locals>.test)", False),
                   (True, True)]  # fmt: skip
    assert not loop.runs_test()
    assert loop.running() == "a callback"
    assert not loop.runs_cancelled()
    assert loop.run_test(asyncio.sleep(0, "result")) == "result"


def test_work_that_the_harness_drives_is_its_own_and_cancelled_if_it_fails(loop):
    async def work():
        task = asyncio.current_task()
        seen.append((loop.tasks.process(task), task))
        await idle()

    seen = []
    loop.call_later(1, loop.fail_with, LookupError())
    with pytest.raises(LookupError):
        loop.drive(work())
    ((process, task),) = seen
    assert process is HARNESS
    loop.run_until_complete(asyncio.sleep(0))
    assert task.cancelled()
    assert loop.drive(asyncio.sleep(0, 7)) == 7


def test_a_process_starts_after_the_watchdog_and_runs_again(loop):
    process, log = SimulatedProcess("operator"), []
    loop.watch = lambda: log.append("watch")
    process.ended = True
    task = loop.start_process(asyncio.sleep(1), process)
    assert (log, process.ended, task.get_name()) == (["watch"], False, "operator")
    assert loop.tasks.process(task) is process
    loop.run_until_complete(task)
    assert process.ended


def test_a_killed_process_reports_no_errors(loop):
    process, heard = SimulatedProcess("operator"), []
    loop.set_exception_handler(lambda _, context: heard.append(context))
    task = loop.start_process(fails(ValueError()), process)
    process.become(ProcessState.KILLED)
    loop.run_until_complete(asyncio.wait([task]))
    assert not task._log_traceback
    with running_in(None):
        other = loop.create_task(fails(ValueError()))
    loop.run_until_complete(asyncio.wait([other]))
    assert other._log_traceback
    other.exception()


# --- facts


def test_why_lists_one_fact_a_line_in_a_fixed_order(loop):
    async def main():
        tasks = [loop.create_task(idle(), name=name) for name in "bac"]
        process = SimulatedProcess("stopped")
        loop.processes.stop(process)
        for number in range(7):
            loop.call_later(60 - number, int)
        await asyncio.sleep(0)
        loop.call_soon(str)
        with loop.clock.hold("a reason"):
            lines = loop.why().splitlines()
        loop.processes.resume(process)
        await ended(*tasks)
        return lines

    lines = loop.run_until_complete(main())
    assert [line.partition(": ")[0] for line in lines] == [
        "virtual time", "runnable", *["waiting"] * 4, "process", "held", *["next"] * 5,
    ]  # fmt: skip
    assert lines[0].endswith("2026-01-01T00:00:00+00:00")
    assert lines[1] == "runnable: builtins.str"
    assert [line.split()[1] for line in lines if "(idle)" in line] == ["a", "b", "c"]
    assert lines[-1] == "next: 0:00:58 builtins.int"
    assert "held: a reason" in lines


def test_the_work_of_a_sync_test_is_not_listed(loop):
    lines = []
    loop.call_later(1, lambda: lines.extend(loop.why().splitlines()))
    loop.drive(loop.advance(2))
    assert not [line for line in lines if line.startswith("waiting")]


def test_a_loop_at_rest_has_nothing_ready(loop):
    assert loop.is_at_rest()
    handle = loop.call_soon(int)
    assert not loop.is_at_rest()
    loop.run_until_complete(asyncio.sleep(0))
    assert loop.is_at_rest()
    handle.cancel()

    async def main():
        return loop.is_at_rest()

    assert loop.run_until_complete(main()) is False


def test_a_closed_loop_takes_no_timers_and_is_not_woken():
    loop = VirtualTimeLoop()
    loop.close()
    loop.close()
    loop.holds_changed()
    for call in (
        lambda: loop.call_later(1, int),
        lambda: loop.call_at(1, int),
        lambda: loop.run_in_executor(None, int),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            call()


def test_timers_are_disarmed_when_they_are_set(loop):
    loop.disarm = lambda callback: lambda *args: called.append((callback, args))
    called = []
    loop.call_later(1, print, "a", "b")
    loop.call_at(2, print)
    loop.run_until_complete(loop.advance(3))
    assert called == [(print, ("a", "b")), (print, ())]


def test_timers_run_in_their_contexts(loop):
    variable = contextvars.ContextVar("variable", default=0)
    context, seen = contextvars.copy_context(), []
    context.run(variable.set, 7)
    loop.call_later(1, lambda: seen.append(variable.get()), context=context)
    loop.call_at(2, lambda: seen.append(variable.get()), context=context)
    loop.call_soon_threadsafe(lambda: seen.append(variable.get()), context=context)
    loop.run_until_complete(loop.advance(3))
    assert seen == [7, 7, 7]


# --- executors


def test_jobs_of_other_executors_hold_time(loop):
    class Own(concurrent.futures.Executor):
        def submit(self, function, *args):
            jobs.append((future := concurrent.futures.Future(), function))
            return future

    async def main():
        waits = loop.run_in_executor(Own(), pow, 2, 5)
        assert loop.clock.holds == ("a job of Own",)
        ((future, function),) = jobs
        future.set_result(function())
        assert await waits == 32
        assert loop.clock.holds == ()

    jobs = []
    loop.run_until_complete(main())


def test_the_default_executor_is_the_bubbles_unless_one_is_set(loop):
    async def main():
        names = [await loop.run_in_executor(None, lambda: threading.current_thread().name) for _ in range(2)]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            loop.set_default_executor(pool)
            names.append(await loop.run_in_executor(None, lambda: threading.current_thread().name))
            bad = loop.run_in_executor(None, int, "x")
            with pytest.raises(ValueError):
                await bad
        return names

    assert loop.run_until_complete(main()) == ["bubble-worker-1"] * 3


def test_a_stop_iteration_of_a_job_is_an_error(loop):
    with pytest.raises(RuntimeError, match=r"the function raised StopIteration\(\)"):
        loop.run_until_complete(loop.run_in_executor(None, next, iter(())))


def test_callbacks_of_threads_of_the_bubble_need_no_wake_up(bubble):
    log = []

    def works():
        handle = bubble.loop.call_soon_threadsafe(log.append, 1)
        bubble.loop.call_soon_threadsafe(log.append, 2).cancel()
        assert not handle.cancelled()
        time.sleep(1)

    bubble.join(bubble.thread(works))
    assert log == [1]


def test_callbacks_of_threads_for_stopped_processes_wait(bubble):
    process, log = SimulatedProcess("operator"), []
    bubble.loop.processes.stop(process)

    def works():
        with running_in(process):
            bubble.loop.call_soon_threadsafe(log.append, "later")
        bubble.loop.call_soon_threadsafe(log.append, "now")

    bubble.join(bubble.thread(works))
    bubble.settle()
    assert log == ["now"]
    bubble.loop.processes.resume(process)
    bubble.settle()
    assert log == ["now", "later"]


@pytest.mark.parametrize("debug", [False, True])
def test_debug_mode_accepts_threads_of_the_bubble_only(bubble, debug):
    bubble.loop.set_debug(debug)
    inside = bubble.thread(bubble.loop.call_soon, int)
    bubble.join(inside)
    assert inside.error is None
    errors = []

    def outside():
        while not bubble.loop.is_running():  # while the test joins this thread
            pass
        try:
            bubble.loop.call_soon(int)
        except RuntimeError as error:
            errors.append(error)

    real = threading.Thread(target=outside)
    real.start()
    real.join()
    assert bool(errors) is debug


def test_signals_count_while_there_are_handlers(loop):
    selector = loop._selector
    loop.add_signal_handler(signal.SIGUSR1, int)
    loop.add_signal_handler(signal.SIGUSR2, int)
    assert (loop.remove_signal_handler(signal.SIGUSR1), selector.awaits_signals) == (True, True)
    assert (loop.remove_signal_handler(signal.SIGUSR2), selector.awaits_signals) == (True, False)
    assert loop.remove_signal_handler(signal.SIGUSR2) is False


# --- sockets that coroutines use directly


@pytest.mark.parametrize("how", ["recv", "recv_into", "sendall"])
def test_each_use_of_a_socket_connects_it(loop, how):
    async def main():
        async def answer(reader, writer):
            if how == "sendall":
                got.append(await reader.read(2))
            else:
                writer.write(b"ok")
            writer.close()

        got, buffer = [], bytearray(2)
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        with socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, server.sockets[0].getsockname())
            if how == "recv":
                got.append(await loop.sock_recv(sock, 2))
            elif how == "recv_into":
                assert await loop.sock_recv_into(sock, buffer) == 2
                got.append(bytes(buffer))
            else:
                await loop.sock_sendall(sock, b"ok")
            await loop.settle()
        server.close()
        await loop.settle()
        return got

    assert loop.run_until_complete(main()) == [b"ok"]


@pytest.mark.slow
def test_a_server_breaks_the_connections_of_given_routes(loop):
    async def main():
        accepted = []

        class Accepts(asyncio.Protocol):
            def connection_made(self, transport):
                accepted.append(transport)

        server = await loop.create_server(Accepts, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        with socket.create_connection(address) as one, socket.create_connection(address) as other:
            await loop.settle()
            loop.abort_from([(one.getsockname(), address[1])])
            assert [transport.is_closing() for transport in accepted] == [True, False]
            await loop.settle()
            del other
        await loop.settle()
        server.close()
        await loop.settle()

    loop.run_until_complete(main())
