"""Kinds of the cluster itself: namespaces, nodes, storage, access, API extensions."""

from __future__ import annotations

from typing import Any

from fakekube.core import names
from fakekube.core.strategy import Strategy, metadata_field

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


def prepare_node_update(new: Object, old: Object) -> Object:
    return {**new, "status": old.get("status") or {}}


def default_volume(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if spec.get("hostPath") is not None:
        spec["hostPath"].setdefault("type", "")


def default_storage_class(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def default_priority_class(obj: Object) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


RBAC_GROUP = "rbac.authorization.k8s.io"


def default_binding(obj: Object) -> None:
    """Groups of the role and of the subjects (`pkg/apis/rbac/v1/defaults.go`)."""
    obj.setdefault("roleRef", {})
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = RBAC_GROUP
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
            subject["apiGroup"] = RBAC_GROUP


def default_webhooks(obj: Object) -> None:
    """Of both kinds of webhook configuration (`pkg/apis/admissionregistration/v1/defaults.go`)."""
    for webhook in obj.get("webhooks") or ():
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)


def default_mutating_webhooks(obj: Object) -> None:
    default_webhooks(obj)
    for webhook in obj.get("webhooks") or ():
        webhook.setdefault("reinvocationPolicy", "Never")


RBAC = Strategy(name_check=names.path_segment_problems, create_on_update=True)
BINDING = Strategy(name_check=names.path_segment_problems, create_on_update=True, default=default_binding)

STRATEGIES = {
    "namespaces": Strategy(
        name_check=names.dns_label_problems,
        fields={"status.phase": _phase, "name": metadata_field("name")},
        fields_message="label",
        prepare_create=prepare_namespace,
        prepare_update=prepare_namespace_update,
        prepare_status_update=prepare_namespace_status,
    ),
    "nodes": Strategy(
        status_on_create=True,
        fields={"spec.unschedulable": lambda o: "true" if (o.get("spec") or {}).get("unschedulable") else "false"},
        fields_message="label",
        prepare_update=prepare_node_update,
    ),
    "roles.rbac.authorization.k8s.io": RBAC,
    "rolebindings.rbac.authorization.k8s.io": BINDING,
    "clusterroles.rbac.authorization.k8s.io": RBAC,
    "clusterrolebindings.rbac.authorization.k8s.io": BINDING,
    "persistentvolumes": Strategy(default=default_volume, returns_deleted=True, default_status={"phase": "Pending"}),
    "storageclasses.storage.k8s.io": Strategy(default=default_storage_class, returns_deleted=True),
    "csidrivers.storage.k8s.io": Strategy(returns_deleted=True, unconditional_update=False, generation=("spec",)),
    "csinodes.storage.k8s.io": Strategy(returns_deleted=True, unconditional_update=False),
    "csistoragecapacities.storage.k8s.io": Strategy(returns_deleted=True),
    "volumeattachments.storage.k8s.io": Strategy(returns_deleted=True, unconditional_update=False),
    "volumeattributesclasses.storage.k8s.io": Strategy(returns_deleted=True),
    "deviceclasses.resource.k8s.io": Strategy(returns_deleted=True, generation=("spec",)),
    "resourceclaims.resource.k8s.io": Strategy(returns_deleted=True),
    "resourceclaimtemplates.resource.k8s.io": Strategy(returns_deleted=True),
    "resourceslices.resource.k8s.io": Strategy(returns_deleted=True, generation=("spec",)),
    "apiservices.apiregistration.k8s.io": Strategy(unconditional_update=False),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": Strategy(
        default=default_webhooks, generation=("webhooks",), unconditional_update=False
    ),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": Strategy(
        default=default_mutating_webhooks, generation=("webhooks",), unconditional_update=False
    ),
    "validatingadmissionpolicies.admissionregistration.k8s.io": Strategy(
        generation=("spec",), unconditional_update=False
    ),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": Strategy(
        generation=("spec",), unconditional_update=False
    ),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": Strategy(
        generation=("spec",), unconditional_update=False
    ),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": Strategy(
        generation=("spec",), unconditional_update=False
    ),
    "flowschemas.flowcontrol.apiserver.k8s.io": Strategy(generation=("spec",)),
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": Strategy(generation=("spec",)),
    "certificatesigningrequests.certificates.k8s.io": Strategy(
        fields={"spec.signerName": lambda o: (o.get("spec") or {}).get("signerName", "")},
        fields_message="label",
    ),
    "runtimeclasses.node.k8s.io": Strategy(unconditional_update=False),
    "priorityclasses.scheduling.k8s.io": Strategy(default=default_priority_class, constant_generation=True),
}
