"""POST `/binding`, and the deprecated POST to `/bindings`: assigns a pod to a node (`core/pod/storage.BindingREST`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fakekube.apiserver import commit
from fakekube.apiserver.call import Call
from fakekube.apiserver.endpoints.subresources.eviction import with_condition
from fakekube.apiserver.endpoints.write import Action
from fakekube.apiserver.features import enabled
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.response import Document, Response
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.options import WriteOptions
from fakekube.apiserver.wire.status import (
    FieldError,
    StatusError,
    bad_request,
    conflict,
    field_not_supported,
    field_required,
    not_found,
)

Object = dict[str, Any]

_BINDING = Resource(
    group="",
    version="v1",
    plural="bindings",
    singular="binding",
    kind="Binding",
    list_kind="BindingList",
    namespaced=True,
    verbs=frozenset(),
    collection="bindings",
)


def _as_binding(call: Call) -> Call:
    return call.of_kind(call.server.body_registration(_BINDING))


def _check(call: Call, binding: Object) -> None:
    if (binding["metadata"].get("name") or "") != call.info.name:
        raise bad_request("name in URL does not match name in Binding object")
    _check_target(call, binding)


def _check_target(call: Call, binding: Object) -> None:
    errors = validate(binding)
    if errors:
        text = ", ".join(str(error) for error in errors)
        raise StatusError(500, "", f"[{text}]" if len(errors) > 1 else text)


def bind(call: Call, binding: Object, options: WriteOptions) -> Response:
    """Assign the pod of the path to a node. Raises 404, 409."""
    existing = call.stored()
    if existing is None:
        raise not_found(call.resource.qualified, call.info.name)
    _check_unbound(call, binding, existing, dry_run=options.dry_run)
    pod = bound(existing.object, binding, call.context.now)
    commit.update(call, call.resource.collection, call.path, existing, pod, dry_run=options.dry_run)
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, Document(status))


def bind_by_name(call: Call, binding: Object, options: WriteOptions) -> Response:
    """Assign the pod with the name of the binding to a node: POST to the collection `bindings`. As every create, it
    ignores the UID of its object."""
    pods = call.server.catalog.find("", "v1", "pods")
    assert pods is not None, "every server has pods"
    if not binding["metadata"].get("name"):
        raise bad_request("Name parameter required.")
    binding = {**binding, "metadata": {**binding["metadata"], "uid": ""}}
    info = replace(call.info, resource="pods", name=binding["metadata"].get("name") or "", subresource="binding")
    return bind(replace(call, info=info, registration=call.server.registration(pods)), binding, options)


def validate(binding: Object) -> list[FieldError]:
    """The errors of a binding (`ValidatePodBinding`)."""
    target = binding.get("target") or {}
    errors: list[FieldError] = []
    kind = target.get("kind") or ""
    if kind not in ("", "Node"):
        errors.append(field_not_supported("target.kind", kind, ("Node", "<empty>")))
    if not target.get("name"):
        errors.append(field_required("target.name"))
    return errors


def _check_unbound(call: Call, binding: Object, existing: Entry, *, dry_run: bool) -> None:
    """Raises 409 if the pod cannot be assigned to a node, or if a precondition of the binding fails."""
    pod, name = existing.object, call.info.name
    spec = pod.get("spec") or {}
    wanted = binding["metadata"]
    why = ""
    if wanted.get("uid") and wanted["uid"] != pod["metadata"]["uid"]:
        have = pod["metadata"]["uid"]
        why = f"Precondition failed: UID in precondition: {wanted['uid']}, UID in object meta: {have}"
    elif wanted.get("resourceVersion") and wanted["resourceVersion"] != pod["metadata"]["resourceVersion"]:
        have = pod["metadata"]["resourceVersion"]
        why = (
            f"Precondition failed: ResourceVersion in precondition: {wanted['resourceVersion']}, "
            f"ResourceVersion in object meta: {have}"
        )
    elif pod["metadata"].get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why.startswith("Precondition failed"):
        key = f"{'' if dry_run else '/registry'}/pods/{call.namespace}/{name}"
        text = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
        raise conflict("pods", name, text)
    if why:
        raise conflict("pods/binding", name, why)


def bound(pod: Object, binding: Object, now: str) -> Object:
    """The pod with its node, the annotations and the labels of the binding."""
    meta, given = dict(pod["metadata"]), binding["metadata"]
    if given.get("annotations"):
        meta["annotations"] = {**(meta.get("annotations") or {}), **given["annotations"]}
    if given.get("labels") and enabled("PodTopologyLabelsAdmission"):
        meta["labels"] = {**(meta.get("labels") or {}), **given["labels"]}
    status = pod.get("status") or {}
    if enabled("ClearingNominatedNodeNameAfterBinding"):
        status = {key: value for key, value in status.items() if key != "nominatedNodeName"}
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    conditions = with_condition(status.get("conditions") or (), condition)
    spec = {**(pod.get("spec") or {}), "nodeName": (binding.get("target") or {}).get("name") or ""}
    return {**pod, "metadata": meta, "spec": spec, "status": {**status, "conditions": conditions}}


BINDING = Action(_check, bind, body=_as_binding)
BINDING_BY_NAME = Action(_check_target, bind_by_name, body=_as_binding)
