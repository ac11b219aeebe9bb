"""Kinds of the cluster itself: namespaces, nodes, access."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.strategy import Strategy, metadata_field
from fakekube.apiserver.registry.validation import namespaces, nodes, rbac

Object = dict[str, Any]

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"
NAMESPACE_FINALIZER = "kubernetes"


def _labelled(obj: Object) -> Object:
    meta = obj["metadata"]
    labels = {**(meta.get("labels") or {}), NAMESPACE_NAME_LABEL: meta.get("name") or ""}
    return {**obj, "metadata": {**meta, "labels": labels}}


def prepare_namespace(obj: Object) -> Object:
    """Active, with the label that says its name and the finalizer that `/finalize` takes away."""
    finalizers = list((obj.get("spec") or {}).get("finalizers") or ())
    if NAMESPACE_FINALIZER not in finalizers:
        finalizers.append(NAMESPACE_FINALIZER)
    return {**_labelled(obj), "spec": {"finalizers": finalizers}, "status": {"phase": "Active"}}


def prepare_namespace_update(new: Object, old: Object) -> Object:
    """Spec and status are the server's."""
    return {**_labelled(new), "spec": old.get("spec") or {}, "status": old.get("status") or {}}


def prepare_namespace_status(new: Object, old: Object) -> Object:
    return {**new, "spec": old.get("spec") or {}}


def _phase(obj: Object) -> str:
    phase: str = (obj.get("status") or {}).get("phase", "")
    return phase


def default_node(obj: Object) -> None:
    """One range of pod addresses is also the first of many; what can be allocated is all there is."""
    spec, status = obj.setdefault("spec", {}), obj.get("status") or {}
    one, many = spec.get("podCIDR"), spec.get("podCIDRs")
    if one and (not many or many[0] != one):
        spec["podCIDRs"] = [one]
    elif many:
        spec["podCIDR"] = many[0]
    if status.get("capacity") and status.get("allocatable") is None:
        status["allocatable"] = dict(status["capacity"])


def prepare_node_update(new: Object, old: Object) -> Object:
    return {**new, "status": old.get("status") or {}}


def default_binding(obj: Object) -> None:
    """Groups of the role and of the subjects (`pkg/apis/rbac/v1/defaults.go`)."""
    obj.setdefault("roleRef", {})
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = rbac.GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = rbac.GROUP


RBAC = Strategy(
    name_check=names.path_segment_problems,
    create_on_update=True,
    repeats_metadata=False,
    validate=rbac.validate_role,
    validate_update=rbac.validate_role_update,
)
BINDING = Strategy(
    name_check=names.path_segment_problems,
    create_on_update=True,
    repeats_metadata=False,
    default=default_binding,
    validate=rbac.validate_binding,
    validate_update=rbac.validate_binding_update,
)

STRATEGIES = {
    "namespaces": Strategy(
        name_check=names.dns_label_problems,
        name_limit=63,
        fields={"status.phase": _phase, "name": metadata_field("name")},
        fields_message="label",
        prepare_create=prepare_namespace,
        prepare_update=prepare_namespace_update,
        prepare_status_update=prepare_namespace_status,
        validate=namespaces.validate_namespace,
        validate_status_update=namespaces.validate_namespace_status,
    ),
    "nodes": Strategy(
        status_on_create=True,
        fields={"spec.unschedulable": lambda o: "true" if (o.get("spec") or {}).get("unschedulable") else "false"},
        fields_message="label",
        default=default_node,
        prepare_update=prepare_node_update,
        validate=nodes.validate_node,
        validate_update=nodes.validate_node_update,
        validate_status_update=nodes.validate_node_update,
    ),
    "roles.rbac.authorization.k8s.io": RBAC,
    "rolebindings.rbac.authorization.k8s.io": BINDING,
    "clusterroles.rbac.authorization.k8s.io": RBAC,
    "clusterrolebindings.rbac.authorization.k8s.io": BINDING,
}
