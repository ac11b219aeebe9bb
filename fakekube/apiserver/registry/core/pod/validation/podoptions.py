"""Options of the validation of a pod's spec (`PodValidationOptions`)."""

from __future__ import annotations

from collections.abc import Collection

from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.struct import Struct

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


class PodOptions(Struct, frozen=True):
    """`is_pod`: the spec belongs to a pod and not to a template. The others are exceptions (see `ratcheting`)."""

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


class Pod(Struct):
    """The pod, or the template, whose parts are validated. `name` is empty for a template; `volumes` are the names of
    the valid volumes, once these are validated."""

    spec: Field
    name: str
    options: PodOptions
    volumes: Collection[str] = ()

    @property
    def block_volumes(self) -> list[str]:
        """The names of the volumes that can be block devices."""
        volumes = self.spec.value.get("volumes") or ()
        return [one.get("name") or "" for one in volumes if "persistentVolumeClaim" in one or "ephemeral" in one]

    @property
    def claims(self) -> list[str]:
        """The names of the claims of resources."""
        return [claim["name"] for claim in self.spec.value.get("resourceClaims") or () if claim.get("name")]


def all_containers(spec: Field) -> list[Field]:
    """All containers of a spec in the order in which the server visits them (`VisitContainersWithPath`)."""
    return [container for kind in spec.members(CONTAINERS) for container in kind]


def is_deletion_cost(text: str) -> bool:
    """Whether the text is a 32-bit integer in canonical form (`GetDeletionCostFromPodAnnotations`)."""
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 10 or (digits[0] == "0" and text != "0"):
        return False
    return -(2**31) <= int(text) < 2**31
