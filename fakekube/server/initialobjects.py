"""The objects that exist when a server starts, as kube-apiserver creates them on its first start.

Most are recorded with their managedFields. What depends on options is replaced: addresses, ports and ranges. The
APIServices are those of the served groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from fakekube import data
from fakekube.apiserver.auth.rbac import GROUP
from fakekube.apiserver.registry.apiregistration import autoregister
from fakekube.apiserver.registry.core.service.ranges import DEFAULT_RANGE, parse_ranges, range_of
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Store, path_of
from fakekube.struct import Struct
from fakekube.virtualtime.seeds import Seed

Object = dict[str, Any]

RECORDED = "bootstrap-v1.36.json"

#: Fields of metadata in Go's order, without those that are set for each server.
_AFTER_UID = ("generation", "creationTimestamp", "labels", "annotations", "managedFields")


class ClusterOptions(Struct, frozen=True):
    """Options of kube-apiserver that show in its objects.

    `address`, `port`: where the server is reached (`--advertise-address`, `--secure-port`), by default an address that
    is reserved for documentation. `config_maps`: there are the ConfigMaps of kube-system that describe how the
    server authenticates. Clusters of tests have none, so that operators of ConfigMaps reconcile only those of the
    test.
    """

    service_cluster_ip_range: str = DEFAULT_RANGE
    address: str = "192.0.2.1"
    port: int = 6443
    config_maps: bool = False


DEFAULT = ClusterOptions()


def store(
    resources: tuple[Resource, ...], options: ClusterOptions, now: str, uid: Callable[[str], str], *, rbac: bool
) -> Store:
    """A store with the initial objects, in the order of their creation. `uid` returns the uid of a key.

    `rbac`: there are the bootstrap roles and bindings.
    """
    made = Store()
    kinds = {(one.api_version, one.kind): one for one in resources}
    objects = [*_api_services(resources, now), *_recorded(now)]
    for obj in objects:
        found = kinds.get((obj["apiVersion"], obj["kind"]))
        if found is None or not _is_wanted(found, options, rbac=rbac):
            continue
        meta = obj["metadata"]
        name = meta["name"] if found.kind != "IPAddress" else _first_address(options)
        path = path_of(meta.get("namespace", ""), name)
        made.create(found.collection, path, _completed(obj, name, uid(f"{found.collection}/{path}"), now, options))
    return made


def _is_wanted(resource: Resource, options: ClusterOptions, *, rbac: bool) -> bool:
    if resource.group == GROUP:
        return rbac
    return resource.kind != "ConfigMap" or options.config_maps


def recorded() -> list[Object]:
    """The recorded objects."""
    objects: list[Object] = data.load(RECORDED)["objects"]
    return objects


def fixed_uid(key: str) -> str:
    """The uid of an initial object, which does not depend on the seed of a test."""
    return Seed().uuid("initial uid", key)


def _api_services(resources: Iterable[Resource], now: str) -> Iterator[Object]:
    """The APIServices of the served groups, without that of kube-aggregator itself, which has none."""
    for group, version in dict.fromkeys((one.group, one.version) for one in resources):
        if group == autoregister.GROUP:
            continue
        priorities = autoregister.priority(group, version)
        obj = autoregister.registered(group, version, priorities, autoregister.ON_START, uid="", now=now)
        yield {"apiVersion": autoregister.API_VERSION, "kind": "APIService", **obj}


@lru_cache(maxsize=4)
def _recorded(now: str) -> tuple[Object, ...]:
    """The recorded objects with the time of their conditions. They are shared by servers, as all stored objects are."""
    return tuple(_timed(obj, now) for obj in recorded())


def _timed(obj: Object, now: str) -> Object:
    conditions = (obj.get("status") or {}).get("conditions")
    if not conditions:
        return obj
    return {**obj, "status": {"conditions": [{**one, "lastTransitionTime": now} for one in conditions]}}


def _completed(obj: Object, name: str, uid: str, now: str, options: ClusterOptions) -> Object:
    """The stored form of an initial object."""
    given = {**obj["metadata"], "creationTimestamp": now}
    meta: Object = {"name": name, "uid": uid}
    if "namespace" in given:
        meta = {"name": name, "namespace": given["namespace"], "uid": uid}
    meta |= {key: given[key] for key in _AFTER_UID if key in given}
    if "managedFields" in meta:
        meta["managedFields"] = [_dated(entry, now) for entry in given["managedFields"]]
    made = {"metadata": meta}
    made.update((key, value) for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata"))
    adapt = _ADAPTED.get(obj["kind"])
    return made if adapt is None else adapt(made, now, options)


def _dated(entry: Object, now: str) -> Object:
    made: Object = {}
    for key, value in entry.items():
        made[key] = value
        if key == "apiVersion":
            made["time"] = now
    return made


def _first_address(options: ClusterOptions) -> str:
    """The address of the Service `kubernetes`, the first one of the primary range."""
    primary = range_of(parse_ranges(options.service_cluster_ip_range)[0])
    assert primary is not None, "options are checked"
    return primary.text(primary.first)


def _service_cidr(obj: Object, now: str, options: ClusterOptions) -> Object:
    return {**obj, "spec": {"cidrs": [str(one) for one in parse_ranges(options.service_cluster_ip_range)]}}


def _ip_address(obj: Object, now: str, options: ClusterOptions) -> Object:
    meta = obj["metadata"]
    family = "IPv6" if ":" in meta["name"] else "IPv4"
    labels = {**meta["labels"], "ipaddress.kubernetes.io/ip-family": family}
    return {**obj, "metadata": {**meta, "labels": labels}}


def _service(obj: Object, now: str, options: ClusterOptions) -> Object:
    address = _first_address(options)
    ports = [{**port, "targetPort": options.port} for port in obj["spec"]["ports"]]
    family = "IPv6" if ":" in address else "IPv4"
    spec = {**obj["spec"], "ports": ports, "clusterIP": address, "clusterIPs": [address], "ipFamilies": [family]}
    return {**obj, "spec": spec}


def _endpoints(obj: Object, now: str, options: ClusterOptions) -> Object:
    subset = obj["subsets"][0]
    ports = [{**port, "port": options.port} for port in subset["ports"]]
    return {**obj, "subsets": [{"addresses": [{"ip": options.address}], "ports": ports}]}


def _endpoint_slice(obj: Object, now: str, options: ClusterOptions) -> Object:
    endpoints = [{**one, "addresses": [options.address]} for one in obj["endpoints"]]
    ports = [{**port, "port": options.port} for port in obj["ports"]]
    family = "IPv6" if ":" in options.address else "IPv4"
    return {**obj, "addressType": family, "endpoints": endpoints, "ports": ports}


def _config_map(obj: Object, now: str, options: ClusterOptions) -> Object:
    if "since" in obj["data"]:
        return {**obj, "data": {"since": now[:10]}}
    obj = {key: value for key, value in obj.items() if key != "data"}
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": meta}


_ADAPTED: dict[str, Callable[[Object, str, ClusterOptions], Object]] = {
    "ServiceCIDR": _service_cidr,
    "IPAddress": _ip_address,
    "Service": _service,
    "Endpoints": _endpoints,
    "EndpointSlice": _endpoint_slice,
    "ConfigMap": _config_map,
}
