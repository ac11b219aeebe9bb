"""`/scale` of a custom resource: replicas at the paths that its definition names
(`apiextensions-apiserver/pkg/registry/customresource.ScaleREST`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from fakekube.apiserver.apply import scalehandler as fields
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.crd.custom import nested
from fakekube.apiserver.endpoints import ownership, representation
from fakekube.apiserver.endpoints.apply import without_kind
from fakekube.apiserver.endpoints.body import check_place, decode_object
from fakekube.apiserver.endpoints.scale import Edit, as_scale, patching
from fakekube.apiserver.endpoints.update import store_changed
from fakekube.apiserver.response import Response, StoredObject
from fakekube.apiserver.schema.decode import WrongType
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire import integers
from fakekube.apiserver.wire.options import WriteOptions, parse_write_options
from fakekube.apiserver.wire.status import (
    StatusError,
    bad_request,
    conflict,
    field_invalid,
    internal_error,
    invalid,
    not_found,
)

Object = dict[str, Any]

#: What `spec.replicas` holds for a patch where the object has none.
NOT_SET = -(2**31)


def get(call: Call) -> Step:
    yield from ()
    existing = _existing(call)
    scale, found = _scale(call, existing)
    if not found:
        path = _paths(call)["specReplicasPath"]
        raise internal_error(f'the spec replicas field "{path}" does not exist')
    return _answer(call, existing, scale)


def _answer(call: Call, entry: Entry, scale: Object) -> Response:
    return Response(body=StoredObject(Entry(entry.revision, without_kind(scale)), representation.view(as_scale(call))))


def update(call: Call) -> Step:
    options = parse_write_options(call.request, "UpdateOptions")
    scaled = as_scale(call)
    body = check_place(scaled, decode_object(scaled, field_validation=options.field_validation), naming=True)
    return (yield from _write(call, options, lambda standing: ownership.changed(scaled, body, standing, options)))


def patch(call: Call) -> Step:
    return (yield from patching(call, partial(_write, call)))


def _write(call: Call, options: WriteOptions, edit: Edit) -> Step:
    """Edit the scale, and set the object's replicas to what it then says; they belong to who wrote it."""
    path = _paths(call)["specReplicasPath"]
    paths = _replicas(call)
    while True:
        existing = _existing(call)
        scale, found = _scale(call, existing)
        if not found:
            scale = {**scale, "spec": {"replicas": NOT_SET}}
        obj = call.shown(existing)
        entries = obj["metadata"].get("managedFields") or ()
        meta = {**scale["metadata"], "managedFields": fields.to_scale(entries, paths)}
        edited = edit(without_kind({**scale, "metadata": meta}))
        replicas = (edited.get("spec") or {}).get("replicas") or 0
        if replicas == NOT_SET:
            raise bad_request(f'the spec replicas field "{path}" cannot be empty')
        if replicas < 0:
            error = field_invalid(path, replicas, "should be a non-negative integer")
            raise invalid(call.resource.group, call.resource.kind, call.info.name, [error])
        _check_version(call, edited, existing)
        owners = fields.to_parent(
            entries, edited["metadata"].get("managedFields") or (), paths, call.resource.api_version
        )
        kept = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        obj = {**obj, "metadata": {**kept, "managedFields": owners} if owners else kept}
        obj = with_value(obj, path.lstrip(".").split("."), replicas)
        done: Response | None = yield from store_changed(call, obj, existing, options)
        if done is not None:
            entry = getattr(done.body, "entry", existing)
            return _answer(call, entry, _scale(call, entry)[0])


def _replicas(call: Call) -> fields.Paths:
    """Where each version has its replicas."""
    return {
        version.api_version: _field_path((custom.scale or {}).get("specReplicasPath"))
        for version in call.server.catalog.resources()
        if version.collection == call.resource.collection and (custom := call.server.custom(version)) is not None
    }


def _field_path(path: str | None) -> tuple[str, ...] | None:
    return tuple(f"f:{name}" for name in path.lstrip(".").split(".")) if path else None


def _check_version(call: Call, scale: Object, existing: Entry) -> None:
    text = (scale.get("metadata") or {}).get("resourceVersion") or ""
    if text and integers.parse_uint(text) not in (0, existing.revision):
        raise conflict(call.resource.qualified, call.info.name)


def _existing(call: Call) -> Entry:
    found = call.stored()
    if found is None:
        raise not_found(call.resource.qualified, call.info.name)
    return found


def _paths(call: Call) -> Object:
    custom = call.custom
    paths = custom.scale if custom is not None else None
    assert paths is not None, "the route is there only with a scale subresource"
    return paths


def _scale(call: Call, entry: Entry) -> tuple[Object, bool]:
    """The object as a Scale, and whether it has replicas."""
    obj, paths = call.shown(entry), _paths(call)
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
    """The object with a value at a path; missing maps are made. Raises 500 where something else stands in between."""
    head, *rest = path
    if not rest:
        return {**obj, head: value}
    inner = obj.get(head)
    if inner is not None and not isinstance(inner, dict):
        raise StatusError(500, "", f"value cannot be set because .{head} is not a map[string]interface{{}}")
    return {**obj, head: with_value(inner or {}, rest, value)}


#: verb -> what serves it.
SCALE = {"get": get, "update": update, "patch": patch}
