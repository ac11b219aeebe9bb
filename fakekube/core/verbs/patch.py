"""PATCH of an object (`endpoints/handlers.PatchResource`)."""

from __future__ import annotations

from typing import Any

from fakekube.core import codec, gojson
from fakekube.core.body import check_place, typed
from fakekube.core.call import Call, Step
from fakekube.core.codec import SyntaxProblem
from fakekube.core.options import WriteOptions, parse_write_options
from fakekube.core.patch import json_patch, merge_patch, strategic
from fakekube.core.response import Response
from fakekube.core.schema.decode import WrongType
from fakekube.core.status import (
    StatusError,
    bad_request,
    invalid_patch,
    not_found,
    not_implemented,
    patch_rejected,
    unsupported_media_type,
)
from fakekube.core.verbs.update import check_version, store_changed

Object = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
APPLY_CBOR = "application/apply-patch+cbor"


def patch(call: Call) -> Step:
    kind = _patch_type(call)
    options = parse_write_options(call.request, "PatchOptions")
    if kind == APPLY_PATCH:
        raise not_implemented(f"patches of type {kind} yet; use {MERGE_PATCH} or {JSON_PATCH}")
    while True:
        existing = call.stored()
        if existing is None:
            raise not_found(call.resource.qualified, call.info.name)
        current = {"apiVersion": call.resource.api_version, "kind": call.resource.kind, **call.shown(existing)}
        patched = _apply(call, kind, current)
        obj = _as_object(call, patched, options)
        version = obj["metadata"].get("resourceVersion")
        if version and version != existing.object["metadata"]["resourceVersion"]:
            check_version(call, obj, existing, unconditional=True)
        response: Response | None = yield from store_changed(call, obj, existing, options)
        if response is not None:
            return response


def _patch_type(call: Call) -> str:
    """Raises 415 for what the resource does not take."""
    kind = (call.request.headers.get("content-type") or "").partition(";")[0].strip().lower()
    accepted = (
        [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
        if call.resource.custom
        else [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH]
    )
    if kind in accepted:
        return kind
    if call.resource.custom:
        listed = ", ".join([*accepted, APPLY_CBOR])
        raise unsupported_media_type(
            f"the body of the request was in an unknown format - accepted media types include: {listed}"
        )
    raise unsupported_media_type("415: Unsupported Media Type", {})


def _apply(call: Call, kind: str, current: Object) -> Any:
    body = call.request.body
    if isinstance(body, bytes):
        codec.check_size(body)
        try:
            value, _ = codec.parse(body, codec.JSON)
        except SyntaxProblem as problem:
            raise bad_request(f"error decoding patch: {problem}") from None
    else:
        value = body
    if kind == JSON_PATCH:
        return json_patch.apply(current, json_patch.check(value))
    if not isinstance(value, dict):
        what = gojson.type_name(value)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
        )
    if kind == MERGE_PATCH:
        return merge_patch.apply(current, value)
    schema = call.server.schema(call.resource)
    assert schema is not None, "only built-in kinds take strategic merge patches"
    try:
        return strategic.apply(current, without_kind(value), schema)
    except strategic.BadPatch as problem:
        raise invalid_patch(strategic.go_value(value), str(problem)) from None


def without_kind(patch: Object) -> Object:
    """A strategic merge patch cannot change what kind the object is."""
    return {key: value for key, value in patch.items() if key not in ("apiVersion", "kind")}


def _as_object(call: Call, patched: Any, options: WriteOptions) -> Object:
    """The result as an object of the kind. Raises 422 where it is none, 400 where it would be another object."""
    try:
        shown = codec.encode(patched).decode()
    except TypeError:  # nested beyond what can be encoded
        raise patch_rejected() from None
    if not isinstance(patched, dict):
        raise invalid_patch(shown, f"json: cannot unmarshal {gojson.type_name(patched)} into Go value")
    api_version, kind = patched.get("apiVersion"), patched.get("kind")
    if api_version not in (None, "", call.resource.api_version) or kind not in (None, "", call.resource.kind):
        raise invalid_patch(shown, f'no kind "{kind}" is registered for version "{api_version}"')
    unknown: list[str] = []
    try:
        obj = typed(call, patched, unknown)
    except WrongType as problem:
        raise invalid_patch(shown, str(problem)) from None
    except StatusError as error:
        raise invalid_patch(shown, error.message.partition(": ")[2]) from None
    if unknown and options.field_validation == "Strict":
        problems = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise invalid_patch(shown, f"strict decoding error: {problems}")
    if options.field_validation == "Warn":
        call.warnings += [f'unknown field "{path}"' for path in unknown]
    return check_place(call, obj, naming=True)
