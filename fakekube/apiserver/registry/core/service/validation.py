"""Services (`ValidateServiceCreate`, `ValidateServiceUpdate`)."""

from __future__ import annotations

from collections.abc import Container

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.service.spec import (
    HEADLESS,
    externally_accessible,
    is_headless,
    is_load_balancer,
    needs_health_check,
)
from fakekube.apiserver.registry.generic.validation.content import parse_ip
from fakekube.apiserver.registry.generic.validation.field import SKIPPED, Field
from fakekube.apiserver.registry.generic.validation.ip import family, special_problems, validate_cidr
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_labels
from fakekube.apiserver.wire.goprint import Literal, go_quote

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")

PROTOCOLS = ("SCTP", "TCP", "UDP")

AFFINITIES = ("ClientIP", "None")

TRAFFIC_POLICIES = ("Cluster", "Local")

DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")

FAMILIES = ("IPv4", "IPv6")

FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")

IP_MODES = ("Proxy", "VIP")

#: The longest session affinity, in seconds.
AFFINITY_LIMIT = 86_400

TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"

TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"

SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"

ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"

NOT_ONCE_SET = "may not change once set"


def validate(service: Field, before: Field = SKIPPED) -> None:
    """`before` is the stored spec, whose addresses stay valid."""
    spec = service["spec"]
    _validate_annotations(service["metadata"]["annotations"])
    _validate_type_fields(service)
    _validate_ports(spec["ports"])
    validate_labels(spec["selector"])
    spec["sessionAffinity"].required().one_of(AFFINITIES)
    _validate_affinity(spec)
    validate_cluster_addresses(spec, known=before["clusterIPs"])
    for address in spec["externalIPs"]:
        address.ip(before["externalIPs"]).check(special_problems)
    spec["type"].required().one_of(TYPES)
    _validate_port_numbers(spec)
    _validate_source_ranges(service, before)
    allocates = spec["allocateLoadBalancerNodePorts"]
    if not is_load_balancer(service.value):
        spec.get(allocates.key).forbidden(ONLY_LOAD_BALANCER)
    elif allocates.value is None:
        service[allocates.key].missing()
    _validate_class(service)
    _validate_external_traffic(service)
    internal = spec["internalTrafficPolicy"]
    if internal.value is not None or spec["type"].value in ("NodePort", "LoadBalancer", "ClusterIP"):
        internal.specified().one_of(TRAFFIC_POLICIES)
    spec.get("trafficDistribution").one_of(DISTRIBUTIONS)


def validate_update(new: Field, old: Field) -> None:
    after, before = new["spec"], old["spec"]
    _validate_addresses_kept(new, old)
    _validate_families_kept(new, old)
    name = after["loadBalancerClass"]
    if is_load_balancer(old.value) and is_load_balancer(new.value) and name.value != before["loadBalancerClass"].value:
        name.invalid(NOT_ONCE_SET, name.value)
    _validate_class(new)
    port = after["healthCheckNodePort"]
    checked = needs_health_check(old.value) and needs_health_check(new.value)
    if checked and port.number != before["healthCheckNodePort"].number:
        port.forbidden("field is immutable")
    validate(new, before)


def _validate_annotations(annotations: Field) -> None:
    mode, hints = annotations.entry(TOPOLOGY_MODE), annotations.entry(TOPOLOGY_HINTS)
    if mode.value is not None and hints.value is not None and mode.value != hints.value:
        mode.invalid(f"must match annotations[{TOPOLOGY_HINTS}] when both are specified")


def _validate_type_fields(service: Field) -> None:
    spec, kind, headless = service["spec"], service["spec"]["type"].value, is_headless(service.value)
    if not headless and kind != "ExternalName":
        spec["ports"].required()
    if kind in ("LoadBalancer", "NodePort") and headless:
        spec["clusterIPs"].at(0, HEADLESS).invalid(f"may not be set to 'None' for {kind} services")
    elif kind == "ExternalName":
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            spec[field].optional().forbidden("may not be set for ExternalName services")
        spec.at("externalName", spec["externalName"].text.removesuffix(".")).required().dns_subdomain()


def _validate_ports(ports: Field) -> None:
    names: set[str] = set()
    for port in ports:
        name = port["name"]
        if name:
            name.dns_label().unique(names)
        elif len(ports) > 1:
            name.missing()
        port["port"].port_number()
        port["protocol"].required().one_of(PROTOCOLS)
        port["targetPort"].port()
        port.get("appProtocol").qualified_name()


def _validate_affinity(spec: Field) -> None:
    affinity, config = spec["sessionAffinity"].value, spec["sessionAffinityConfig"]
    if affinity == "None" and config.value is not None:
        config.forbidden("must not be set when session affinity is None")
    if affinity != "ClientIP":
        return
    for step in ("clientIP", "timeoutSeconds"):
        if config.value is not None:
            config = config[step]
    if config.value is None:
        config.missing("when session affinity type is ClientIP")
    else:
        config.between(1, AFFINITY_LIMIT, f"must be greater than 0 and less than {AFFINITY_LIMIT}")


def _validate_port_numbers(spec: Field) -> None:
    """Node ports only if the type has them; no port twice for one protocol."""
    if spec["type"].value == "ClusterIP":
        for port in spec["ports"]:
            port["nodePort"].optional().forbidden("may not be used when `type` is 'ClusterIP'")
    several = spec["ports"] if len(spec["ports"]) > 1 else ()
    node_ports: set[tuple[str, int]] = set()
    for port in several:
        number = port["nodePort"]
        if number and (port["protocol"].text, number.value) in node_ports:
            number.duplicate()
        node_ports.add((port["protocol"].text, number.number))
    seen: set[tuple[str, int]] = set()
    for port in several:
        protocol, value = port["protocol"].text, port["port"].number
        if (protocol, value) in seen:
            _duplicate_port(port, protocol, value)
        seen.add((protocol, value))


def _duplicate_port(port: Field, protocol: str, number: int) -> None:
    if since(34):
        shown = {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number}
        port.duplicate_go({**shown, "TargetPort": 0, "NodePort": 0})
        return
    target = 'intstr.IntOrString{Type:0, IntVal:0, StrVal:""}'
    fields = f'Name:"", Protocol:{go_quote(protocol)}, AppProtocol:(*string)(nil), Port:{number}, TargetPort:{target}'
    port.duplicate(Literal(f"core.ServicePort{{{fields}, NodePort:0}}", None))


def _validate_source_ranges(service: Field, before: Field) -> None:
    ranges = service["spec"].at("LoadBalancerSourceRanges", service["spec"]["loadBalancerSourceRanges"].value)
    annotation = service["metadata"]["annotations"].entry(SOURCE_RANGES)
    used = ranges or annotation
    if used.value is not None and not is_load_balancer(service.value):
        used.forbidden(ONLY_LOAD_BALANCER)
    if ranges:
        known = [value.strip() for value in before["loadBalancerSourceRanges"].value or ()]
        for one in ranges:
            validate_cidr(one.with_value(one.text.strip()), known)
    elif annotation.text.strip():
        for value in annotation.text.strip().split(","):
            validate_cidr(annotation.with_value(value.strip()))


def _validate_class(service: Field) -> None:
    name = service["spec"].get("loadBalancerClass")
    if is_load_balancer(service.value):
        name.qualified_name()
    else:
        name.forbidden(ONLY_LOAD_BALANCER)


def _validate_external_traffic(service: Field) -> None:
    policy, port = service["spec"]["externalTrafficPolicy"], service["spec"]["healthCheckNodePort"]
    if externally_accessible(service.value):
        policy.required().one_of(TRAFFIC_POLICIES)
    else:
        policy.optional().invalid("may only be set for externally-accessible services")
    if needs_health_check(service.value):
        port.required().port_number()
    else:
        port.optional().invalid("may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")


# --- addresses and families ----------------------------------------------------------------------------------------


def validate_cluster_addresses(spec: Field, known: Container[str] = ()) -> None:
    """`ValidateServiceClusterIPsRelatedFields`, which is also called before addresses are allocated."""
    if spec["type"].value == "ExternalName":
        return
    addresses, first = spec["clusterIPs"], spec["clusterIP"].text
    if first and not addresses:
        addresses.missing()
    elif first and addresses.value[0] != first:
        addresses.invalid("first value must match `clusterIP`")
    elif addresses and not first:
        addresses.invalid("must be empty when `clusterIP` is not specified")
    seen: set[str] = set()
    for one in spec["ipFamilies"]:
        one.one_of(FAMILIES).unique(seen)
    spec.get("ipFamilyPolicy").one_of(FAMILY_POLICIES)
    if addresses and _validate_each_address(addresses, known):
        _validate_address_families(addresses, spec["ipFamilies"])


def _validate_each_address(addresses: Field, known: Container[str]) -> bool:
    """Returns whether all are addresses, so that their families can be compared."""
    before = len(addresses.errors)
    for address in addresses:
        if address.index > 0 or address.value != HEADLESS:
            address.ip(known)
        elif len(addresses) > 1:
            addresses.invalid("'None' must be the first and only value")
    valid = len(addresses.errors) == before
    if len(addresses) > 2:
        addresses.invalid("may only hold up to 2 values")
    return valid


def _validate_address_families(addresses: Field, families: Field) -> None:
    if len(addresses) > 1 and len({family(address.text) for address in addresses}) < 2:
        addresses.invalid("may specify no more than one IP for each IP family")
    if addresses.value == [HEADLESS]:
        return
    for address, wanted in zip(addresses, families, strict=False):
        if wanted.value in FAMILIES and family(address.text) != wanted.value:
            address.invalid(f"expected an {wanted.value} value as indicated by `ipFamilies[{wanted.index}]`")


def _is_external(*services: Field) -> bool:
    return any(service["spec"]["type"].value == "ExternalName" for service in services)


def _validate_addresses_kept(new: Field, old: Field) -> None:
    """The first address stays; a second one can be added, and released if the policy allows it
    (`validateUpgradeDowngradeClusterIPs`)."""
    if _is_external(new, old) or (is_headless(new.value) and is_headless(old.value)):
        return
    addresses = new["spec"]["clusterIPs"]
    before: list[str] = old["spec"]["clusterIPs"].value or []
    after: list[str] = addresses.value or []
    if len(before) == len(after):
        for i, (one, other) in enumerate(zip(before, after, strict=True)):
            if one != other:
                addresses.at(i, None).invalid(NOT_ONCE_SET, after)
        return
    if before and not after:
        addresses.at(0, None).invalid("primary clusterIP can not be unset", None)
    if before and after and before[0] != after[0]:
        addresses.at(0, None).invalid(NOT_ONCE_SET, after)
    _validate_release(new, len(before), len(after), "clusterIP")


def _validate_families_kept(new: Field, old: Field) -> None:
    """`validateUpgradeDowngradeIPFamilies`."""
    if _is_external(new, old) or is_headless(new.value) or is_headless(old.value):
        return
    first, addresses = new["spec"]["ipFamilies"].at(0, None), new["spec"]["clusterIPs"].value or None
    before: list[str] = old["spec"]["ipFamilies"].value or []
    after: list[str] = new["spec"]["ipFamilies"].value or []
    if len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            if one != other:
                first.invalid(NOT_ONCE_SET, after)
        return
    if len(before) > len(after) and not addresses:
        first.invalid("primary ipFamily can not be unset", new["spec"]["ipFamilies"].value)
    if before and after and before[0] != after[0]:
        first.invalid(NOT_ONCE_SET, addresses)
    _validate_release(new, len(before), len(after), "ipFamily")


def _validate_release(new: Field, before: int, after: int, what: str) -> None:
    policy = new["spec"]["ipFamilyPolicy"]
    if before > after == 1 and policy.value != "SingleStack":
        policy.invalid(f"must be set to 'SingleStack' when releasing the secondary {what}", policy.value)


# --- status --------------------------------------------------------------------------------------------------------


def validate_status_update(new: Field, old: Field) -> None:
    points, known = new["status"]["loadBalancer"]["ingress"], load_balancer_ips(old)
    if points and not is_load_balancer(new.value):
        points.forbidden("may only be used when `spec.type` is 'LoadBalancer'")
        return
    for point in points:
        address, mode = point["ip"], point["ipMode"]
        address.optional().ip(known)
        if address:
            mode.specified("must be specified when `ip` is set").one_of(IP_MODES)
        else:
            point.get("ipMode").forbidden("may not be specified when `ip` is not set")
        validate_host(point["hostname"])


def load_balancer_ips(obj: Field) -> list[str]:
    return [point["ip"].text for point in obj["status"]["loadBalancer"]["ingress"] if point["ip"]]


def validate_host(host: Field) -> None:
    """A name in place of an address."""
    if host:
        host.dns_subdomain()
        if parse_ip(host.text) is not None:
            host.invalid("must be a DNS name, not an IP address")
