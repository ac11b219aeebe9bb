"""The endpoint of each path and verb (`rest.Storage`, `endpoints/installer.go`).

An endpoint is a function that takes a call and returns its response, or a generator that does. A path that is served
but not listed here is answered with 501.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any

from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import representation
from fakekube.apiserver.endpoints.accessreviews import REVIEWS
from fakekube.apiserver.endpoints.create import create
from fakekube.apiserver.endpoints.delete import delete, delete_collection
from fakekube.apiserver.endpoints.get import get
from fakekube.apiserver.endpoints.list import list, selection_of
from fakekube.apiserver.endpoints.part import PARTS, STATUS, Part
from fakekube.apiserver.endpoints.patch import patch
from fakekube.apiserver.endpoints.subresources import customscale, proxy, scale, streams
from fakekube.apiserver.endpoints.subresources.binding import BINDING, BINDING_BY_NAME
from fakekube.apiserver.endpoints.subresources.connectoptions import connect_options
from fakekube.apiserver.endpoints.subresources.eviction import EVICTION
from fakekube.apiserver.endpoints.subresources.token import TOKEN
from fakekube.apiserver.endpoints.update import update
from fakekube.apiserver.endpoints.watch import watch
from fakekube.apiserver.endpoints.write import act
from fakekube.apiserver.endpoints.write import connect as admitted
from fakekube.apiserver.needs import Need
from fakekube.apiserver.registry.core import componentstatus
from fakekube.apiserver.registry.registration import options_resource
from fakekube.apiserver.response import Response, StoredObject
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.options import parse_list_options
from fakekube.apiserver.wire.status import not_found, not_implemented

Endpoint = Callable[[Call], Response | Generator[Need, Any, Response]]

#: Verb -> endpoint, for objects and collections.
VERBS: Mapping[str, Endpoint] = {
    "get": get,
    "list": list,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}


def _of_part(part: Part, getter: Endpoint = get) -> Mapping[str, Endpoint]:
    return {"get": getter, "update": partial(update, part=part), "patch": partial(patch, part=part)}


def _connection(kind: str, open: Callable[[Call], Response]) -> Endpoint:
    def connected(call: Call) -> Step:
        registration = call.server.body_registration(options_resource(kind))
        options = connect_options(kind, call.request, "/".join(call.info.rest))
        return (yield from admitted(call, call.of_kind(registration), options, open))

    return connected


_STATUS = _of_part(STATUS)
_CUSTOM_SCALE = _of_part(customscale.SCALE, customscale.get)

#: (collection, subresource) -> verb -> endpoint.
SUBRESOURCES: Mapping[tuple[str, str], Mapping[str, Endpoint]] = {
    **{key: _of_part(part) for key, part in PARTS.items()},
    **{(collection, "scale"): _of_part(scale.SCALE, scale.get) for collection in scale.COLLECTIONS},
    **{
        key: dict.fromkeys(("get", "create", "update", "patch", "delete"), _connection(kind, open))
        for key, (kind, open) in {**streams.CONNECTIONS, **proxy.CONNECTIONS}.items()
    },
    ("pods", "log"): {"get": streams.log},
    ("pods", "binding"): {"create": partial(act, action=BINDING)},
    ("pods", "eviction"): {"create": partial(act, action=EVICTION)},
    ("serviceaccounts", "token"): {"create": partial(act, action=TOKEN)},
}


def _component_statuses(call: Call) -> Response:
    """The components, with a deprecation warning (`registry/core/componentstatus`)."""
    call.warnings.append("v1 ComponentStatus is deprecated in v1.19+")
    components = {one["metadata"]["name"]: Entry(0, one) for one in componentstatus.COMPONENTS}
    if call.info.verb == "get":
        if call.info.name not in components:
            raise not_found("componentstatus", call.info.name)
        return Response(body=StoredObject(components[call.info.name], representation.view(call)))
    selection = selection_of(call, parse_list_options(call.request, watch=False))
    selected = [entry for entry in components.values() if selection.matches(entry)]
    return Response(body=representation.listed(call, {}, selected))


#: Qualified resource -> endpoint, for kinds that are not stored.
VIRTUAL: Mapping[str, Endpoint] = {
    **{name: partial(act, action=review) for name, review in REVIEWS.items()},
    "bindings": partial(act, action=BINDING_BY_NAME),
    "componentstatuses": _component_statuses,
}


def endpoint(call: Call) -> Endpoint:
    """The endpoint of a request. Raises 501 for one that is served but not implemented."""
    info, resource = call.info, call.resource
    if info.subresource:
        found = _of_subresource(call).get(info.verb)
        if found is None:
            raise not_implemented(f"{info.verb} of {resource.plural}/{info.subresource} yet")
        return found
    return VIRTUAL.get(resource.qualified) or VERBS[info.verb]


def _of_subresource(call: Call) -> Mapping[str, Endpoint]:
    own = SUBRESOURCES.get((call.resource.collection, call.info.subresource))
    if own is not None:
        return own
    if call.info.subresource == "status":
        return _STATUS
    if call.info.subresource == "scale" and call.registration.version is not None:
        return _CUSTOM_SCALE
    return {}
