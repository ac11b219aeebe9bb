"""The desk `fakekube.processes`: operators in other processes, whose time is real."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Unpack

from fakekube.harness.audit import Audit
from fakekube.harness.driving.externalwait import INTERVAL, Quiet, until
from fakekube.harness.keywords import RequestFields
from fakekube.harness.members import Need, steps
from fakekube.harness.objects import TEST_AGENT
from fakekube.harness.requestqueries import RequestQueries
from fakekube.harness.stepping import Stepping
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import Bubble


class Processes:
    """Waits for what runs outside of the test's process. Virtual time is held meanwhile."""

    def __init__(
        self, bubble: Bubble, runner: ServerRunner, audit: Audit, queries: RequestQueries, stepping: Stepping
    ) -> None:
        self._bubble, self._runner, self._audit = bubble, runner, audit
        self._queries, self._stepping = queries, stepping

    @steps(Need.REQUESTS)
    def wait_for(
        self,
        condition: Callable[[], object] | None = None,
        *,
        times: int = 1,
        timeout: float = 10.0,
        **wanted: Unpack[RequestFields],
    ) -> Awaitable[None]:
        """Wait in real time for an operator in another process: for `times` requests with these fields, in the whole
        test (`wait_for(verb="create", resource="pods")`), or until `condition()` is true, which is checked after each
        request and each change, and ten times a second: `wait_for(lambda: process.poll() is not None)`.

        Raises TimeoutError after `timeout` real seconds. In an async test it must be awaited.
        """
        if condition is None and not wanted:
            raise TypeError("wait_for() needs a condition, or the fields of requests, as requests() takes them")
        self._queries.requests(wanted)  # checks the fields

        def is_done() -> object:
            return condition() if condition is not None else len(self._audit.requests(wanted)) >= times

        what = f"waiting for {wanted}" if condition is None else "waiting for a condition"
        interval = None if condition is None else INTERVAL
        return self._stepping.in_real_time(until(is_done, self._bubble, self._runner, timeout, what, interval=interval))

    @steps(Need.REQUESTS)
    def wait_until_quiet(self, seconds: float = 0.5, *, timeout: float = 10.0) -> Awaitable[None]:
        """Wait in real time until operators in other processes have nothing left to do, as far as the server can see:
        each open watch has been sent what it selects, and no request but of the test itself was made for `seconds`.

        Raises TimeoutError after `timeout` real seconds, with what happened last. In an async test it must be awaited.
        """
        if not 0 < seconds < timeout:
            raise ValueError(f"wait_until_quiet(seconds={seconds:g}, timeout={timeout:g}): 0 < seconds < timeout")
        quiet = Quiet(self._runner, seconds, TEST_AGENT)
        what = f"waiting until nothing happens for {seconds:g} s"
        return self._stepping.in_real_time(self._quiet(quiet, until(
            quiet.is_so, self._bubble, self._runner, timeout, what, interval=seconds / 5, why=quiet.why_not
        )))  # fmt: skip

    async def _quiet(self, quiet: Quiet, wait: Coroutine[Any, Any, None]) -> None:
        forget = self._runner.on_request(quiet.note)
        try:
            await wait
        finally:
            forget()
