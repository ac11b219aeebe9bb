"""The cluster's own controllers in a test: started with the cluster, and held, stepped and asserted on by the test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fakekube.harness.operator import ControllerView, Operator
from fakekube.harness.records.reconciles import Reconcile

if TYPE_CHECKING:
    from fakekube.apiserver.auth.serviceaccounttoken import Issuer
    from fakekube.controllers.controllermanager import ControllerManager
    from fakekube.controllers.hold import HoldGate
    from fakekube.controllers.settings import Settings
    from fakekube.server.certificates import Authority


#: The controllers that need the CA of the cluster.
WITH_CA = frozenset({
    "certificatesigningrequest-signing-controller", "root-ca-certificate-publisher-controller",
    "serviceaccount-token-controller",
})  # fmt: skip


def settings_for(names: Sequence[str], issuer: Issuer, authority: Callable[[], Authority]) -> Settings:
    """The settings of the controllers that `names` select; `authority` makes the CA, which few of them need."""
    from fakekube.controllers.catalogue import select
    from fakekube.controllers.settings import Settings

    if not any(one.name in WITH_CA for one in select(names)):
        return Settings()
    ca = authority()
    return Settings(ca.certificate.decode(), issuer.keys.sign, (ca.certificate, ca.key))


@dataclass(frozen=True, slots=True)
class Settling:
    """How a test settles. `in_async_test`: whether it must await that. `awaited` makes what it must await."""

    settle: Callable[[], Awaitable[None]]
    in_async_test: Callable[[], bool]
    awaited: Callable[[Coroutine[Any, Any, Any], str], Coroutine[Any, Any, Any]]


class ClusterController(ControllerView):
    """One of the cluster's own controllers, as a test sees it."""

    def __init__(self, view: ControllerView, gate: HoldGate, settling: Settling) -> None:
        super().__init__(view._operator, view.name, view._ledger, view._now, view._catalog)
        self._gate, self._settling = gate, settling

    def __repr__(self) -> str:
        return f"<ClusterController {self.name} reconciles={self.reconciles()}{' held' if self.is_held else ''}>"

    @property
    def is_held(self) -> bool:
        """Whether it reconciles only when it is stepped."""
        return self._gate.held

    def hold(self) -> None:
        """Let it reconcile nothing further, while its queue fills, until `release`."""
        self._gate.hold()

    def release(self) -> Awaitable[None]:
        """Let it reconcile again, and settle. In an async test it must be awaited."""
        self._gate.release()
        return self._settling.settle()

    def step(self) -> Any:
        """Let it reconcile one key that is due, and settle; it is held from then on.

        Returns the Reconcile, or None if no key was due. In an async test it must be awaited.
        """
        self._gate.hold()
        before = self.reconciles()
        self._gate.permit()
        if self._settling.in_async_test():
            return self._settling.awaited(self._after(before), "step")
        self._settling.settle()
        return self._stepped(before)

    async def _after(self, before: int) -> Reconcile | None:
        await self._settling.settle()
        return self._stepped(before)

    def _stepped(self, before: int) -> Reconcile | None:
        self._gate.withdraw()
        made = self.reconciles() - before
        return self.history()[-made] if made else None


class ClusterControllers:
    """The running controllers of the cluster."""

    operator: Operator

    def __init__(self, running: ControllerManager, operator: Operator, settling: Settling) -> None:
        self._running, self.operator, self._settling = running, operator, settling

    def part(self, name: str) -> Any:
        """What a controller offers to the harness, or None."""
        return self._running.parts.get(name)

    def named(self, name: str) -> ClusterController:
        """A controller by its name or alias. Raises KeyError."""
        name = self._running.queue_name(name)
        return ClusterController(self.operator[name], self._running.gates[name], self._settling)
