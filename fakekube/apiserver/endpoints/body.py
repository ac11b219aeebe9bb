"""Request bodies: decoding, and the checks that they fit the path (`endpoints/handlers`)."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.schema import repeated
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.wrongtype import SentNumber, WrongType
from fakekube.apiserver.wire import codec, gojson
from fakekube.apiserver.wire.codec import Decoded
from fakekube.apiserver.wire.status import StatusError, bad_request

Object = dict[str, Any]


def decode_object(call: Call, *, field_validation: str, stored: Object | None = None) -> Object:
    """Decode the body of a create or an update. Returns it without apiVersion and kind. Raises 400, 413, 415.

    `stored` is the object that an update replaces (None: not known).
    """
    content_type = call.request.headers.get("content-type")
    strict = field_validation != "Ignore"
    version, kind, api_version = call.resource.version, call.resource.kind, call.resource.api_version
    decoded = codec.decode(call.request.body, content_type, kind=kind, api_version=api_version, strict=strict)
    if call.registration.unstructured:
        version, kind = _custom_type(call, decoded, strict=strict)
    else:
        check_kind(call, decoded)
    unknown: list[str] = []
    schema = None if call.registration.unstructured else call.registration.schema
    sent = decoded.object
    if schema is not None and decoded.repeats:
        sent = repeated.merged(schema, decoded.pairs())
    try:
        if stored is None:
            obj = call.registration.decode(sent, unknown)
        else:
            obj = call.registration.decode_changed(sent, stored, unknown)
    except WrongType as problem:
        why = _with_number_as_sent(call, decoded) or str(problem)
        raise _cannot_be_handled(version, kind, why, call.resource.kind) from None
    if strict and (decoded.duplicates or unknown) and not decoded.is_protobuf:
        errors = decoded.strict_errors(unknown, opaque=partial(is_opaque, schema) if schema is not None else None)
        untyped = call.registration.unstructured and not decoded.object.get("apiVersion")
        if errors and field_validation == "Strict" and untyped:
            raise bad_request("Object 'apiVersion' is missing in 'object has no apiVersion field'")
        if errors and field_validation == "Strict":
            raise _cannot_be_handled(version, kind, f"strict decoding error: {', '.join(errors)}", kind)
        for error in errors:
            call.warnings += _as_warnings(error)
    call.sent = sent
    if call.registration.unstructured and decoded.object.get("apiVersion") != call.resource.api_version:
        call.registration.check_kind(decoded.object.get("apiVersion") or "", kind, obj)
    return obj


def _with_number_as_sent(call: Call, decoded: Decoded) -> str:
    """The error about a JSON body, with the text of the number that it quotes; "" without such an error."""
    if call.registration.unstructured:
        return ""
    try:
        call.registration.decode(decoded.sent(SentNumber) or {}, [])
    except WrongType as problem:
        return str(problem) if "cannot unmarshal number " in str(problem) else ""
    return ""


def is_opaque(schema: Schema, path: str) -> bool:
    """Whether the field has a JSON decoder of its own, which ignores duplicate fields."""
    found: Schema | None = schema
    for name in _NAME.findall(path):
        if found is None:
            return False
        if found.type == "map":
            found = found.values
        elif found.type == "object":
            found = found.fields.get(name)
        while found is not None and found.type == "list":
            found = found.items
    return found is not None and found.type == "any"


#: A field in a path, without the indexes that follow it.
_NAME = re.compile(r"([^.[\]]+)(?:\[\d+\])*")


def _custom_type(call: Call, decoded: Decoded, *, strict: bool) -> tuple[str, str]:
    """The version and the kind of the body of a custom resource, which it has to have. Raises 400.

    A typed decoder completes both from the path instead, as `check_kind` does.
    """
    obj, body = decoded.object, decoded.body
    api_version, kind = _header(call, decoded)
    version = api_version.rpartition("/")[2]
    if not kind:
        text = (codec.encoded(obj) if body is None else body).decode("utf-8", "replace")
        if strict:
            raise _unrecognized(call, body, f"Object 'Kind' is missing in '{text}'")
        shown = text if text[:1] in "{n" else gojson.go_json(obj)
        own = call.resource
        raise _cannot_be_handled(version or own.version, own.kind, f"Object 'Kind' is missing in '{shown}'", own.kind)
    if "apiVersion" in obj and obj["apiVersion"] is None:
        why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
        raise _cannot_be_handled("", kind, why, call.resource.kind)
    return version, kind


def _as_warnings(error: str) -> list[str]:
    """A strict decoding error as warnings: one for each line of a YAML error (`parseYAMLWarnings`)."""
    _, found, lines = error.partition("yaml: unmarshal errors:\n")
    return [line.strip() for line in lines.split("\n")] if found else [error]


def _cannot_be_handled(version: str, kind: str, why: str, wanted: str) -> StatusError:
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {wanted}: {why}')


def check_kind(call: Call, decoded: Decoded) -> None:
    """Check that the apiVersion and the kind of the body, if set, are those of the path. Raises 400 or 422."""
    resource = call.resource
    obj = decoded.object
    if obj.get("kind") == resource.kind and obj.get("apiVersion") == resource.api_version and not decoded.duplicates:
        return
    api_version, kind = _header(call, decoded)
    api_version, kind = api_version or resource.api_version, kind or resource.kind
    if (api_version, kind) != (resource.api_version, resource.kind):
        call.registration.check_kind(api_version, kind, decoded.object)


def _header(call: Call, decoded: Decoded) -> tuple[str, str]:
    """The apiVersion and the kind of the body ("": not set). Raises 400 for values that are no strings."""
    obj, body = decoded.object, decoded.body
    for key, value in decoded.header():
        if value is not None and not isinstance(value, str):
            what = gojson.type_name(value)
            message = f"json: cannot unmarshal {what} into Go struct field .{key} of type string"
            raise _unrecognized(call, body, f"couldn't get version/kind; json parse error: {message}")
    api_version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    if api_version.count("/") > 1:
        raise _unrecognized(call, body, f"unexpected GroupVersion string: {api_version}")
    return api_version, kind


def _unrecognized(call: Call, body: bytes | None, why: str) -> StatusError:
    quoted = "" if body is None else f" ({codec.summary(body)})"
    return bad_request(f"the object provided is unrecognized (must be of type {call.resource.kind}): {why}{quoted}")


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
