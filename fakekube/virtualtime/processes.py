"""Runs commands that use the bubble's server: it keeps serving while they run, and holds time until they end."""

import asyncio
import subprocess
import threading
from collections.abc import Awaitable, Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict, Unpack

from fakekube.virtualtime.blocking import HELPER, Blocking
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.patches.commands.childprocesses import Children, kill_tree

Completed = subprocess.CompletedProcess[str]


class ProcessOptions(TypedDict, total=False):
    """The arguments of `subprocess.run` that `run_process` passes on."""

    env: Mapping[str, str]
    cwd: str | PathLike[str]
    input: str
    timeout: float
    check: bool
    capture_output: bool
    stdin: Any
    stdout: Any
    stderr: Any
    text: bool
    encoding: str
    errors: str


class Processes:
    """Runs commands to completion; from a test, a coroutine or a thread of the bubble."""

    def __init__(self, loop: VirtualTimeLoop, blocking: Blocking, children: Children) -> None:
        self._loop = loop
        self._blocking = blocking
        self._children = children

    def run(self, argv: Sequence[str], **options: Unpack[ProcessOptions]) -> Completed:
        """As subprocess.run, with the output captured as text; raises what that raises."""
        return self._blocking.outside(_name(argv), lambda: _run(argv, options, self._children))

    def run_in_coroutine(self, argv: Sequence[str], **options: Unpack[ProcessOptions]) -> Awaitable[Completed]:
        """The same, for a coroutine on the loop."""
        return self._wait(argv, options)

    async def _wait(self, argv: Sequence[str], options: ProcessOptions) -> Completed:
        ended: asyncio.Future[Completed] = self._loop.create_future()

        def helper() -> None:
            try:
                completed = _run(argv, options, self._children)
            except BubbleClosed:
                self._loop.call_soon_threadsafe(ended.cancel)
            except BaseException as error:
                self._loop.call_soon_threadsafe(_resolve, ended, None, error)
            else:
                self._loop.call_soon_threadsafe(_resolve, ended, completed, None)

        with self._loop.clock.hold(_name(argv), endless=True):
            threading.Thread(target=helper, name=HELPER + argv[0], daemon=True).start()
            return await ended


def _run(argv: Sequence[str], options: ProcessOptions, children: Children) -> Completed:
    """As subprocess.run, but what is killed after the time-out is the command and all that it has started."""
    settings: dict[str, Any] = {"capture_output": True, "text": True, **options}
    check, timeout, text = (settings.pop(name, None) for name in ("check", "timeout", "input"))
    if settings.pop("capture_output"):
        settings.update(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if text is not None:
        settings["stdin"] = subprocess.PIPE
    with subprocess.Popen(argv, **settings) as process:
        children.add(process)
        with children.awaiting(process, is_limited=timeout is None, known_as=_name(argv)):
            try:
                output, errors = process.communicate(text, timeout)
            except BaseException:
                kill_tree(process)
                raise
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv, output, errors)
    return subprocess.CompletedProcess(argv, process.returncode, output, errors)


def _name(argv: Sequence[str]) -> str:
    return f"process {' '.join(argv)}"


def _resolve(future: asyncio.Future[Completed], completed: Completed | None, error: BaseException | None) -> None:
    if future.done():
        return
    if completed is not None:
        future.set_result(completed)
    elif error is not None:
        future.set_exception(error)
