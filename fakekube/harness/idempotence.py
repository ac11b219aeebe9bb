"""The idempotence check: if nothing has changed, reconciling everything once more must write nothing."""

from __future__ import annotations

from collections.abc import Sequence

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.harness.audit import NOOP, Audit
from fakekube.harness.ledger import Ledger
from fakekube.harness.operators.operator import Operator


class IdempotenceCheck:
    """One check: call `begin` when the cluster is quiescent, let it settle, then call `end`.

    `noops_allowed`: writes that change nothing do not count.
    """

    def __init__(self, operators: Sequence[Operator], audit: Audit, ledger: Ledger, noops_allowed: bool) -> None:
        self._operators, self._audit, self._ledger = operators, audit, ledger
        self._noops_allowed = noops_allowed
        self._mark = self._reconciled = 0

    def begin(self) -> None:
        """Enqueue every key that was ever reconciled."""
        self._mark, self._reconciled = self._audit.mark(), len(self._ledger)
        for operator in self._operators:
            if operator.is_alive:
                operator.enqueue_all()

    def end(self) -> None:
        """Raises AssertionError naming what was written, and by which reconcile where that is known."""
        noops = {id(record) for record in self._audit.noop_writes()}
        written = [
            record
            for record in self._audit.writes_since(self._mark)
            if record.code < 400 and not (self._noops_allowed and id(record) in noops)
        ]
        if written:
            lines = [
                f"  {record.user_agent or record.user}: {record}{NOOP if id(record) in noops else ''}{self._by(record)}"
                for record in written
            ]
            raise AssertionError("something writes although nothing changed:\n" + "\n".join(lines))

    def _by(self, record: RequestRecord) -> str:
        for reconcile in [*self._ledger][self._reconciled :]:
            if any(write.verb == record.verb and write.path == record.path for write in reconcile.writes):
                return f", by {reconcile.controller} reconciling {reconcile.key} [{reconcile.cause}]"
        return ""
