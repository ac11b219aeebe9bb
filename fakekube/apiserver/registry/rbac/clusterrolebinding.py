"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.rbac.rolebinding import PRINTER, STRATEGY

Object = dict[str, Any]

KIND = Kind(
    "clusterrolebindings.rbac.authorization.k8s.io",
    STRATEGY,
    printer=PRINTER,
)
