"""Creates the managers of operators under test: with the cluster's clock, seed and gate, connected to its server."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from controllerlib import Manager
from controllerlib.client import NO_HEADERS, Headers, Query, Response
from controllerlib.observer import Observer
from fakekube.harness.arguments import seconds_of
from fakekube.harness.faultinjection.skewedclock import SkewedClock
from fakekube.harness.keywords import ManagerOptions, check_names
from fakekube.server.direct import DirectTransport
from fakekube.server.runner import TRACE_HEADER
from fakekube.virtualtime import Bubble, Seed
from fakekube.virtualtime.processcontrol import ProcessGate
from fakekube.virtualtime.simulatedprocess import SimulatedProcess

if TYPE_CHECKING:
    from controllerlib.client import HttpTransport

Build = Callable[[Manager], Any]
"""Adds controllers to a manager; its return value is ignored."""

Transport = Literal["direct", "memory", "tcp"]
"""How an operator reaches the server: by function calls, by HTTP through a pipe, by HTTP through the kernel."""


def build_into(manager: Manager, build: Build, has_own: bool) -> None:
    """Call `build(manager)`. Raises TypeError if that is not possible, ValueError if it has added nothing.

    `has_own`: the manager does not need controllers, because it takes part in leader election.
    """
    wanted = "start() takes the function that adds the controllers: start(build), with def build(manager)"
    if isinstance(build, Manager):
        raise TypeError("start() creates the manager itself: pass the function that adds the controllers")
    if not callable(build):
        raise TypeError(f"{wanted}, not {build!r}")
    if inspect.iscoroutinefunction(build):
        raise TypeError(f"{wanted}. It is called and not awaited: no async def")
    before = manager.size
    made = build(manager)
    if inspect.iscoroutine(made):
        made.close()
        raise TypeError(f"{wanted}. It is called and not awaited, but returned a coroutine")
    if not has_own and manager.size == before:
        raise ValueError("start(build): build added nothing to the manager; was .complete() forgotten?")


def manager_for(
    bubble: Bubble,
    transport: Connection,
    observer: Observer,
    options: ManagerOptions,
    process: SimulatedProcess,
    clock: SkewedClock,
) -> Manager:
    """A manager of a process with its clock, and the bubble's seed and gate.

    `sync_period` may be any Duration. It has no jitter unless `sync_period_jitter` is given.
    Raises TypeError, ValueError naming the option.
    """
    own = settings_of(bubble, observer, process, clock)
    given = {name: value for name, value in options.items() if name not in own}
    check_names("start", given, ManagerOptions, "build", "name", "service_account", "user")
    settings: dict[str, Any] = {**own, **options}
    if "sync_period" in options:
        settings["sync_period"] = seconds_of("sync_period", options["sync_period"])
    return Manager(transport, **settings)


def settings_of(bubble: Bubble, observer: Observer, process: SimulatedProcess, clock: SkewedClock) -> dict[str, Any]:
    """The arguments of a Manager in a bubble."""
    return {
        "clock": clock,
        "random": _SeededRandom(bubble.seed),
        "gate": ProcessGate(bubble.gate, process),
        "observer": observer,
        "sync_period_jitter": 0.0,
    }


def over_http(url: str, bubble: Bubble, token: str, trace: Callable[[], str]) -> TracedTransport:
    """A transport to the server over HTTP, with a bearer token if `token` is not empty."""
    from controllerlib.client import HttpTransport

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return TracedTransport(HttpTransport(url, clock=bubble.clock, headers=headers), trace)


class TracedTransport:
    """A transport that sends with each request the operator and the reconcile that make it."""

    def __init__(self, transport: HttpTransport, trace: Callable[[], str]) -> None:
        self._transport, self._trace = transport, trace

    async def request(
        self, method: str, path: str, *, query: Query = (), headers: Headers = NO_HEADERS, body: Any = None
    ) -> Response:
        """As HttpTransport.request."""
        headers = {**headers, TRACE_HEADER: self._trace()}
        return await self._transport.request(method, path, query=query, headers=headers, body=body)

    async def open_watch(self, path: str, *, query: Query = (), headers: Headers = NO_HEADERS) -> Response:
        """As HttpTransport.open_watch."""
        return await self._transport.open_watch(path, query=query, headers={**headers, TRACE_HEADER: self._trace()})

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


Connection = DirectTransport | TracedTransport
"""How an operator is connected."""


class _SeededRandom:
    """The bubble's seed as controllerlib's source of randomness."""

    def __init__(self, seed: Seed) -> None:
        self._seed = seed

    def fraction(self, purpose: str, key: str, attempt: int) -> float:
        return self._seed.float(f"controllerlib/{purpose}", key, attempt)
