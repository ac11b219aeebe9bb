"""Objects as a server has them when it checks them: decoded and defaulted."""

from copy import deepcopy

from fakekube.apiserver.registry.builtin import STRATEGIES
from fakekube.apiserver.schema.decode import decode
from fakekube.server import bootstrap
from tests.apiserver.api import START, RequestContext

CORE = bootstrap.api_server(START, RequestContext())

PLURALS = {
    "Pod": ("", "v1", "pods"),
    "PodTemplate": ("", "v1", "podtemplates"),
    "ReplicationController": ("", "v1", "replicationcontrollers"),
    "Deployment": ("apps", "v1", "deployments"),
    "ReplicaSet": ("apps", "v1", "replicasets"),
    "StatefulSet": ("apps", "v1", "statefulsets"),
    "DaemonSet": ("apps", "v1", "daemonsets"),
    "ControllerRevision": ("apps", "v1", "controllerrevisions"),
    "Job": ("batch", "v1", "jobs"),
    "CronJob": ("batch", "v1", "cronjobs"),
    "PodDisruptionBudget": ("policy", "v1", "poddisruptionbudgets"),
    "HorizontalPodAutoscaler": ("autoscaling", "v2", "horizontalpodautoscalers"),
    "PriorityClass": ("scheduling.k8s.io", "v1", "priorityclasses"),
    "RuntimeClass": ("node.k8s.io", "v1", "runtimeclasses"),
    "ConfigMap": ("", "v1", "configmaps"),
    "Secret": ("", "v1", "secrets"),
    "ServiceAccount": ("", "v1", "serviceaccounts"),
    "Service": ("", "v1", "services"),
    "Endpoints": ("", "v1", "endpoints"),
    "EndpointSlice": ("discovery.k8s.io", "v1", "endpointslices"),
    "Ingress": ("networking.k8s.io", "v1", "ingresses"),
    "IngressClass": ("networking.k8s.io", "v1", "ingressclasses"),
    "NetworkPolicy": ("networking.k8s.io", "v1", "networkpolicies"),
    "ServiceCIDR": ("networking.k8s.io", "v1", "servicecidrs"),
    "IPAddress": ("networking.k8s.io", "v1", "ipaddresses"),
    "Namespace": ("", "v1", "namespaces"),
    "Node": ("", "v1", "nodes"),
    "ResourceQuota": ("", "v1", "resourcequotas"),
    "LimitRange": ("", "v1", "limitranges"),
    "Lease": ("coordination.k8s.io", "v1", "leases"),
    "LeaseCandidate": ("coordination.k8s.io", "v1beta1", "leasecandidates"),
    "Role": ("rbac.authorization.k8s.io", "v1", "roles"),
    "ClusterRole": ("rbac.authorization.k8s.io", "v1", "clusterroles"),
    "RoleBinding": ("rbac.authorization.k8s.io", "v1", "rolebindings"),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io", "v1", "clusterrolebindings"),
    "PersistentVolume": ("", "v1", "persistentvolumes"),
    "PersistentVolumeClaim": ("", "v1", "persistentvolumeclaims"),
    "StorageClass": ("storage.k8s.io", "v1", "storageclasses"),
    "VolumeAttributesClass": ("storage.k8s.io", "v1", "volumeattributesclasses"),
    "VolumeAttachment": ("storage.k8s.io", "v1", "volumeattachments"),
    "CSIDriver": ("storage.k8s.io", "v1", "csidrivers"),
    "CSINode": ("storage.k8s.io", "v1", "csinodes"),
    "CSIStorageCapacity": ("storage.k8s.io", "v1", "csistoragecapacities"),
    "CertificateSigningRequest": ("certificates.k8s.io", "v1", "certificatesigningrequests"),
    "APIService": ("apiregistration.k8s.io", "v1", "apiservices"),
    "ValidatingWebhookConfiguration": ("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"),
    "MutatingWebhookConfiguration": ("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations"),
    "ValidatingAdmissionPolicy": ("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": ("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings"),
    "MutatingAdmissionPolicy": ("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies"),
    "MutatingAdmissionPolicyBinding": ("admissionregistration.k8s.io", "v1", "mutatingadmissionpolicybindings"),
    "ResourceClaim": ("resource.k8s.io", "v1", "resourceclaims"),
    "ResourceClaimTemplate": ("resource.k8s.io", "v1", "resourceclaimtemplates"),
    "DeviceClass": ("resource.k8s.io", "v1", "deviceclasses"),
    "ResourceSlice": ("resource.k8s.io", "v1", "resourceslices"),
    "FlowSchema": ("flowcontrol.apiserver.k8s.io", "v1", "flowschemas"),
    "PriorityLevelConfiguration": ("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations"),
}


def strategy(kind):
    group, _, plural = PLURALS[kind]
    return STRATEGIES[f"{plural}.{group}" if group else plural]


def complete(kind, obj):
    """Decoded, with a name and with its defaults."""
    group, version, _ = PLURALS[kind]
    obj = deepcopy(obj)
    obj.setdefault("metadata", {}).setdefault("name", "x")
    found = decode(CORE.schemas.of_kind(group, version, kind), obj, [])
    strategy(kind).default(found)
    return found


def as_new(kind, obj):
    obj = complete(kind, obj)
    obj["metadata"].setdefault("uid", "u")
    obj["metadata"].setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
    rules = strategy(kind)
    return rules.prepare_create(rules.drop_disabled(obj, None))


def texts(errors):
    return [str(error) for error in errors]


def problems(kind, obj):
    """Those of a new object, besides its metadata, and those of its name that follow from the rest."""
    rules, new = strategy(kind), as_new(kind, obj)
    name = new["metadata"]["name"]
    of_name = rules.name_problems(new, name) if rules.name_problems is not None else ()
    return [*(f'metadata.name: Invalid value: "{name}": {one}' for one in of_name), *texts(rules.validate(new))]


def update_problems(kind, old, change):
    """`change` is a merge patch of what is stored."""
    stored = as_new(kind, old)
    sent = complete(kind, merged(stored, change))
    if "status" in stored:
        sent["status"] = stored["status"]
    prepared = strategy(kind).prepare_update(strategy(kind).drop_disabled(sent, stored), stored)
    return texts(strategy(kind).validate_update(prepared, stored))


def problems_of_status(kind, obj, status, before=None):
    stored = as_new(kind, obj)
    if before is not None:
        stored["status"] = complete(kind, {"metadata": {}, "status": before})["status"]
    sent = {**stored, "status": complete(kind, {"metadata": {}, "status": status})["status"]}
    return texts(strategy(kind).validate_status_update(sent, stored))


def merged(base, change):
    """The base with a merge patch."""
    if not isinstance(change, dict):
        return deepcopy(change)
    made = deepcopy(base) if isinstance(base, dict) else {}
    for key, value in change.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


def _same(found, expected):
    return len(found) == len(expected) and all(
        text.startswith(begin[:-1]) if begin.endswith("…") else text == begin
        for text, begin in zip(found, expected, strict=True)
    )


def check_new(kind, obj, expected):
    found = problems(kind, obj)
    assert _same(found, expected), found


def check_update(kind, old, change, expected):
    found = update_problems(kind, old, change)
    assert _same(found, expected), found


def check_status(kind, obj, status, before, expected):
    found = problems_of_status(kind, obj, status, before)
    assert _same(found, expected), found
