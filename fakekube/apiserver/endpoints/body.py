"""The object in a request's body, and whether it is one for this path (`endpoints/handlers`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.schema.decode import WrongType, decode
from fakekube.apiserver.versions import RECORDED
from fakekube.apiserver.wire import codec, gojson
from fakekube.apiserver.wire.status import StatusError, bad_request, field_invalid, invalid

Object = dict[str, Any]


def decode_object(call: Call, *, field_validation: str) -> Object:
    """The body of a create or an update, without apiVersion and kind. Raises 400, 413, 415; notes warnings."""
    content_type = call.request.headers.get("content-type")
    strict = field_validation != "Ignore"
    decoded = codec.decode(call.request.body, content_type, kind=_expected(call), strict=strict)
    check_kind(call, decoded.object)
    unknown: list[str] = []
    try:
        obj = typed(call, decoded.object, unknown)
    except WrongType as problem:
        raise cannot_be_handled(call, str(problem)) from None
    report_strict(call, decoded.duplicates, unknown, field_validation)
    return obj


def _expected(call: Call) -> str:
    return call.resource.kind


def typed(call: Call, obj: Object, unknown: list[str]) -> Object:
    """The object as its kind has it, defaults filled in, without apiVersion and kind. Raises WrongType, or 400."""
    schema = call.server.schema(call.resource)
    if schema is None:
        custom = call.custom
        if custom is None:
            check_shape(call, obj)
            return without_type(obj)
        return without_type(custom.decode(obj, unknown))
    draft = without_type(decode(schema, obj, unknown))
    call.strategy.default(draft)
    if call.server.schemas.version != RECORDED:
        return without_type(decode(schema, draft, []))  # the defaults are today's: without those of later fields
    return draft


def report_strict(call: Call, duplicates: list[str], unknown: list[str], field_validation: str) -> None:
    """Duplicate and unknown fields: a warning each, or with Strict a refusal."""
    problems = [f'duplicate field "{path}"' for path in duplicates] + [f'unknown field "{path}"' for path in unknown]
    if not problems or field_validation == "Ignore":
        return
    if field_validation == "Strict":
        raise cannot_be_handled(call, f"strict decoding error: {', '.join(problems)}")
    call.warnings += problems


def cannot_be_handled(call: Call, why: str, obj: Object | None = None) -> StatusError:
    version = call.resource.version
    return bad_request(
        f'{call.resource.kind} in version "{version}" cannot be handled as a {call.resource.kind}: {why}'
    )


def without_type(obj: Object) -> Object:
    """As it is stored: metadata first, no apiVersion and kind (the path knows them)."""
    meta = obj.get("metadata") or {}
    for field in ("labels", "annotations"):
        values = meta.get(field)
        if values and None in values.values():  # null in a map of strings is an empty one to Go
            meta = {**meta, field: {key: "" if value is None else value for key, value in values.items()}}
    kept: Object = {"metadata": meta}
    kept.update((key, value) for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata"))
    return kept


SCHEME = 'in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'


def check_kind(call: Call, obj: Object) -> None:
    """The body's apiVersion and kind, where it has them, must be the path's. Raises 400."""
    resource = call.resource
    api_version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    for key, value in (("apiVersion", api_version), ("kind", kind)):
        if not isinstance(value, str):
            what = gojson.type_name(value)
            message = f"json: cannot unmarshal {what} into Go struct field .{key} of type string"
            raise bad_request(
                f"the object provided is unrecognized (must be of type {resource.kind}): couldn't get version/kind; "
                f"json parse error: {message}"
            )
    api_version, kind = api_version or resource.api_version, kind or resource.kind
    if (api_version, kind) == (resource.api_version, resource.kind):
        return
    version = api_version.rpartition("/")[2]
    subject = f'{kind} in version "{version}" cannot be handled as a {resource.kind}'
    if resource.custom:
        if api_version != resource.api_version:
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({resource.api_version})"
            )
        name = (obj.get("metadata") or {}).get("name") or ""
        error = field_invalid("kind", kind, f"must be {resource.kind}")
        raise invalid(resource.group, kind, name, [error])
    known = call.server.catalog.find_kind(api_version, kind)
    if known is None or known.custom:
        if (
            kind == resource.kind
            and call.server.catalog.serves_group(api_version.rpartition("/")[0])
            and api_version.rpartition("/")[0] == resource.group
            and resource.group
        ):
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version "
                f"({resource.api_version})"
            )
        raise bad_request(f'{subject}: no kind "{kind}" is registered for version "{api_version}" {SCHEME}')
    group = resource.group.partition(".")[0] or "core"
    raise bad_request(f"{subject}: converting ({version}.{kind}) to ({group}.{resource.kind}): unknown conversion")


def check_shape(call: Call, obj: Object) -> None:
    """metadata must be what the rest of the server can rely on. Raises 400 in the decoder's words."""
    kind = call.resource.kind
    meta = obj.get("metadata")
    if meta is None:
        return
    if not isinstance(meta, dict):
        what = gojson.type_name(meta)
        why = f"json: cannot unmarshal {what} into Go struct field {kind}.metadata of type v1.ObjectMeta"
        raise cannot_be_handled(call, why)
    for field, (check, go_type) in METADATA_TYPES.items():
        value = meta.get(field)
        if value is None:
            continue
        problem = check(value)
        if problem is not None:
            where = f"ObjectMeta.metadata.{field}"
            why = f"json: cannot unmarshal {problem} into Go struct field {where} of type {go_type}"
            raise cannot_be_handled(call, why)
    for owner in meta.get("ownerReferences") or ():
        for field, (type, go_type) in OWNER_TYPES.items():
            value = owner.get(field)
            if value is not None and not isinstance(value, type):
                what = gojson.type_name(value)
                where = f"OwnerReference.metadata.ownerReferences.{field}"
                why = f"json: cannot unmarshal {what} into Go struct field {where} of type {go_type}"
                raise cannot_be_handled(call, why)


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else gojson.type_name(value)


def _integer(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"number {value}" if isinstance(value, float) else gojson.type_name(value)
    return None


def _strings(value: Any) -> str | None:
    if not isinstance(value, dict):
        return gojson.type_name(value)
    return next((gojson.type_name(v) for v in value.values() if not isinstance(v, str) and v is not None), None)


def _text_list(value: Any) -> str | None:
    if not isinstance(value, list):
        return gojson.type_name(value)
    return next((gojson.type_name(v) for v in value if not isinstance(v, str)), None)


def _object_list(value: Any) -> str | None:
    if not isinstance(value, list):
        return gojson.type_name(value)
    return next((gojson.type_name(v) for v in value if not isinstance(v, dict)), None)


OWNER_TYPES: Mapping[str, tuple[type, str]] = {
    **dict.fromkeys(("apiVersion", "kind", "name", "uid"), (str, "string")),
    **dict.fromkeys(("controller", "blockOwnerDeletion"), (bool, "bool")),
}

#: Fields of metadata: what is wrong with a value (None: nothing), and the Go type in the message.
METADATA_TYPES = {
    "name": (_text, "string"),
    "generateName": (_text, "string"),
    "namespace": (_text, "string"),
    "uid": (_text, "types.UID"),
    "resourceVersion": (_text, "string"),
    "selfLink": (_text, "string"),
    "generation": (_integer, "int64"),
    "deletionGracePeriodSeconds": (_integer, "int64"),
    "creationTimestamp": (_text, "string"),
    "deletionTimestamp": (_text, "string"),
    "labels": (_strings, "string"),
    "annotations": (_strings, "string"),
    "finalizers": (_text_list, "string"),
    "ownerReferences": (_object_list, "v1.OwnerReference"),
    "managedFields": (_object_list, "v1.ManagedFieldsEntry"),
}


def check_place(call: Call, obj: Object, *, naming: bool) -> Object:
    """The body's namespace and, where `naming`, its name must be the path's. Returns the object in its namespace."""
    meta = obj["metadata"]
    namespace = meta.get("namespace") or ""
    if call.resource.namespaced:
        if namespace and namespace != call.namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        if namespace != call.namespace:
            obj = {**obj, "metadata": {**meta, "namespace": call.namespace}}
    elif namespace:
        obj = {**obj, "metadata": {k: v for k, v in meta.items() if k != "namespace"}}
    if naming:
        name = meta.get("name") or ""
        if not name:
            raise bad_request(
                f"the name of the object ({call.info.name} based on URL) was undeterminable: name must be provided"
            )
        if name != call.info.name:
            raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.info.name})")
    return obj
