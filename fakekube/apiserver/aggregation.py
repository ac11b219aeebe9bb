"""API aggregation: groups that another server serves, behind a Service (kube-aggregator).

An APIService with a Service takes over the paths of its group and version. Requests are forwarded as long as its
Available condition is True; the discovery of the other server is merged with our own.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from fakekube.apiserver import serviceresolver
from fakekube.apiserver.call import Step
from fakekube.apiserver.catalog import RemoteVersion
from fakekube.apiserver.needs import Forward, Service
from fakekube.apiserver.registry.apiregistration.autoregister import API_VERSION, COLLECTION
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Change, Entry, Store
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.request import Request
from fakekube.apiserver.wire.status import PlainAnswer

Object = dict[str, Any]

#: Collections whose changes can change the availability of an APIService.
OBSERVED = frozenset({COLLECTION, serviceresolver.SERVICES, serviceresolver.ENDPOINTS, serviceresolver.ENDPOINT_SLICES})

#: The user of the aggregator's own requests.
AGGREGATOR = User("system:kube-aggregator", groups=("system:masters",))

#: Headers that are not forwarded: they belong to the connection, or identify the user to this server.
_DROPPED = frozenset(
    {
        "authorization",
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-remote-group",
        "x-remote-uid",
        "x-remote-user",
    }
)
_DROPPED_PREFIXES = ("impersonate-", "x-remote-extra-", "x-fakekube-")


class Condition(NamedTuple):
    """The Available condition of an APIService."""

    status: str
    reason: str
    message: str


PASSED = Condition("True", "Passed", "all checks passed")


# --- APIServices ------------------------------------------------------------------------------------------------------


def remote_services(store: Store) -> dict[str, Entry]:
    """The APIServices that have a Service, by name."""
    live = store.collection(COLLECTION).live
    return {name: entry for name, entry in live.items() if entry.object["spec"].get("service")}


def service_of(api_service: Object) -> Service:
    """The Service of an APIService."""
    reference = api_service["spec"]["service"]
    return Service(reference["namespace"], reference["name"], reference.get("port") or 443)


def affected_api_services(store: Store, change: Change) -> Iterator[str]:
    """The names of the APIServices whose availability a change can change."""
    if change.collection == COLLECTION:
        if change.after is not None and change.after.object["spec"].get("service"):
            yield change.path
        return
    either = change.after or change.before
    assert either is not None, "a change has an object"
    name = either.object["metadata"]["name"]
    if change.collection == serviceresolver.ENDPOINT_SLICES:
        name = (either.object["metadata"].get("labels") or {}).get(serviceresolver.SERVICE_NAME)
    for api_service, entry in remote_services(store).items():
        service = service_of(entry.object)
        if (service.namespace, service.name) == (either.object["metadata"].get("namespace"), name):
            yield api_service


def unavailable_condition(store: Store, api_service: Object) -> Condition | None:
    """The condition of an APIService whose Service has no endpoint; None if its server must be tried
    (`AvailableConditionController.sync`)."""
    service = service_of(api_service)
    where = f"service/{service.name} in {go_quote(service.namespace)}"
    entry = store.get(serviceresolver.SERVICES, f"{service.namespace}/{service.name}")
    if entry is None:
        return Condition("False", "ServiceNotFound", f"{where} is not present")
    if entry.object["spec"].get("type") != "ClusterIP":
        return None
    port = serviceresolver.service_port(entry.object, service.port)
    if port is None:
        return Condition("False", "ServicePortError", f"{where} is not listening on port {service.port}")
    slices = serviceresolver.slices_of(store, service)
    if not slices:
        return Condition("False", "EndpointsNotFound", f"cannot find endpointslices for {where}")
    name = port.get("name") or ""
    if next(serviceresolver.ready_addresses(slices, name), None) is None:
        message = f"endpointslices for {where} have no addresses with port name {go_quote(name)}"
        return Condition("False", "MissingEndpoints", message)
    return None


def is_available(api_service: Object) -> bool:
    return any(one["type"] == "Available" and one["status"] == "True" for one in _conditions(api_service))


def _conditions(api_service: Object) -> list[Object]:
    return list((api_service.get("status") or {}).get("conditions") or ())


def with_condition(api_service: Object, condition: Condition, now: str) -> Object:
    """The APIService with its Available condition; the same object if nothing changes (`SetAPIServiceCondition`)."""
    present: Object = next((one for one in _conditions(api_service) if one["type"] == "Available"), {})
    if tuple(present.get(key) for key in ("status", "reason", "message")) == condition:
        return api_service
    since = present["lastTransitionTime"] if present.get("status") == condition.status else now
    made = {
        "type": "Available",
        "status": condition.status,
        "lastTransitionTime": since,
        "reason": condition.reason,
        "message": condition.message,
    }
    others = [one for one in _conditions(api_service) if one["type"] != "Available"]
    return {
        **api_service,
        "metadata": _managed(api_service["metadata"], now),
        "status": {**(api_service.get("status") or {}), "conditions": [*others, made]},
    }


def _managed(meta: Object, now: str) -> Object:
    """The metadata with the entry of the controller that writes the status."""
    fields: Object = {f"f:{key}": {} for key in ("lastTransitionTime", "message", "reason", "status", "type")}
    entry = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": API_VERSION,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": {"f:conditions": {".": {}, 'k:{"type":"Available"}': {".": {}, **fields}}}},
        "subresource": "status",
    }
    entries = meta.get("managedFields") or ()
    others = [one for one in entries if (one.get("manager"), one.get("subresource")) != ("kube-apiserver", "status")]
    return {**meta, "managedFields": [*others, entry]}


# --- requests ---------------------------------------------------------------------------------------------------------


def api_service_of(store: Store, path: str) -> Object | None:
    """The APIService with a Service whose group and version a path belongs to."""
    parts = path.split("/", 4)
    if len(parts) > 3 and parts[1] == "apis":
        group, version = parts[2], parts[3]
    elif len(parts) > 2 and parts[1] == "api":
        group, version = "", parts[2]
    else:
        return None
    entry = store.get(COLLECTION, f"{version}.{group}")
    return entry.object if entry is not None and entry.object["spec"].get("service") else None


def forwarded(api_service: Object, request: Request, user: User) -> Step:
    """Forward a request (`proxyHandler`). Raises a plain-text 503 while the APIService is not available."""
    if not is_available(api_service):
        raise PlainAnswer(503, "service unavailable\n")
    if "upgrade" in request.headers:
        raise PlainAnswer(501, "upgraded connections to aggregated API servers are not supported\n")
    target = quote(request.path)
    if request.query:
        pairs = [(name, value) for name in sorted(request.query) for value in request.query[name]]
        target += f"?{urlencode(pairs)}"
    answer = yield forward(api_service, request.method, target, user, headers=_headers(request), body=_body(request))
    if answer.unresolved:
        raise PlainAnswer(503, "service unavailable\n")
    if answer.problem:
        raise PlainAnswer(503, f"error trying to reach service: {answer.problem}\n")
    headers = {name: value for name, value in answer.headers if name.lower() != "content-type"}
    kind = next((value for name, value in answer.headers if name.lower() == "content-type"), "")
    return Response(answer.status, content_type=kind, headers=headers, stream=answer.stream)


def forward(
    api_service: Object,
    method: str,
    target: str,
    user: User,
    *,
    headers: Iterable[tuple[str, str]] = (),
    body: bytes = b"",
) -> Forward:
    """A request to the server of an APIService, with the headers that identify the user (`SetAuthProxyHeaders`)."""
    spec = api_service["spec"]
    identity = [("X-Remote-User", user.name)]
    if user.uid:
        identity.append(("X-Remote-Uid", user.uid))
    identity += [("X-Remote-Group", group) for group in user.groups]
    for key, values in user.extra.items():
        identity += [(f"X-Remote-Extra-{quote(key.title(), safe='')}", value) for value in values]
    bundle = spec.get("caBundle") or ""
    return Forward(
        service=service_of(api_service),
        method=method,
        target=target,
        headers=(*headers, *identity),
        body=body,
        ca=base64.b64decode(bundle).decode("ascii", "replace") if bundle else "",
        verified=not spec.get("insecureSkipTLSVerify"),
    )


def _headers(request: Request) -> list[tuple[str, str]]:
    found = []
    for name in dict.fromkeys(request.headers):
        if name not in _DROPPED and not name.startswith(_DROPPED_PREFIXES):
            found += [(name, value) for value in request.header_values(name)]
    if not isinstance(request.body, bytes) and "content-type" not in request.headers:
        found.append(("content-type", "application/json"))
    return found


def _body(request: Request) -> bytes:
    """The body; that of an in-process client is encoded."""
    return request.body if isinstance(request.body, bytes) else json.dumps(request.body).encode()


# --- discovery --------------------------------------------------------------------------------------------------------


def remote_version(
    api_service: Object,
    resources: Iterable[Object] | None,
    *,
    fresh: bool,
    openapi: Mapping[int, Object] = MappingProxyType({}),
) -> RemoteVersion:
    """The version of an APIService in discovery and OpenAPI; `resources`: rows of aggregated discovery (None:
    unknown)."""
    spec = api_service["spec"]
    return RemoteVersion(
        group=spec.get("group") or "",
        version=spec["version"],
        group_priority=spec["groupPriorityMinimum"],
        version_priority=spec["versionPriority"],
        resources=None if resources is None else tuple(resources),
        fresh=fresh,
        openapi=openapi,
    )


def discovered_version(api_service: Object, found: RemoteVersion | None) -> RemoteVersion:
    """The version of an APIService in discovery, with what was read from its server (None: nothing yet)."""
    if found is None:
        return remote_version(api_service, None, fresh=False)
    return remote_version(api_service, found.resources, fresh=found.fresh, openapi=found.openapi)


def resources_of(document: Object, group: str, version: str) -> list[Object] | None:
    """The resources of a version in an aggregated discovery document; None if it does not have the version."""
    for item in document.get("items") or ():
        if item["metadata"].get("name", "") == group:
            for one in item["versions"]:
                if one["version"] == version:
                    return list(one.get("resources") or ())
    return None


def converted(document: Object) -> list[Object]:
    """The resources of an APIResourceList as aggregated discovery shows them (`ConvertGroupVersionIntoToDiscovery`)."""
    found: dict[str, Object] = {}
    for row in document.get("resources") or ():
        name, _, subresource = row["name"].partition("/")
        kind = {"group": row.get("group", ""), "version": row.get("version", ""), "kind": row["kind"]}
        if not subresource:
            found[name] = {
                "resource": name,
                "responseKind": kind,
                "scope": "Namespaced" if row["namespaced"] else "Cluster",
                "singularResource": row.get("singularName", ""),
                "verbs": list(row["verbs"]),
                **{key: row[key] for key in ("shortNames", "categories") if row.get(key)},
            }
        elif name in found:
            rows = found[name].setdefault("subresources", [])
            rows.append({"subresource": subresource, "responseKind": kind, "verbs": list(row["verbs"])})
    return list(found.values())


def path_of(api_service: Object) -> str:
    """The path of the discovery of an APIService's group and version."""
    group, version = api_service["spec"].get("group") or "", api_service["spec"]["version"]
    return f"/apis/{group}/{version}" if group else f"/api/{version}"
