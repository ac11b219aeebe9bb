"""TODO"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import (
    Errors,
    add,
    check_choice,
    check_dns_label,
    check_dns_subdomain,
    check_ip,
    check_port,
    check_port_number,
    check_qualified_name,
    ip_problems,
    parse_ip,
)
from fakekube.apiserver.registry.generic.validation.ip import check_cidr, family, special_problems
from fakekube.apiserver.registry.generic.validation.labelselectors import check_labels
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


PROTOCOLS = ("SCTP", "TCP", "UDP")


AFFINITIES = ("ClientIP", "None")


TRAFFIC_POLICIES = ("Cluster", "Local")


DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")


FAMILIES = ("IPv4", "IPv6")


FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")


IP_MODES = ("Proxy", "VIP")


HEADLESS = "None"


#: Seconds that a client may stick to its endpoint.
AFFINITY_LIMIT = 86_400


TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"


TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"


SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"


NOT_ONCE_SET = "may not change once set"


def spec_of(service: Object) -> Object:
    spec: Object = service.get("spec") or {}
    return spec


def is_headless(service: Object) -> bool:
    return spec_of(service).get("clusterIPs") == [HEADLESS]


def is_load_balancer(service: Object) -> bool:
    return spec_of(service).get("type") == "LoadBalancer"


def externally_accessible(service: Object) -> bool:
    spec = spec_of(service)
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(service: Object) -> bool:
    return is_load_balancer(service) and spec_of(service).get("externalTrafficPolicy") == "Local"


def validate_service(service: Object) -> list[FieldError]:
    errors: Errors = []
    _check_service(service, {}, errors)
    return errors


def validate_service_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    _check_addresses_kept(new, old, errors)
    _check_families_kept(new, old, errors)
    _check_class_kept(new, old, errors)
    _check_class(new, errors)
    ports = (spec_of(new).get("healthCheckNodePort", 0), spec_of(old).get("healthCheckNodePort", 0))
    if needs_health_check(old) and needs_health_check(new) and ports[0] != ports[1]:
        errors.append(field_forbidden("spec.healthCheckNodePort", "field is immutable"))
    check_again(new, errors)
    _check_service(new, spec_of(old), errors)
    return errors


def _check_service(service: Object, old: Object, errors: Errors) -> None:
    """`old`: the spec before, whose addresses may stay as they are."""
    _check_annotations(service, errors)
    _check_type_fields(service, errors)
    _check_ports(service, errors)
    spec = spec_of(service)
    if spec.get("selector"):
        check_labels(spec["selector"], "spec.selector", errors)
    check_choice(spec.get("sessionAffinity"), AFFINITIES, "spec.sessionAffinity", errors)
    _check_affinity(spec, errors)
    check_cluster_addresses(service, errors, known=old.get("clusterIPs") or ())
    known = old.get("externalIPs") or ()
    for i, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{i}]"
        if address not in known and ip_problems(address):
            check_ip(address, path, errors)
        else:
            add(errors, path, address, special_problems(address))
    check_choice(spec.get("type"), TYPES, "spec.type", errors)
    _check_port_numbers(spec, errors)
    _check_source_ranges(service, old, errors)
    _check_load_balancer(spec, errors)
    _check_class(service, errors)
    _check_external_traffic(service, errors)
    _check_internal_traffic(spec, errors)
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in DISTRIBUTIONS:
        errors.append(field_not_supported("spec.trafficDistribution", distribution, DISTRIBUTIONS))


def _check_annotations(service: Object, errors: Errors) -> None:
    annotations = service["metadata"].get("annotations") or {}
    mode, hints = annotations.get(TOPOLOGY_MODE), annotations.get(TOPOLOGY_HINTS)
    if mode is not None and hints is not None and mode != hints:
        why = f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"
        errors.append(field_invalid(f"metadata.annotations[{TOPOLOGY_MODE}]", mode, why))


def _check_type_fields(service: Object, errors: Errors) -> None:
    spec = spec_of(service)
    kind, headless = spec.get("type"), is_headless(service)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        errors.append(field_required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and headless:
        why = f"may not be set to 'None' for {kind} services"
        errors.append(field_invalid("spec.clusterIPs[0]", HEADLESS, why))
    elif kind == "ExternalName":
        _check_external_name(spec, errors)


def _check_external_name(spec: Object, errors: Errors) -> None:
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field):
            errors.append(field_forbidden(f"spec.{field}", "may not be set for ExternalName services"))
    name = (spec.get("externalName") or "").removesuffix(".")
    if name:
        check_dns_subdomain(name, "spec.externalName", errors)
    else:
        errors.append(field_required("spec.externalName"))


def _check_ports(service: Object, errors: Errors) -> None:
    ports = spec_of(service).get("ports") or ()
    names: set[str] = set()
    for i, port in enumerate(ports):
        path = f"spec.ports[{i}]"
        name = port.get("name") or ""
        if name:
            check_dns_label(name, f"{path}.name", errors)
            if name in names:
                errors.append(field_duplicate(f"{path}.name", name))
            names.add(name)
        elif len(ports) > 1:
            errors.append(field_required(f"{path}.name"))
        check_port_number(port.get("port", 0), f"{path}.port", errors)
        check_choice(port.get("protocol"), PROTOCOLS, f"{path}.protocol", errors)
        check_port(port.get("targetPort", 0), f"{path}.targetPort", errors)
        if port.get("appProtocol") is not None:
            check_qualified_name(port["appProtocol"], f"{path}.appProtocol", errors)


def _check_affinity(spec: Object, errors: Errors) -> None:
    path, config = "spec.sessionAffinityConfig", spec.get("sessionAffinityConfig")
    affinity = spec.get("sessionAffinity")
    if affinity == "None" and config is not None:
        errors.append(field_forbidden(path, "must not be set when session affinity is None"))
    if affinity != "ClientIP":
        return
    for step in ("clientIP", "timeoutSeconds"):
        if config is not None:
            path, config = f"{path}.{step}", config.get(step)
    if config is None:
        errors.append(field_required(path, "when session affinity type is ClientIP"))
    elif not 0 < config <= AFFINITY_LIMIT:
        errors.append(field_invalid(path, config, f"must be greater than 0 and less than {AFFINITY_LIMIT}"))


def _check_port_numbers(spec: Object, errors: Errors) -> None:
    """Node ports only where the type has them; no port twice for one protocol."""
    ports = spec.get("ports") or ()
    if spec.get("type") == "ClusterIP":
        for i, port in enumerate(ports):
            if port.get("nodePort"):
                why = "may not be used when `type` is 'ClusterIP'"
                errors.append(field_forbidden(f"spec.ports[{i}].nodePort", why))
    node_ports: set[tuple[str, int]] = set()
    for i, port in enumerate(ports):
        number = port.get("nodePort")
        key = (port.get("protocol", ""), number or 0)
        if number and key in node_ports:
            errors.append(field_duplicate(f"spec.ports[{i}].nodePort", number))
        node_ports.add(key)
    seen: set[tuple[str, int]] = set()
    for i, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in seen:
            port = dict.fromkeys(("Name", "Protocol", "AppProtocol", "Port", "TargetPort", "NodePort"), 0)
            shown = gostructs.marshal({**port, "Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1]})
            errors.append(FieldError(f"spec.ports[{i}]", "FieldValueDuplicate", f"Duplicate value: {shown}"))
        seen.add(key)


def _check_source_ranges(service: Object, old: Object, errors: Errors) -> None:
    spec = spec_of(service)
    ranges = spec.get("loadBalancerSourceRanges") or ()
    annotation = (service["metadata"].get("annotations") or {}).get(SOURCE_RANGES)
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        if spec.get("type") != "LoadBalancer":
            errors.append(field_forbidden(path, ONLY_LOAD_BALANCER))
        known = [value.strip() for value in old.get("loadBalancerSourceRanges") or ()]
        for i, value in enumerate(ranges):
            check_cidr(value.strip(), f"{path}[{i}]", errors, known)
    elif annotation is not None:
        path = f"metadata.annotations[{SOURCE_RANGES}]"
        if spec.get("type") != "LoadBalancer":
            errors.append(field_forbidden(path, ONLY_LOAD_BALANCER))
        for value in annotation.strip().split(",") if annotation.strip() else ():
            check_cidr(value.strip(), path, errors)


def _check_load_balancer(spec: Object, errors: Errors) -> None:
    allocate, is_one = spec.get("allocateLoadBalancerNodePorts"), spec.get("type") == "LoadBalancer"
    if allocate is not None and not is_one:
        errors.append(field_forbidden("spec.allocateLoadBalancerNodePorts", ONLY_LOAD_BALANCER))
    if allocate is None and is_one:
        errors.append(field_required("allocateLoadBalancerNodePorts"))


def _check_class(service: Object, errors: Errors) -> None:
    path, name = "spec.loadBalancerClass", spec_of(service).get("loadBalancerClass")
    if name is None:
        return
    if is_load_balancer(service):
        check_qualified_name(name, path, errors)
    else:
        errors.append(field_forbidden(path, ONLY_LOAD_BALANCER))


def _check_class_kept(new: Object, old: Object, errors: Errors) -> None:
    path = "loadBalancerClass"
    before, after = spec_of(old).get(path), spec_of(new).get(path)
    if is_load_balancer(old) and is_load_balancer(new) and before != after:
        errors.append(field_invalid(f"spec.{path}", after, NOT_ONCE_SET))


def _check_external_traffic(service: Object, errors: Errors) -> None:
    spec = spec_of(service)
    path, policy = "spec.externalTrafficPolicy", spec.get("externalTrafficPolicy") or ""
    if externally_accessible(service):
        check_choice(policy, TRAFFIC_POLICIES, path, errors)
    elif policy:
        errors.append(field_invalid(path, policy, "may only be set for externally-accessible services"))
    path, port = "spec.healthCheckNodePort", spec.get("healthCheckNodePort", 0)
    if not needs_health_check(service):
        if port:
            why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(field_invalid(path, port, why))
    elif not port:
        errors.append(field_required(path))
    else:
        check_port_number(port, path, errors)


def _check_internal_traffic(spec: Object, errors: Errors) -> None:
    path, policy = "spec.internalTrafficPolicy", spec.get("internalTrafficPolicy")
    if policy is None:
        if spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP"):
            errors.append(field_required(path))
    elif policy not in TRAFFIC_POLICIES:
        errors.append(field_not_supported(path, policy, TRAFFIC_POLICIES))


def check_cluster_addresses(service: Object, errors: Errors, *, known: Any = ()) -> None:
    """`ValidateServiceClusterIPsRelatedFields`; also asked before addresses are given out."""
    spec = spec_of(service)
    if spec.get("type") == "ExternalName":
        return
    addresses = spec.get("clusterIPs") or None
    _check_first_address(spec, addresses, errors)
    seen: set[str] = set()
    for i, one in enumerate(spec.get("ipFamilies") or ()):
        if one not in FAMILIES:
            errors.append(field_not_supported(f"spec.ipFamilies[{i}]", one, FAMILIES))
        if one in seen:
            errors.append(field_duplicate(f"spec.ipFamilies[{i}]", one))
        seen.add(one)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in FAMILY_POLICIES:
        errors.append(field_not_supported("spec.ipFamilyPolicy", policy, FAMILY_POLICIES))
    if addresses and not _check_each_address(addresses, known, errors):
        _check_address_families(addresses, spec.get("ipFamilies") or (), errors)


def _check_first_address(spec: Object, addresses: list[str] | None, errors: Errors) -> None:
    path, first = "spec.clusterIPs", spec.get("clusterIP") or ""
    if first and not addresses:
        errors.append(field_required(path))
    elif first and addresses and addresses[0] != first:
        errors.append(field_invalid(path, addresses, "first value must match `clusterIP`"))
    elif addresses and not first:
        errors.append(field_invalid(path, addresses, "must be empty when `clusterIP` is not specified"))


def _check_each_address(addresses: list[str], known: Any, errors: Errors) -> bool:
    """True where one is no address, so that nothing further can be said of them."""
    wrong = False
    for i, address in enumerate(addresses):
        if i == 0 and address == HEADLESS:
            if len(addresses) > 1:
                wrong = True
                errors.append(field_invalid("spec.clusterIPs", addresses, "'None' must be the first and only value"))
            continue
        before = len(errors)
        check_ip(address, f"spec.clusterIPs[{i}]", errors, known)
        wrong = wrong or len(errors) > before
    if len(addresses) > 2:
        errors.append(field_invalid("spec.clusterIPs", addresses, "may only hold up to 2 values"))
    return wrong


def _check_address_families(addresses: list[str], families: Any, errors: Errors) -> None:
    if len(addresses) > 1 and len({family(address) for address in addresses}) < 2:
        why = "may specify no more than one IP for each IP family"
        errors.append(field_invalid("spec.clusterIPs", addresses, why))
    if addresses == [HEADLESS]:
        return
    for i, (address, wanted) in enumerate(zip(addresses, families, strict=False)):
        if wanted in FAMILIES and family(address) != wanted:
            why = f"expected an {wanted} value as indicated by `ipFamilies[{i}]`"
            errors.append(field_invalid(f"spec.clusterIPs[{i}]", address, why))


def _check_addresses_kept(new: Object, old: Object, errors: Errors) -> None:
    """The first address stays; a second one may come, and go where the policy says so
    (`validateUpgradeDowngradeClusterIPs`)."""
    if "ExternalName" in (spec_of(new).get("type"), spec_of(old).get("type")):
        return
    if is_headless(new) and is_headless(old):
        return
    before, after = spec_of(old).get("clusterIPs") or [], spec_of(new).get("clusterIPs") or []
    shown = after or None
    if len(before) == len(after):
        for i in _differences(before, after):
            errors.append(field_invalid(f"spec.clusterIPs[{i}]", shown, NOT_ONCE_SET))
        return
    if before and not after:
        errors.append(field_invalid("spec.clusterIPs[0]", shown, "primary clusterIP can not be unset"))
    if before and after and before[0] != after[0]:
        errors.append(field_invalid("spec.clusterIPs[0]", shown, NOT_ONCE_SET))
    policy = spec_of(new).get("ipFamilyPolicy")
    if len(before) > len(after) == 1 and policy != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors.append(field_invalid("spec.ipFamilyPolicy", policy, why))


def _differences(before: list[str], after: list[str]) -> Iterator[int]:
    return (i for i, (one, other) in enumerate(zip(before, after, strict=True)) if one != other)


def _check_families_kept(new: Object, old: Object, errors: Errors) -> None:
    """`validateUpgradeDowngradeIPFamilies`."""
    if "ExternalName" in (spec_of(new).get("type"), spec_of(old).get("type")):
        return
    if is_headless(new) or is_headless(old):
        return
    path = "spec.ipFamilies[0]"
    before, after = spec_of(old).get("ipFamilies") or [], spec_of(new).get("ipFamilies") or []
    addresses = spec_of(new).get("clusterIPs") or None
    if len(before) == len(after):
        errors += [field_invalid(path, after, NOT_ONCE_SET) for _ in _differences(before, after)]
        return
    if len(before) > len(after) and not addresses:
        errors.append(field_invalid(path, after or None, "primary ipFamily can not be unset"))
    if before and after and before[0] != after[0]:
        errors.append(field_invalid(path, addresses, NOT_ONCE_SET))
    policy = spec_of(new).get("ipFamilyPolicy")
    if len(before) > len(after) == 1 and policy != "SingleStack":
        why = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        errors.append(field_invalid("spec.ipFamilyPolicy", policy, why))


def validate_service_status(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    points = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    path = "status.loadBalancer.ingress"
    if points and not is_load_balancer(new):
        return [field_forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")]
    stored = ((old.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    known = [point["ip"] for point in stored if point.get("ip")]
    for i, point in enumerate(points):
        _check_ingress_point(point, known, f"{path}[{i}]", errors)
    return errors


def _check_ingress_point(point: Object, known: list[str], path: str, errors: Errors) -> None:
    address, mode = point.get("ip") or "", point.get("ipMode")
    if address:
        check_ip(address, f"{path}.ip", errors, known)
    if mode is None:
        if address:
            errors.append(field_required(f"{path}.ipMode", "must be specified when `ip` is set"))
    elif not address:
        errors.append(field_forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set"))
    elif mode not in IP_MODES:
        errors.append(field_not_supported(f"{path}.ipMode", mode, IP_MODES))
    check_host(point.get("hostname") or "", f"{path}.hostname", errors)


def check_host(host: str, path: str, errors: Errors) -> None:
    """A name that stands where an address could."""
    if not host:
        return
    check_dns_subdomain(host, path, errors)
    if parse_ip(host) is not None:
        errors.append(field_invalid(path, host, "must be a DNS name, not an IP address"))
