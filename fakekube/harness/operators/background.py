"""What runs beside a test: operators, tasks and threads, and the exceptions that the test has to raise for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from typing import Any, Protocol

from fakekube.harness.driving.again import Factory
from fakekube.harness.operators.operator import Operator
from fakekube.harness.records.identity import unique_name
from fakekube.harness.unhandled import has_failed
from fakekube.struct import Struct
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.errors import BubbleClosed, ProcessEnded
from fakekube.virtualtime.shutdown import end_tasks, left_after_grace
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, running_in
from fakekube.virtualtime.threads.bubblethread import BubbleThread

#: What cancelled tasks and futures raise.
_CANCELLED = (asyncio.CancelledError, CancelledError)

#: What runs in a process of its own: an operator, or what `task` and `thread` return.
Target = Operator | asyncio.Task[None] | BubbleThread


class Survivors(Protocol):
    """Takes the tasks that still run after they were cancelled and had time to clean up."""

    def is_cancelled(self, task: asyncio.Task[Any]) -> bool:
        """Whether a task runs code under test and was cancelled."""

    def note(self, tasks: Sequence[asyncio.Task[Any]]) -> None: ...


class Program(Struct, eq=False):
    """A task or a thread that was started beside a test, and all that is needed to start it again after a kill.

    start: None if it cannot be. handle: None until it has begun.
    """

    name: str
    process: SimulatedProcess
    start: Callable[[], Coroutine[Any, Any, Any]] | Callable[[], object] | None
    is_thread: bool
    incarnation: int = 1
    handle: asyncio.Task[None] | BubbleThread | None = None

    @property
    def is_alive(self) -> bool:
        if self.process.fenced or self.handle is None:
            return False
        return self.handle.is_alive() if isinstance(self.handle, BubbleThread) else not self.handle.done()


class Background:
    """Starts and ends them; the next step of the test raises what one of them failed with."""

    def __init__(self, bubble: Bubble, absorbs: Callable[[BaseException], bool]) -> None:
        """`absorbs`: whether the failure of an operator is part of a plan of faults; no test has to raise it then."""
        self._bubble, self._absorbs = bubble, absorbs
        self._operators: list[Operator] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._processes: dict[object, SimulatedProcess] = {}
        self._programs: list[Program] = []
        self._failures: list[BaseException] = []
        self._threads_started = 0
        self._is_ending = False

    @property
    def operators(self) -> Sequence[Operator]:
        return tuple(self._operators)

    def add(self, operator: Operator) -> None:
        """Add an operator, started or not."""
        self._operators.append(operator)

    @property
    def programs(self) -> Sequence[Program]:
        """The tasks and threads that the test has started, and their incarnations."""
        return tuple(self._programs)

    def task(self, work: Coroutine[Any, Any, Any], name: str, start: Factory | None = None) -> asyncio.Task[None]:
        """Run a coroutine. `start` makes it again after a kill."""
        name = self._unique(name or getattr(work, "__qualname__", "task"))
        return self._begin_task(Program(name, SimulatedProcess(name), start, is_thread=False), work)

    def _begin_task(self, program: Program, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
        task = self._bubble.loop.start_process(self._guarded(work, program.process), program.process)
        self._tasks.append(task)
        self._begun(program, task)
        return task

    def _begun(self, program: Program, handle: asyncio.Task[None] | BubbleThread) -> None:
        program.handle = handle
        self._programs.append(program)
        self._processes[handle] = program.process

    def _unique(self, name: str) -> str:
        return unique_name(name, {one.name for one in self._programs})

    def restart(self, program: Program) -> None:
        """Start the next incarnation of a program that was killed. Call it outside of the program's own context."""
        assert program.start is not None, "it can be started again"
        name = f"{program.name} (incarnation {program.incarnation + 1})"
        process, incarnation = SimulatedProcess(name), program.incarnation + 1
        again = Program(program.name, process, program.start, program.is_thread, incarnation)
        if program.is_thread:
            self._begin_thread(again)
        else:
            work = program.start()
            assert asyncio.iscoroutine(work), "it was a coroutine the first time"
            self._begin_task(again, work)

    async def _guarded(self, work: Coroutine[Any, Any, Any], process: SimulatedProcess) -> None:
        task = asyncio.current_task()
        try:
            await work
        except BaseException as error:  # raised by the next step of the test
            if not has_failed(error, task):
                raise
            if not (process.fenced or (self._is_ending and isinstance(error, asyncio.CancelledError))):
                self.operator_failed(error)

    def has_threads(self) -> bool:
        """Whether the test has started a thread."""
        return self._threads_started > 0

    def thread(self, function: Callable[[], object], name: str | None) -> BubbleThread:
        self._threads_started += 1
        unique = self._unique(name or "thread")
        return self._begin_thread(Program(unique, SimulatedProcess(name or "thread"), function, is_thread=True), name)

    def _begin_thread(self, program: Program, name: str | None = None) -> BubbleThread:
        process, function = program.process, program.start
        assert function is not None, "a thread has a function"

        def guarded() -> None:
            try:
                function()
            except KeyboardInterrupt:
                raise SystemExit from None  # the test has sent it: a process ends without more
            except (SystemExit, BubbleClosed) as error:
                if isinstance(error, SystemExit) and error.code and not (process.fenced or has_been_signalled()):
                    self.operator_failed(_exited(program.name, error))
                raise
            except BaseException as error:  # raised by the next step of the test, also if it is its outcome
                ends = isinstance(error, _CANCELLED) and self._bubble.loop.threads.is_cancelled()
                if not (process.fenced or ends):
                    self.operator_failed(error)

        def has_been_signalled() -> bool:
            return isinstance(program.handle, BubbleThread) and program.handle.was_signalled

        with running_in(process):
            thread = self._bubble.thread(guarded, name=name)
        self._begun(program, thread)
        return thread

    def present(self, operator: Operator, caller: str) -> Operator:
        """The incarnation that an operator stands for. Raises ValueError if the test has restarted it since."""
        found = operator.latest
        if not found.replaced:
            return found
        while found.successor is not None:
            found = found.successor
        raise ValueError(f"{caller}(): {operator!r} was restarted: pass what restart() has returned, {found!r}")

    def process_of(self, target: object, caller: str) -> SimulatedProcess:
        """The process of an operator, or of a task or thread that was started here. Raises TypeError, ValueError."""
        if isinstance(target, Operator):
            return self.present(target, caller).process
        if not isinstance(target, asyncio.Task | BubbleThread):
            raise TypeError(
                f"{target!r} is no operator: pass what start(), task() or thread() returned (in an async test, what "
                "`await start()` returned)"
            )
        if target not in self._processes:
            raise ValueError(f"{target!r} was not started with task() or thread() of this cluster")
        return self._processes[target]

    @property
    def is_busy(self) -> bool:
        """Whether an operator, a task or a thread runs."""
        tasks = any(not task.done() for task in self._tasks)
        threads = next(iter(self._bubble.loop.threads.active()), None) is not None
        return tasks or threads or any(one.is_alive for one in self._operators)

    def operator_failed(self, error: BaseException) -> None:
        """An operator has ended with an exception."""
        if not self._absorbs(error):
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        self._failures.append(error)

    def raise_failure(self, instead_of: BaseException | None = None) -> None:
        """Raise the oldest failure that has not been raised yet, if any."""
        reported = self._bubble.failures or self._failures
        if reported:
            error = reported.pop(0)
            self._failures = [other for other in self._failures if not _is_due_to(other, error)]
            raise error from instead_of

    def facts(self) -> Sequence[str]:
        """The state of the work queues, one controller a line."""
        return [
            f"controller {view.name}: ready {view.ready}, processing {view.processing}, waiting {list(view.waiting)}"
            for operator in self._operators
            for view in operator.views()
        ]

    async def end(self, own: Operator | None, survivors: Survivors) -> None:
        """End everything that the test has started, the latest operator first, and then `own`, the cluster's operator.

        `survivors` gets the tasks that still run 30 virtual seconds after they were cancelled. Raises
        NotQuiescent naming the tasks that do not end.
        """
        loop, operators = self._bubble.loop, self._operators[::-1]
        self._is_ending = True
        try:
            await self._end_operators(operators, survivors)
            await end_tasks(loop, self._tasks, survived=survivors.note)
        finally:
            await self._end_operators([own] if own is not None else [], survivors)
            await self._wait_for_cancelled(survivors)
            await end_tasks(loop, loop.tasks.under_test())
            for operator in operators:
                operator.retrieve()
            self._operators.clear()  # they refer to the cluster
            self._programs.clear()
            self._processes.clear()  # the contexts of their tasks refer to what operators have left
            self._absorbs = _never
            for task in self._tasks:
                if task.done() and not task.cancelled():
                    task.exception()  # LoopBlocked: NotQuiescent has reported it; asyncio shall not, too
            self._tasks.clear()

    async def _wait_for_cancelled(self, survivors: Survivors) -> None:
        """Wait until the code under test that was cancelled has cleaned up, for at most 30 virtual seconds."""
        loop = self._bubble.loop
        found = [task for task in loop.tasks.under_test() if survivors.is_cancelled(task)]
        survivors.note(await left_after_grace(loop, found))

    async def _end_operators(self, operators: Sequence[Operator], survivors: Survivors) -> None:
        """The first cancellation stops a manager, the second one cancels the reconciles that run.

        Runnables have time to clean up between them.
        """
        tasks = [task for operator in operators for task in operator.cancel()]
        await self._bubble.loop.settle()
        await self._wait_for_cancelled(survivors)
        await end_tasks(self._bubble.loop, tasks)
        for operator in operators:
            await operator.end()


def _exited(name: str, error: SystemExit) -> BaseException:
    """The failure of a program that has called `sys.exit` with a code or a message."""
    failure = ProcessEnded(f"thread {name} called sys.exit({error.code!r})")
    failure.__cause__ = error
    return failure


def _is_due_to(failure: BaseException, error: BaseException) -> bool:
    """Whether a failure is an error, or was raised because of one like it."""
    link: BaseException | None = failure
    while link is not None:
        if link is error or (type(link) is type(error) and isinstance(error, OSError) and link.args == error.args):
            return True
        link = link.__cause__ or link.__context__
    return False


def _never(error: BaseException) -> bool:
    """Nothing is part of a plan after the end."""
    return False
