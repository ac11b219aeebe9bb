"""`/proxy` of pods, services and nodes, resolved as kube-apiserver does (`ResourceLocation` of each registry).

There are no backends: a request that kube-apiserver would proxy is answered with 501.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.endpoints.subresources.streams import check_node
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import path_of
from fakekube.apiserver.wire.status import StatusError, bad_request, not_found, not_implemented, service_unavailable

Object = dict[str, Any]


def split(target: str) -> tuple[str, str] | None:
    """Name and port of `name`, `name:port` or `scheme:name:port` (`SplitSchemeNamePort`); None for any other text."""
    parts = target.split(":")
    scheme = parts.pop(0) if len(parts) == 3 else ""
    name, *port = parts
    if not name or len(port) > 1 or scheme not in ("", "http", "https"):
        return None
    return name, port[0] if port else ""


def _stored(call: Call, collection: str, namespace: str, name: str) -> Object:
    found = call.server.store.get(collection, path_of(namespace, name))
    if found is None:
        raise not_found(call.resource.qualified, name)  # as the resource of the request, whatever is looked up
    return found.object


def _check_pod(call: Call, name: str, port: str) -> None:
    pod = _stored(call, "pods", call.namespace, name)
    if not is_global_unicast((pod.get("status") or {}).get("podIP") or ""):
        raise bad_request("address not allowed")


def is_global_unicast(text: str) -> bool:
    """Whether an address is global unicast, which includes private addresses (`net.IP.IsGlobalUnicast`)."""
    try:
        ip = ip_address(text)
    except ValueError:
        return False
    return not (ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified or text == "255.255.255.255")


def _check_service(call: Call, name: str, port: str) -> None:
    if re.fullmatch(r"[+-]?[0-9]{1,18}", port):
        service = _stored(call, "services", call.namespace, name)
        ports = (service.get("spec") or {}).get("ports") or ()
        named = [one.get("name") or "" for one in ports if one.get("port") == int(port)]
        if not named:
            raise service_unavailable(f'no service port {int(port)} found for service "{name}"')
        port = named[0]
    subsets = _stored(call, "endpoints", call.namespace, name).get("subsets") or ()
    for subset in subsets:
        if subset.get("addresses") and any((one.get("name") or "") == port for one in subset.get("ports") or ()):
            return
    shown = call.info.name if subsets else name
    raise service_unavailable(f'no endpoints available for service "{shown}"')


def _check_node(call: Call, name: str, port: str) -> None:
    check_node(call, name)


def _checked_proxy(check: Callable[[Call, str, str], None]) -> Callable[[Call], Response]:
    def proxy(call: Call) -> Response:
        target = split(call.info.name)
        if target is None:
            raise bad_request(f'invalid {call.resource.singular} request "{call.info.name}"')
        check(call, *target)
        raise _no_backend(call)

    return proxy


def _no_backend(call: Call) -> StatusError:
    return not_implemented(f"proxying: nothing runs behind {call.resource.plural}")


#: (collection, subresource) -> the kind of the connection's options, and the function that opens it.
CONNECTIONS = {
    ("pods", "proxy"): ("PodProxyOptions", _checked_proxy(_check_pod)),
    ("services", "proxy"): ("ServiceProxyOptions", _checked_proxy(_check_service)),
    ("nodes", "proxy"): ("NodeProxyOptions", _checked_proxy(_check_node)),
}
