"""Paths below an object that are more than another half of it: which there are, and `/finalize`."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import admission
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import binding, connect, eviction, proxy, representation, scale, token
from fakekube.apiserver.endpoints.body import check_place, decode_object
from fakekube.apiserver.endpoints.get import get
from fakekube.apiserver.endpoints.patch import patch
from fakekube.apiserver.endpoints.update import check_uid, check_version, update
from fakekube.apiserver.registry.core.namespace import validate_finalize
from fakekube.apiserver.registry.kinds.parts import PARTS
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.options import parse_write_options
from fakekube.apiserver.wire.response import Response, StoredObject
from fakekube.apiserver.wire.status import StatusError, not_found, not_implemented

Object = dict[str, Any]


def finalize_namespace(call: Call) -> Step:
    """PUT `/finalize`: takes the spec's finalizers from the body; a Terminating namespace without any is gone."""
    options = parse_write_options(call.request, "UpdateOptions")
    obj = check_place(call, decode_object(call, field_validation=options.field_validation), naming=True)
    existing = call.stored()
    if existing is None:
        raise not_found(call.resource.qualified, call.info.name)
    check_version(call, obj, existing, unconditional=True)
    check_uid(call, obj, existing)
    old = existing.object
    finalizers = (obj.get("spec") or {}).get("finalizers") or []
    meta = dict(old["metadata"])
    if obj["metadata"].get("finalizers"):
        meta["finalizers"] = obj["metadata"]["finalizers"]
    changed: Object = {**old, "metadata": meta, "spec": {"finalizers": finalizers} if finalizers else {}}
    errors = validate_finalize(changed, old)
    if errors:
        raise call.invalid(call.info.name, errors)
    yield from admission.validate(call, changed, old, options)
    if not finalizers and not meta.get("finalizers") and meta.get("deletionTimestamp"):
        if not options.dry_run:
            call.commit_delete(call.path, existing)
        return Response(body=StoredObject(Entry(existing.revision, changed), representation.view(call)))
    if changed == old or options.dry_run:
        return Response(
            body=StoredObject(
                existing if changed == old else Entry(existing.revision, changed), representation.view(call)
            )
        )
    change = call.commit_update(call.path, existing, changed)
    assert change.after is not None
    return Response(body=StoredObject(change.after, representation.view(call)))


#: (collection, subresource, verb) -> what serves it.
SUBRESOURCES = {
    **{
        (collection, subresource, verb): handler
        for collection, subresource in PARTS
        for verb, handler in (("get", get), ("update", update), ("patch", patch))
    },
    **binding.SERVED,
    **connect.SERVED,
    **eviction.SERVED,
    **proxy.SERVED,
    **scale.SERVED,
    **token.SERVED,
    ("namespaces", "finalize", "update"): finalize_namespace,
}


def unsupported(call: Call) -> StatusError:
    return not_implemented(f"{call.info.verb} of {call.resource.plural}/{call.info.subresource} yet")
