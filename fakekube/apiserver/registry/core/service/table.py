"""Table of Services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    columns,
    get,
    joined,
    name_of,
    wide,
)
from fakekube.apiserver.registry.generic.table.labels import labels_cell

Object = dict[str, Any]

#: The most items that a cell shows of a long list.
SHOWN = 3


def load_balancer_addresses(obj: Object) -> list[str]:
    """Returns the addresses of the load balancer, each once."""
    given = get(obj, "status.loadBalancer.ingress", ())
    return sorted({one.get("ip") or one.get("hostname") for one in given} - {None, ""})


def _own_addresses(service: Object) -> str:
    return joined(get(service, "spec.externalIPs", ())) or "<none>"


def _balanced_addresses(service: Object) -> str:
    return joined([*load_balancer_addresses(service), *get(service, "spec.externalIPs", ())]) or "<pending>"


#: Type of a service -> its external addresses.
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
        name_of(obj),
        kind,
        addresses[0] if addresses else "<none>",
        external(obj) if external else "<unknown>",
        joined([_port(port) for port in get(obj, "spec.ports", ())]) or "<none>",
        age_of(obj, ages),
        labels_cell(get(obj, "spec.selector")),
    ]


PRINTER = Printer(columns(NAME, "Type", "Cluster-IP", "External-IP", "Port(s)", AGE, wide("Selector")), _service)
