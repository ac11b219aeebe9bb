"""Request bodies: decoding, and the checks that they fit the path (`endpoints/handlers`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.schema.decode import WrongType
from fakekube.apiserver.wire import codec, gojson
from fakekube.apiserver.wire.status import StatusError, bad_request

Object = dict[str, Any]


def decode_object(call: Call, *, field_validation: str) -> Object:
    """Decode the body of a create or an update. Returns it without apiVersion and kind. Raises 400, 413, 415."""
    content_type = call.request.headers.get("content-type")
    strict = field_validation != "Ignore"
    kind, api_version = call.resource.kind, call.resource.api_version
    decoded = codec.decode(call.request.body, content_type, kind=kind, api_version=api_version, strict=strict)
    check_kind(call, decoded.object)
    unknown: list[str] = []
    try:
        obj = call.registration.decode(decoded.object, unknown)
    except WrongType as problem:
        raise _cannot_be_handled(call, str(problem)) from None
    if strict and (decoded.duplicates or unknown):
        errors = decoded.strict_errors(unknown, typed=not call.registration.unstructured)
        if field_validation == "Strict":
            raise _cannot_be_handled(call, f"strict decoding error: {', '.join(errors)}")
        for error in errors:
            call.warnings += _as_warnings(error)
    return obj


def _as_warnings(error: str) -> list[str]:
    """A strict decoding error as warnings: one for each line of a YAML error (`parseYAMLWarnings`)."""
    _, found, lines = error.partition("yaml: unmarshal errors:\n")
    return [line.strip() for line in lines.split("\n")] if found else [error]


def _cannot_be_handled(call: Call, why: str) -> StatusError:
    version = call.resource.version
    return bad_request(
        f'{call.resource.kind} in version "{version}" cannot be handled as a {call.resource.kind}: {why}'
    )


def check_kind(call: Call, obj: Object) -> None:
    """Check that the apiVersion and the kind of the body, if set, are those of the path. Raises 400."""
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
    if (api_version, kind) != (resource.api_version, resource.kind):
        call.registration.check_kind(api_version, kind, obj)


def check_place(call: Call, obj: Object, *, naming: bool) -> Object:
    """Check that the namespace and, if `naming`, the name of the body are those of the path. Raises 400.

    Returns the object with its namespace set.
    """
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
