"""The strategies of the built-in kinds, by qualified resource name; one module for each group of kinds."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.kinds import (
    certificates,
    cluster,
    configuration,
    devices,
    events,
    networking,
    pods,
    registration,
    storage,
    workloads,
)

STRATEGIES: Mapping[str, Strategy] = {
    **cluster.STRATEGIES,
    **certificates.STRATEGIES,
    **configuration.STRATEGIES,
    **devices.STRATEGIES,
    **events.STRATEGIES,
    **networking.STRATEGIES,
    **pods.STRATEGIES,
    **registration.STRATEGIES,
    **storage.STRATEGIES,
    **workloads.STRATEGIES,
}
