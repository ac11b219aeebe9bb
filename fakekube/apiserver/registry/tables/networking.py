"""Rows of services, ingresses, endpoints and their kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fakekube.apiserver.registry.tables.ages import Ages
from fakekube.apiserver.registry.tables.columns import AGE, NAME, Printer, age, columns, get, joined, name, wide
from fakekube.apiserver.registry.tables.labels import labels_cell, selector_cell
from fakekube.apiserver.resource import qualify

Object = dict[str, Any]

#: Of long lists this many are shown.
SHOWN = 3


def _balancers(obj: Object) -> list[str]:
    """The addresses that a load balancer gave, each once."""
    given = get(obj, "status.loadBalancer.ingress", ())
    return sorted({one.get("ip") or one.get("hostname") for one in given} - {None, ""})


def _own_addresses(service: Object) -> str:
    return joined(get(service, "spec.externalIPs", ())) or "<none>"


def _balanced_addresses(service: Object) -> str:
    return joined([*_balancers(service), *get(service, "spec.externalIPs", ())]) or "<pending>"


#: A service's type -> how it is reached from outside.
_EXTERNAL: dict[str, Callable[[Object], str]] = {
    "ClusterIP": _own_addresses,
    "NodePort": _own_addresses,
    "LoadBalancer": _balanced_addresses,
    "ExternalName": lambda service: get(service, "spec.externalName", ""),
}


def _port(port: Object) -> str:
    number, node_port = port.get("port") or 0, port.get("nodePort")
    return f"{number}{f':{node_port}' if node_port else ''}/{port.get('protocol') or ''}"


def _service(obj: Object, ages: Ages) -> list[Any]:
    kind, addresses = get(obj, "spec.type", ""), get(obj, "spec.clusterIPs", ())
    external = _EXTERNAL.get(kind)
    return [
        name(obj),
        kind,
        addresses[0] if addresses else "<none>",
        external(obj) if external else "<unknown>",
        joined([_port(port) for port in get(obj, "spec.ports", ())]) or "<none>",
        age(obj, ages),
        labels_cell(get(obj, "spec.selector")),
    ]


def _hosts(rules: Sequence[Object]) -> str:
    """The first hosts; how many more there are counts rules, also those without a host."""
    shown: list[str] = []
    for rule in rules:
        if len(shown) == SHOWN:
            return f"{joined(shown)} + {len(rules) - SHOWN} more..."
        if rule.get("host"):
            shown.append(rule["host"])
    return joined(shown) or "*"


def _ingress(obj: Object, ages: Ages) -> list[Any]:
    return [
        name(obj),
        get(obj, "spec.ingressClassName", "<none>"),
        _hosts(get(obj, "spec.rules", ())),
        joined(_balancers(obj)),
        "80, 443" if get(obj, "spec.tls") else "80",
        age(obj, ages),
    ]


def _ingress_class(obj: Object, ages: Ages) -> list[Any]:
    parameters, shown = get(obj, "spec.parameters"), "<none>"
    if parameters is not None:
        group = parameters.get("apiGroup")
        kind = parameters.get("kind") or ""
        shown = f"{kind if group is None else f'{kind}.{group}'}/{parameters.get('name') or ''}"
    return [name(obj), get(obj, "spec.controller", ""), shown, age(obj, ages)]


def _network_policy(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), selector_cell(get(obj, "spec.podSelector", {})), age(obj, ages)]


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _endpoints_text(subsets: Sequence[Object]) -> str:
    if not subsets:
        return "<none>"
    found: list[str] = []
    for subset in subsets:
        addresses = [one.get("ip") or "" for one in subset.get("addresses") or ()]
        ports = [one.get("port") or 0 for one in subset.get("ports") or ()]
        found += [_host_port(one, port) for port in ports for one in addresses] if ports else addresses
    return joined(found, SHOWN)


def _endpoints(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), _endpoints_text(obj.get("subsets") or ()), age(obj, ages)]


def _slice_port(port: Object) -> str:
    number = port.get("port")
    return str(number) if number is not None else port.get("name") if port.get("name") is not None else "*"  # type: ignore[return-value]


def _endpoint_slice(obj: Object, ages: Ages) -> list[Any]:
    ports = [_slice_port(port) for port in obj.get("ports") or ()]
    addresses = [address for endpoint in obj.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    cells = [joined(found, SHOWN) or "<unset>" for found in (ports, addresses)]
    return [name(obj), obj.get("addressType") or "", *cells, age(obj, ages)]


def _service_cidr(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), joined(get(obj, "spec.cidrs", ())), age(obj, ages)]


def _ip_address(obj: Object, ages: Ages) -> list[Any]:
    """One cell more than there are columns, as the real server has it."""
    parent, shown = get(obj, "spec.parentRef"), "<none>"
    if parent is not None:
        group, plural = parent.get("group") or "", parent.get("resource") or ""
        qualified = qualify(plural, group)
        namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
        shown = f"{qualified.lower()}{namespace}/{parent.get('name') or ''}"
    return [name(obj), shown, age(obj, ages)]


PRINTERS = {
    "services": Printer(columns(NAME, "Type", "Cluster-IP", "External-IP", "Port(s)", AGE, wide("Selector")), _service),
    "ingresses.networking.k8s.io": Printer(columns(NAME, "Class", "Hosts", "Address", "Ports", AGE), _ingress),
    "ingressclasses.networking.k8s.io": Printer(columns(NAME, "Controller", "Parameters", AGE), _ingress_class),
    "networkpolicies.networking.k8s.io": Printer(columns(NAME, "Pod-Selector", AGE), _network_policy),
    "endpoints": Printer(columns(NAME, "Endpoints", AGE), _endpoints),
    "endpointslices.discovery.k8s.io": Printer(
        columns(NAME, "AddressType", "Ports", "Endpoints", AGE), _endpoint_slice
    ),
    "servicecidrs.networking.k8s.io": Printer(columns(NAME, "CIDRs", AGE), _service_cidr),
    "ipaddresses.networking.k8s.io": Printer(columns(NAME, "ParentRef"), _ip_address),
}
