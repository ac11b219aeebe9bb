"""The storage drivers that are simulated, and the user as which they act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakekube.controllers.componentusers import STORAGE_DRIVER

__all__ = ["STORAGE_DRIVER", "simulates"]

Object = Mapping[str, Any]


def simulates(names: Sequence[str], driver: str) -> bool:
    """Whether a driver is simulated: `names` are as in `Settings.storage_drivers`.

    Plugins of Kubernetes, such as kubernetes.io/no-provisioner, never are.
    """
    if not driver or driver.startswith("kubernetes.io/") or f"-{driver}" in names:
        return False
    return driver in names or "*" in names
