"""Scripting of simulated nodes in a test: `fakekube.nodes["node-1"].lose()`."""

from __future__ import annotations

from collections.abc import Awaitable

from fakekube.controllers.kubelet.nodeagent import NodeAgent
from fakekube.controllers.kubelet.nodestatus import Pressure
from fakekube.harness.pods.simulatedpods import Scope
from fakekube.harness.pods.simulationarguments import check_pressure
from fakekube.struct import replace


class SimulatedNode:
    """A node of the kubelets. Its methods settle: in an async test they must be awaited."""

    def __init__(self, scope: Scope, agent: NodeAgent) -> None:
        self._scope, self._agent = scope, agent

    def __repr__(self) -> str:
        return f"<SimulatedNode {self.name}{' lost' if self._agent.is_lost else ''}>"

    @property
    def name(self) -> str:
        return self._agent.spec.name

    @property
    def is_lost(self) -> bool:
        return self._agent.is_lost

    def lose(self) -> Awaitable[None]:
        """The kubelet stops: it renews no lease, and writes no status of the node nor of its pods."""
        self._agent.is_lost = True
        return self._scope.settle()

    def recover(self) -> Awaitable[None]:
        """The kubelet works again, and what should have happened to its pods meanwhile happens now."""
        self._scope.kubelets.recover(self.name)
        return self._scope.settle()

    def pressure(self, kind: Pressure = "memory", under: bool = True) -> Awaitable[None]:
        """Report pressure ("memory", "disk", "pid"), or with `under=False` none.

        Raises ValueError for another kind.
        """
        check_pressure(kind)
        found = self._agent.condition.pressures
        pressures = found | {kind} if under else found - {kind}
        self._agent.condition = replace(self._agent.condition, pressures=pressures)
        self._changed()
        return self._scope.settle()

    def not_ready(self, message: str = "container runtime is down") -> Awaitable[None]:
        """Report that the node is not ready; its pods go on."""
        return self._problem(message)

    def ready(self) -> Awaitable[None]:
        """Report that the node is ready."""
        return self._problem("")

    def _problem(self, message: str) -> Awaitable[None]:
        self._agent.condition = replace(self._agent.condition, problem=message)
        self._changed()
        return self._scope.settle()

    def _changed(self) -> None:
        self._scope.kubelets.nodes.changed(self.name)
