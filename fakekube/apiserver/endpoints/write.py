"""The write pipeline, shared by every resource, subresource and verb (`registry.Store`, `rest`).

The stages are: decode, produce the new object from the current one, managedFields, mutating admission, prepare,
validate, validating admission, quota, commit. If the stored object has changed in the meantime, the write starts again.

The verbs supply values only: how the new object is produced (`Write.produce`), which part of the object the path
writes (`part.Part`), and what an action does instead of storing its body (`Action`). None of them calls admission or
the store.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from fakekube.apiserver import commit, conversion
from fakekube.apiserver.admission import chain as admission
from fakekube.apiserver.admission.matching import CONNECT, CREATE, DELETE, UPDATE, Attributes
from fakekube.apiserver.apply import managedfields, managedfieldsentry
from fakekube.apiserver.auth import escalation, rbac, writechecks
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.crd.customversion import BLOCKING
from fakekube.apiserver.endpoints import emptyvalues, ownership
from fakekube.apiserver.endpoints.body import check_place, decode_object
from fakekube.apiserver.endpoints.part import STATUS, WHOLE, Part, initial_status, same_call
from fakekube.apiserver.features import since
from fakekube.apiserver.names import path_segment_problems
from fakekube.apiserver.needs import Making, Need
from fakekube.apiserver.registry.generic.strategy import name_check_of, warnings_of_update
from fakekube.apiserver.response import Response
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.storage.store import Entry, path_of
from fakekube.apiserver.wire import codec, integers
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.options import DeleteOptions, WriteOptions, parse_write_options
from fakekube.apiserver.wire.status import (
    FieldError,
    StatusError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    generate_name_conflict,
    invalid,
    no_such_resource,
    not_found,
)
from fakekube.struct import Struct

Object = dict[str, Any]

#: The number of attempts to generate a name that is not in use (`maxNameGenerationCreateAttempts`), and the characters
#: of such a name at most, also where a kind's names may be longer (`simpleNameGenerator`).
NAME_ATTEMPTS, GENERATED_LENGTH = 8, 63


class Write(NamedTuple):
    """A create, update, patch or apply.

    `produce` makes the new object with its managedFields, at once or in parts, given the current object in the kind of
    the path (None: it does not exist). `named`: the path names the object. `creates`: the write creates an object that
    does not exist.
    `uid` is a precondition ("": none).
    """

    options: WriteOptions
    produce: Callable[[Object | None], Object | Making]
    part: Part = WHOLE
    named: bool = True
    creates: bool = False
    uid: str = ""


def write(call: Call, operation: Write) -> Step:
    """Run a write through all stages. Raises StatusError if it is rejected."""
    part, options = operation.part, operation.options
    body = part.body(call)
    yield from call.pause()
    while True:
        existing = call.stored() if operation.named else None
        _check_target(call, operation, existing)
        if existing is not None and call.converted is not None:
            yield from conversion.read(call, [existing])
        old = call.shown(existing) if existing is not None else None
        current = part.shown(call, old) if old is not None else None

        sent = yield from conversion.completed(call, partial(operation.produce, current))
        yield from call.pause()
        if admission.has_mutating_hooks(call):
            attributes = _attributes(call, body, sent, current, options)
            admitted = yield from admission.mutate(attributes)
            sent = check_place(call, _with_valid_managed_fields(call, admitted, sent), naming=False)
        else:
            sent = admission.mutate_in_process(call, sent, current)
        sent = call.registration.settled(ownership.without_duplicate_owners(body, sent, after_admission=True))
        if existing is not None and current is not None:
            sent = managedfields.keep_times(sent, current)
            obj = part.merged(call, sent, existing)
        else:
            obj = sent
        escalation.check(call, obj, old)
        if existing is not None:
            check_version(call, obj, existing, unconditional=call.strategy.unconditional_update)
        response: Response | None = yield from _stored(call, body, operation, obj, old, existing)
        if response is not None:
            return response


def _with_valid_managed_fields(call: Call, admitted: Object, sent: Object) -> Object:
    """The admitted object, with the managedFields of the object sent if admission has made them invalid.

    Follows `fieldmanager/admission.go`, `managedFieldsValidatingAdmissionController`.
    """
    try:
        managedfieldsentry.decode(admitted["metadata"].get("managedFields") or ())
    except managedfieldsentry.Undecodable as problem:
        call.warnings.append(
            ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated "
            f"mutating admission controller; please fix your requests: {problem}"
        )
        before = sent["metadata"].get("managedFields")
        meta = {key: value for key, value in admitted["metadata"].items() if key != "managedFields"}
        return {**admitted, "metadata": {**meta, "managedFields": before} if before else meta}
    return admitted


def _check_target(call: Call, operation: Write, existing: Entry | None) -> None:
    """Raises 404 if none exists, 409 for another uid (before 1.34, and if the write can create it, also for none)."""
    is_missing = existing is None and operation.named and not operation.creates
    if operation.uid and not (is_missing and since(34)):
        have = existing.object["metadata"]["uid"] if existing is not None else ""
        if operation.uid != have:
            raise conflict(call.resource.qualified, call.info.name, _precondition_failed(call, operation, have))
    if is_missing:
        raise not_found(call.resource.qualified, call.info.name)


def _attributes(call: Call, body: Call, obj: Object, old: Object | None, options: WriteOptions) -> Attributes:
    name = call.info.name or obj["metadata"].get("name") or ""
    operation, kind = (CREATE, "CreateOptions") if old is None else (UPDATE, "UpdateOptions")
    return Attributes(call, body, operation, name, obj, old, _options_object(call, kind, options), options.dry_run)


def _options_object(call: Call, kind: str, options: WriteOptions) -> Object:
    """The options of the operation as an object, as webhooks and expressions receive them.

    The kind is that of the operation, not of the request: PatchOptions become CreateOptions or UpdateOptions
    (`handlers/patch.go`, `patchToUpdateOptions`; `handlers/update.go`, `updateToCreateOptions`).
    """
    shown: Object = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if options.dry_run:
        shown["dryRun"] = ["All"]
    if options.field_manager:
        shown["fieldManager"] = options.field_manager
    if call.request.option("fieldValidation"):
        shown["fieldValidation"] = options.field_validation
    return shown


def _stored(
    call: Call, body: Call, operation: Write, obj: Object, old: Object | None, existing: Entry | None
) -> Generator[Need, Any, Response | None]:
    """Run the stages from prepare to commit. Returns None if another request has written the object."""
    part, options = operation.part, operation.options
    name = obj["metadata"].get("name") or ""
    attempts = 1 if name or existing is not None else NAME_ATTEMPTS
    while True:
        attempts -= 1
        revision = call.server.store.revision
        prepared = _prepared(call, operation, obj, old)
        yield from call.pause()
        shown, before = part.shown(call, prepared), part.shown(call, old) if old is not None else None
        if admission.has_validating_hooks(call):
            yield from admission.validate(_attributes(call, body, shown, before, options))
        else:
            admission.validate_in_process(call, shown, before, dry_run=options.dry_run)
        stored = prepared
        if call.registration.write is not None:
            stored = yield from conversion.written(call, prepared)
        yield from call.pause()
        _check_served(call)
        if not options.dry_run and call.server.store.revision != revision and _is_allocation_taken(call, prepared, old):
            attempts += 1
            continue

        path = call.path if existing is not None else path_of(call.namespace, prepared["metadata"].get("name") or "")
        if call.server.before_commit is not None and not options.dry_run:
            call.server.before_commit(call.resource.collection, path, existing, stored)
        found = call.server.store.get(call.resource.collection, path)
        if existing is None and not options.dry_run and _has_version(obj):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        if found is existing:
            entry = _committed(call, path, existing, prepared, stored, old, options)
            if call.converted is not None:
                yield from conversion.read(call, [entry])
            return Response(201 if existing is None else 200, part.answer(call, entry))
        if existing is not None or operation.named:
            return None
        assert found is not None, "a create that is not committed found an object"
        if not attempts:
            raise _name_taken(
                call, prepared["metadata"]["name"], found, generated=bool(obj["metadata"].get("generateName"))
            )


def _check_served(call: Call) -> None:
    """Raises 404 if the custom resource has been removed while the request waited."""
    resource = call.resource
    if call.server.catalog.find(resource.group, resource.version, resource.plural) is None:
        raise no_such_resource()


def _is_allocation_taken(call: Call, prepared: Object, old: Object | None) -> bool:
    """Whether another request has taken an address or a port of this object while it waited."""
    if call.strategy.allocate is not None:
        try:
            call.strategy.allocate(call.allocator(dry_run=False), prepared, old)
        except StatusError:
            return True
    return False


def _prepared(call: Call, operation: Write, obj: Object, old: Object | None) -> Object:
    """The object as its strategy completes it, validated. Raises 403 if it may not be created, 422 if it is invalid."""
    part, dry_run = operation.part, operation.options.dry_run
    if old is not None:
        prepared = part.prepare(call, obj, old, dry_run)
        _check_changed(call, part, prepared, old)
        if part.is_whole:
            call.warnings += warnings_of_update(call.strategy, prepared, old)
        return prepared
    name = obj["metadata"].get("name")
    if not name:
        obj = codec.copied(obj)  # each attempt has its own copy, whose parts are not shared
    prepared = _completed(call, obj, name or generated_name(call, obj), dry_run=dry_run)
    _check_new(call, prepared)
    call.warnings += call.strategy.warnings(prepared)
    if operation.named:
        _check_may_create(call)
    return prepared


def _committed(
    call: Call,
    path: str,
    existing: Entry | None,
    prepared: Object,
    stored: Object,
    old: Object | None,
    options: WriteOptions,
) -> Entry:
    version = call.registration.stored_version
    if existing is None:
        return commit.create(call, call.resource.collection, path, stored, dry_run=options.dry_run, version=version)
    assert old is not None, "an existing object is shown"
    if (
        is_finished(call, prepared)
        and not prepared["metadata"].get("finalizers")
        and old["metadata"].get("deletionTimestamp")
    ):
        commit.delete(call, call.resource.collection, path, existing, dry_run=options.dry_run)
        return Entry(existing.revision, stored, version)
    return commit.update(
        call, call.resource.collection, path, existing, stored, dry_run=options.dry_run, version=version
    )


def _has_version(obj: Object) -> bool:
    text = obj["metadata"].get("resourceVersion") or ""
    return text.isascii() and text.isdigit() and int(text) != 0


def is_finished(call: Call, obj: Object) -> bool:
    """Whether the object is removed as soon as it has no finalizers: deleted, with no grace period left, and of a
    namespace none in its spec, either (`rest.ShouldDeleteDuringUpdate`)."""
    meta = obj["metadata"]
    return (
        bool(meta.get("deletionTimestamp"))
        and not meta.get("deletionGracePeriodSeconds")
        and not (call.resource.collection == "namespaces" and (obj.get("spec") or {}).get("finalizers"))
    )


# --- preconditions ---------------------------------------------------------------------------------------------------


def check_version(call: Call, obj: Object, existing: Entry, *, unconditional: bool) -> None:
    """Check the resourceVersion of an update. Raises 409 if it is stale, 422 if it is required and missing."""
    text = obj["metadata"].get("resourceVersion") or ""
    if text == existing.object["metadata"]["resourceVersion"]:
        return
    revision = parsed_version(text)
    if revision:
        if revision != existing.revision:
            raise conflict(call.resource.qualified, call.info.name)
    elif not unconditional:
        resource = call.resource
        why = "must be specified for an update"
        unset = f"Invalid value: {0 if since(34) else '0x0'}: {why}"
        error = FieldError("metadata.resourceVersion", "FieldValueInvalid", unset)
        raise invalid(resource.group, resource.plural, call.info.name, [error])  # the storage names the resource


def parsed_version(text: str) -> int:
    """The number of a resourceVersion; 0 if it is not set. Raises 500 if it is no number."""
    try:
        return integers.parse_uint(text) if text else 0
    except ValueError as problem:
        raise StatusError(500, "", f"strconv.ParseUint: parsing {go_quote(text)}: {problem}") from None


def _precondition_failed(call: Call, operation: Write, have: str) -> str:
    prefix = "" if operation.options.dry_run else "/registry"  # of etcd, which a dry run does not reach
    key = f"{prefix}/{call.registration.storage_prefix}/{call.path}"
    why = f"Precondition failed: UID in precondition: {operation.uid}, UID in object meta: {have}"
    return f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"


# --- new objects -----------------------------------------------------------------------------------------------------


def generated_name(call: Call, obj: Object) -> str:
    """The object's generateName, truncated if necessary, with a random suffix of five characters ("": it has none)."""
    prefix = obj["metadata"].get("generateName") or ""
    if not prefix or not call.strategy.random_suffix:
        return prefix
    suffix = call.context.suffix(f"{call.resource.collection}/{path_of(call.namespace, prefix)}")
    return prefix.encode()[: GENERATED_LENGTH - len(suffix)].decode(errors="replace") + suffix


def _completed(call: Call, obj: Object, name: str, *, dry_run: bool) -> Object:
    """A new object with the fields that the server and the strategy of its kind set (`rest.BeforeCreate`)."""
    strategy, context = call.strategy, call.context
    uid = context.uid(f"{call.resource.collection}/{path_of(call.namespace, name)}")
    first = strategy.first_generation if strategy.counts_generations else None
    meta = objectmeta.filled(
        obj["metadata"], name=name, namespace=call.namespace, uid=uid, now=context.now, generation=first
    )
    obj = {**obj, "metadata": meta}
    if "status" in call.resource.subresources and not strategy.status_on_create:
        obj = {key: value for key, value in obj.items() if key != "status"}
        status = initial_status(call)
        if status is not None:
            obj["status"] = status
    if strategy.date is not None:
        obj = strategy.date(obj, context.now)
    if strategy.author is not None:
        obj = strategy.author(obj, call.user)
    if strategy.allocate is not None and not call.info.subresource:  # a write to /status that creates allocates nothing
        obj = strategy.allocate(call.allocator(dry_run=dry_run), obj, None)
    return strategy.prepare_create(strategy.drop_disabled(obj, None))


def _check_new(call: Call, obj: Object) -> None:
    """Validate a new object. Raises 422 with all causes."""
    meta, strategy = obj["metadata"], call.strategy
    errors: list[FieldError] = []
    if not _names_type(obj):
        errors += objectmeta.validate(
            meta, namespaced=call.resource.namespaced, namespace=call.namespace, name_check=name_check_of(strategy, obj)
        )
    if meta.get("finalizers") and strategy.qualified_finalizers:
        errors += objectmeta.undomained_finalizer_errors(meta["finalizers"], "metadata.finalizers")
    version = call.registration.version
    if version is not None and any(error.reason in BLOCKING for error in errors):
        errors += version.validate(obj, blocked=True)
    else:
        own = emptyvalues.checked(call, obj, strategy.validate)
        errors = own or errors if strategy.metadata_last else errors + own
    errors = writechecks.checked(call, obj, None, errors)
    if errors:
        raise _invalid(call, obj, errors)


def _names_type(obj: Object) -> bool:
    """Whether a custom resource has the apiVersion or kind of another resource, which its validation rejects first."""
    return "kind" in obj or "apiVersion" in obj


def _invalid(call: Call, obj: Object, errors: list[FieldError]) -> StatusError:
    """A 422 error that names the kind of the object."""
    name = obj["metadata"].get("name") or ""
    if _names_type(obj):
        group = (obj.get("apiVersion") or call.resource.api_version).rpartition("/")[0]
        return invalid(group, obj.get("kind") or call.resource.kind, name, errors)
    return call.invalid(name, errors)


def _check_may_create(call: Call) -> None:
    """A write that creates the object of its path also needs the permission to create. Raises 403."""
    info = replace(call.info, verb="create")
    decision = call.server.decide(call.user, info)
    if not decision.allowed:
        why = rbac.denied_text(call.user, info, decision.reason) if since(32) else decision.reason
        raise forbidden(info.qualified, info.name, why)


def _name_taken(call: Call, name: str, existing: Entry, *, generated: bool) -> StatusError:
    error = already_exists(call.resource.qualified, name)
    if generated:
        error = generate_name_conflict(call.resource.qualified, name)
    if existing.object["metadata"].get("deletionTimestamp"):
        message = f"object is being deleted: {error.message}"
        return StatusError(409, "AlreadyExists", message, error.details, headers=error.headers)
    return error


def _check_changed(call: Call, part: Part, obj: Object, old: Object) -> None:
    """Validate a changed object. Raises 422 with all causes."""
    meta, strategy = obj["metadata"], call.strategy
    errors = objectmeta.generate_name_errors(meta, path_segment_problems) + objectmeta.content_errors(meta)
    unchanging = objectmeta.validate_update(meta, old["metadata"])
    errors += unchanging
    repeats = strategy.status_repeats_metadata if part is STATUS else strategy.repeats_metadata
    if repeats and not _names_type(obj):
        errors += unchanging
        if meta.get("finalizers") and strategy.qualified_finalizers:
            errors += objectmeta.undomained_finalizer_errors(meta["finalizers"], "metadata.finalizers")
    errors += emptyvalues.checked(call, obj, lambda shown: part.validate(call, shown, old))
    errors = writechecks.checked(call, obj, old, errors)
    if errors:
        raise _invalid(call, obj, errors)


# --- deletions -------------------------------------------------------------------------------------------------------


def delete(
    call: Call, path: str, options: DeleteOptions, check: Callable[[Entry], None]
) -> Generator[Need, Any, Entry | None]:
    """Returns the object to delete after its preconditions (`check`) and admission; None if it does not exist."""
    while True:
        existing = call.server.store.get(call.resource.collection, path)
        if existing is None:
            return None
        check(existing)
        admission.delete_in_process(call, existing.object)
        if call.converted is not None:
            yield from conversion.read(call, [existing])
        if not admission.has_hooks(call):
            return existing
        shown = options.to_object()
        yield from admission.validate_deletion(
            Attributes(call, call, DELETE, call.info.name, None, call.shown(existing), shown, options.dry_run)
        )
        if call.server.store.get(call.resource.collection, path) is existing:
            return existing


# --- actions and connections -----------------------------------------------------------------------------------------


def read_body(call: Call, body: Call, options: WriteOptions) -> Object:
    """Decode the body as an object of its kind, in the namespace of the path."""
    return check_place(body, decode_object(body, field_validation=options.field_validation), naming=False)


class Action(Struct, frozen=True):
    """A POST whose body is not stored, such as an eviction, a binding, a token request or an access review.

    `body` returns the call with the kind of the body, and `read` decodes the body. `check` runs before validating
    admission and `act` after it; `act` changes the store through `commit` only.
    """

    check: Callable[[Call, Object], None]
    act: Callable[[Call, Object, WriteOptions], Response]
    body: Callable[[Call], Call] = same_call
    read: Callable[[Call, Call, WriteOptions], Object] = read_body


def act(call: Call, action: Action) -> Step:
    """Run an action through its stages: decode, mutating admission, check, validating admission, act."""
    options = parse_write_options(call.request, "CreateOptions")
    body = action.body(call)
    obj = action.read(call, body, options)
    if admission.has_mutating_hooks(call):
        obj = yield from admission.mutate(_attributes(call, body, obj, None, options))
    else:
        obj = admission.mutate_in_process(call, obj, None)
    action.check(call, obj)
    if admission.has_validating_hooks(call):
        yield from admission.validate(_attributes(call, body, obj, None, options))
    else:
        admission.validate_in_process(call, obj, None, dry_run=options.dry_run)
    return action.act(call, obj, options)


def connect(call: Call, body: Call, options: Object, open: Callable[[Call], Response]) -> Step:
    """Run admission for a CONNECT, with its options as the object; then open the connection.

    Raises 400 for a dry run.
    """
    if call.request.query.get("dryRun"):
        raise bad_request("dryRun is not supported")
    if admission.has_hooks(call):
        attributes = Attributes(call, body, CONNECT, call.info.name, options, None, {}, dry_run=False)
        yield from admission.connect(attributes)
    return open(call)
