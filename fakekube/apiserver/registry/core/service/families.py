"""The IP families of Services (`initIPFamilyFields`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.service.spec import HEADLESS, spec_of
from fakekube.apiserver.registry.core.service.validation import validate_cluster_addresses
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.ip import family
from fakekube.apiserver.wire.status import FieldError, StatusError, field_invalid, invalid

Object = dict[str, Any]

OTHER_FAMILY = {"IPv4": "IPv6", "IPv6": "IPv4"}


def refused(service: Object, *errors: FieldError) -> StatusError:
    return invalid("", "Service", service["metadata"].get("name") or "", errors)


def init_families(spec: Object, service: Object, old: Object | None, cluster: Sequence[str]) -> None:
    """Sets policy and families, given the families of the cluster (`initIPFamilyFields`). Raises 422."""
    if spec.get("type") == "ExternalName" or (old is not None and _keeps_preference(spec, spec_of(old))):
        return
    headless_alone = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        inherited = spec_of(old).get("ipFamilyPolicy") if old is not None else None
        spec["ipFamilyPolicy"] = inherited or ("RequireDualStack" if headless_alone else "SingleStack")
    root = Field(service)
    validate_cluster_addresses(root["spec"])
    errors: list[FieldError] = root.errors
    if errors:
        raise refused(service, *errors)
    if old is not None:
        errors += _release_errors(spec, spec_of(old))
    errors += _single_stack_errors(spec)
    errors += _complete_families(spec, cluster)
    if errors:
        raise refused(service, *errors)
    if headless_alone:
        spec["ipFamilies"] = _with_other(spec, cluster, dual=True)
        return
    errors += _configuration_errors(spec, cluster)
    if errors:
        raise refused(service, *errors)
    spec["ipFamilies"] = _with_other(spec, cluster, dual=len(cluster) == 2)


def _with_other(spec: Object, cluster: Sequence[str], *, dual: bool) -> list[str]:
    """The families of the service: the cluster's primary one if it has none, and the other one if its policy is not
    SingleStack and two are possible."""
    families: list[str] = spec.get("ipFamilies") or [cluster[0]]
    if dual and len(families) == 1 and spec["ipFamilyPolicy"] != "SingleStack":
        return [*families, OTHER_FAMILY[families[0]]]
    return families


def _keeps_preference(spec: Object, before: Object) -> bool:
    """A service that prefers two stacks stays unchanged while its addresses and families do
    (`isMatchingPreferDualStackClusterIPFields`)."""
    if before.get("type") == "ExternalName":
        return False
    same = all((spec.get(key) or None) == (before.get(key) or None) for key in ("clusterIPs", "ipFamilies"))
    return same and spec.get("ipFamilyPolicy") == before.get("ipFamilyPolicy") == "PreferDualStack"


def _release_errors(spec: Object, before: Object) -> list[FieldError]:
    policy, errors = spec["ipFamilyPolicy"], []
    for field, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        now, then = spec.get(field) or [], before.get(field) or []
        if policy == "SingleStack":
            if now == then and len(now) > 1:
                spec[field] = now[:1]
        elif now and len(now) == 1 and len(then) == 2:
            why = f"must be 'SingleStack' to release the secondary {what}"
            errors.append(field_invalid("spec.ipFamilyPolicy", policy, why))
    return errors


def _single_stack_errors(spec: Object) -> list[FieldError]:
    policy = spec["ipFamilyPolicy"]
    if policy != "SingleStack":
        return []
    why = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    fields = (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
    return [
        field_invalid("spec.ipFamilyPolicy", policy, why.format(what))
        for field, what in fields
        if len(spec.get(field) or ()) == 2
    ]


def _complete_families(spec: Object, cluster: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    families = list(spec.get("ipFamilies") or ())
    addresses = spec.get("clusterIPs") or ()
    for i, address in enumerate(addresses):
        if address == HEADLESS:
            break
        if i >= len(families):
            found = family(address)
            if found in cluster:
                families.append(found)
            else:
                why = f"{found} is not configured on this cluster"
                errors.append(field_invalid(f"spec.clusterIPs[{i}]", list(addresses), why))
    if families:
        spec["ipFamilies"] = families
    return errors


def _configuration_errors(spec: Object, cluster: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec["ipFamilyPolicy"] == "RequireDualStack" and len(cluster) < 2:
        why = "this cluster is not configured for dual-stack services"
        errors.append(field_invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], why))
    for i, one in enumerate(spec.get("ipFamilies") or ()):
        if one not in cluster:
            errors.append(field_invalid(f"spec.ipFamilies[{i}]", one, "not configured on this cluster"))
    return errors
