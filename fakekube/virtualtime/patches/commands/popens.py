"""Patches `subprocess.Popen`: the loop runs while the test waits for a process, and none outlives the bubble.

The loop runs on the test's thread; if that blocked in the kernel, the server could not answer what it waits for.
"""

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.patches.commands.childprocesses import Children, named
from fakekube.virtualtime.patches.patch import Patch

#: The positions of `timeout` among the arguments.
_TIMEOUTS = {"wait": 0, "communicate": 1}


class PopenPatches:
    def __init__(self, blocking: Blocking, children: Children) -> None:
        self._blocking = blocking
        self._children = children
        self._noted: subprocess.Popen[Any] | None = None

    def patches(self) -> Iterator[Patch]:
        popen = subprocess.Popen
        yield Patch(popen, "__init__", self._init(popen.__init__))
        for name, position in _TIMEOUTS.items():
            yield Patch(popen, name, self._wait(getattr(popen, name), position))

    def _init(self, real: Callable[..., None]) -> Callable[..., None]:
        def init(process: subprocess.Popen[Any], *args: Any, **options: Any) -> None:
            real(process, *args, **options)
            if self._blocking.concerns():
                self._children.add(process)

        return init

    def _wait(self, real: Callable[..., Any], position: int) -> Callable[..., Any]:
        def wait(process: subprocess.Popen[Any], *args: Any, **options: Any) -> Any:
            timeout = args[position] if len(args) > position else options.get("timeout")
            if self._blocking.on_own_loop() and process.returncode is None and timeout != 0:
                return self._on_loop(process, lambda: real(process, *args, **options))
            if not self._blocking.concerns() or self._blocking.on_own_loop() or process.poll() is not None:
                return real(process, *args, **options)

            def awaited() -> Any:
                with self._children.awaiting(process, is_limited=timeout is None):
                    return real(process, *args, **options)

            return self._blocking.outside(f"waiting for {named(process)}", awaited)

        return wait

    def _on_loop(self, process: subprocess.Popen[Any], wait: Callable[[], Any]) -> Any:
        """A wait that blocks the loop. `communicate` calls `wait`, which is noted once."""
        if self._noted is process:
            return wait()
        self._blocking.note_waiting(f"waits for the {named(process)}")
        self._noted = process
        try:
            return wait()
        finally:
            self._noted = None
