"""What is let through in a pod's spec because an older server let it in
(`pkg/api/pod.GetValidationOptionsFromPodSpecAndMeta`).

New pods get none of it. An update is checked by the same strict rules first; only where those find something, the
stored spec is looked at for what it already has wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.affinity import check_label_keys
from fakekube.apiserver.registry.core.pod.validation.podoptions import (
    DELETION_COST,
    PodOptions,
    containers,
    is_deletion_cost,
)
from fakekube.apiserver.registry.core.pod.validation.sysctls import shared_namespace
from fakekube.apiserver.registry.core.resourcenames import HUGE_PAGES, is_divisible
from fakekube.apiserver.registry.generic.validation import labelselectors
from fakekube.apiserver.registry.generic.validation.content import Errors, check_unreserved_path

Object = dict[str, Any]


def options_after(old_spec: Object, old_meta: Object, *, is_pod: bool) -> PodOptions:
    """The exceptions that the stored spec needs."""
    security = old_spec.get("securityContext") or {}
    without_host_users = old_spec.get("hostUsers") is False
    return PodOptions(
        is_pod=is_pod,
        any_deletion_cost=not is_deletion_cost((old_meta.get("annotations") or {}).get(DELETION_COST, "0")),
        any_selector_values=any(map(labelselectors.has_invalid_values, _affinity_selectors(old_spec))),
        any_node_values=any(map(_has_invalid_values, _node_terms(old_spec))),
        partial_pages=_has_partial_pages(old_spec),
        any_spread_selectors=any(not labelselectors.is_usable(one) for one in _spread_selectors(old_spec)),
        old_spread_keys=any(map(_has_bad_keys, old_spec.get("topologySpreadConstraints") or ())),
        any_token_paths=any(map(_is_reserved, _token_paths(old_spec))),
        any_sysctls=any(shared_namespace(one.get("name", ""), old_spec) for one in security.get("sysctls") or ()),
        restarting_init_containers=any(map(_restarts_on_resize, old_spec.get("initContainers") or ())),
        devices_without_host_users=without_host_users and any(c.get("volumeDevices") for _, c in containers(old_spec)),
        host_network_without_host_users=without_host_users and bool(old_spec.get("hostNetwork")),
    )


def _affinity_selectors(spec: Object) -> Iterator[Object | None]:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        found = affinity.get(kind) or {}
        terms = list(found.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = found.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [one.get("podAffinityTerm") or {} for one in preferred]
        for term in terms:
            yield term.get("labelSelector")
            yield term.get("namespaceSelector")


def _node_terms(spec: Object) -> list[Object]:
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms: list[Object] = required.get("nodeSelectorTerms") or []
    return terms


def _has_invalid_values(term: Object) -> bool:
    return labelselectors.has_invalid_values({"matchExpressions": term.get("matchExpressions")})


def _has_partial_pages(spec: Object) -> bool:
    for _, container in containers(spec):
        asked = container.get("resources") or {}
        for kind in ("limits", "requests"):
            for name, value in (asked.get(kind) or {}).items():
                if name.startswith(HUGE_PAGES) and not is_divisible(name, value):
                    return True
    return False


def _spread_selectors(spec: Object) -> list[Object | None]:
    return [one.get("labelSelector") for one in spec.get("topologySpreadConstraints") or ()]


def _has_bad_keys(constraint: Object) -> bool:
    errors: Errors = []
    check_label_keys(constraint, "", errors)
    return bool(errors)


def _token_paths(spec: Object) -> Iterator[str]:
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken") is not None:
                yield source["serviceAccountToken"].get("path") or ""


def _is_reserved(path: str) -> bool:
    errors: Errors = []
    check_unreserved_path(path, "", errors)
    return bool(errors)


def _restarts_on_resize(container: Object) -> bool:
    if container.get("restartPolicy") == "Always":
        return False
    return any(one.get("restartPolicy") == "RestartContainer" for one in container.get("resizePolicy") or ())
