"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.rbac.role import STRATEGY

Object = dict[str, Any]

KIND = Kind(
    "clusterroles.rbac.authorization.k8s.io",
    STRATEGY,
)
