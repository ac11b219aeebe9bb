"""DeviceTaintRule."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy

#: Of v1; older versions, which are not served, allow an unconditional update (`AllowUnconditionalUpdate`).
KIND = Kind(
    "devicetaintrules.resource.k8s.io",
    Strategy(generation=("spec",), unconditional_update=False, status_resets_metadata=True),
)
