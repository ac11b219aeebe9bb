"""What a simulated node is like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.struct import Struct, field


class NodeSpec(Struct, frozen=True):
    """A node that a kubelet registers.

    `cpu`, `memory`, `storage`: quantities; `pods`: how many fit; `resources`: further ones, {"example.com/gpu": 2}.
    `taints`: {"key": ..., "value": ..., "effect": ...}. `lease_duration`: seconds after which the node counts as lost;
    its lease is renewed four times as often (0: it has no lease).
    """

    name: str
    cpu: str | int | float = "8"
    memory: str | int = "32Gi"
    pods: int = 110
    storage: str | int = "100Gi"
    resources: Mapping[str, str | int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, Any]] = ()
    lease_duration: int = 40

    def capacity(self) -> dict[str, str]:
        """The capacity as the node reports it."""
        found = {"cpu": self.cpu, "ephemeral-storage": self.storage, "memory": self.memory, "pods": self.pods}
        return {name: str(value) for name, value in {**found, **self.resources}.items()}


def numbered(count: int) -> Sequence[NodeSpec]:
    """That many equal nodes: node-1, node-2, ..."""
    return [NodeSpec(f"node-{number}") for number in range(1, count + 1)]
