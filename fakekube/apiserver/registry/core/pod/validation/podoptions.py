"""By which rules a pod's spec is checked (`PodValidationOptions`), and what all checks of it walk over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


@dataclass(frozen=True, slots=True)
class PodOptions:
    """`is_pod`: the spec is a pod's own, and not that of a template. The others are exceptions (see `podratchets`)."""

    is_pod: bool = False
    any_deletion_cost: bool = False
    any_selector_values: bool = False
    any_node_values: bool = False
    partial_pages: bool = False
    any_spread_selectors: bool = False
    old_spread_keys: bool = False
    any_token_paths: bool = False
    any_sysctls: bool = False
    restarting_init_containers: bool = False
    devices_without_host_users: bool = False
    host_network_without_host_users: bool = False


POD = PodOptions(is_pod=True)
TEMPLATE = PodOptions()


def containers(spec: Object) -> Iterator[tuple[str, Object]]:
    """All containers of a spec and their paths below it, in the order in which the server visits them
    (`VisitContainersWithPath`)."""
    for key in CONTAINERS:
        for i, container in enumerate(spec.get(key) or ()):
            yield f"{key}[{i}]", container


def is_deletion_cost(text: str) -> bool:
    """A 32 bit integer in its one spelling (`GetDeletionCostFromPodAnnotations`)."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 10 or (digits[0] == "0" and text != "0"):
        return False
    return -(2**31) <= int(text) < 2**31
