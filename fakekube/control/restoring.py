"""Returns a server to a saved state, with the cluster's own controllers and nodes beside it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fakekube.apiserver.apiserver import ServerState
from fakekube.control.steering import Steering
from fakekube.controllers.nodespec import NodeSpec
from fakekube.server.process.serverlog import is_own_agent

#: Seconds between two looks at whether the controllers watch again, and how many there are at most.
PAUSE, LOOKS = 0.05, 200


class Restorer:
    """Restores states. The cluster's own controllers reconcile nothing until their caches show the restored state: with
    what they knew before they would create again what is gone."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering

    async def restore(self, state: ServerState) -> None:
        runner, found = self._steering.runner, self._steering.beside.controllers
        gates = [gate for gate in found.gates.values() if not gate.held] if found is not None else []
        for gate in gates:
            gate.hold()
        before, nodes = self._own_watches(), self._nodes()
        runner.restore(state, after=runner.apiserver.store.revision)
        for _ in range(LOOKS if before else 0):
            await self._pause()
            if not before - self._own_watches():
                break
        for gate in gates:
            gate.release()
        for spec in nodes:
            if spec.name not in self._kubelets().agents:  # the restored state did not have the node
                self._kubelets().nodes.add_node(spec)

    async def _pause(self) -> None:
        loop, clock = self._steering.beside.loop, self._steering.clock
        if loop is not None and loop.mode == "stepped":
            await loop.advance(PAUSE)
        else:
            await clock.sleep_until(clock.monotonic() + PAUSE)

    def _own_watches(self) -> Counter[tuple[str, str]]:
        """The open watches of the cluster's own controllers, by client and collection."""
        watches = self._steering.runner.watches
        return Counter((one.client[0], one.collection) for one in watches if is_own_agent(one.client[0]))

    def _nodes(self) -> list[NodeSpec]:
        kubelets = self._kubelets()
        return [agent.spec for agent in kubelets.agents.values()] if kubelets is not None else []

    def _kubelets(self) -> Any:
        found = self._steering.beside.controllers
        return found.parts.get("kubelet") if found is not None else None
