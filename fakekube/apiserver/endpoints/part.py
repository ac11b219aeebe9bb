"""The part of an object that a path writes: the whole object, its status, or another part.

In kube-apiserver each such path has its own strategy (`rest.RESTUpdateStrategy`) over the same generic store. The
pipeline that uses these parts is `write`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.endpoints import emptyvalues, representation
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.builtin import PARTS as FIELDS
from fakekube.apiserver.registry.core.namespace import validate_finalize
from fakekube.apiserver.registry.generic.kind import PartStrategy as Field
from fakekube.apiserver.registry.generic.strategy import as_new_errors, next_generation
from fakekube.apiserver.response import StoredObject
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.status import FieldError
from fakekube.struct import Struct

Object = dict[str, Any]


def same_call(call: Call) -> Call:
    """The default of `Part.body`: the bodies of the path have the kind of the resource."""
    return call


def _whole(call: Call, obj: Object) -> Object:
    return obj


def _as_sent(call: Call, sent: Object, existing: Entry) -> Object:
    return sent


def _stored_object(call: Call, entry: Entry) -> StoredObject:
    return StoredObject(entry, representation.view(call))


class Part(Struct, frozen=True):
    """One part of an object.

    `prepare` returns the object to store; its last argument is true for a dry run. `validate` returns the errors of
    that object. `body` returns the call with the kind of the path's bodies and responses. `shown` converts an object to
    that kind, `merged` merges a body of that kind into the stored object, and `answer` returns the response body.
    """

    prepare: Callable[[Call, Object, Object, bool], Object]
    validate: Callable[[Call, Object, Object], list[FieldError]]
    body: Callable[[Call], Call] = same_call
    shown: Callable[[Call, Object], Object] = _whole
    merged: Callable[[Call, Object, Entry], Object] = _as_sent
    answer: Callable[[Call, Entry], StoredObject] = _stored_object
    is_whole: bool = False
    unconvertible: bool = False
    """kube-apiserver cannot convert the result of an apply: it answers 500 unless there are conflicts."""
    unregistered_in: str = ""
    """The scheme of kube-apiserver's decoder, if it does not contain the kind of the bodies."""


# --- the object itself -----------------------------------------------------------------------------------------------


def _prepare_whole(call: Call, obj: Object, old: Object, dry_run: bool) -> Object:
    """Keep the fields that the server owns, and the status if it is a subresource (`rest.BeforeUpdate`)."""
    strategy = call.strategy
    merged = {**obj, "metadata": objectmeta.kept_on_update(obj["metadata"], old["metadata"])}
    if "status" in call.resource.subresources:
        merged.pop("status", None)
        if "status" in old:
            merged["status"] = old["status"]
    if strategy.allocate is not None:
        merged = strategy.allocate(call.allocator(dry_run=dry_run), merged, old)
    if strategy.date is not None:
        merged = strategy.date(merged, call.context.now)
    merged = strategy.prepare_update(strategy.drop_disabled(merged, old), old)
    return _with_generation(
        merged, next_generation(strategy, merged, old, has_empties=emptyvalues.changes_by_empties(call, merged))
    )


def _with_generation(obj: Object, generation: int | None) -> Object:
    if generation is not None:
        obj["metadata"] = {**obj["metadata"], "generation": generation}
    return obj


def _validate_whole(call: Call, obj: Object, old: Object) -> list[FieldError]:
    strategy = call.strategy
    errors = [] if since(strategy.as_new_before) else as_new_errors(strategy, obj)
    if strategy.validate_update_with_warnings is not None:
        return errors + strategy.validate_update_with_warnings(obj, old, call.warnings)
    return errors + strategy.validate_update(obj, old)


WHOLE = Part(_prepare_whole, _validate_whole, is_whole=True)


# --- status ----------------------------------------------------------------------------------------------------------


def initial_status(call: Call) -> Object | None:
    """The status of a new object; None if its kind has no initial status."""
    if call.strategy.default_status is not None:
        return call.strategy.default_status
    return call.registration.empty.get("status")


def _prepare_status(call: Call, obj: Object, old: Object, dry_run: bool) -> Object:
    """The stored object with the new status, and with the metadata that its kind accepts through /status."""
    strategy = call.strategy
    merged = dict(old)
    if "status" in obj:
        merged["status"] = obj["status"]
    else:
        merged.pop("status", None)
        status = initial_status(call)
        if status is not None:
            merged["status"] = status
    merged["metadata"] = _status_metadata(call, obj, old)
    drop_disabled = strategy.drop_disabled_status or strategy.drop_disabled
    merged = strategy.prepare_status_update(drop_disabled(merged, old), old)
    if strategy.date_status is not None:
        merged = strategy.date_status(merged, old, call.context.now)
    return _with_generation(merged, old["metadata"].get("generation"))


def _status_metadata(call: Call, obj: Object, old: Object) -> Object:
    if call.strategy.status_resets_metadata:
        return _with_owners(obj, old)
    meta = objectmeta.kept_on_update(obj["metadata"], old["metadata"])
    for field in call.strategy.status_keeps:
        if field in old["metadata"]:
            meta[field] = old["metadata"][field]
        else:
            meta.pop(field, None)
    return meta


#: The metadata that a write through /status does not change (`meta/v1.ResetObjectMetaForStatus`).
_RESET = ("deletionTimestamp", "generation", "labels", "annotations", "finalizers", "ownerReferences")


def _with_owners(obj: Object, old: Object) -> Object:
    """The new metadata with the stored values of the fields that the write does not change."""
    if (same := objectmeta.same_but_managed_fields(obj["metadata"], old["metadata"])) is not None:
        return same
    meta = objectmeta.kept_on_update(obj["metadata"], old["metadata"])
    kept = {key: value for key, value in meta.items() if key not in _RESET}
    return objectmeta.tidy(kept | {key: old["metadata"][key] for key in _RESET if key in old["metadata"]})


def _validate_status(call: Call, obj: Object, old: Object) -> list[FieldError]:
    strategy = call.strategy
    if strategy.validate_status_with_warnings is not None:
        return strategy.validate_status_with_warnings(obj, old, call.warnings)
    return strategy.validate_status_update(obj, old)


STATUS = Part(_prepare_status, _validate_status)


# --- other parts -----------------------------------------------------------------------------------------------------


def _of_field(field: Field) -> Part:
    def prepare(call: Call, obj: Object, old: Object, dry_run: bool) -> Object:
        if not since(field.owned_since):
            meta = old["metadata"]
        elif field.writes_metadata:
            meta = objectmeta.kept_on_update(obj["metadata"], old["metadata"])
        else:
            meta = _with_owners(obj, old)
        taken = call.strategy.drop_disabled(field.take(obj, old, call.context.now), old)
        merged = {**taken, "metadata": meta}
        return _with_generation(merged, next_generation(call.strategy, merged, old))

    def validate(call: Call, obj: Object, old: Object) -> list[FieldError]:
        return field.validate(obj, old)

    return Part(prepare, validate)


def _prepare_finalize(call: Call, obj: Object, old: Object, dry_run: bool) -> Object:
    """The stored namespace with the finalizers and the metadata of the body."""
    finalizers = (obj.get("spec") or {}).get("finalizers") or []
    meta = objectmeta.kept_on_update(obj["metadata"], old["metadata"])
    return {**old, "metadata": meta, "spec": {"finalizers": finalizers} if finalizers else {}}


def _validate_finalize(call: Call, obj: Object, old: Object) -> list[FieldError]:
    return validate_finalize(obj, old)


#: (collection, subresource) -> the part that the path writes; the shared `/status` and `/scale` are elsewhere.
PARTS = {
    **{key: _of_field(field) for key, field in FIELDS.items()},
    ("namespaces", "finalize"): Part(_prepare_finalize, _validate_finalize),
}
