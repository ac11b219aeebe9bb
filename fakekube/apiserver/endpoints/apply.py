"""Server-side apply: PATCH with the configuration of one manager (`endpoints/handlers/patch.go`, `applyPatcher`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from fakekube.apiserver.apply import managedfields
from fakekube.apiserver.apply import typed as values
from fakekube.apiserver.apply.updater import Updater
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import ownership
from fakekube.apiserver.endpoints.body import check_place
from fakekube.apiserver.endpoints.part import WHOLE, Part
from fakekube.apiserver.endpoints.write import Write, parsed_version, write
from fakekube.apiserver.needs import Making
from fakekube.apiserver.schema import unstructured
from fakekube.apiserver.schema.objectmeta import without_kind, without_version
from fakekube.apiserver.schema.wrongtype import WrongType
from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.codec import SyntaxProblem
from fakekube.apiserver.wire.gojson import is_same, type_name
from fakekube.apiserver.wire.options import WriteOptions
from fakekube.apiserver.wire.status import StatusError, bad_request, conflict, not_found

Object = dict[str, Any]


def apply(call: Call, options: WriteOptions, part: Part = WHOLE) -> Step:
    """Merge a configuration into the object, or create the object."""
    body = part.body(call)
    config, repeated = configuration(body)
    produce = partial(_produced, call, body, part, config, repeated, options)
    return (yield from write(call, Write(options, produce, part, creates=True)))


def _produced(
    call: Call,
    body: Call,
    part: Part,
    config: Object,
    repeated: list[str],
    options: WriteOptions,
    current: Object | None,
) -> Making:
    whole = not call.info.subresource or (call.info.subresource == "status" and call.strategy.create_on_update)
    if current is None and not whole:
        raise not_found(call.resource.qualified, call.info.name)
    if part.unconvertible and current is not None and not current["metadata"].get("managedFields"):
        _check_type(body, config)
        _check_configuration(body, config)
        what = f"failed to convert live object (/; {_kind(config)})"
        raise _unconvertible(config, f"failed to create manager for existing fields: {what}")
    obj = yield from applied(body, config, current, options)
    if part.unconvertible and current is not None and obj.get("spec") != current.get("spec"):
        raise _unconvertible(config, f"failed to convert new object ({_named(config)})")
    if repeated and options.field_validation == "Strict":
        lines = "\n".join(f"  {one}" for one in repeated)
        raise bad_request(
            f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n{lines}"
        )
    if options.field_validation == "Warn":
        call.warnings += [warning for warning in repeated if warning not in call.warnings]
    if current is None:
        _check_new(call, obj)
    obj = check_place(body, obj, naming=True)
    if current is not None:
        return obj
    parsed_version(obj["metadata"].get("resourceVersion") or "")
    return obj if options.dry_run else without_version(obj)


def configuration(call: Call) -> tuple[Object, list[str]]:
    """The decoded YAML body and the errors for its duplicate keys. Raises 400."""
    body = call.request.body
    if isinstance(body, bytes):
        codec.check_size(body)
        try:
            value, repeated = codec.parse_yaml(body)
        except SyntaxProblem as problem:
            raise bad_request(f"error decoding YAML: {problem}") from None
    else:
        value, repeated = body, []
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            f"json: cannot unmarshal {type_name(value)} into Go value of type map[string]interface {{}}"
        )
    return value, repeated


def applied(call: Call, config: Object, current: Object | None, options: WriteOptions) -> Making:
    """The merged object with its managedFields. Raises StatusError."""
    _check_type(call, config)
    updater = ownership.updater(call)
    if updater.check_live is not None and current is not None and not current["metadata"].get("managedFields"):
        _check_live(
            updater.check_live,
            current,
            config,
            "failed to create manager for existing fields: failed to convert new object {} to smd typed",
        )
    _check_configuration(call, config)
    config = {**config, "metadata": _metadata(config)}
    live = current if current is not None else updater.empty
    yield from call.pause()
    if updater.check_live is not None:
        _check_live(updater.check_live, live, config, "failed to create typed live object {}")
    try:
        made = managedfields.applied(live, config, updater, ownership.writer(call, options), force=options.force)
    except values.Mismatch as problem:
        if current is not None:
            _explain_live(updater, current, config)
        raise StatusError(500, "", str(problem)) from None
    yield from call.pause()
    entries = made["metadata"].get("managedFields")
    made = managedfields.without_entries(made)
    if current is not None and is_same(made, bare := managedfields.without_entries(current)):
        meta = {**bare["metadata"], "managedFields": entries} if entries else bare["metadata"]
        return {**bare, "metadata": meta}  # no defaults are set
    try:
        obj = _decoded(call, _with_kind(call, made))
    except WrongType as problem:
        where = f"failed to convert new object ({_named(config)}) to proper version"
        what = f"unable to convert unstructured object to {_kind(config)}"
        raise StatusError(500, "", f"{where}: {what}: {problem}") from None
    if entries:
        obj["metadata"] = {**obj["metadata"], "managedFields": entries}
    return obj


def _unconvertible(config: Object, what: str) -> StatusError:
    """The error for the Scale of a custom resource, which only the custom resource's own converter could convert."""
    why = f"request to convert CR to an invalid group/version: {config.get('apiVersion')}"
    return StatusError(500, "", f"{what} to proper version: {why}")


def _decoded(call: Call, merged: Object) -> Object:
    """The merged object, decoded. Raises WrongType."""
    registration = call.registration
    try:
        obj = registration.decode_applied(merged)
    except WrongType:
        if registration.schema is None or registration.unstructured:
            raise
        obj = registration.decode_applied(unstructured.converted(registration.schema, merged))
    call.sent = merged
    return obj


def _with_kind(call: Call, obj: Object) -> Object:
    return {"apiVersion": call.resource.api_version, "kind": call.resource.kind, **obj}


def _metadata(config: Object) -> Object:
    meta = config.get("metadata")
    return meta if isinstance(meta, dict) else {}


def _kind(config: Object) -> str:
    """`schema.GroupVersionKind.String`."""
    api_version, kind = (value if isinstance(value := config.get(key), str) else "" for key in ("apiVersion", "kind"))
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _text(config: Object, key: str) -> str:
    value = config.get(key)
    return value if isinstance(value, str) else ""


def _named(config: Object) -> str:
    meta = _metadata(config)
    return f"{_text(meta, 'namespace')}/{_text(meta, 'name')}; {_kind(config)}"


def _check_type(call: Call, config: Object) -> None:
    """Raises 400 if the configuration has another apiVersion or kind."""
    resource = call.resource
    if (config.get("apiVersion"), config.get("kind")) != (resource.api_version, resource.kind):
        raise bad_request(f"invalid object type: {_kind(config)}")


def _check_configuration(call: Call, config: Object) -> None:
    """Check a configuration. Raises 400 for managedFields, 500 for values of wrong types."""
    if isinstance(config.get("metadata"), dict) and _metadata(config).get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    try:
        registration = call.registration
        values.check(without_kind(config), registration.apply_schema, remembers=not registration.unstructured)
    except values.Mismatch as problem:
        raise StatusError(500, "", f"failed to create typed patch object ({_named(config)}): {problem}") from None


def _check_live(check: Callable[[Object], None], live: Object, config: Object, what: str) -> None:
    """Raises 500 if the stored object does not conform to the schema, as after an incompatible change of it.

    `what` is the error message, with a placeholder for the name and the type of the object.
    """
    try:
        check(live)
    except values.Mismatch as problem:
        meta = live["metadata"]
        named = f"({meta.get('namespace') or ''}/{meta.get('name') or ''}; {_kind(config)})"
        raise StatusError(500, "", f"{what.format(named)}: {problem}") from None


def _explain_live(updater: Updater, current: Object, config: Object) -> None:
    """Raises 500 with the path of an item of the stored object that has no valid key, as patches can leave it."""
    what = "failed to create typed live object {}"
    if not current["metadata"].get("managedFields"):
        what = "failed to create manager for existing fields: failed to convert new object {} to smd typed"
    _check_live(partial(values.check, schema=updater.schema, duplicates=True), current, config, what)


def _check_new(call: Call, obj: Object) -> None:
    """Raises 409 if the configuration has a uid, but the object does not exist."""
    uid = obj["metadata"].get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(call.resource.qualified, call.info.name, why)
