"""What a test does to operators and to the server: kill, stop, hold, jump, restart. Delegates to the other modules."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from fakekube.apiserver.resource import Resource
from fakekube.harness.driving.externalwait import real_time
from fakekube.harness.faultinjection.holds import Holds
from fakekube.harness.faultinjection.injector import Injector
from fakekube.harness.faultinjection.interceptor import Interceptor
from fakekube.harness.faultinjection.plannedkill import PlannedKill
from fakekube.harness.faultinjection.skewedclock import SkewedClock
from fakekube.harness.faultinjection.watchhold import Hold
from fakekube.server.clients import Interception
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.durations import SECOND, Duration, microseconds
from fakekube.virtualtime.simulatedprocess import SimulatedProcess, current_client

Object = dict[str, Any]


#: Real seconds without a message after which a client in another process waits for output.
EXTERNAL_SILENCE = 1.0


class ProcessTable:
    """Implements `fakekube.server.clients.Processes` for a bubble."""

    def __init__(self, bubble: Bubble) -> None:
        self._bubble = bubble

        self.current: Callable[[], SimulatedProcess | None] = current_client

    def connected(self, client: Any, server: Any) -> SimulatedProcess | None:
        return self._bubble.loop.network.process_of(client, server)

    def real_silence(self, client: Any, server: Any) -> Coroutine[Any, Any, None] | None:
        return real_time(EXTERNAL_SILENCE) if self._bubble.loop.network.is_external(client, server) else None


class Disruptions:
    """The faults of a cluster that are not rules for requests. `disconnect` breaks the connections of HTTP clients and
    returns the ports of the server (none: it does not listen)."""

    def __init__(self, bubble: Bubble, runner: ServerRunner, disconnect: Callable[[], set[int]]) -> None:
        self._bubble, self._runner, self._disconnect = bubble, runner, disconnect
        self._clock = SkewedClock(bubble.clock)
        self._interceptor = Interceptor(self.kill, self._resource)
        self._holds = Holds(runner, self._interceptor, self._update)
        self._supervisor: Interception | None = None
        runner.processes = ProcessTable(bubble)

    # --- processes

    def kill(self, process: SimulatedProcess) -> None:
        """Kill a process at once."""
        for watch in tuple(self._runner.watches):
            if watch.client[1] is process:
                self._runner.streams.forget(watch)
        self._bubble.loop.processes.kill(process)

    def plan_kill(self, process: SimulatedProcess, after_write: int | None, at: str | None) -> PlannedKill:
        """Kill a process after a write. Raises ValueError."""
        from fakekube.harness.faultinjection.statechange import Anchor

        if not process.runs:
            raise ValueError(f"kill(): {process.name} is {process.state.value}")
        if (after_write is None) == (at is None):
            raise ValueError("kill(): pass after_write=1 or at='update deployment/web', not both")
        if after_write is not None and (isinstance(after_write, bool) or after_write < 1):
            raise ValueError(f"after_write={after_write!r} must be an integer of at least 1")
        anchor = Anchor.parse(at) if at is not None else None
        plan = PlannedKill(process.name, lambda: self.kill(process), after_write, anchor)
        self._interceptor.kills.append(plan)
        self._update()
        return plan

    def stop(self, process: SimulatedProcess) -> None:
        """Stop a process, as SIGSTOP does."""
        self._bubble.loop.processes.stop(process)

    def resume(self, process: SimulatedProcess) -> None:
        """Let a stopped process run on, as SIGCONT does."""
        self._bubble.loop.processes.resume(process)

    # --- watches

    def hold(
        self, process: SimulatedProcess | None, resource: str, namespace: str, user_agent: str, at: int | str | None
    ) -> Hold:
        """Hold the watches of a process, or of clients with a User-Agent. Raises ValueError."""
        return self._holds.hold(process, resource, namespace, user_agent, at)

    def hold_at(self, process: SimulatedProcess, resource: str, revision: int) -> Hold:
        """Hold the watches of a process, of which some may have been delivered later changes already."""
        return self._holds.add(Hold(revision, resource, "*", "*", process, self._runner.streams.wake_all))

    # --- the server

    def restart_server(self, down: Duration) -> None:
        """Stop the server, and start it again after a time with the same stored objects."""
        self._runner.stop_serving()
        ports, down_ports = self._disconnect(), self._bubble.loop.network.down
        down_ports |= ports

        def start() -> None:
            down_ports.difference_update(ports)
            self._runner.serve_again()

        length = microseconds(down)
        if length:
            self._bubble.loop.call_later(length / SECOND, start)
        else:
            start()

    def jump(self, clock: SkewedClock | None, by: Duration) -> None:
        """Move the wall clock of the server, or another one, forwards or backwards."""
        jumping = clock or self._clock
        if clock is None:
            self._runner.use_clock(self._clock)
        if isinstance(by, timedelta):
            jumping.skew += by
        elif isinstance(by, int | float) and by < 0:
            jumping.skew -= timedelta(microseconds=microseconds(-by))
        else:
            jumping.skew += timedelta(microseconds=microseconds(by))

    # --- engines

    @property
    def injector(self) -> Injector | None:
        return self._interceptor.injector

    def install(self, injector: Injector | None) -> None:
        """Ask an injector at each point from now on (None: no more). Operators that start later ask it before each
        delta."""
        self._interceptor.injector = injector
        self._update()

    def supervise(self, make: Callable[[Interception], Interception]) -> None:
        """Let `make(interceptor)` be asked at each point from now on, in place of the interceptor, which it calls."""
        self._supervisor = make(self._interceptor)
        self._update()

    def facts(self) -> list[str]:
        """The holds and planned kills, one a line."""
        holds = [repr(hold) for hold in self._interceptor.holds if hold.active]
        kills = [repr(plan) for plan in self._interceptor.kills if plan.active]
        down = ["the server is down"] if self._runner.is_down else []
        return [*down, *holds, *kills]

    def retire(self) -> None:
        """Break reference cycles so that the cluster is freed at once."""
        self._interceptor.retire()
        del self._holds
        self._supervisor = None
        self._runner.intercept(None)
        self._runner.processes = None

    def _update(self) -> None:
        idle = None if self._interceptor.is_idle() else self._interceptor
        self._runner.intercept(self._supervisor or idle)

    def _resource(self, collection: str) -> Resource | None:
        for one in self._runner.apiserver.catalog.resources():
            if one.collection == collection:
                return one
        return None
