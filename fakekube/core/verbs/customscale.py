"""`/scale` of a custom resource: replicas at the paths that its definition names
(`apiextensions-apiserver/pkg/registry/customresource.ScaleREST`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.core import codec, integers
from fakekube.core.apply import scale as fields
from fakekube.core.call import Call, Step
from fakekube.core.crd.custom import nested
from fakekube.core.options import WriteOptions, parse_write_options
from fakekube.core.patch import json_patch, merge_patch
from fakekube.core.response import Document, Response
from fakekube.core.schema.decode import WrongType, decode
from fakekube.core.status import (
    StatusError,
    bad_request,
    conflict,
    field_invalid,
    internal_error,
    invalid,
    not_found,
    unsupported_media_type,
)
from fakekube.core.store import Entry
from fakekube.core.verbs import ownership
from fakekube.core.verbs.apply import without_kind
from fakekube.core.verbs.scale import as_scale
from fakekube.core.verbs.update import store_changed

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
    return Response(body=Document(scale))


def update(call: Call) -> Step:
    options = parse_write_options(call.request, "UpdateOptions")
    body = codec.decode(call.request.body, call.request.headers.get("content-type"), kind="Scale").object
    return (yield from _write(call, options, lambda current: body))


def patch(call: Call) -> Step:
    options = parse_write_options(call.request, "PatchOptions")
    kind = (call.request.headers.get("content-type") or "").partition(";")[0].strip().lower()
    value: Any = call.request.body
    if isinstance(value, bytes):
        try:
            value, _ = codec.parse(value, codec.JSON)
        except codec.SyntaxProblem as problem:
            raise bad_request(f"error decoding patch: {problem}") from None
    if kind == "application/json-patch+json":
        operations = json_patch.check(value)
        return (yield from _write(call, options, lambda current: json_patch.apply(current, operations)))
    if kind == "application/merge-patch+json":
        return (yield from _write(call, options, lambda current: merge_patch.apply(current, value)))
    accepted = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    why = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    raise unsupported_media_type(why)


def _write(call: Call, options: WriteOptions, edit: Callable[[Object], Any]) -> Step:
    """Edit the scale, and set the object's replicas to what it then says."""
    while True:
        existing = _existing(call)
        scale, found = _scale(call, existing)
        if not found:
            scale = {**scale, "spec": {"replicas": NOT_SET}}
        edited = _decoded(call, edit(scale))
        _check_place(call, edited)
        path = _paths(call)["specReplicasPath"]
        replicas = (edited.get("spec") or {}).get("replicas") or 0
        if replicas == NOT_SET:
            raise bad_request(f'the spec replicas field "{path}" cannot be empty')
        if replicas < 0:
            error = field_invalid(path, replicas, "should be a non-negative integer")
            raise invalid(call.resource.group, call.resource.kind, call.info.name, [error])
        _check_version(call, edited, existing)
        obj = with_value(call.shown(existing), path.lstrip(".").split("."), replicas)
        obj = _owned(call, obj, scale, edited, options)
        done: Response | None = yield from store_changed(call, obj, existing, options)
        if done is not None:
            entry = getattr(done.body, "entry", existing)
            return Response(body=Document(_scale(call, entry)[0]))


def _owned(call: Call, obj: Object, scale: Object, edited: Object, options: WriteOptions) -> Object:
    """The object, whose replicas belong to who wrote the scale (`ScaleHandler`)."""
    paths: fields.Paths = {
        version.api_version: _field_path((custom.scale or {}).get("specReplicasPath"))
        for version in call.server.catalog.resources()
        if version.collection == call.resource.collection and (custom := call.server.custom(version)) is not None
    }
    entries = obj["metadata"].get("managedFields") or ()
    before = fields.to_scale(entries, paths)
    standing = {**scale, "metadata": {**scale["metadata"], "managedFields": before}}
    sent = {**edited, "metadata": edited.get("metadata") or {}}
    wanted = ownership.changed(as_scale(call), without_kind(sent), without_kind(standing), options)
    of_scale = wanted["metadata"].get("managedFields") or ()
    owners = fields.to_parent(entries, of_scale, paths, call.resource.api_version)
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": {**meta, "managedFields": owners} if owners else meta}


def _field_path(path: str | None) -> tuple[str, ...] | None:
    return tuple(f"f:{name}" for name in path.lstrip(".").split(".")) if path else None


def _decoded(call: Call, value: Any) -> Object:
    if not isinstance(value, dict):
        raise bad_request('Scale in version "v1" cannot be handled as a Scale: it is no object')
    schema = call.server.schemas.of_kind("autoscaling", "v1", "Scale")
    assert schema is not None
    try:
        return decode(schema, value, [])
    except WrongType as problem:
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {problem}') from None


def _check_place(call: Call, scale: Object) -> None:
    meta = scale.get("metadata") or {}
    namespace, name = meta.get("namespace") or "", meta.get("name") or ""
    if call.resource.namespaced and namespace and namespace != call.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if not name:
        why = "was undeterminable: name must be provided"
        raise bad_request(f"the name of the object ({call.info.name} based on URL) {why}")
    if name != call.info.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.info.name})")


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
    custom = call.server.custom(call.resource)
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
