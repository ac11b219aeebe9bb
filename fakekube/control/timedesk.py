"""Health, and the clock of a server that is a process."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.wire.status import StatusError
from fakekube.control.operation import operation
from fakekube.control.steering import Steering
from fakekube.server.process.pacedloop import NotStepped, PacedLoop
from fakekube.virtualtime.durations import SECOND, Duration, microseconds


class TimeDesk:
    """As `fakekube.clock` and `fakekube.advance` of a test."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering

    @operation("GET", "/health")
    def health(self) -> Any:
        """Whether the server is ready, its revision, the number of objects, and its clock."""
        runner = self._steering.runner
        store = runner.apiserver.store
        return {
            "ready": not runner.is_down, "revision": str(store.revision), "objects": store.size(),
            "version": runner.apiserver.version["gitVersion"], "clock": self.clock(),
        }  # fmt: skip

    @operation("GET", "/clock")
    def clock(self) -> Any:
        """The mode of the clock, the present time of the server, and the seconds since its start."""
        loop, clock = self._steering.beside.loop, self._steering.clock
        mode = loop.mode if loop is not None else "real"
        return {"mode": mode, "now": clock.now().isoformat(), "elapsed": round(clock.monotonic(), 6)}

    @operation("PUT", "/clock")
    def pace(self, mode: str) -> Any:
        """Let time pass in another mode: `real`, a multiple of it like `x60`, or `stepped`."""
        try:
            self._loop().set_mode(mode)
        except NotStepped as problem:
            raise StatusError(409, "Conflict", str(problem)) from None
        return self.clock()

    @operation("POST", "/clock:advance")
    async def advance(self, by: Duration) -> Any:
        """Move the time of a stepped clock; answered when the cluster's own controllers and kubelets are idle."""
        try:
            await self._loop().advance(microseconds(by) / SECOND)
        except NotStepped as problem:
            raise StatusError(409, "Conflict", str(problem)) from None
        return self.clock()

    def _loop(self) -> PacedLoop:
        loop = self._steering.beside.loop
        if loop is None:
            raise StatusError(409, "Conflict", "the time of this server is not its own")
        return loop
