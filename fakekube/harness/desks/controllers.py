"""The desk `fakekube.controllers`: the cluster's own controllers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fakekube.controllers.catalogue import named
from fakekube.harness.clustercontrollers import ClusterController, ControllerSimulation
from fakekube.harness.members import Need, reads


class Controllers(Mapping[str, ClusterController]):
    """The cluster's own controllers that run, by their names in kube-controller-manager or their aliases.

    `fakekube.controllers["deployment"]` has a ledger, as a controller of an operator has, and can be suspended.
    """

    def __init__(self, simulation: ControllerSimulation) -> None:
        self._simulation = simulation

    @reads(Need.CONTROLLERS)
    def __getitem__(self, name: str) -> ClusterController:
        """Raises KeyError if it does not run."""
        running = self._simulation.running
        if running is None:
            try:
                named(name)
            except ValueError as problem:
                raise KeyError(str(problem)) from None
            raise KeyError(f"no controller {name!r} of the cluster runs: select it with controllers=[{name!r}]")
        return running.named(name)

    @reads(Need.CONTROLLERS)
    def __iter__(self) -> Iterator[str]:
        running = self._simulation.running
        return iter(running.names() if running is not None else ())

    @reads(Need.CONTROLLERS)
    def __len__(self) -> int:
        running = self._simulation.running
        return len(running.names()) if running is not None else 0

    def __repr__(self) -> str:
        return f"<Controllers {', '.join(self) or 'none'}>"
