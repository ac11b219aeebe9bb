"""DELETE of an object or a collection: preconditions, finalizers and grace periods (`registry.Store.Delete`,
`rest.BeforeDelete`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from fakekube.apiserver import commit, conversion, crd
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import representation, write
from fakekube.apiserver.endpoints.list import read_page, selection_of, shown_page
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.pod.strategy import grace_period
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.resource import qualify
from fakekube.apiserver.response import Document, Response, StoredObject
from fakekube.apiserver.storage.store import Entry, path_of
from fakekube.apiserver.wire import codec, gojson
from fakekube.apiserver.wire.codec import SyntaxProblem
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.options import DeleteOptions, ListOptions, delete_options, parse_list_options
from fakekube.apiserver.wire.protowire import Malformed
from fakekube.apiserver.wire.status import StatusError, bad_request, conflict, not_found
from fakekube.struct import replace

Object = dict[str, Any]

DELETE_SCHEME = 'in scheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"'

#: The finalizers that the garbage collector handles -> their propagationPolicy.
PROPAGATION_FINALIZERS = {"orphan": "Orphan", "foregroundDeletion": "Foreground"}


def delete(call: Call) -> Step:
    """Delete the object of the path, or mark it as terminating."""
    options = delete_options(_options_body(call), call.request)
    _warn(call, options)
    call.check_name()
    existing = yield from write.delete(call, call.path, options, partial(check_preconditions, call, options))
    if existing is None:
        raise not_found(call.resource.qualified, call.info.name)
    entry, done = delete_entry(call, call.path, existing, options)
    if done and not call.strategy.returns_deleted:
        return Response(body=Document(_success(call, existing.object)))
    if call.converted is not None:
        yield from conversion.read(call, [entry])
    accepted = not done and options.orphan_dependents is False
    return Response(202 if accepted else 200, body=StoredObject(entry, representation.view(call)))


def _warn(call: Call, options: DeleteOptions) -> None:
    if call.strategy.delete_warning and not options.propagation and options.orphan_dependents is None:
        call.warnings.append(call.strategy.delete_warning)


def _success(call: Call, obj: Object) -> Object:
    details: Object = {"name": obj["metadata"]["name"]}
    if call.resource.group:
        details["group"] = call.resource.group
    details |= {"kind": call.resource.plural, "uid": obj["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _options_body(call: Call) -> Object | None:
    """DeleteOptions from the body; None if the body is empty. Raises 400, 415."""
    body = call.request.body
    if isinstance(body, bytes):
        if not body:
            return None
        kind = codec.media_type(call.request.headers.get("content-type"))
        try:
            value = codec.parse_options(body, kind)
        except Malformed as problem:
            raise _undecodable(str(problem)) from None
        except SyntaxProblem as problem:
            raise _undecodable(f"couldn't get version/kind; json parse error: {problem}") from None
    else:
        value = body
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _undecodable(gojson.not_an_object(value))
    kind, api_version = value.get("kind") or "DeleteOptions", value.get("apiVersion") or "meta.k8s.io/v1"
    if kind != "DeleteOptions":
        named = f"{go_quote(str(kind))} is registered for version {go_quote(str(api_version))}"
        raise _undecodable(f"no kind {named} {DELETE_SCHEME}")
    _check_types(value)
    return value


def _undecodable(problem: str) -> StatusError:
    return bad_request(problem) if since(35) else StatusError(500, "", problem)


_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "gracePeriodSeconds": (int, "int64"),
    "orphanDependents": (bool, "bool"),
    "propagationPolicy": (str, "v1.DeletionPropagation"),
    "dryRun": (list, "[]string"),
    "preconditions": (dict, "v1.Preconditions"),
}


def _check_types(options: Object) -> None:
    for field, (wanted, go_type) in _TYPES.items():
        value = options.get(field)
        wrong = not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))
        if value is not None and wrong:
            what = gojson.type_name(value)
            raise _undecodable(
                f"json: cannot unmarshal {what} into Go struct field DeleteOptions.{field} of type {go_type}"
            )
    for field, value in (options.get("preconditions") or {}).items():
        if field in ("uid", "resourceVersion") and not isinstance(value, str | None):
            what = gojson.type_name(value)
            raise _undecodable(
                f"json: cannot unmarshal {what} into Go struct field Preconditions.preconditions.{field} of type string"
            )


class _Overtaken(Exception):
    """Another write has been committed between the decision about a deletion and its commit."""


def delete_entry(call: Call, path: str, existing: Entry, options: DeleteOptions) -> tuple[Entry, bool]:
    """Delete one object or mark it as terminating. Returns the object to show, and whether it is removed (in a dry run:
    would be). Decides again if another write comes in between, as `etcd3.store.conditionalDelete` does."""
    present: Entry | None = existing
    while present is not None:
        try:
            return _deleted(call, path, present, options)
        except _Overtaken:
            present = call.server.store.get(call.resource.collection, path)
    raise not_found(call.resource.qualified, path.rpartition("/")[2])


def _deleted(call: Call, path: str, existing: Entry, options: DeleteOptions) -> tuple[Entry, bool]:
    check_preconditions(call, options, existing)
    if call.resource.collection == "namespaces":
        if not existing.object["metadata"].get("deletionTimestamp"):
            return _store_mark(call, path, existing, _mark_namespace(call, existing.object, options), options), False
        if (existing.object.get("spec") or {}).get("finalizers"):
            return existing, False
    if call.strategy.graceful:
        marked = _graceful(call, existing, options)
        if marked is None:
            return existing, False
        return _finish_pod(call, path, existing, marked, options)
    if call.strategy.mark_deleted is not None and not existing.object["metadata"].get("deletionTimestamp"):
        obj = call.strategy.mark_deleted(existing.object, call.context.now)
        return _store_mark(call, path, existing, obj, options), False
    finalizers = finalizers_for(call.strategy, existing.object, options)
    finalizers += [one for one in call.strategy.delete_finalizers if one not in finalizers]
    if finalizers:
        obj = _stored_form(call, mark(call, _shown(call, existing), 0, finalizers))
        return _store_mark(call, path, existing, obj, options), False
    return _remove(call, path, existing, options), True


def check_preconditions(call: Call, options: DeleteOptions, existing: Entry) -> None:
    """Raises 409 if the uid or the resourceVersion differs from the precondition."""
    meta = existing.object["metadata"]
    if call.resource.collection in ("namespaces", crd.COLLECTION):
        _check_own_preconditions(call, options, meta)
        return
    qualified = qualify(call.resource.kind, call.named_group)
    if options.uid is not None and options.uid != meta["uid"]:
        raise conflict(
            qualified,
            meta["name"],
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated",
        )
    if options.resource_version is not None and options.resource_version != meta["resourceVersion"]:
        raise conflict(
            qualified,
            meta["name"],
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({meta['resourceVersion']}). The object might have been modified",
        )


def _check_own_preconditions(call: Call, options: DeleteOptions, meta: Object) -> None:
    """Those of kinds whose deletion begins with an update of their own."""
    for what, wanted, have in (
        ("UID", options.uid, meta["uid"]),
        ("ResourceVersion", options.resource_version, meta["resourceVersion"]),
    ):
        if wanted is not None and wanted != have:
            why = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {have}"
            raise conflict(call.resource.qualified, meta["name"], why)


def finalizers_for(strategy: Strategy, obj: Object, options: DeleteOptions) -> list[str]:
    """The finalizers of an object that is deleted: those of the garbage collector follow the propagation policy
    (`deletionFinalizersForGarbageCollection`)."""
    present = list(obj["metadata"].get("finalizers") or ())
    policy = _policy(strategy, present, options)
    wanted = next((name for name, its in PROPAGATION_FINALIZERS.items() if its == policy), None)
    if [name for name in present if name in PROPAGATION_FINALIZERS] == [wanted]:
        return present
    kept = [name for name in present if name not in PROPAGATION_FINALIZERS]
    return [*kept, wanted] if wanted is not None else kept


def _policy(strategy: Strategy, finalizers: list[str], options: DeleteOptions) -> str:
    """The propagation policy: of the options, else of a finalizer, else of the kind ("": garbage collection is not
    supported)."""
    if not strategy.default_propagation:
        return ""
    if options.orphan_dependents is not None:
        return "Orphan" if options.orphan_dependents else "Background"
    if options.propagation:
        return options.propagation
    standing = (PROPAGATION_FINALIZERS[name] for name in finalizers if name in PROPAGATION_FINALIZERS)
    return next(standing, strategy.default_propagation)


def mark(call: Call, obj: Object, grace: int, finalizers: list[str] | None = None) -> Object:
    """Mark the object as terminating: sets deletionTimestamp and grace period and increments the generation. If it is
    terminating already, only its finalizers change, and a grace period is set if it has none."""
    meta = dict(obj["metadata"])
    if not meta.get("deletionTimestamp"):
        meta["deletionTimestamp"] = call.context.after(grace)
        meta["deletionGracePeriodSeconds"] = grace
        if meta.get("generation"):
            meta["generation"] += 1
    meta.setdefault("deletionGracePeriodSeconds", grace)
    if finalizers is not None:
        meta["finalizers"] = finalizers
        if not finalizers:
            del meta["finalizers"]
    return {**obj, "metadata": meta}


def _shown(call: Call, existing: Entry) -> Object:
    """The object in the version of the request, unless a webhook converts it."""
    return existing.object if call.converted is not None else call.shown(existing)


def _stored_form(call: Call, obj: Object) -> Object:
    """The object of `_shown` as it is stored, without the fields that the version of the request does not have."""
    write_version = call.registration.write
    return obj if write_version is None or call.converted is not None else write_version(obj)


def _store_mark(call: Call, path: str, existing: Entry, obj: Object, options: DeleteOptions) -> Entry:
    version = existing.version if call.converted is not None else call.registration.stored_version
    _announce(call, path, existing, obj, options)
    return commit.update(call, call.resource.collection, path, existing, obj, dry_run=options.dry_run, version=version)


def _remove(call: Call, path: str, existing: Entry, options: DeleteOptions) -> Entry:
    _announce(call, path, existing, None, options)
    return commit.delete(call, call.resource.collection, path, existing, dry_run=options.dry_run)


def _graceful(call: Call, existing: Entry, options: DeleteOptions) -> Object | None:
    """Mark a pod as terminating with its grace period; None if it is terminating and the period is not shortened."""
    pod = existing.object
    meta = pod["metadata"]
    grace = grace_period(pod, options.grace_period)
    if not meta.get("deletionTimestamp"):
        return mark(call, pod, grace, finalizers_for(call.strategy, pod, options) or None)
    standing = meta.get("deletionGracePeriodSeconds") or 0
    if options.grace_period is None or grace >= standing:
        if grace == 0 == standing:
            return mark(call, pod, 0, finalizers_for(call.strategy, pod, options))
        return None
    marked = mark(call, pod, grace)
    meta = {
        **marked["metadata"],
        "deletionTimestamp": call.context.after(grace),
        "deletionGracePeriodSeconds": grace,
    }
    return {**marked, "metadata": meta}


def _finish_pod(call: Call, path: str, existing: Entry, marked: Object, options: DeleteOptions) -> tuple[Entry, bool]:
    """Store a terminating pod; remove it if it has neither a grace period nor finalizers."""
    entry = _store_mark(call, path, existing, marked, options)
    if marked["metadata"].get("deletionGracePeriodSeconds") or marked["metadata"].get("finalizers"):
        return entry, False
    return _remove(call, path, entry, options), True


def _mark_namespace(call: Call, obj: Object, options: DeleteOptions) -> Object:
    """The namespace as terminating (`namespace/storage.REST.Delete`)."""
    marked = {
        **obj,
        "metadata": {**obj["metadata"], "deletionTimestamp": call.context.now},
        "status": {**(obj.get("status") or {}), "phase": "Terminating"},
    }
    finalizers = _namespace_finalizers(obj["metadata"].get("finalizers") or [], options)
    if finalizers:
        marked["metadata"]["finalizers"] = finalizers
    else:
        marked["metadata"].pop("finalizers", None)
    return marked


def _namespace_finalizers(present: list[str], options: DeleteOptions) -> list[str]:
    """The finalizers of a namespace that is deleted. Unlike other kinds, `orphanDependents: false` means Foreground."""
    policy = options.propagation
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Foreground"
    if not policy:
        return present
    kept = [name for name in present if PROPAGATION_FINALIZERS.get(name, policy) == policy]
    return kept + [name for name, its in PROPAGATION_FINALIZERS.items() if its == policy and name not in present]


def delete_collection(call: Call) -> Step:
    """Delete the selected objects one by one. The response lists them as they were before."""
    list_options = parse_list_options(call.request, watch=False)
    options = delete_options(_options_body(call), call.request)
    selection_of(call, list_options)  # its errors come before the warning
    _warn(call, options)
    page = yield from read_page(call, _in_pages(list_options))
    if call.converted is not None:
        yield from conversion.read(call, page.entries)
    for entry in page.entries:
        meta = entry.object["metadata"]
        path = path_of(meta.get("namespace") or "", meta["name"])
        existing = yield from write.delete(call, path, options, partial(check_preconditions, call, options))
        if existing is not None:
            delete_entry(call, path, existing, options)
    return shown_page(call, page)


def _in_pages(options: ListOptions) -> ListOptions:
    """A collection is deleted page by page (`DeleteCollection`); pages of a resourceVersion are read as of then.

    One object that a selector names is no page: the limit only makes etcd answer instead of the watch cache.
    """
    if options.limit or options.resource_version_match or options.resource_version in ("", "0"):
        return options
    named = options.fields.required("metadata.name") is not None
    return replace(options, limit=1) if named else replace(options, resource_version_match="Exact")


def _announce(call: Call, path: str, existing: Entry, obj: Object | None, options: DeleteOptions) -> None:
    if call.server.before_commit is not None and not options.dry_run:
        call.server.before_commit(call.resource.collection, path, existing, obj)
        if call.server.store.get(call.resource.collection, path) is not existing:
            raise _Overtaken
