"""PATCH of an object (`endpoints/handlers/patch.go`). Server-side apply is in `apply`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import ownership
from fakekube.apiserver.endpoints.apply import apply
from fakekube.apiserver.endpoints.body import check_place
from fakekube.apiserver.endpoints.part import WHOLE, Part
from fakekube.apiserver.endpoints.write import Write, write
from fakekube.apiserver.needs import Making
from fakekube.apiserver.patch import json_patch, merge_patch, strategic
from fakekube.apiserver.registry.registration import scheme_of
from fakekube.apiserver.resource import APPLY_PATCH, JSON_PATCH, STRATEGIC_MERGE_PATCH
from fakekube.apiserver.schema import unstructured
from fakekube.apiserver.schema.objectmeta import without_kind
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire import codec, gojson, goprint, structorder
from fakekube.apiserver.wire.codec import SyntaxProblem
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.options import WriteOptions, parse_write_options
from fakekube.apiserver.wire.status import (
    StatusError,
    bad_request,
    internal_error,
    invalid_patch,
    patch_rejected,
)

Object = dict[str, Any]


def patch(call: Call, part: Part = WHOLE) -> Step:
    """Patch the object, or the part of it that the path writes."""
    kind = patch_type(call)
    options = parse_write_options(call.request, "PatchOptions", applying=kind == APPLY_PATCH)
    if kind == APPLY_PATCH:
        return (yield from apply(call, options, part))
    body = part.body(call)
    produce = partial(_produced, body, kind, options)
    return (yield from write(call, Write(options, produce, part)))


def _produced(call: Call, kind: str, options: WriteOptions, current: Object | None) -> Making:
    assert current is not None, "a patch changes an object that exists"
    warnings: list[str] = []
    try:
        obj = patched(call, kind, current, options, warnings)
    finally:
        call.warnings += [warning for warning in warnings if warning not in call.warnings]
    yield from call.pause()
    return ownership.tracked(call, obj, current, options)


def patch_type(call: Call) -> str:
    """The patch type of the request. Raises 415 for one that the resource does not support."""
    kind = (call.request.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if kind not in call.resource.patch_types:
        raise call.registration.refuse_patch_type()
    return kind


def patched(call: Call, kind: str, stored: Object, options: WriteOptions, warnings: list[str]) -> Object:
    """Apply the patch to the stored object. Appends the warnings for the client to `warnings`.

    Raises StatusError: 400 or 422, with messages that depend on the patch type.
    """
    current = {"apiVersion": call.resource.api_version, "kind": call.resource.kind, **stored}
    strict = options.field_validation != "Ignore"
    if kind == STRATEGIC_MERGE_PATCH:
        value, repeated = _parsed(call, "", strict=strict)
        result = _merged_strategically(call, value, current)
        shown = partial(_remaining, value)
        obj, problems = _as_object(call, result, stored, shown, converted=True)
    else:
        value, repeated = _parsed(call, "error decoding patch: ", strict=strict)
        if kind == JSON_PATCH:
            operations = json_patch.check(value)
            repeated = [f"json patch {one}" for one in repeated]
            repeated += [f"json patch {one}" for one in json_patch.unknown_members(operations)] if strict else []
            body = call.request.body
            if isinstance(body, bytes):
                if strict:
                    json_patch.check_members(body)
                json_patch.check_tests(current, operations, body)
            result = json_patch.apply(current, operations)
            _encoded(call, result)  # copies can nest deeper than any body
            again = partial(json_patch.apply, operations=operations)
        else:
            result = _merged(current, value, strict=strict)
            again = partial(merge_patch.apply, patch=value)
        shown = partial(_quoted, call, current, again)
        obj, problems = _as_object(call, result, stored, shown, converted=False)
    problems = repeated + problems
    if problems and options.field_validation == "Strict":
        raise invalid_patch(shown(), f"strict decoding error: {', '.join(problems)}")
    if strict:
        warnings += problems
    obj = check_place(call, obj, naming=True)
    if call.registration.unstructured and not result.get("apiVersion"):
        raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    return obj


def _decoded(call: Call, result: Object, stored: Object, unknown: list[str], *, converted: bool) -> Object:
    """The result of a patch, decoded. Raises WrongType."""
    registration = call.registration
    try:
        obj = registration.decode_changed(result, stored, unknown)
    except WrongType:
        if not converted or registration.schema is None:
            raise
        unknown.clear()
        obj = registration.decode_changed(unstructured.converted(registration.schema, result), stored, unknown)
    call.sent = result
    return obj


def _quoted(call: Call, current: Object, patch: Callable[[Object], Any]) -> str:
    """The result as error messages quote it: as if the patch had changed the text of the encoded object."""
    resource, meta = call.resource, current["metadata"]
    if meta.get("managedFields") == []:
        meta = {key: value for key, value in meta.items() if key != "managedFields"}
        current = {**current, "metadata": meta}
    return _encoded(call, patch(structorder.in_struct_order(current, resource.api_version, resource.kind)))


def _encoded(call: Call, result: Any) -> str:
    """The result as error messages quote it. Raises 422 if it is nested too deeply to be encoded."""
    try:
        return call.registration.patch_text(result)
    except TypeError:
        raise patch_rejected() from None


def _parsed(call: Call, prefix: str, *, strict: bool) -> tuple[Any, list[str]]:
    """The decoded body and the warnings for its duplicate fields. Raises 400."""
    body = call.request.body
    if not isinstance(body, bytes):
        return body, []
    codec.check_size(body)
    try:
        value, _ = codec.parse(body, codec.JSON)
        repeated = codec.duplicates(value, body) if strict else []
    except SyntaxProblem as problem:
        raise bad_request(f"{prefix}{problem}") from None
    return value, [f'duplicate field "{path}"' for path in repeated]


def _check_map(value: Any, prefix: str) -> None:
    if value is not None and not isinstance(value, dict):
        what = gojson.type_name(value)
        raise bad_request(f"{prefix}json: cannot unmarshal {what} into Go value of type map[string]interface {{}}")


def _merged(current: Object, value: Any, *, strict: bool) -> Any:
    if strict:
        _check_map(value, "error decoding patch: ")
    if not isinstance(value, dict):
        raise bad_request("Invalid JSON Patch")
    return merge_patch.apply(current, value)


def _merged_strategically(call: Call, value: Any, current: Object) -> Object:
    _check_map(value, "")
    schema = call.registration.schema
    assert schema is not None, "only built-in kinds take strategic merge patches"
    header = {key: value[key] for key in ("apiVersion", "kind") if (value or {}).get(key) is not None}
    try:
        unstructured.converted(schema, header)
    except WrongType as problem:
        raise invalid_patch(goprint.plain(value), str(problem)) from None
    try:
        merged = strategic.apply(current, value or {}, schema)
    except strategic.BadPatch as problem:
        if problem.code == 422:
            raise patch_rejected() from None
        raise StatusError(problem.code, "BadRequest" if problem.code == 400 else "", str(problem)) from None
    return {"apiVersion": current["apiVersion"], "kind": current["kind"], **without_kind(merged)}


def _remaining(patch: Any) -> str:
    """A strategic merge patch as error messages quote it: without the directives that its application removes."""
    return goprint.plain(strategic.without_applied_directives(patch))


def _as_object(
    call: Call, result: Any, stored: Object, shown: Callable[[], str], *, converted: bool
) -> tuple[Object, list[str]]:
    """Decode the result of a patch. Returns the object and the errors for unknown fields. Raises 422.

    `shown` returns the text that error messages quote. `converted`: kube-apiserver converts the result from
    unstructured data instead of decoding JSON, and words type errors accordingly.
    """
    if not isinstance(result, dict):
        raise invalid_patch(shown(), f"json: cannot unmarshal {gojson.type_name(result)} into Go value")
    api_version, kind = result.get("apiVersion"), result.get("kind")
    if call.registration.unstructured:
        return _as_custom_resource(call, result, stored, shown)
    if api_version not in (None, "", call.resource.api_version) or kind not in (None, "", call.resource.kind):
        named = f"{go_quote(str(kind or ''))} is registered for version {go_quote(str(api_version or ''))}"
        raise invalid_patch(shown(), f"no kind {named} {scheme_of(call.resource.group)}")
    unknown: list[str] = []
    if not api_version and not converted and not call.registration.unstructured:
        # Go decodes into a type that has only apiVersion and kind
        unknown += [key for key in result if key not in ("apiVersion", "kind")]
        return {"metadata": {}}, codec.unknown_fields(unknown)
    try:
        obj = _decoded(call, result, stored, unknown, converted=converted)
    except WrongType as problem:
        raise invalid_patch(shown(), str(problem)) from None
    except StatusError as error:
        raise invalid_patch(shown(), error.message.partition(": ")[2]) from None
    if converted and unknown and call.registration.schema is not None:
        unknown = unstructured.unknown_fields(call.registration.schema, result)
    return obj, codec.unknown_fields(unknown)


def _as_custom_resource(
    call: Call, result: Object, stored: Object, shown: Callable[[], str]
) -> tuple[Object, list[str]]:
    """Decode the result of a patch of a custom resource. Raises 422."""
    why = _type_problem(result) or ("" if result.get("kind") else f"Object 'Kind' is missing in '{shown()}'")
    if not why and result.get("apiVersion", "") is None:
        why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string"
    if why:
        raise invalid_patch(shown(), why)
    unknown: list[str] = []
    try:
        obj = call.registration.decode_changed(result, stored, unknown)
    except WrongType as problem:
        raise invalid_patch(shown(), str(problem)) from None
    return obj, codec.unknown_fields(unknown)


def _type_problem(result: Object) -> str:
    """The error of an apiVersion or a kind that Go cannot decode; "" if there is none."""
    for key in ("apiVersion", "kind"):
        value = result.get(key)
        if value is not None and not isinstance(value, str):
            why = f"json: cannot unmarshal {gojson.type_name(value)} into Go struct field .{key} of type string"
            return f"couldn't get version/kind; json parse error: {why}"
    version = result.get("apiVersion") or ""
    return f"unexpected GroupVersion string: {version}" if version.count("/") > 1 else ""
