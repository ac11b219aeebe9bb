"""Paths below an object that are more than another half of it: which there are, and `/finalize`."""

from __future__ import annotations

from typing import Any

from fakekube.core import admission, shape
from fakekube.core.body import check_place, decode_object
from fakekube.core.call import Call, Step
from fakekube.core.kinds.parts import PARTS
from fakekube.core.options import parse_write_options
from fakekube.core.response import Response, StoredObject
from fakekube.core.status import StatusError, not_found, not_implemented
from fakekube.core.store import Entry
from fakekube.core.validation.namespaces import validate_finalize
from fakekube.core.verbs import binding, connect, eviction, proxy, scale, token
from fakekube.core.verbs.get import get
from fakekube.core.verbs.patch import patch
from fakekube.core.verbs.update import check_uid, check_version, update

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
        return Response(body=StoredObject(Entry(existing.revision, changed), shape.view(call)))
    if changed == old or options.dry_run:
        return Response(
            body=StoredObject(existing if changed == old else Entry(existing.revision, changed), shape.view(call))
        )
    change = call.commit_update(call.path, existing, changed)
    assert change.after is not None
    return Response(body=StoredObject(change.after, shape.view(call)))


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
