"""Resolves references to Services to addresses (kube-aggregator `NewEndpointServiceResolver`, `proxy.ResolveEndpoint`).

Webhooks and APIServices are reached at a ready endpoint of their Service, because cluster IPs are not routed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fakekube.apiserver.needs import Service
from fakekube.apiserver.storage.store import Store, path_of
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.hostport import join_host_port

Object = dict[str, Any]

SERVICES, ENDPOINTS = "services", "endpoints"
ENDPOINT_SLICES = "endpointslices.discovery.k8s.io"

#: The label of an EndpointSlice with the name of its Service.
SERVICE_NAME = "kubernetes.io/service-name"


class Unresolved(Exception):
    """The Service has no address; the message is kube-apiserver's."""


def resolve(store: Store, service: Service) -> str:
    """The address (`host:port`) of a ready endpoint for a port of a Service. Raises Unresolved."""
    entry = store.get(SERVICES, path_of(service.namespace, service.name))
    if entry is None:
        raise Unresolved(f"service {go_quote(service.name)} not found")
    spec = entry.object["spec"]
    if spec.get("type") == "ExternalName":
        return join_host_port(spec["externalName"], service.port)
    port = service_port(entry.object, service.port)
    if port is None:
        raise Unresolved(f"no service port {service.port} found for service {go_quote(service.name)}")
    preferred = (spec.get("ipFamilies") or [""])[0]
    slices = sorted(slices_of(store, service), key=lambda one: one["addressType"] != preferred)
    for address, number in ready_addresses(slices, port.get("name") or ""):
        return join_host_port(address, number)
    raise Unresolved(f"no endpoints available for service {go_quote(service.name)}")


def service_port(service: Object, number: int) -> Object | None:
    """The port of a Service with a number."""
    ports: Sequence[Object] = service["spec"].get("ports") or ()
    return next((port for port in ports if port["port"] == number), None)


def ready_addresses(slices: Sequence[Object], port_name: str) -> Iterator[tuple[str, int]]:
    """The address and the port of each ready endpoint, for the port with a name."""
    for one in slices:
        for port in one.get("ports") or ():
            if (port.get("name") or "") != port_name or port.get("port") is None:
                continue
            for endpoint in one.get("endpoints") or ():
                if (endpoint.get("conditions") or {}).get("ready") is not False:
                    yield endpoint["addresses"][0], port["port"]


def slices_of(store: Store, service: Service) -> list[Object]:
    """The EndpointSlices of a Service; those of its Endpoints if there are none, as no controller mirrors them here."""
    found = [
        entry.object
        for _, entry in store.collection(ENDPOINT_SLICES).scan(f"{service.namespace}/", "", None)
        if (entry.object["metadata"].get("labels") or {}).get(SERVICE_NAME) == service.name
    ]
    if found:
        return found
    endpoints = store.get(ENDPOINTS, path_of(service.namespace, service.name))
    return [] if endpoints is None else [_mirrored(subset) for subset in endpoints.object.get("subsets") or ()]


def _mirrored(subset: Object) -> Object:
    """The EndpointSlice of a subset of Endpoints (`endpointslicemirroring`)."""
    ready = [{"addresses": [one["ip"]]} for one in subset.get("addresses") or ()]
    waiting = subset.get("notReadyAddresses") or ()
    not_ready = [{"addresses": [one["ip"]], "conditions": {"ready": False}} for one in waiting]
    endpoints: list[Object] = [*ready, *not_ready]
    family = "IPv6" if endpoints and ":" in endpoints[0]["addresses"][0] else "IPv4"
    return {"addressType": family, "endpoints": endpoints, "ports": subset.get("ports") or []}
