"""The desk `fakekube.nodes`: simulated nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Unpack

from fakekube.harness.keywords import NodeOptions
from fakekube.harness.members import Need, reads, steps
from fakekube.harness.stepping import Stepping

if TYPE_CHECKING:
    from fakekube.harness.pods.simulatednode import SimulatedNode
    from fakekube.harness.pods.simulatedpods import Scope

    _Nodes = Mapping[str, SimulatedNode]
else:
    _Nodes = Mapping


class Nodes(_Nodes):
    """The simulated nodes by name, which a test can lose and recover: `fakekube.nodes["node-1"].lose()`.

    `simulated(caller)` returns their kubelets; it raises RuntimeError if none runs.
    """

    def __init__(self, simulated: Callable[[str], Scope], stepping: Stepping) -> None:
        self._simulated, self._stepping = simulated, stepping

    @steps(Need.CONTROLLERS)
    def add(self, name: str, **options: Unpack[NodeOptions]) -> SimulatedNode:
        """Add a node: `add("big", cpu=64, memory="256Gi", pods=500, labels={...}, taints=[...])`.

        It is registered when the cluster settles, which this does in a sync test. Taints are mappings, or text like
        `key=value:NoSchedule`. Raises RuntimeError if no kubelet runs, TypeError or ValueError for
        an invalid option, ValueError for a name in use.
        """
        from fakekube.harness.pods.simulatednode import SimulatedNode
        from fakekube.harness.pods.simulationarguments import node_spec

        scope = self._simulated("nodes.add()")
        agent = scope.kubelets.nodes.add_node(node_spec(name, dict(options)))
        if not self._stepping.in_async_test():
            self._stepping.settle()
        return SimulatedNode(scope, agent)

    @reads(Need.CONTROLLERS)
    def __getitem__(self, name: str) -> SimulatedNode:
        """Raises KeyError for an unknown name, RuntimeError if no kubelet runs."""
        from fakekube.harness.pods.simulatednode import SimulatedNode

        scope = self._simulated("nodes[...]")
        agents = scope.kubelets.agents
        if name not in agents:
            raise KeyError(f"no simulated node {name!r} (nodes: {', '.join(agents) or 'none'})")
        return SimulatedNode(scope, agents[name])

    @reads(Need.CONTROLLERS)
    def __iter__(self) -> Iterator[str]:
        return iter(self._simulated("nodes").kubelets.agents)

    @reads(Need.CONTROLLERS)
    def __len__(self) -> int:
        return len(self._simulated("nodes").kubelets.agents)

    def __repr__(self) -> str:
        try:
            return f"<Nodes {', '.join(self) or 'none'}>"
        except RuntimeError:
            return "<Nodes none: no kubelet runs>"
