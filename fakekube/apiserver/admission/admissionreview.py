"""AdmissionReviews: how a write is told to webhooks and to expressions (`admission.k8s.io`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.admission.matching import Attributes
from fakekube.apiserver.call import Call
from fakekube.apiserver.resource import Resource

Object = dict[str, Any]


def review(attributes: Attributes, resource: Resource, uid: str, version: str) -> Object:
    """The AdmissionReview of a request, its objects in the version of `resource`."""
    call = attributes.call
    told = {
        **request(attributes, resource, uid),
        "object": shown(call, attributes.obj, resource),
        "oldObject": shown(call, attributes.old, resource),
    }
    return {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}", "request": told}


def request(attributes: Attributes, resource: Resource, uid: str) -> Object:
    """The request of a review, without its objects."""
    call = attributes.call
    user: Object = {"username": call.user.name}
    if call.user.uid:
        user["uid"] = call.user.uid
    user["groups"] = list(call.user.groups)
    if call.user.extra:
        user["extra"] = {key: list(values) for key, values in call.user.extra.items()}
    told: Object = {
        "uid": uid,
        "kind": _kind(resource, call.info.subresource),
        "resource": _resource(resource),
    }
    if call.info.subresource:
        told["subResource"] = call.info.subresource
    told["requestKind"] = _kind(call.resource, call.info.subresource)
    told["requestResource"] = _resource(call.resource)
    if call.info.subresource:
        told["requestSubResource"] = call.info.subresource
    if attributes.name:
        told["name"] = attributes.name
    if attributes.namespace:
        told["namespace"] = attributes.namespace
    told |= {
        "operation": attributes.operation,
        "userInfo": user,
        "dryRun": attributes.dry_run,
        "options": attributes.options,
    }
    return told


def _kind(resource: Resource, subresource: str) -> Object:
    found = resource.subresources.get(subresource)
    if found is not None and found.version:
        return {"group": found.group, "version": found.version, "kind": found.kind}
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _resource(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def shown(call: Call, obj: Object | None, resource: Resource) -> Object | None:
    """An object in the version that the webhook takes."""
    if obj is None:
        return None
    if resource.api_version != call.resource.api_version:
        obj = call.in_version(obj, resource)
    return {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
