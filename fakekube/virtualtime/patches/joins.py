"""Patches `Thread.join` and the waits of `subprocess.Popen`: the loop keeps running while the test waits.

The loop runs on the test's thread; if that blocked in the kernel, the server could not answer what it waits for.
"""

import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.threads.scheduler import ThreadScheduler


class JoinPatches:
    def __init__(self, blocking: Blocking, threads: ThreadScheduler) -> None:
        self._blocking = blocking
        self._threads = threads
        self._noted: subprocess.Popen[Any] | None = None

    def patches(self) -> Iterator[Patch]:
        yield Patch(threading.Thread, "join", self._join(threading.Thread.join))
        yield Patch(subprocess.Popen, "wait", self._process(subprocess.Popen.wait))
        yield Patch(subprocess.Popen, "communicate", self._process(subprocess.Popen.communicate))

    def _join(self, real: Callable[..., None]) -> Callable[..., None]:
        def join(target: threading.Thread, timeout: float | None = None) -> None:
            ours = self._threads.find(target)
            waits = self._waits() or (ours is not None and self._blocking.on_own_loop())
            if not waits or not target.is_alive() or target is threading.current_thread():
                self._blocking.timed(f"waits for the end of {target.name}", lambda: real(target, timeout))
            elif ours is not None:
                where = f"waiting for the end of {target.name}"
                ended = self._blocking.wait(where, lambda: not ours.is_alive(), ours.ended, timeout=timeout)
                if ended and not ours.stranded:
                    real(target)
            else:
                self._blocking.outside(f"waiting for thread {target.name}", lambda: real(target, timeout))

        return join

    def _process(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def wait(process: subprocess.Popen[Any], *args: Any, **options: Any) -> Any:
            if self._blocking.on_own_loop() and process.returncode is None and options.get("timeout") != 0:
                return self._on_loop(process, lambda: real(process, *args, **options))
            if not self._waits() or process.poll() is not None:
                return real(process, *args, **options)
            return self._blocking.outside(
                f"waiting for process {process.pid} ({_command(process)})", lambda: real(process, *args, **options)
            )

        return wait

    def _on_loop(self, process: subprocess.Popen[Any], wait: Callable[[], Any]) -> Any:
        """A wait that blocks the loop. `communicate` calls `wait`, which is noted once."""
        if self._noted is process:
            return wait()
        self._blocking.note_waiting(f"waits for the process {_command(process)}")
        self._noted = process
        try:
            return wait()
        finally:
            self._noted = None

    def _waits(self) -> bool:
        """Whether the caller belongs to the bubble and would block the loop."""
        return self._blocking.concerns() and not self._blocking.on_own_loop()


def _command(process: subprocess.Popen[Any]) -> str:
    args = process.args
    return str(args if isinstance(args, str | bytes) else next(iter(args), ""))  # type: ignore[arg-type]
