"""Invalid values that the server accepts in an update because the stored spec has them already
(`pkg/api/pod.GetValidationOptionsFromPodSpecAndMeta`).

A new pod gets no exceptions. An update is first validated by the strict rules; the stored spec is examined only if
these find an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from fakekube.apiserver.registry.core.pod.validation import affinity
from fakekube.apiserver.registry.core.pod.validation.podoptions import (
    DELETION_COST,
    PodOptions,
    all_containers,
    is_deletion_cost,
)
from fakekube.apiserver.registry.core.pod.validation.sysctls import shared_namespace
from fakekube.apiserver.registry.core.resourcenames import HUGE_PAGES, is_divisible
from fakekube.apiserver.registry.generic.validation import content, labelselectors
from fakekube.apiserver.registry.generic.validation.field import Field, Object

_NODE_TERMS = f"affinity.nodeAffinity.{affinity.REQUIRED}.nodeSelectorTerms"


def options_after(old_spec: Object, old_meta: Object, *, is_pod: bool) -> PodOptions:
    """The exceptions that the stored spec needs."""
    spec = Field(old_spec)
    containers, constraints = all_containers(spec), list(spec["topologySpreadConstraints"])
    cost = (old_meta.get("annotations") or {}).get(DELETION_COST, "0")
    own_users = spec["hostUsers"].value is False
    return PodOptions(
        is_pod=is_pod,
        any_deletion_cost=not is_deletion_cost(cost),
        any_selector_values=any(map(labelselectors.has_invalid_values, _affinity_selectors(spec))),
        any_node_values=any(labelselectors.has_invalid_values(term.value) for term in spec.find(_NODE_TERMS)),
        partial_pages=any(map(_has_partial_pages, containers)),
        any_spread_selectors=not all(labelselectors.is_usable(one["labelSelector"].value) for one in constraints),
        old_spread_keys=any(map(_has_bad_keys, constraints)),
        any_token_paths=any(map(content.unreserved_path_problems, _token_paths(spec))),
        any_sysctls=any(shared_namespace(one["name"].text, spec) for one in spec["securityContext"]["sysctls"]),
        restarting_init_containers=any(map(_restarts_on_resize, spec["initContainers"])),
        devices_without_host_users=own_users and any(one["volumeDevices"] for one in containers),
        host_network_without_host_users=own_users and bool(spec["hostNetwork"]),
    )


def _has_bad_keys(constraint: Field) -> bool:
    term = Field(constraint.value)
    affinity.validate_label_keys(term)
    return bool(term.errors)


def _affinity_selectors(spec: Field) -> Iterator[Object | None]:
    for kind in spec["affinity"].members(affinity.POD_AFFINITIES):
        preferred = [weighted["podAffinityTerm"] for weighted in kind[affinity.PREFERRED]]
        for term in (*kind[affinity.REQUIRED], *preferred):
            yield term["labelSelector"].value
            yield term["namespaceSelector"].value


def _has_partial_pages(container: Field) -> bool:
    return any(
        quantity.key.startswith(HUGE_PAGES) and not is_divisible(quantity.key, quantity.value)
        for kind in ("limits", "requests")
        for quantity in container["resources"][kind].entries()
    )


def _token_paths(spec: Field) -> Iterator[str]:
    for volume in spec["volumes"]:
        for source in volume["projected"]["sources"]:
            yield source["serviceAccountToken"]["path"].text


def _restarts_on_resize(container: Field) -> bool:
    if container["restartPolicy"].value == "Always":
        return False
    return any(policy["restartPolicy"].value == "RestartContainer" for policy in container["resizePolicy"])
