"""An apply: PATCH with the configuration of one manager (`endpoints/handlers/patch.go`, `applyPatcher`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fakekube.apiserver.apply import managedfields
from fakekube.apiserver.apply import typed as values
from fakekube.apiserver.auth import rbac
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import ownership
from fakekube.apiserver.endpoints.body import check_place, typed
from fakekube.apiserver.endpoints.create import store_new
from fakekube.apiserver.endpoints.update import check_version, store_changed
from fakekube.apiserver.response import Response
from fakekube.apiserver.schema.decode import WrongType
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire import codec
from fakekube.apiserver.wire.codec import SyntaxProblem
from fakekube.apiserver.wire.options import WriteOptions
from fakekube.apiserver.wire.status import StatusError, bad_request, conflict, forbidden, not_found

Object = dict[str, Any]


def apply(call: Call, options: WriteOptions) -> Step:
    """Merge a configuration into the object, or create it."""
    config, repeated = configuration(call)
    while True:
        existing = call.stored()
        obj = applied(call, config, existing, options)
        if repeated and options.field_validation == "Strict":
            lines = "\n".join(f"  {one}" for one in repeated)
            raise bad_request(
                f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n{lines}"
            )
        if existing is None:
            _check_new(call, obj)
            obj = check_place(call, obj, naming=True)
            if call.info.subresource:
                raise not_found(call.resource.qualified, call.info.name)
            _check_may_create(call)
            call.warnings += _warnings(repeated, options)
            meta = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
            obj = ownership.owners_once(call, {**obj, "metadata": meta})
            return (yield from store_new(call, obj, options))
        obj = check_place(call, obj, naming=True)
        version = obj["metadata"].get("resourceVersion")
        if version and version != existing.object["metadata"]["resourceVersion"]:
            check_version(call, obj, existing, unconditional=True)
        call.warnings += _warnings(repeated, options)
        obj = ownership.owners_once(call, obj)
        response: Response | None = yield from store_changed(call, obj, existing, options)
        if response is not None:
            return response


def _warnings(repeated: list[str], options: WriteOptions) -> list[str]:
    return repeated if options.field_validation == "Warn" else []


def configuration(call: Call) -> tuple[Object, list[str]]:
    """The body, which is YAML, and the keys that stand in it twice. Raises 400."""
    body = call.request.body
    if isinstance(body, bytes):
        codec.check_size(body)
        try:
            value, repeated = codec.parse_yaml(body), codec.repeated_keys(body)
        except SyntaxProblem as problem:
            raise bad_request(f"error decoding YAML: {problem}") from None
    else:
        value, repeated = body, []
    if value is None:
        value = {}
    if not isinstance(value, dict):
        what = "array" if isinstance(value, list) else type(value).__name__
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            f"json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
        )
    return value, repeated


def applied(call: Call, config: Object, existing: Entry | None, options: WriteOptions) -> Object:
    """The object with the configuration, complete, with its managedFields. Raises StatusError."""
    _check_configuration(call, config)
    config = {**config, "metadata": _metadata(config)}
    live = call.shown(existing) if existing is not None else ownership.empty(call)
    made = managedfields.applied(
        live, config, ownership.updater(call), ownership.writer(call, options), force=options.force
    )
    entries = made["metadata"].get("managedFields")
    unknown: list[str] = []
    try:
        obj = typed(call, _with_kind(call, managedfields.without_entries(made)), unknown)
    except WrongType as problem:
        where = f"failed to convert new object ({_named(config)}) to proper version"
        what = f"unable to convert unstructured object to {_kind(config)}"
        raise StatusError(500, "", f"{where}: {what}: {problem.unstructured}") from None
    if entries:
        obj["metadata"] = {**obj["metadata"], "managedFields": entries}
    return obj


def _with_kind(call: Call, obj: Object) -> Object:
    return {"apiVersion": call.resource.api_version, "kind": call.resource.kind, **obj}


def _metadata(config: Object) -> Object:
    return config.get("metadata") or {}


def _kind(config: Object) -> str:
    """`schema.GroupVersionKind.String`."""
    group, _, version = (config.get("apiVersion") or "").rpartition("/")
    return f"{group}/{version}, Kind={config.get('kind') or ''}"


def _named(config: Object) -> str:
    meta = _metadata(config)
    return f"{meta.get('namespace') or ''}/{meta.get('name') or ''}; {_kind(config)}"


def without_kind(config: Object) -> Object:
    return {key: value for key, value in config.items() if key not in ("apiVersion", "kind")}


def _check_configuration(call: Call, config: Object) -> None:
    """The kind of the path, no managedFields, and values that fit the schema. Raises 400, and 500 for the last."""
    resource = call.resource
    if (config.get("apiVersion"), config.get("kind")) != (resource.api_version, resource.kind):
        raise bad_request(f"invalid object type: {_kind(config)}")
    if isinstance(config.get("metadata"), dict) and _metadata(config).get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    try:
        values.check(without_kind(config), call.server.apply_schema(resource))
    except values.Mismatch as problem:
        raise StatusError(500, "", f"failed to create typed patch object ({_named(config)}): {problem}") from None


def _check_new(call: Call, obj: Object) -> None:
    """Raises 409 where the configuration is for an object that is not there."""
    uid = obj["metadata"].get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(call.resource.qualified, call.info.name, why)


def _check_may_create(call: Call) -> None:
    """An apply that creates needs the right to create. Raises 403."""
    info = replace(call.info, verb="create")
    decision = call.server.decide(call.user, info)
    if not decision.allowed:
        raise forbidden(info.qualified, info.name, rbac.denied_text(call.user, info, decision.reason))
