"""The desk `fakekube.findings`: what detectors found, and checks that a test asks for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.harness.audit import Audit
from fakekube.harness.detectors.detection import Detection
from fakekube.harness.detectors.finding import Finding
from fakekube.harness.idempotence import IdempotenceCheck
from fakekube.harness.ledger import Ledger
from fakekube.harness.members import Need, changes, reads, steps
from fakekube.harness.operators.background import Background
from fakekube.harness.stepping import Stepping

if TYPE_CHECKING:
    from fakekube.virtualtime.bubble import Bubble


class Findings:
    """What the detectors have found so far and the test has not allowed, oldest first: a sequence of Finding."""

    def __init__(
        self,
        bubble: Bubble,
        detection: Detection,
        stepping: Stepping,
        background: Background,
        audit: Audit,
        ledger: Ledger,
        check: Callable[[], None],
    ) -> None:
        self._bubble, self._detection, self._stepping, self._check = bubble, detection, stepping, check
        self._background, self._audit, self._ledger = background, audit, ledger

    def __len__(self) -> int:
        return len(self._detection.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._detection.findings)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | Sequence[Finding]:
        return self._detection.findings[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Findings {', '.join(one.detector for one in self) or 'none'}>"

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    @reads()
    def allow(self, detector: str, *, reason: str, match: str = "") -> None:
        """Ignore the findings of a detector whose text matches: `allow("noop-write", reason="applies each time")`.

        `match` is a regular expression. Raises TypeError without a reason, ValueError for an unknown detector.
        """
        self._detection.allow(detector, reason, match)

    @changes()
    def check(self) -> None:
        """Let the detectors finish; raise FindingError if one at level `error` has found something, warn of the others.

        The end of the test calls it. Later calls do nothing.
        """
        self._check()

    @reads(Need.STORE)
    def noop_writes(self) -> Sequence[RequestRecord]:
        """Successful updates and patches that changed nothing, and that an operator could save."""
        return self._audit.noop_writes()

    @property
    @reads(Need.CLOCK)
    def blocking_calls(self) -> dict[str, int]:
        """The places in coroutines that made blocking calls to the server, and how many each.

        They are answered in place. On a real machine nothing else on the event loop runs meanwhile.
        """
        return {str(place): count for place, count in self._bubble.blocking_calls.items()}

    @steps(Need.CLOCK)
    def assert_no_writes_at_rest(self, *, noops_allowed: bool = False) -> Awaitable[None]:
        """Advances by a second and reconciles everything again; raises AssertionError naming what was written.

        `noops_allowed`: ignore writes that change nothing, as of an operator that applies its objects each time.
        """
        check = IdempotenceCheck(self._background.operators, self._audit, self._ledger, noops_allowed)
        if self._stepping.in_async_test():
            return self._stepping.awaited(self._check_idempotence(check), "assert_no_writes_at_rest")
        self._advance_a_second()
        check.begin()
        done = self._stepping.settle()
        check.end()
        return done

    def _advance_a_second(self) -> Awaitable[None]:
        return self._stepping.step(lambda: self._bubble.advance(1))

    async def _check_idempotence(self, check: IdempotenceCheck) -> None:
        await self._advance_a_second()
        check.begin()
        await self._stepping.settle()
        check.end()
