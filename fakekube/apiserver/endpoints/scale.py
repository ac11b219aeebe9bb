"""`/scale` of what has replicas: Deployment, ReplicaSet, StatefulSet, ReplicationController
(`pkg/registry/apps/deployment/storage.ScaleREST` and kin)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fakekube.apiserver.apply import scale as fields
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import ownership, representation
from fakekube.apiserver.endpoints.apply import applied, configuration
from fakekube.apiserver.endpoints.body import check_place, decode_object
from fakekube.apiserver.endpoints.patch import APPLY_PATCH, patch_type, patched
from fakekube.apiserver.endpoints.update import check_version, store_changed
from fakekube.apiserver.registry.generic import objectmeta
from fakekube.apiserver.registry.generic.strategy import DEFAULT
from fakekube.apiserver.registry.generic.table.labels import label_set, selector_text
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.options import WriteOptions, parse_write_options
from fakekube.apiserver.wire.response import Response, StoredObject
from fakekube.apiserver.wire.status import conflict, field_invalid, invalid, not_found

Object = dict[str, Any]

Edit = Callable[[Object], Object]
"""A Scale as the client wants it, given the one that stands."""

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
    """The pods' selector in the form of a query; a ReplicationController has plain labels."""
    is_plain = not selector.keys() <= {"matchLabels", "matchExpressions"}
    return label_set(selector) if is_plain else selector_text(selector)


def as_scale(call: Call) -> Call:
    """The call as one for a Scale: bodies and answers are that kind's."""
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
    )
    return replace(call, resource=resource, strategy=DEFAULT)


def get(call: Call) -> Step:
    yield from ()
    return _answer(call, _existing(call))


def _answer(call: Call, entry: Entry) -> Response:
    return Response(
        body=StoredObject(Entry(entry.revision, scale_of(entry.object)), representation.view(as_scale(call)))
    )


def _existing(call: Call) -> Entry:
    found = call.stored()
    if found is None:
        raise not_found(call.resource.qualified, call.info.name)
    return found


def update(call: Call) -> Step:
    options = parse_write_options(call.request, "UpdateOptions")
    scaled = as_scale(call)
    body = check_place(scaled, decode_object(scaled, field_validation=options.field_validation), naming=True)
    return (yield from _write(call, scaled, options, lambda standing: _owned(scaled, body, standing, options)))


def patch(call: Call) -> Step:
    scaled = as_scale(call)
    return (yield from patching(call, lambda options, edit: _write(call, scaled, options, edit)))


def patching(call: Call, write: Callable[[WriteOptions, Edit], Step]) -> Step:
    """A patch of a Scale, which `write` stores."""
    kind = patch_type(call)
    options = parse_write_options(call.request, "PatchOptions", applying=kind == APPLY_PATCH)
    scaled = as_scale(call)
    if kind == APPLY_PATCH:
        config, _ = configuration(scaled)

        def edit(standing: Object) -> Object:
            return check_place(scaled, applied(scaled, config, Entry(0, standing), options), naming=True)
    else:

        def edit(standing: Object) -> Object:
            warnings: list[str] = []
            wanted = patched(scaled, kind, standing, options, warnings)
            call.warnings += [warning for warning in warnings if warning not in call.warnings]
            return _owned(scaled, wanted, standing, options)

    return (yield from write(options, edit))


def _owned(scaled: Call, wanted: Object, standing: Object, options: WriteOptions) -> Object:
    return ownership.changed(scaled, wanted, standing, options)


def _write(call: Call, scaled: Call, options: WriteOptions, edit: Edit) -> Step:
    """Give the object the replicas that the edited Scale says, and its writer the ownership of them."""
    paths: fields.Paths = {call.resource.api_version: fields.REPLICAS}
    while True:
        existing = _existing(call)
        entries = existing.object["metadata"].get("managedFields") or ()
        standing = scale_of(existing.object)
        standing["metadata"]["managedFields"] = fields.to_scale(entries, paths)
        wanted = edit(standing)
        _check(call, scaled, wanted, existing)
        of_scale = wanted["metadata"].get("managedFields") or ()
        owners = fields.to_parent(entries, of_scale, paths, call.resource.api_version)
        meta = {key: value for key, value in existing.object["metadata"].items() if key != "managedFields"}
        if owners:
            meta["managedFields"] = owners
        spec = {**(existing.object.get("spec") or {}), "replicas": (wanted.get("spec") or {}).get("replicas") or 0}
        obj = {**existing.object, "metadata": meta, "spec": spec}
        response: Response | None = yield from store_changed(call, obj, existing, options)
        if response is not None:
            assert isinstance(response.body, StoredObject)
            return _answer(call, response.body.entry)


def _check(call: Call, scaled: Call, wanted: Object, existing: Entry) -> None:
    """Raises 422 for what is no Scale, 409 for one of another object or of an older version."""
    meta = wanted["metadata"]
    errors = objectmeta.validate(
        meta, namespaced=call.resource.namespaced, namespace=call.namespace, name_check=DEFAULT.name_check
    )
    replicas = (wanted.get("spec") or {}).get("replicas") or 0
    if replicas < 0:
        errors.append(field_invalid("spec.replicas", replicas, "must be greater than or equal to 0"))
    if errors:
        raise invalid(scaled.resource.group, scaled.resource.kind, call.info.name, errors)
    uid, have = meta.get("uid"), existing.object["metadata"]["uid"]
    if uid and uid != have:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {have}"
        group = f".{call.resource.group}" if call.resource.group else ""
        raise conflict(f"{call.resource.plural}/scale{group}", call.info.name, why)
    check_version(call, wanted, existing, unconditional=True)


#: (collection, subresource, verb) -> what serves it.
SERVED = {
    (collection, "scale", verb): handler
    for collection in COLLECTIONS
    for verb, handler in (("get", get), ("update", update), ("patch", patch))
}
