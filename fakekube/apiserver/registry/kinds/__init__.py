"""The strategies of the built-in kinds, by qualified resource name; one module for each group of kinds."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.registry.core.pod.strategy import STRATEGIES as POD_STRATEGIES
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.kinds import (
    certificates,
    cluster,
    configuration,
    devices,
    events,
    networking,
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
    **POD_STRATEGIES,
    **registration.STRATEGIES,
    **storage.STRATEGIES,
    **workloads.STRATEGIES,
}
