"""The clients of a server as a harness distinguishes them, and what it decides about their requests and watches."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from fakekube.apiserver.faults import Fault
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.storage.watch import Watch, WatchEvent
from fakekube.apiserver.wire.request import Request, RequestInfo


class ClientProcess(Protocol):
    """A simulated process whose requests the server answers."""

    @property
    def name(self) -> str: ...

    @property
    def fenced(self) -> bool:
        """Whether it has been killed: its requests have no effect."""

    @property
    def ended(self) -> bool:
        """Whether the task that it was started with has ended."""

    def refuse(self, what: str) -> BaseException:
        """Record a request that has no effect. Returns the exception that ends the code which makes it."""


class Processes(Protocol):
    """The simulated processes of a bubble."""

    @property
    def current(self) -> Callable[[], ClientProcess | None]:
        """Returns the process whose code runs (None: the test, the server, or a foreign process)."""

    def connected(self, client: Any, server: Any) -> ClientProcess | None:
        """The process with a connection between these addresses."""

    def real_silence(self, client: Any, server: Any) -> Coroutine[Any, Any, None] | None:
        """Waits in real time for as long as a client computes at most, if it is in another process."""


class Interception(Protocol):
    """What a harness observes and decides at each point of a request and of a watch."""

    def before_request(self, request: Request, info: RequestInfo, client: ClientProcess | None) -> Fault | None:
        """Called before a request is processed. What happens to it (None: nothing)."""

    def committed(self, change: Change, info: RequestInfo | None, client: ClientProcess | None) -> None:
        """Called when a change is stored; `info` is that of the request which made it, if one did."""

    def answered(
        self, request: Request, info: RequestInfo, client: ClientProcess | None, response: Response
    ) -> Response:
        """Called when a request is answered. The response that is sent; one with `reset` breaks the connection."""

    def watching(self, watch: Watch, user_agent: str, client: ClientProcess | None) -> None:
        """Called when a watch is opened; may hold it."""

    def before_event(self, watch: Watch, event: WatchEvent) -> float:
        """Called before an event is sent. The seconds by which it is delayed."""
