"""`/scale` of a custom resource, with replicas at the paths that its definition declares
(`apiextensions-apiserver/pkg/registry/customresource.ScaleREST`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import conversion
from fakekube.apiserver.apply import scalehandler as fields
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.crd.customversion import nested
from fakekube.apiserver.endpoints import representation
from fakekube.apiserver.endpoints.part import WHOLE
from fakekube.apiserver.endpoints.subresources.scale import as_scale
from fakekube.apiserver.response import Response, StoredObject
from fakekube.apiserver.schema.objectmeta import without_kind
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.status import (
    StatusError,
    bad_request,
    internal_error,
    not_found,
)
from fakekube.struct import replace

Object = dict[str, Any]

#: The value of `spec.replicas` in a patched Scale if the object has no replicas.
NOT_SET = -(2**31)


def get(call: Call) -> Step:
    found = call.stored()
    if found is None:
        raise not_found(call.resource.qualified, call.info.name)
    if call.converted is not None:
        yield from conversion.read(call, [found])
    scale, has_replicas = _scale(call, call.shown(found))
    if not has_replicas:
        path = _paths(call)["specReplicasPath"]
        raise internal_error(f'the spec replicas field "{path}" does not exist')
    return Response(body=_stored(call, found.revision, scale))


def _stored(call: Call, revision: int, scale: Object) -> StoredObject:
    return StoredObject(
        Entry(revision, without_kind(scale)), representation.view(as_scale(call), call.registration.printer("Scale"))
    )


def _answer(call: Call, entry: Entry) -> StoredObject:
    return _stored(call, entry.revision, _scale(call, call.shown(entry))[0])


def _shown(call: Call, obj: Object) -> Object:
    """The object as a Scale, with the managers of its replicas; NOT_SET if it has none."""
    scale, found = _scale(call, obj)
    if not found:
        scale = {**scale, "spec": {"replicas": NOT_SET}}
    entries = obj["metadata"].get("managedFields") or ()
    meta = {**scale["metadata"], "managedFields": fields.to_scale(entries, _replicas(call))}
    return without_kind({**scale, "metadata": meta})


def _merged(call: Call, scale: Object, existing: Entry) -> Object:
    """The object with the replicas of the Scale, owned by the manager of the request. Raises 400, 409, 422."""
    path, paths = _paths(call)["specReplicasPath"], _replicas(call)
    obj = call.shown(existing)
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas == NOT_SET:
        raise bad_request(f'the spec replicas field "{path}" cannot be empty')
    version = scale["metadata"].get("resourceVersion") or obj["metadata"]["resourceVersion"]
    entries = obj["metadata"].get("managedFields") or ()
    owners = fields.to_parent(entries, scale["metadata"].get("managedFields") or (), paths, call.resource.api_version)
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    meta["resourceVersion"] = version
    obj = {**obj, "metadata": {**meta, "managedFields": owners} if owners else meta}
    return with_value(obj, path.lstrip(".").split("."), replicas)


def _replicas(call: Call) -> fields.Paths:
    """The path of the replicas in each version."""
    return {
        version.api_version: _field_path((custom.scale or {}).get("specReplicasPath"))
        for version in call.server.catalog.resources()
        if version.collection == call.resource.collection
        and (custom := call.server.registration(version).version) is not None
    }


def _field_path(path: str | None) -> tuple[str, ...] | None:
    return tuple(f"f:{name}" for name in path.lstrip(".").split(".")) if path else None


def _paths(call: Call) -> Object:
    version = call.registration.version
    paths = version.scale if version is not None else None
    assert paths is not None, "the path is served only with a scale subresource"
    return paths


def _scale(call: Call, obj: Object) -> tuple[Object, bool]:
    """The object as a Scale, and whether it has replicas."""
    paths = _paths(call)
    try:
        wanted = nested(obj, paths["specReplicasPath"], int)
        running = nested(obj, paths["statusReplicasPath"], int)
        selector = nested(obj, paths["labelSelectorPath"], str) if paths.get("labelSelectorPath") else None
    except WrongType as problem:
        raise internal_error(str(problem)) from None
    meta = obj["metadata"]
    kept = {
        key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp") if key in meta
    }
    status: Object = {"replicas": running or 0}
    if selector:
        status["selector"] = selector
    scale = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": kept,
        "spec": {"replicas": wanted} if wanted else {},
        "status": status,
    }
    return scale, wanted is not None


def with_value(obj: Object, path: list[str], value: Any) -> Object:
    """The object with a value at a path, creating missing maps. Raises 500 if a value on the path is not a map."""
    head, *rest = path
    if not rest:
        return {**obj, head: value}
    inner = obj.get(head)
    if inner is not None and not isinstance(inner, dict):
        raise StatusError(500, "", f"value cannot be set because .{head} is not a map[string]interface{{}}")
    return {**obj, head: with_value(inner or {}, rest, value)}


SCALE = replace(
    WHOLE,
    body=as_scale,
    shown=_shown,
    merged=_merged,
    answer=_answer,
    is_whole=False,
    unconvertible=True,
    unregistered_in="k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781",
)
