"""Paths below an object that are more than another half of it: `/finalize`, `/binding`."""

from __future__ import annotations

from typing import Any

from fakekube.core import admission, codec
from fakekube.core.body import check_place, decode_object
from fakekube.core.call import Call, Step
from fakekube.core.options import parse_write_options
from fakekube.core.response import Document, Response, StoredObject
from fakekube.core.schema.decode import WrongType, decode
from fakekube.core.status import StatusError, bad_request, conflict, not_found, not_implemented
from fakekube.core.store import Entry
from fakekube.core.verbs import scale
from fakekube.core.verbs.update import check_uid, check_version

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
    yield from admission.validate(call, changed, old)
    if not finalizers and not meta.get("finalizers") and meta.get("deletionTimestamp"):
        if not options.dry_run:
            call.commit_delete(call.path, existing)
        return Response(body=StoredObject(Entry(existing.revision, changed), call.view))
    if changed == old or options.dry_run:
        return Response(body=StoredObject(existing if changed == old else Entry(existing.revision, changed), call.view))
    change = call.commit_update(call.path, existing, changed)
    assert change.after is not None
    return Response(body=StoredObject(change.after, call.view))


def _binding(call: Call) -> Object:
    body = codec.decode(call.request.body, call.request.headers.get("content-type"), kind="Binding").object
    try:
        return decode(call.server.schemas.type("core.v1.Binding"), body, [])
    except WrongType as problem:
        raise bad_request(f'Binding in version "v1" cannot be handled as a Binding: {problem}') from None


def bind_pod(call: Call) -> Step:
    """POST `/binding`: gives a pod its node, once (`pod/storage.BindingREST`)."""
    options = parse_write_options(call.request, "CreateOptions")
    binding = _binding(call)
    yield from ()
    target = binding.get("target") or {}
    existing = call.stored()
    if existing is None:
        raise not_found(call.resource.qualified, call.info.name)
    pod = existing.object
    spec = pod.get("spec") or {}
    if pod["metadata"].get("deletionTimestamp"):
        raise conflict(
            "pods/binding", call.info.name, f"pod {call.info.name} is being deleted, cannot be assigned to a host"
        )
    if spec.get("nodeName"):
        raise conflict(
            "pods/binding", call.info.name, f'pod {call.info.name} is already assigned to node "{spec["nodeName"]}"'
        )
    status = pod.get("status") or {}
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": call.stamp.now,
    }
    others = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
    meta = dict(pod["metadata"])
    annotations = (binding.get("metadata") or {}).get("annotations")
    if annotations:
        meta["annotations"] = {**(meta.get("annotations") or {}), **annotations}
    bound: Object = {
        **pod,
        "metadata": meta,
        "spec": {**spec, "nodeName": target.get("name") or ""},
        "status": {**status, "conditions": [*others, condition]},
    }
    if not options.dry_run:
        call.commit_update(call.path, existing, bound)
    success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, Document(success))


#: (collection, subresource, verb) -> what serves it.
SUBRESOURCES = {
    **scale.SERVED,
    ("namespaces", "finalize", "update"): finalize_namespace,
    ("pods", "binding", "create"): bind_pod,
}


def unsupported(call: Call) -> StatusError:
    return not_implemented(f"{call.info.verb} of {call.resource.plural}/{call.info.subresource} yet")
