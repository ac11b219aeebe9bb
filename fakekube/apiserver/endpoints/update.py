"""PUT of an object, and what every change of one goes through (`registry.Store.Update`, `rest.BeforeUpdate`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import admission
from fakekube.apiserver.apply import managedfields
from fakekube.apiserver.auth import escalation
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import conversion, ownership, representation
from fakekube.apiserver.endpoints.body import check_place, decode_object
from fakekube.apiserver.endpoints.create import initial_status, store_new
from fakekube.apiserver.registry.generic.strategy import next_generation, no_allocation, warnings_of_update
from fakekube.apiserver.registry.kinds.parts import PARTS
from fakekube.apiserver.response import Response, StoredObject
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire import integers
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.options import WriteOptions, parse_write_options
from fakekube.apiserver.wire.status import StatusError, conflict, field_invalid, invalid, not_found

Object = dict[str, Any]


def update(call: Call) -> Step:
    options = parse_write_options(call.request, "UpdateOptions")
    obj = decode_object(call, field_validation=options.field_validation)
    obj = check_place(call, obj, naming=True)
    while True:
        existing = call.stored()
        if existing is None:
            return (yield from _create_on_update(call, obj, options))
        check_version(
            call, obj, existing, unconditional=call.strategy.unconditional_update and not call.resource.custom
        )
        check_uid(call, obj, existing)
        owned = ownership.changed(call, obj, call.shown(existing), options)
        response: Response | None = yield from store_changed(call, owned, existing, options)
        if response is not None:
            return response


def _create_on_update(call: Call, obj: Object, options: WriteOptions) -> Step:
    if not call.strategy.create_on_update or call.info.subresource:
        raise not_found(call.resource.qualified, call.info.name)
    uid = obj["metadata"].get("uid")
    if uid:
        raise conflict(call.resource.qualified, call.info.name, _storage_error(call, uid, ""))
    meta = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return (yield from store_new(call, ownership.created(call, {**obj, "metadata": meta}, options), options))


def check_version(call: Call, obj: Object, existing: Entry, *, unconditional: bool) -> None:
    """Optimistic concurrency. Raises 409, or 422 where the kind demands a resourceVersion and there is none."""
    text = obj["metadata"].get("resourceVersion") or ""
    try:
        revision = integers.parse_uint(text) if text else 0
    except ValueError as problem:
        raise StatusError(500, "", f"strconv.ParseUint: parsing {go_quote(text)}: {problem}") from None
    if not revision:
        if not unconditional:
            resource = call.resource
            error = field_invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid_resource(resource.group, resource.plural, call.info.name, error)
    elif revision != existing.revision:
        raise conflict(call.resource.qualified, call.info.name)


def invalid_resource(group: str, plural: str, name: str, error: Any) -> StatusError:
    """Errors of the storage name the resource where others name the kind."""
    return invalid(group, plural, name, [error])


def check_uid(call: Call, obj: Object, existing: Entry) -> None:
    """An update for another object of the same name. Raises 409 in the storage's words."""
    uid = obj["metadata"].get("uid")
    have = existing.object["metadata"]["uid"]
    if uid and uid != have:
        raise conflict(call.resource.qualified, call.info.name, _storage_error(call, uid, have))


def _storage_error(call: Call, wanted: str, have: str) -> str:
    key = f"/registry/{storage_prefix(call)}/{call.path}"
    why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {have}"
    return f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"


def storage_prefix(call: Call) -> str:
    """How the real server's storage names the collection, in its error messages."""
    resource = call.resource
    if resource.custom or resource.group in GROUPED_PREFIXES:
        return f"{resource.group}/{resource.plural}"
    return SPECIAL_PREFIXES.get(resource.collection, resource.plural)


#: Collections whose storage key is not their plural (`pkg/kubeapiserver.SpecialDefaultResourcePrefixes`).
SPECIAL_PREFIXES = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "services": "services/specs",
    "ingresses.networking.k8s.io": "ingress",
}
GROUPED_PREFIXES = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})


def store_changed(call: Call, obj: Object, existing: Entry, options: WriteOptions) -> Any:
    """Complete, check and store a changed object. None: while it waited somebody else wrote; start over."""
    old = call.shown(existing)
    escalation.check(call, obj, old)
    obj = changed(call, obj, old, dry_run=options.dry_run)
    obj = yield from admission.mutate(call, obj, old, options)
    check_changed(call, obj, old)
    yield from admission.validate(call, obj, old, options)
    yield from conversion.prepare(call, obj)
    if call.stored() is not existing:
        return None
    obj = managedfields.keep_times(obj, old)
    if is_finished(obj) and not obj["metadata"].get("finalizers") and old["metadata"].get("deletionTimestamp"):
        entry = Entry(existing.revision, call.as_stored(obj))
        if not options.dry_run:
            call.commit_delete(call.path, existing)
        return Response(body=StoredObject(entry, representation.view(call)))
    if not call.info.subresource:
        call.warnings += warnings_of_update(call.strategy, obj, old)
    stored = call.as_stored(obj)
    if stored == existing.object or options.dry_run:
        entry = existing if stored == existing.object else Entry(existing.revision, stored)
        return Response(body=StoredObject(entry, representation.view(call)))
    change = call.commit_update(call.path, existing, obj)
    assert change.after is not None
    return Response(body=StoredObject(change.after, representation.view(call)))


def is_finished(obj: Object) -> bool:
    """Being deleted, with no grace left: it goes when its finalizers do (`rest.ShouldDeleteDuringUpdate`)."""
    meta = obj["metadata"]
    return (
        bool(meta.get("deletionTimestamp"))
        and not meta.get("deletionGracePeriodSeconds")
        and not (obj.get("spec") or {}).get("finalizers")
    )


def changed(call: Call, obj: Object, old: Object, *, dry_run: bool = False) -> Object:
    """As it would be stored: what the server owns is kept, the other half of a status split comes from the stored
    object."""
    strategy, resource = call.strategy, call.resource
    if call.info.subresource == "status":
        merged = status_written(call, obj, old)
        merged = strategy.prepare_status_update(merged, old)
        if strategy.date_status is not None:
            merged = strategy.date_status(merged, old, call.context.now)
        generation = old["metadata"].get("generation")
    elif part := PARTS.get((resource.qualified, call.info.subresource)):
        merged = {**part.take(obj, old, call.context.now), "metadata": _only_owners(obj, old)}
        generation = next_generation(strategy, resource, merged, old)
    else:
        merged = {**obj, "metadata": objectmeta.kept_on_update(obj["metadata"], old["metadata"])}
        if "status" in resource.subresources:
            merged.pop("status", None)
            if "status" in old:
                merged["status"] = old["status"]
        if strategy.allocate is not no_allocation:
            merged = strategy.allocate(call.allocator(dry_run=dry_run), merged, old)
        merged = strategy.prepare_update(merged, old)
        generation = next_generation(strategy, resource, merged, old)
        if resource.custom:
            generation = custom_generation(resource, merged, old)
    if generation is not None:
        merged["metadata"] = {**merged["metadata"], "generation": generation}
    return merged


def _only_owners(obj: Object, old: Object) -> Object:
    """The stored metadata with who owns what now (`ResetObjectMetaForStatus`)."""
    meta = {key: value for key, value in old["metadata"].items() if key != "managedFields"}
    if "managedFields" in obj["metadata"]:
        meta["managedFields"] = obj["metadata"]["managedFields"]
    return meta


def custom_generation(resource: Any, new: Object, old: Object) -> int:
    """Anything but metadata counts, and status where it has a path of its own (`customResourceStrategy`)."""
    ignored = {"metadata", "status"} if "status" in resource.subresources else {"metadata"}
    before = {key: value for key, value in old.items() if key not in ignored}
    after = {key: value for key, value in new.items() if key not in ignored}
    current: int = old["metadata"].get("generation") or 0
    return current + 1 if before != after else current


def status_written(call: Call, obj: Object, old: Object) -> Object:
    """A write through `/status`: of the object only its status, and what of metadata the kind lets through."""
    merged = dict(old)
    if "status" in obj:
        merged["status"] = obj["status"]
    else:
        merged.pop("status", None)
        status = initial_status(call)
        if status is not None:
            merged["status"] = status
    if call.resource.custom:
        return {**merged, "metadata": _only_owners(obj, old)}
    meta = objectmeta.kept_on_update(obj["metadata"], old["metadata"])
    for field in call.strategy.status_keeps:
        if field in old["metadata"]:
            meta[field] = old["metadata"][field]
        else:
            meta.pop(field, None)
    return {**merged, "metadata": meta}


def check_changed(call: Call, obj: Object, old: Object) -> None:
    """Raises 422 with every cause."""
    meta = obj["metadata"]
    errors = objectmeta.content_errors(meta)
    unchanging = objectmeta.validate_update(meta, old["metadata"])
    errors += unchanging
    if call.strategy.repeats_metadata:
        errors += unchanging
        if meta.get("finalizers") and not call.resource.custom:
            errors += objectmeta.undomained_finalizer_errors(meta["finalizers"], "metadata.finalizers")
    if call.info.subresource == "status":
        errors += call.strategy.validate_status_update(obj, old)
    elif part := PARTS.get((call.resource.qualified, call.info.subresource)):
        errors += part.validate(obj, old)
    else:
        errors += call.strategy.validate_update(obj, old)
    if errors:
        raise call.invalid(meta.get("name") or "", errors)
