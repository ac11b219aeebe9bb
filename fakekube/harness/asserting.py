"""The assertions of a cluster on what was reconciled, requested and written, and on what becomes true."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from fakekube.harness import arguments
from fakekube.harness.assertions import recorded
from fakekube.harness.assertions.invariants import Predicate
from fakekube.harness.assertions.readonly import ReadOnlyCluster
from fakekube.harness.audit import Audit
from fakekube.harness.clustercontrollers import ControllerSimulation
from fakekube.harness.keywords import RequestFields
from fakekube.harness.ledger import Ledger
from fakekube.harness.objects import TEST_AGENT
from fakekube.harness.operators.background import Background
from fakekube.harness.requestqueries import RequestQueries
from fakekube.harness.state.versionhistory import VersionHistory
from fakekube.harness.stepping import Stepping
from fakekube.virtualtime import Bubble
from fakekube.virtualtime.durations import Duration


class Assertions:
    """See `Cluster.assert_reconciled` and its neighbours."""

    def __init__(
        self,
        bubble: Bubble,
        ledger: Ledger,
        audit: Audit,
        queries: RequestQueries,
        background: Background,
        controllers: ControllerSimulation,
        read_only: ReadOnlyCluster,
        stepping: Stepping,
    ) -> None:
        self._bubble, self._ledger, self._audit, self._queries = bubble, ledger, audit, queries
        self._background, self._controllers = background, controllers
        self._read_only, self._stepping = read_only, stepping

    def reconciled(
        self,
        key: str,
        controller: str,
        times: int | None,
        causes: Sequence[str] | None,
        results: Sequence[str] | None,
        within: Duration | None,
    ) -> None:
        """See `Cluster.assert_reconciled`."""
        done = [one for one in self._ledger if one.key == key and controller in ("", one.controller)]
        if not done:
            self._check_key(key, controller)
        names = list(dict.fromkeys(one.controller for one in done))
        if len(names) > 1:
            raise LookupError(f"{key} was reconciled by {', '.join(names)}: pass controller=")
        if results is not None:
            for one in done:
                self._ledger.inspect_errors(f"{one.operator}/{one.controller}")
        since = None if within is None else timedelta(seconds=arguments.seconds_of("within", within))
        clock = self._bubble.clock
        recorded.check_reconciled(
            key, recorded.recent(done, clock.now(), since), clock.epoch, times=times, causes=causes, results=results,
            hint=self._hint(),
        )  # fmt: skip

    def _hint(self) -> str:
        """Why a key may not have been reconciled."""
        if not self._background.operators and self._controllers.operator is None:
            return recorded.NOT_STARTED
        return recorded.NOT_SETTLED if self._bubble.loop.has_work() else ""

    def _check_key(self, key: str, controller: str) -> None:
        """Raises TypeError, ValueError for a key that no controller (with this name) can reconcile."""
        key = arguments.key_of(key)
        own = self._controllers.operator
        operators = [*self._background.operators, *([own] if own is not None else [])]
        views = [view for operator in operators for view in operator.views() if controller in ("", view.name)]
        problems = [view.problem_of(key) for view in views]
        if problems and all(problems):
            raise ValueError(problems[0])

    def requests(self, times: int | None, wanted: RequestFields) -> None:
        """See `Cluster.assert_requests`."""
        recorded.check_requests(self._queries.requests(wanted), self._queries.requests({}), wanted, times)

    def written(self, what: str, versions: VersionHistory, fields: Mapping[str, Any], by: str) -> None:
        """See `Cluster.assert_written`."""
        writers = {str(record.revision): record.user_agent or record.user for record in self._audit.writes_since(0)}
        own = self._queries.requests({"user_agent": TEST_AGENT})
        writers.update({str(record.revision): TEST_AGENT for record in own})
        recorded.check_written(what, versions, writers, fields, by, self._bubble.clock.epoch)

    def eventually(
        self, predicate: Predicate, text: str, within: Duration, story: Callable[[], str]
    ) -> Awaitable[None]:
        """See `Cluster.eventually`. `story`: what the error ends with."""
        if not callable(predicate):
            raise TypeError(f"{predicate!r}: pass a function of the cluster, like `lambda cluster: ...`")
        if self._stepping.in_async_test():
            return self._stepping.awaited(self._becomes(predicate, text, within, story), "eventually")
        try:
            return self._until(predicate, within)
        except TimeoutError:
            raise _not_so(text, within, story()) from None

    def _until(self, predicate: Predicate, within: Duration) -> Awaitable[None]:
        return self._stepping.until(partial(predicate, self._read_only), within)

    async def _becomes(self, predicate: Predicate, text: str, within: Duration, story: Callable[[], str]) -> None:
        try:
            await self._until(predicate, within)
        except TimeoutError:
            raise _not_so(text, within, story()) from None


def _not_so(text: str, within: Duration, story: str) -> AssertionError:
    what = f"eventually: {text}\n" if text else ""
    return AssertionError(f"{what}not so within {within} of virtual time{story}")
