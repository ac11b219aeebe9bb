"""POST to a collection (`registry/generic/registry.Store.Create`, `rest.BeforeCreate`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import admission, names
from fakekube.apiserver.auth import escalation
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import conversion, ownership, representation
from fakekube.apiserver.endpoints.body import check_place, decode_object
from fakekube.apiserver.registry.generic.strategy import no_allocation
from fakekube.apiserver.response import Response, StoredObject
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.storage.store import Entry, path_of
from fakekube.apiserver.wire.options import WriteOptions, parse_write_options
from fakekube.apiserver.wire.status import StatusError, already_exists, generate_name_conflict

Object = dict[str, Any]

#: How often a generated name that is taken is drawn anew (`maxNameGenerationCreateAttempts`).
NAME_ATTEMPTS = 8


def create(call: Call) -> Step:
    options = parse_write_options(call.request, "CreateOptions")
    obj = decode_object(call, field_validation=options.field_validation)
    obj = check_place(call, obj, naming=False)
    return (yield from store_new(call, ownership.created(call, obj, options), options))


def store_new(call: Call, obj: Object, options: WriteOptions) -> Step:
    """Admit, complete, check and store a new object; 201 with what was stored."""
    name = obj["metadata"].get("name") or ""
    if call.resource.custom:
        admission.definition_lifecycle_create(call, name)
    admission.namespace_lifecycle_create(call, name)
    obj = yield from admission.mutate(call, obj, None, options)
    escalation.check(call, obj, None)
    if obj["metadata"].get("resourceVersion") not in (None, "", "0") and _is_number(obj["metadata"]["resourceVersion"]):
        raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
    generate_name = obj["metadata"].get("generateName") or ""
    for attempt in range(NAME_ATTEMPTS):
        named = name or generated(call, generate_name)
        complete = completed(call, obj, named, dry_run=options.dry_run)
        check_new(call, complete)
        yield from admission.validate(call, complete, None, options)
        yield from conversion.prepare(call, complete)
        path = path_of(call.namespace, named)
        existing = call.server.store.get(call.resource.collection, path)
        if existing is None:
            break
        if name or not generate_name or attempt == NAME_ATTEMPTS - 1:
            raise _taken(call, named, existing, generated=bool(generate_name))
    call.warnings += call.strategy.warnings(complete)
    if options.dry_run:
        entry = Entry(0, call.as_stored(complete))
    else:
        change = call.commit_create(path, complete)
        assert change.after is not None
        entry = change.after
    return Response(201, StoredObject(entry, representation.view(call)))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _taken(call: Call, name: str, existing: Entry, *, generated: bool) -> StatusError:
    error = already_exists(call.resource.qualified, name)
    if generated:
        error = generate_name_conflict(call.resource.qualified, name)
    if existing.object["metadata"].get("deletionTimestamp"):
        message = f"object is being deleted: {error.message}"
        return StatusError(409, "AlreadyExists", message, error.details, headers=error.headers)
    return error


def generated(call: Call, prefix: str) -> str:
    """The prefix, cut to leave room, and five random characters."""
    if not prefix:
        return ""
    suffix = call.context.suffix(f"{call.resource.collection}/{path_of(call.namespace, prefix)}")
    return prefix[: objectmeta.GENERATED_PREFIX_LIMIT if _label_named(call) else 248] + suffix


def _label_named(call: Call) -> bool:
    return call.strategy.name_check in (names.dns_label_problems, names.dns1035_label_problems)


def completed(call: Call, obj: Object, name: str, *, dry_run: bool = False) -> Object:
    """As the kind's strategy and the server complete it."""
    strategy, context = call.strategy, call.context
    key = f"{call.resource.collection}/{path_of(call.namespace, name)}"
    meta = objectmeta.filled(
        obj["metadata"], name=name, namespace=call.namespace, uid=context.uid(key), now=context.now
    )
    if (strategy.generation or strategy.constant_generation or call.resource.custom) and strategy.first_generation:
        meta["generation"] = strategy.first_generation
    obj = {**obj, "metadata": meta}
    if _status_apart(call) and not strategy.status_on_create:
        obj = {key: value for key, value in obj.items() if key != "status"}
        status = initial_status(call)
        if status is not None:
            obj["status"] = status
    if strategy.author is not None:
        obj = strategy.author(obj, call.user)
    if strategy.allocate is not no_allocation:
        obj = strategy.allocate(call.allocator(dry_run=dry_run), obj, None)
    return strategy.prepare_create(obj)


def initial_status(call: Call) -> Object | None:
    """The status of an object that has none yet; None where the kind shows none."""
    if call.strategy.default_status is not None:
        return call.strategy.default_status
    return call.server.empty(call.resource).get("status")


def _status_apart(call: Call) -> bool:
    return "status" in call.resource.subresources


def check_new(call: Call, obj: Object) -> None:
    """Raises 422 with every cause."""
    meta = obj["metadata"]
    errors = objectmeta.validate(
        meta,
        namespaced=call.resource.namespaced,
        namespace=call.namespace,
        name_check=call.strategy.name_check,
    )
    if meta.get("finalizers") and not call.resource.custom:
        errors += objectmeta.undomained_finalizer_errors(meta["finalizers"], "metadata.finalizers")
    errors += call.strategy.validate(obj)
    if errors:
        raise call.invalid(meta.get("name") or "", errors)
