"""Simulated processes: whose code runs, which tasks and handles are whose, and how they are stopped and killed."""

import asyncio
import contextvars
import time
import warnings

import pytest

from fakekube.virtualtime import Bubble
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.processcontrol import ProcessGate
from fakekube.virtualtime.simulatedprocess import (
    HARNESS,
    ProcessState,
    SimulatedProcess,
    context_of,
    current,
    current_client,
    process_of,
    running_in,
)
from fakekube.virtualtime.taskregistry import TaskRegistry


@pytest.fixture
def process():
    return SimulatedProcess("operator")


@pytest.mark.parametrize(
    ("state", "runs", "fenced"),
    [(ProcessState.RUNNING, True, False), (ProcessState.STOPPED, False, False), (ProcessState.KILLED, False, True)],
)
def test_the_flags_of_a_process_follow_from_its_state(process, state, runs, fenced):
    assert (process.runs, process.fenced, process.ended) == (True, False, False)
    process.become(state)
    assert (process.state, process.runs, process.fenced) == (state, runs, fenced)


def test_what_a_killed_process_tries_is_recorded_and_ends_its_code(process):
    error, in_thread = process.refuse("PUT /a"), process.refuse_in_thread("PUT /b")
    assert (type(error), str(error)) == (asyncio.CancelledError, "operator was killed: PUT /a")
    assert (type(in_thread), str(in_thread)) == (BubbleClosed, "operator was killed: PUT /b")
    assert process.fenced_requests == ["PUT /a", "PUT /b"]


def test_code_belongs_to_the_process_of_its_context(process):
    assert current() is current_client() is process_of(None) is None
    with running_in(process):
        assert current() is current_client() is process_of(None) is process
        with running_in(HARNESS):
            assert (current(), current_client(), process_of(None)) == (HARNESS, None, HARNESS)
            with running_in(None):
                assert current() is None
        inside = contextvars.copy_context()
    assert current() is None
    assert process_of(inside) is process
    assert process_of(context_of(HARNESS)) is HARNESS
    assert process_of(contextvars.copy_context()) is None


# --- tasks


async def idle():
    await asyncio.Event().wait()


def test_tasks_are_listed_by_their_process_in_the_order_of_their_creation(loop, process):
    async def main():
        me = asyncio.current_task()
        test = loop.create_task(idle())
        operator = [loop.create_task(idle(), context=context_of(process)) for _ in range(12)]
        own = loop.create_own_task(idle(), "mine")
        tasks = loop.tasks
        assert tasks.of(process) == operator
        assert tasks.under_test() == [me, test, *operator]
        assert (own.get_name(), tasks.process(own), tasks.process(test)) == ("mine", HARNESS, None)
        assert tasks.process(operator[0]) is process
        assert tasks.creator(operator[0]) is me
        assert tasks.creator(None) is None
        everything = {me, test, own, *operator}
        assert set(tasks) == everything
        assert own not in asyncio.all_tasks()
        assert tasks.visible(everything) == {me, test}
        with running_in(process):
            assert tasks.visible(everything) == {me, *operator}
        assert tasks.visible({foreign}) == {foreign, me}
        tasks.own(test)
        assert (tasks.process(test), tasks.creator(test)) == (HARNESS, me)
        assert test not in tasks.under_test()
        assert any(test in record for record in tasks.records() if isinstance(record, dict))
        assert (HARNESS, me) in tasks.records()
        for task in everything - {me}:
            task.cancel()
        await asyncio.wait(everything - {me})
        assert set(tasks) == {me}
        assert (tasks.process(own), tasks.creator(own)) == (None, None)

    foreign = object()
    loop.run_until_complete(main())


def test_a_task_that_is_not_registered_is_hidden_but_not_added(loop):
    registry = TaskRegistry(loop)
    task = loop.create_task(idle())
    registry.own(task)
    assert (list(registry), registry.discard(task), registry.visible(set())) == ([], None, set())
    registry.add(task, None)
    registry.clear()
    assert list(registry) == []
    task.cancel()
    loop.run_until_complete(asyncio.wait([task]))


# --- stopping


def test_a_stopped_process_does_nothing_until_it_is_resumed(loop, process):
    log = []

    async def ticks(name):
        while True:
            await asyncio.sleep(10)
            log.append((name, loop.clock.us // 1_000_000))

    async def main():
        running = loop.create_task(ticks("other"))
        loop.start_process(ticks("operator"), process)
        cancelled = context_of(process).run(loop.call_later, 25, log.append, "cancelled")
        await loop.advance(15)
        control = loop.processes
        assert (control.is_empty(), control.stopped()) == (True, ())
        control.stop(process)
        assert (control.is_empty(), control.stopped()) == (False, (process,))
        context_of(process).run(loop.call_soon, log.append, "soon")
        context_of(process).run(loop.call_soon, log.append, "never").cancel()
        loop.call_soon_threadsafe(log.append, "test")
        await loop.advance(15)
        cancelled.cancel()
        control.resume(process)
        assert (control.is_empty(), control.stopped()) == (True, ())
        await loop.advance(15)
        running.cancel()
        control.kill(process)
        await loop.advance(15)

    loop.run_until_complete(main())
    assert log == [
        ("other", 10), ("operator", 10), "test", ("other", 20), ("other", 30), "soon", ("operator", 30), ("other", 40),
        ("operator", 40),
    ]  # fmt: skip


def test_only_what_runs_can_be_stopped_and_only_what_is_stopped_resumed(loop, process):
    control = loop.processes
    with pytest.raises(ValueError, match="operator is running: only a stopped process can be resumed"):
        control.resume(process)
    control.stop(process)
    with pytest.raises(ValueError, match="operator is stopped: only a process that runs can be stopped"):
        control.stop(process)
    control.resume(process)
    control.stop(process)
    control.thaw_all()
    assert control.is_empty()
    loop.run_until_complete(asyncio.wait([control.kill(process)]))
    for change in (control.stop, control.resume):
        with pytest.raises(ValueError, match="operator is killed"):
            change(process)


# --- killing


def test_a_killed_process_ends_at_once(loop, process):
    log = []

    async def works():
        try:
            await asyncio.sleep(3600)
        finally:
            log.append(("ended", process.state))

    async def main():
        task = loop.start_process(works(), process)
        context_of(process).run(loop.call_later, 60, log.append, "timer")
        process.on_kill.append(lambda: log.append("told"))
        await loop.settle()
        assert task.get_name() == "operator"
        end = loop.processes.kill(process)
        assert (end.get_name(), loop.processes.kill(process)) == ("end of operator", None)
        assert loop.clock.next_timers() == ()
        await end
        assert (task.cancelled(), process.ended, loop.processes.ending) == (True, True, 0)
        await loop.advance(7200)

    loop.run_until_complete(main())
    assert log == ["told", ("ended", ProcessState.KILLED)]
    assert not loop.processes.left_clients


def test_a_stopped_process_can_be_killed(loop, process):
    async def main():
        task = loop.start_process(idle(), process, name="main of it")
        await loop.settle()
        loop.processes.stop(process)
        await loop.processes.kill(process)
        assert (task.cancelled(), task.get_name(), loop.processes.is_empty()) == (True, "main of it", True)

    loop.run_until_complete(main())


def test_the_clients_of_a_killed_process_are_not_warned_of(loop, process):
    async def main():
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0)
        with running_in(process):
            transport, _ = await loop.create_connection(asyncio.Protocol, *server.sockets[0].getsockname())
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            await loop.processes.kill(process)
            warnings.warn("Unclosed client session <x>", ResourceWarning, stacklevel=1)
            warnings.warn("unclosed file", ResourceWarning, stacklevel=1)
        assert [str(one.message) for one in said] == ["unclosed file"]
        assert (transport.is_closing(), process.ends, loop.processes.left_clients) == (True, [], True)
        server.close()
        await loop.settle()
        heard = []
        loop.set_exception_handler(lambda _, context: heard.append(context["message"]))
        for message in ("Unclosed connection", "another error"):
            loop.call_exception_handler({"message": message})
        assert heard == ["another error"]

    loop.run_until_complete(main())


def test_threads_of_a_killed_process_end(process):
    log = []

    def works():
        try:
            time.sleep(3600)
        except BubbleClosed as error:
            log.append(str(error))
            raise

    with Bubble(wall_clock=False) as bubble:
        threads = bubble.loop.threads
        with running_in(process):
            thread = bubble.thread(works)
        bubble.settle()
        assert threads.of(process) == [thread]
        assert threads.main_of(process) is thread
        assert threads.main_of(None) is threads.main_of(HARNESS) is None
        bubble.loop.processes.stop(process)
        bubble.advance(hours=2)
        assert thread.is_alive()
        bubble.loop.processes.kill(process)
        bubble.settle()
        assert log == ["operator, the process of this thread, was killed"]
        assert (thread.is_alive(), threads.of(process)) == (False, [])


# --- the gate of a process


def test_the_gate_of_a_process_is_closed_while_it_does_not_run(process):
    gate, calls = Gate(is_open=True), []
    own = ProcessGate(gate, process)
    remove = own.add_listener(lambda: calls.append(process.state) or True)
    assert own.is_open()
    process.become(ProcessState.STOPPED)
    assert not own.is_open()
    gate.close()
    gate.open()
    process.become(ProcessState.RUNNING)
    gate.close()
    assert not own.is_open()
    gate.begin_round()
    own.taken()
    assert (gate.is_open(), calls) == (False, [ProcessState.RUNNING])
    gate.next_one()
    remove()
    gate.end_round()
    gate.begin_round()
    assert len(calls) == 2
