"""Service: its defaults, and the addresses and ports that the server gives it (`registry/core/service`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.service.allocation import Allocator, Unavailable
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.validation.ip import family
from fakekube.apiserver.registry.validation.services import (
    HEADLESS,
    check_cluster_addresses,
    externally_accessible,
    is_headless,
    is_load_balancer,
    needs_health_check,
    service_warnings,
    spec_of,
    validate_service,
    validate_service_status,
    validate_service_update,
)
from fakekube.apiserver.wire.status import FieldError, StatusError, field_invalid, internal_error, invalid

Object = dict[str, Any]

#: The families that the cluster has addresses of, its own first (`--service-cluster-ip-range`).
CLUSTER_FAMILIES = ("IPv4",)
OTHER_FAMILY = {"IPv4": "IPv6", "IPv6": "IPv4"}

AFFINITY_SECONDS = 10_800


def default_service(obj: Object) -> None:
    """`SetDefaults_Service`."""
    spec = obj.setdefault("spec", {})
    affinity = spec.setdefault("sessionAffinity", "None")
    config = spec.get("sessionAffinityConfig") or {}
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP" and (config.get("clientIP") or {}).get("timeoutSeconds") is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if externally_accessible(obj):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for point in ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
            if point.get("ip"):
                point.setdefault("ipMode", "VIP")


# --- which fields a service's type has -----------------------------------------------------------------------------


def needs_cluster_address(service: Object) -> bool:
    return spec_of(service).get("type") != "ExternalName"


def needs_node_port(service: Object) -> bool:
    return spec_of(service).get("type") in ("NodePort", "LoadBalancer")


def allocates_node_ports(service: Object) -> bool:
    """A load balancer may do without node ports."""
    return needs_node_port(service) and spec_of(service).get("allocateLoadBalancerNodePorts") is not False


def node_ports(service: Object) -> set[int]:
    return {port["nodePort"] for port in spec_of(service).get("ports") or () if port.get("nodePort")}


#: Fields that a change of type drops where the new type has none and nobody changed them.
DEPENDENT_FIELDS = (
    (needs_cluster_address, ("ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")),
    (needs_health_check, ("healthCheckNodePort",)),
    (is_load_balancer, ("allocateLoadBalancerNodePorts", "loadBalancerClass")),
    (externally_accessible, ("externalTrafficPolicy",)),
)


def drop_dependent(new: Object, old: Object) -> Object:
    """The update without what its type does not have any more (`dropTypeDependentFields`)."""
    spec, before = dict(spec_of(new)), spec_of(old)
    gone = needs_cluster_address(old) and not needs_cluster_address(new)
    if gone and all(spec.get(key) == before.get(key) for key in ("clusterIP", "clusterIPs")):
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)
    for has, fields in DEPENDENT_FIELDS:
        if has(old) and not has(new):
            for field in fields:
                if spec.get(field) == before.get(field):
                    spec.pop(field, None)
    if needs_node_port(old) and not needs_node_port(new) and node_ports(new) <= node_ports(old):
        spec["ports"] = [{k: v for k, v in port.items() if k != "nodePort"} for port in spec.get("ports") or ()]
    if not spec.get("ports"):
        spec.pop("ports", None)
    dropped = {**new, "spec": spec}
    status = dropped.get("status")
    if status is not None and not is_load_balancer(new):
        dropped["status"] = {**status, "loadBalancer": {}}
    return dropped


# --- giving out ----------------------------------------------------------------------------------------------------


def allocate(allocator: Allocator, new: Object, old: Object | None) -> Object:
    """The service with its families, addresses and ports. Raises 422 where it cannot have what it asks for, 500
    where nothing is left."""
    spec = dict(spec_of(new))
    service = {**new, "spec": spec}
    if spec.get("ports"):
        spec["ports"] = [dict(port) for port in spec["ports"]]
    if old is not None:
        _keep_what_is_given(spec, service, old)
    _one_address_or_many(spec, old)
    _init_families(spec, service, old)
    key = f"services/{new['metadata'].get('namespace', '')}/{new['metadata'].get('name', '')}"
    try:
        _give_addresses(allocator, spec, service, old, key)
        _give_ports(allocator, spec, service, old, key)
    except Unavailable as problem:
        raise internal_error(str(problem)) from None
    return service


def _refused(service: Object, *errors: FieldError) -> StatusError:
    return invalid("", "Service", service["metadata"].get("name") or "", errors)


def _keep_what_is_given(spec: Object, new: Object, old: Object) -> None:
    """An update that does not name its address or its ports keeps them (`patchAllocatedValues`)."""
    before = spec_of(old)
    if needs_cluster_address(old) and needs_cluster_address(new):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = before["clusterIPs"]
    if needs_node_port(old) and needs_node_port(new):
        used = node_ports(old) & node_ports(new)
        by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            number = by_name.get(port.get("name", ""), 0)
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    if needs_health_check(old) and needs_health_check(new) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)


def _one_address_or_many(spec: Object, old: Object | None) -> None:
    """clusterIP and clusterIPs say the same, whichever the client knows (`normalizeClusterIPs`)."""
    if old is None:
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        return
    before = spec_of(old)
    one, same = spec.get("clusterIP") or "", spec.get("clusterIPs") == before.get("clusterIPs")
    if before.get("clusterIPs") and not spec.get("clusterIPs") and before.get("clusterIP") == one:
        spec["clusterIPs"] = before["clusterIPs"]
    elif one != (before.get("clusterIP") or "") and same:
        if one:
            spec["clusterIPs"] = [one]
        else:
            spec.pop("clusterIPs", None)


def _init_families(spec: Object, service: Object, old: Object | None) -> None:
    """`initIPFamilyFields`."""
    if spec.get("type") == "ExternalName" or (old is not None and _keeps_preference(spec, spec_of(old))):
        return
    headless_alone = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        inherited = spec_of(old).get("ipFamilyPolicy") if old is not None else None
        spec["ipFamilyPolicy"] = inherited or ("RequireDualStack" if headless_alone else "SingleStack")
    errors: list[FieldError] = []
    check_cluster_addresses(service, errors)
    if errors:
        raise _refused(service, *errors)
    if old is not None:
        errors += _second_released(spec, spec_of(old))
    errors += _single_has_one(spec)
    errors += _families_of_addresses(spec)
    if errors:
        raise _refused(service, *errors)
    if headless_alone:
        families = spec.get("ipFamilies") or [CLUSTER_FAMILIES[0]]
        if len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
            families = [*families, OTHER_FAMILY[families[0]]]
        spec["ipFamilies"] = families
        return
    errors += _not_configured(spec)
    if errors:
        raise _refused(service, *errors)
    spec["ipFamilies"] = spec.get("ipFamilies") or [CLUSTER_FAMILIES[0]]


def _keeps_preference(spec: Object, before: Object) -> bool:
    """A service that prefers two stacks stays as it is while nothing of its addresses changes
    (`isMatchingPreferDualStackClusterIPFields`)."""
    if before.get("type") == "ExternalName":
        return False
    same = all((spec.get(key) or None) == (before.get(key) or None) for key in ("clusterIPs", "ipFamilies"))
    return same and spec.get("ipFamilyPolicy") == before.get("ipFamilyPolicy") == "PreferDualStack"


def _second_released(spec: Object, before: Object) -> list[FieldError]:
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


def _single_has_one(spec: Object) -> list[FieldError]:
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


def _families_of_addresses(spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    families = list(spec.get("ipFamilies") or ())
    addresses = spec.get("clusterIPs") or ()
    for i, address in enumerate(addresses):
        if address == HEADLESS:
            break
        if i >= len(families):
            found = family(address)
            if found in CLUSTER_FAMILIES:
                families.append(found)
            else:
                why = f"{found} is not configured on this cluster"
                errors.append(field_invalid(f"spec.clusterIPs[{i}]", list(addresses), why))
    if families:
        spec["ipFamilies"] = families
    return errors


def _not_configured(spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec["ipFamilyPolicy"] == "RequireDualStack" and len(CLUSTER_FAMILIES) < 2:
        why = "this cluster is not configured for dual-stack services"
        errors.append(field_invalid("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], why))
    for i, one in enumerate(spec.get("ipFamilies") or ()):
        if one not in CLUSTER_FAMILIES:
            errors.append(field_invalid(f"spec.ipFamilies[{i}]", one, "not configured on this cluster"))
    return errors


def _give_addresses(allocator: Allocator, spec: Object, service: Object, old: Object | None, key: str) -> None:
    if spec.get("type") == "ExternalName" or is_headless(service):
        return
    if old is not None and spec_of(old).get("type") != "ExternalName":
        return  # what it has it keeps, and a cluster of one family has no second one to give
    asked = (spec.get("clusterIPs") or [""])[0]
    try:
        if asked:
            allocator.take_address(asked)
    except Unavailable as problem:
        why = f"failed to allocate IP {asked}: {problem}"
        raise _refused(service, field_invalid("spec.clusterIPs", spec["clusterIPs"], why)) from None
    try:
        address = asked or allocator.next_address(key)
    except Unavailable as problem:
        raise Unavailable(f"failed to allocate a serviceIP: {problem}") from None
    spec["clusterIP"], spec["clusterIPs"] = address, [address]


def _give_ports(allocator: Allocator, spec: Object, service: Object, old: Object | None, key: str) -> None:
    if needs_node_port(service):
        own = node_ports(old) if old is not None else set()
        for i, port in enumerate(spec.get("ports") or ()):
            _give_port(allocator, spec["ports"], i, port, own, service, key)
    _give_health_port(allocator, spec, service, old, key)


def _give_port(
    allocator: Allocator, ports: list[Object], i: int, port: Object, own: set[int], service: Object, key: str
) -> None:
    """The port that it asks for, or that the same port of another protocol has, or the next one."""
    number = port.get("nodePort", 0)
    if number in own or number in allocator.ports:
        return
    if number:
        try:
            allocator.take_port(number)
        except Unavailable as problem:
            raise _refused(service, field_invalid(f"spec.ports[{i}].nodePort", number, str(problem))) from None
    elif allocates_node_ports(service):
        twins = (
            one for one in ports if one.get("port") == port.get("port") and one.get("protocol") != port["protocol"]
        )
        shared = next((one["nodePort"] for one in twins if one.get("nodePort") and not own), 0)
        try:
            port["nodePort"] = shared or allocator.next_port(f"{key}/{i}")
        except Unavailable as problem:
            raise Unavailable(f"failed to allocate a nodePort: {problem}") from None


def _give_health_port(allocator: Allocator, spec: Object, service: Object, old: Object | None, key: str) -> None:
    if not needs_health_check(service) or (old is not None and needs_health_check(old)):
        return
    asked = spec.get("healthCheckNodePort", 0)
    try:
        if asked:
            allocator.take_port(asked)
        else:
            spec["healthCheckNodePort"] = allocator.next_port(f"{key}/health")
    except Unavailable as problem:
        what = f"requested HealthCheck NodePort {asked}" if asked else f"a HealthCheck NodePort {asked}"
        raise Unavailable(f"failed to allocate {what}: {problem}") from None


SERVICE = Strategy(
    default=default_service,
    name_check=names.dns_label_problems,
    name_limit=63,
    create_on_update=True,
    returns_deleted=True,
    fields={"spec.clusterIP": string_at("spec", "clusterIP"), "spec.type": string_at("spec", "type")},
    fields_message="label",
    allocate=allocate,
    prepare_update=drop_dependent,
    validate=validate_service,
    validate_update=validate_service_update,
    validate_status_update=validate_service_status,
    warnings=service_warnings,
)
