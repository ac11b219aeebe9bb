"""`/scale` of Deployments, ReplicaSets, StatefulSets and ReplicationControllers
(`pkg/registry/apps/deployment/storage.ScaleREST` and its counterparts)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.apply import scalehandler as fields
from fakekube.apiserver.call import Call
from fakekube.apiserver.endpoints import representation
from fakekube.apiserver.endpoints.get import check_requested_version
from fakekube.apiserver.endpoints.part import WHOLE
from fakekube.apiserver.features import since
from fakekube.apiserver.registry.generic.strategy import DEFAULT
from fakekube.apiserver.registry.generic.table.labels import label_set, selector_text
from fakekube.apiserver.resource import Resource, qualify
from fakekube.apiserver.response import Response, StoredObject
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.status import conflict, field_invalid, invalid, not_found
from fakekube.struct import replace

Object = dict[str, Any]

COLLECTIONS = ("deployments.apps", "replicasets.apps", "statefulsets.apps", "replicationcontrollers")

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(obj: Object) -> Object:
    """The object as a Scale, without apiVersion and kind."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    replicas = spec.get("replicas") or 0
    shown: Object = {"replicas": status.get("replicas") or 0}
    selector = _selector(spec.get("selector") or {})
    if selector:
        shown["selector"] = selector
    return {
        "metadata": {key: obj["metadata"][key] for key in _KEPT if key in obj["metadata"]},
        "spec": {"replicas": replicas} if replicas else {},
        "status": shown,
    }


def _selector(selector: Object) -> str:
    """The pod selector in query form; that of a ReplicationController is a map of labels."""
    is_plain = not selector.keys() <= {"matchLabels", "matchExpressions"}
    return label_set(selector) if is_plain else selector_text(selector)


def as_scale(call: Call) -> Call:
    """The call with bodies and responses of the kind Scale."""
    parent = call.resource
    resource = Resource(
        group="autoscaling",
        version="v1",
        plural=parent.plural,
        singular="",
        kind="Scale",
        list_kind="ScaleList",
        namespaced=parent.namespaced,
        verbs=frozenset(),
        collection=f"{parent.collection}/scale",
        subresources=parent.subresources,
        patch_types=parent.patch_types,
    )
    return call.of_kind(call.server.body_registration(resource))


def get(call: Call) -> Response:
    check_requested_version(call)
    found = call.stored()
    if found is None:
        resource = call.resource
        scaled = qualify(f"{resource.plural}/scale", resource.group) if _names_scale(call) else resource.qualified
        raise not_found(scaled, call.info.name)
    return Response(body=_answer(call, found))


def _names_scale(call: Call) -> bool:
    """Whether the error of a missing object names its scale (`ScaleREST.Get` of earlier versions)."""
    return not since(33) and call.resource.plural != "statefulsets"


def _answer(call: Call, entry: Entry) -> StoredObject:
    return StoredObject(Entry(entry.revision, scale_of(entry.object)), representation.view(as_scale(call)))


def _shown(call: Call, obj: Object) -> Object:
    """The object as a Scale, with the managers of its replicas."""
    scale = scale_of(obj)
    entries = obj["metadata"].get("managedFields") or ()
    scale["metadata"]["managedFields"] = fields.to_scale(entries, _paths(call))
    return scale


def _paths(call: Call) -> fields.Paths:
    return {call.resource.api_version: fields.REPLICAS}


def _merged(call: Call, scale: Object, existing: Entry) -> Object:
    """The object with the replicas of the Scale, owned by the manager of the request. Raises 409, 422."""
    _check(call, scale, existing)
    obj, wanted = existing.object, scale["metadata"]
    entries = obj["metadata"].get("managedFields") or ()
    owners = fields.to_parent(entries, wanted.get("managedFields") or (), _paths(call), call.resource.api_version)
    meta = {key: value for key, value in obj["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    meta["resourceVersion"] = wanted.get("resourceVersion") or ""
    if owners:
        meta["managedFields"] = owners
    spec = {**(obj.get("spec") or {}), "replicas": (scale.get("spec") or {}).get("replicas") or 0}
    return {**obj, "metadata": meta, "spec": spec}


def _check(call: Call, scale: Object, existing: Entry) -> None:
    """Raises 422 if the Scale is invalid, 409 if it has another uid (`ValidateScale`)."""
    meta = scale["metadata"]
    errors = objectmeta.validate(
        meta, namespaced=call.resource.namespaced, namespace=call.namespace, name_check=DEFAULT.name_check
    )
    errors += objectmeta.undomained_finalizer_errors(meta.get("finalizers"), "metadata.finalizers")
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        errors.append(field_invalid("spec.replicas", replicas, "must be greater than or equal to 0"))
    if errors:
        raise invalid("autoscaling", "Scale", call.info.name, errors)
    uid, have = meta.get("uid"), existing.object["metadata"]["uid"]
    if uid and uid != have:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {have}"
        raise conflict(qualify(f"{call.resource.plural}/scale", call.resource.group), call.info.name, why)


SCALE = replace(WHOLE, body=as_scale, shown=_shown, merged=_merged, answer=_answer, is_whole=False)
