"""StorageVersionMigration."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy

KIND = Kind(
    "storageversionmigrations.storagemigration.k8s.io",
    Strategy(unconditional_update=False, status_resets_metadata=True),
)
