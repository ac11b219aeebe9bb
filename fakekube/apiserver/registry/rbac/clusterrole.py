"""ClusterRole."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.rbac.role import STRATEGY

KIND = Kind(
    "clusterroles.rbac.authorization.k8s.io",
    STRATEGY,
)
