"""ClusterRoleBinding."""

from __future__ import annotations

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.rbac.rolebinding import PRINTER, STRATEGY

KIND = Kind(
    "clusterrolebindings.rbac.authorization.k8s.io",
    STRATEGY,
    printer=PRINTER,
)
