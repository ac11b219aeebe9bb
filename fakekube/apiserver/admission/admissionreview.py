"""AdmissionReview requests, and conversion of objects to the version that a webhook or policy matches
(`admission.k8s.io`)."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from fakekube.apiserver import conversion
from fakekube.apiserver.admission.matching import Attributes
from fakekube.apiserver.needs import Need
from fakekube.apiserver.registry.registration import Registration
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.decode import decode
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire import codec, gojson
from fakekube.apiserver.wire.status import StatusError
from fakekube.struct import Struct

Object = dict[str, Any]


def _struct(name: str, **types: str) -> Schema:
    return Schema("object", name=name, make_fields=lambda: {field: Schema(kind) for field, kind in types.items()})


def _response_fields() -> Mapping[str, Schema]:
    text = Schema("string")
    scalars = {"uid": text, "allowed": Schema("boolean"), "patch": Schema("bytes"), "patchType": text}
    status = _struct("meta.v1.Status", status="string", message="string", reason="string", code="int32", details="any")
    lists = {"warnings": Schema("list", items=text), "auditAnnotations": Schema("map", values=text)}
    return {**scalars, "status": status, **lists}


_RESPONSE = Schema("object", name="admission.v1.AdmissionResponse", make_fields=_response_fields)
_REVIEW = Schema(
    "object",
    name="admission.v1.AdmissionReview",
    make_fields=lambda: {"kind": Schema("string"), "apiVersion": Schema("string"), "response": _RESPONSE},
)


def answer(document: Any) -> Object:
    """The AdmissionReview that a webhook has answered. Raises WrongType, with Go's message."""
    if not isinstance(document, dict):
        raise WrongType(gojson.not_an_object(document))
    found = decode(_REVIEW, document, [])
    given = document.get("response") or {}
    if given.get("patchType") == "":  # a pointer in Go: an empty text is not the same as none
        found = {**found, "response": {**(found.get("response") or {}), "patchType": ""}}
    return found


class VersionedAttributes(Struct, frozen=True):
    """The attributes of a request with its objects in one version of the resource, with apiVersion and kind
    (`admission/plugin/webhook/generic.VersionedAttributes`)."""

    attributes: Attributes
    resource: Resource
    obj: Object | None
    old: Object | None


class Undecodable(Exception):
    """The result of a patch is not an object of its kind."""


def is_converted(attributes: Attributes, resource: Resource) -> bool:
    """Whether the objects of a request are converted to the version of `resource`."""
    call = attributes.call
    return attributes.body is call and resource.api_version != call.resource.api_version


def decoded(attributes: Attributes, resource: Resource, result: Any, *, strict: bool = False) -> Object:
    """Decode an object that a webhook or policy has patched in the version of `resource`. Raises Undecodable.

    With `strict` also if it has fields that its kind does not have.
    """
    if result is None:
        result = {}  # Go decodes null as an object without fields
    elif not isinstance(result, dict):
        raise Undecodable(gojson.not_an_object(result))
    unknown: list[str] = []
    try:
        obj = registration_in(attributes, resource).decode(codec.copied(result), unknown)
    except (WrongType, StatusError) as problem:
        raise Undecodable(str(problem)) from None
    if unknown and strict:
        raise Undecodable(f"strict decoding error: {', '.join(codec.unknown_fields(unknown))}")
    return obj


def registration_in(attributes: Attributes, resource: Resource) -> Registration:
    """The registration of the kind of a request's objects in the version of `resource`."""
    if is_converted(attributes, resource):
        return attributes.call.server.registration(resource)
    return attributes.body.registration


def versioned(attributes: Attributes, resource: Resource) -> Generator[Need, Any, VersionedAttributes]:
    """Convert the objects of a request to the version of `resource`. Raises StatusError if a conversion fails."""
    obj = yield from _converted(attributes, attributes.obj, resource)
    old = yield from _converted(attributes, attributes.old, resource)
    return VersionedAttributes(attributes, resource, obj, old)


def _converted(attributes: Attributes, obj: Object | None, resource: Resource) -> Generator[Need, Any, Object | None]:
    if obj is None:
        return None
    call = attributes.call
    kind = kind_of(resource, call.info.subresource, attributes)
    if is_converted(attributes, resource):
        obj = yield from conversion.between(call, obj, call.registration, call.server.registration(resource))
    return {"apiVersion": _api_version(kind), "kind": kind["kind"], **obj}


def unversioned(attributes: Attributes, obj: Object, resource: Resource) -> Generator[Need, Any, Object]:
    """Convert an object that a webhook or policy has changed back to the version of the request. Returns it without
    apiVersion and kind."""
    call = attributes.call
    obj = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
    if is_converted(attributes, resource):
        obj = yield from conversion.between(call, obj, call.server.registration(resource), call.registration)
    return obj


def _api_version(kind: Object) -> str:
    return f"{kind['group']}/{kind['version']}" if kind["group"] else str(kind["version"])


def review(versioned: VersionedAttributes, uid: str, version: str) -> Object:
    """The AdmissionReview to send."""
    shown = {
        **request(versioned.attributes, versioned.resource, uid),
        "object": versioned.obj,
        "oldObject": versioned.old,
    }
    return {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}", "request": shown}


def request(attributes: Attributes, resource: Resource, uid: str) -> Object:
    """The `request` of an AdmissionReview, without its objects."""
    call = attributes.call
    user: Object = {"username": call.user.name}
    if call.user.uid:
        user["uid"] = call.user.uid
    user["groups"] = list(call.user.groups)
    if call.user.extra:
        user["extra"] = {key: list(values) for key, values in call.user.extra.items()}
    subresource = call.info.subresource
    shown: Object = {
        "uid": uid,
        "kind": kind_of(resource, subresource, attributes),
        "resource": _resource(resource),
    }
    if subresource:
        shown["subResource"] = subresource
    shown["requestKind"] = kind_of(call.resource, subresource, attributes)
    shown["requestResource"] = _resource(call.resource)
    if subresource:
        shown["requestSubResource"] = subresource
    if attributes.name:
        shown["name"] = attributes.name
    if attributes.namespace:
        shown["namespace"] = attributes.namespace
    shown |= {
        "operation": attributes.operation,
        "userInfo": user,
        "dryRun": attributes.dry_run,
        "options": attributes.options or None,
    }
    return shown


def kind_of(resource: Resource, subresource: str, attributes: Attributes) -> Object:
    """The group, version and kind of the objects at the request's path."""
    if attributes.body is not attributes.call:
        resource = attributes.body.resource
    else:
        found = resource.subresources.get(subresource)
        if found is not None and found.version:
            return {"group": found.group, "version": found.version, "kind": found.kind}
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}
