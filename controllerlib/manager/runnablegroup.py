"""Groups of runnables that are started and stopped together (controller-runtime: pkg/manager/runnable_group.go)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from controllerlib.clock import pause
from controllerlib.tasks import ENDINGS, OnceEvent, ended, is_from_outside

_log = logging.getLogger(__name__)

StartFunc = Callable[[], Awaitable[Any]]


class RunnableGroupStopped(RuntimeError):
    """A runnable was added after the stop procedure began."""

    def __init__(self) -> None:
        super().__init__("can't accept new runnable as stop procedure is already engaged")


@dataclass(slots=True)
class _Member:
    run: StartFunc
    ready: StartFunc | None
    name: str
    is_ready: OnceEvent = field(default_factory=OnceEvent)


class RunnableGroup:
    """A group of runnables. `start` waits until those added before are ready; later ones are started at once.

    An exception of a runnable is passed to `on_error`; a runnable may return. The owner must call `stop`.

    Source: controller-runtime, runnableGroup.
    """

    name: str

    def __init__(self, name: str, on_error: Callable[[BaseException], None]) -> None:
        self.name, self._on_error = name, on_error
        self._members: list[_Member] = []
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._started = self._stopped = False

    def __len__(self) -> int:
        return len(self._members)

    @property
    def ending(self) -> Sequence[str]:
        """The names of the runnables that were cancelled and have not ended."""
        return list(
            dict.fromkeys(task.get_name().removeprefix(self._prefix) for task in self._tasks if task.cancelling())
        )

    @property
    def _prefix(self) -> str:
        """What the names of its tasks begin with: "runnable " in the group that most runnables are in."""
        return "runnable " if self.name == "leader_election" else f"{self.name} runnable "

    def add(self, run: StartFunc, ready: StartFunc | None = None, name: str = "") -> None:
        """Add a runnable; `ready` waits until it is ready. Raises RunnableGroupStopped."""
        if self._stopped:
            raise RunnableGroupStopped
        member = _Member(run, ready, name or getattr(run, "__qualname__", "runnable"))
        self._members.append(member)
        if self._started:
            self._start(member)

    async def start(self) -> None:
        """Start the runnables and wait until they are ready; no effect when started or stopped before."""
        if self._started or self._stopped:
            return
        self._started = True
        waiting = list(self._members)
        for member in waiting:
            self._start(member)
        for member in waiting:
            await member.is_ready.wait()

    async def stop(self) -> None:
        """Accept no more runnables, cancel the existing ones and wait until they have ended."""
        self.refuse()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        for task in tasks:
            await ended(task)

    def refuse(self) -> None:
        """Accept no more runnables, and start none."""
        self._stopped = True

    async def kill(self) -> None:
        """Cancel the runnables again, and let the event loop run a few times so that they can end."""
        self.refuse()
        for task in list(self._tasks):
            task.cancel()
        for _ in range(20):
            if not self._tasks:
                return
            await pause()
        _log.warning("runnables did not end", extra={"group": self.name, "count": len(self._tasks)})

    def _start(self, member: _Member) -> None:
        self._begin(self._run(member), f"{self._prefix}{member.name}")
        if member.ready is None:
            member.is_ready.set()
        else:
            self._begin(self._wait_ready(member, member.ready), f"ready {member.name}")

    def _begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.pop(task, None)

    async def _run(self, member: _Member) -> None:
        await self._reported(member.run, member.name)

    async def _wait_ready(self, member: _Member, ready: StartFunc) -> None:
        if await self._reported(ready, member.name):
            member.is_ready.set()

    async def _reported(self, work: StartFunc, name: str) -> bool:
        """Call `work`, and pass its exception to the owner. Returns whether it has raised none."""
        task = asyncio.current_task()
        try:
            await work()
        except ENDINGS:
            raise
        except BaseException as error:  # reported by the owner
            if is_from_outside(error, task):
                raise
            self._on_error(_named(error, name))
            return False
        return True


def _named(error: BaseException, name: str) -> BaseException:
    """Return the error of a runnable; one that would cancel or close what awaits it, as the cause of another."""
    if not isinstance(error, (asyncio.CancelledError, GeneratorExit)):
        return error
    named = RuntimeError(f"runnable {name} raised {type(error).__name__} but was not cancelled")
    named.__cause__ = error
    return named
