"""Rows of kinds whose cells are fields of the object (`printers/internalversion/printers.go`)."""

import pytest

from tests.apiserver.table.test_printers import META, row

POLICIES, STORAGE = "admissionregistration.k8s.io", "storage.k8s.io"
PARAMETERS = {"apiVersion": "v1", "kind": "ConfigMap"}
SELECTOR = "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}"
VOLUME = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"],
    "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "n", "name": "c"}, "storageClassName": "s",
    "volumeMode": "Block", "volumeAttributesClassName": "v",
}  # fmt: skip
NO_VOLUME = {
    "Capacity": "0", "Access Modes": "", "Reclaim Policy": "", "Status": "", "Claim": "", "StorageClass": "",
    "VolumeAttributesClass": "<unset>", "Reason": "", "VolumeMode": "<unset>",
}  # fmt: skip
CLASS = {
    "Provisioner": "p", "ReclaimPolicy": "Delete", "VolumeBindingMode": "Immediate", "AllowVolumeExpansion": False,
}  # fmt: skip
SUBJECTS = [
    {"kind": "User", "name": "u"}, {"kind": "User", "name": "v"}, {"kind": "Group", "name": "g"},
    {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
]  # fmt: skip


def policy_rows(kind, field, column):
    return [
        (f"{kind}.{POLICIES}", {"spec": {field: [{}, {}], "paramKind": PARAMETERS}}, {column: 2, "ParamKind": "v1/ConfigMap"}),
        (f"{kind}.{POLICIES}", {"spec": {}}, {column: 0, "ParamKind": "<unset>"}),
    ]  # fmt: skip


def binding_rows(kind):
    refs = [
        ({"namespace": "n", "name": "x"}, "n/x"),
        ({"name": "x"}, "*/x"),
        ({"namespace": "n", "selector": {}}, SELECTOR),
        (None, "<unset>"),
    ]
    return [
        (f"{kind}.{POLICIES}", {"spec": {"policyName": "p", "paramRef": ref}}, {"PolicyName": "p", "ParamRef": shown})
        for ref, shown in refs
    ]


def marked(prefix, value):
    return {
        "metadata": {**META, "annotations": {f"{prefix}.kubernetes.io/is-default-class": value}},
        "provisioner": "p",
    }


ROWS = [
    *policy_rows("mutatingadmissionpolicies", "mutations", "Mutations"),
    *policy_rows("validatingadmissionpolicies", "validations", "Validations"),
    *binding_rows("mutatingadmissionpolicybindings"),
    *binding_rows("validatingadmissionpolicybindings"),
    (f"mutatingwebhookconfigurations.{POLICIES}", {"webhooks": [{}, {}]}, {"Webhooks": 2}),
    (f"mutatingwebhookconfigurations.{POLICIES}", {}, {"Webhooks": 0}),
    (f"validatingwebhookconfigurations.{POLICIES}", {"webhooks": [{}]}, {"Webhooks": 1}),
    ("clustertrustbundles.certificates.k8s.io", {"spec": {"signerName": "a/b"}}, {"SignerName": "a/b"}),
    ("clustertrustbundles.certificates.k8s.io", {"spec": {}}, {"SignerName": "<none>"}),
    ("leases.coordination.k8s.io", {"spec": {"holderIdentity": "h"}}, {"Holder": "h"}),
    ("leases.coordination.k8s.io", {"spec": {}}, {"Holder": ""}),
    (
        "componentstatuses", {"conditions": [{"type": "Healthy", "status": "True", "message": "ok", "error": "e"}]},
        {"Status": "Healthy", "Message": "ok", "Error": "e"},
    ),
    (
        "componentstatuses", {"conditions": [{"type": "Healthy", "status": "False"}]},
        {"Status": "Unhealthy", "Message": "", "Error": ""},
    ),
    (
        "componentstatuses", {"conditions": [{"type": "Other", "status": "True"}]},
        {"Status": "Unknown", "Message": "", "Error": ""},
    ),
    ("namespaces", {"status": {"phase": "Active"}}, {"Status": "Active"}),
    (
        "persistentvolumes", {"spec": VOLUME, "status": {"phase": "Bound", "reason": "r"}},
        {"Capacity": "1Gi", "Access Modes": "RWO,ROX,RWX,RWOP", "Reclaim Policy": "Retain", "Status": "Bound",
         "Claim": "n/c", "StorageClass": "s", "VolumeAttributesClass": "v", "Reason": "r", "VolumeMode": "Block"},
    ),
    ("persistentvolumes", {"spec": {}}, NO_VOLUME),
    (
        "persistentvolumes",
        {"metadata": {**META, "deletionTimestamp": "2026-01-01T00:30:00Z"}, "spec": {}, "status": {"phase": "Bound"}},
        {**NO_VOLUME, "Status": "Terminating"},
    ),
    (
        "podtemplates",
        {"template": {"metadata": {"labels": {"c": "d", "a": "b"}},
                      "spec": {"containers": [{"name": "x", "image": "i"}, {"name": "y", "image": "j"}]}}},
        {"Containers": "x,y", "Images": "i,j", "Pod Labels": "a=b,c=d"},
    ),
    ("networkpolicies.networking.k8s.io", {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}, {"Pod-Selector": "a=b"}),
    ("networkpolicies.networking.k8s.io", {"spec": {"podSelector": {}}}, {"Pod-Selector": "<none>"}),
    ("servicecidrs.networking.k8s.io", {"spec": {"cidrs": ["10.0.0.0/8", "fd00::/64"]}}, {"CIDRs": "10.0.0.0/8,fd00::/64"}),
    ("runtimeclasses.node.k8s.io", {"handler": "h"}, {"Handler": "h"}),
    (
        "clusterrolebindings.rbac.authorization.k8s.io",
        {"roleRef": {"kind": "ClusterRole", "name": "r"}, "subjects": SUBJECTS},
        {"Role": "ClusterRole/r", "Users": "u, v", "Groups": "g", "ServiceAccounts": "n/s"},
    ),
    (
        "rolebindings.rbac.authorization.k8s.io", {"roleRef": {"kind": "Role", "name": "r"}},
        {"Role": "Role/r", "Users": "", "Groups": "", "ServiceAccounts": ""},
    ),
    (
        "resourceslices.resource.k8s.io", {"spec": {"nodeName": "n", "driver": "d", "pool": {"name": "p"}}},
        {"Node": "n", "Driver": "d", "Pool": "p"},
    ),
    (
        "priorityclasses.scheduling.k8s.io", {"value": 7, "globalDefault": True, "preemptionPolicy": "Never"},
        {"Value": 7, "Global-Default": True, "PreemptionPolicy": "Never"},
    ),
    (
        "priorityclasses.scheduling.k8s.io", {"value": 0},
        {"Value": 0, "Global-Default": False, "PreemptionPolicy": ""},
    ),
    (
        f"csidrivers.{STORAGE}",
        {"spec": {"attachRequired": False, "podInfoOnMount": True, "storageCapacity": True, "requiresRepublish": True,
                  "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
                  "volumeLifecycleModes": ["Persistent", "Ephemeral"]}},
        {"AttachRequired": False, "PodInfoOnMount": True, "StorageCapacity": True, "TokenRequests": "a,b",
         "RequiresRepublish": True, "Modes": "Persistent,Ephemeral"},
    ),
    (
        f"csidrivers.{STORAGE}", {"spec": {}},
        {"AttachRequired": True, "PodInfoOnMount": False, "StorageCapacity": False, "TokenRequests": "<unset>",
         "RequiresRepublish": False, "Modes": "<none>"},
    ),
    (f"csinodes.{STORAGE}", {"spec": {"drivers": [{}, {}]}}, {"Drivers": 2}),
    (
        f"storageclasses.{STORAGE}",
        {"provisioner": "p", "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer",
         "allowVolumeExpansion": True},
        {"Provisioner": "p", "ReclaimPolicy": "Retain", "VolumeBindingMode": "WaitForFirstConsumer",
         "AllowVolumeExpansion": True},
    ),
    (f"storageclasses.{STORAGE}", {"provisioner": "p"}, CLASS),
    (f"storageclasses.{STORAGE}", marked("storageclass", "true"), {"Name": "a (default)", **CLASS}),
    (f"storageclasses.{STORAGE}", marked("storageclass.beta", "true"), {"Name": "a (default)", **CLASS}),
    (f"storageclasses.{STORAGE}", marked("storageclass", "false"), CLASS),
    (
        f"volumeattachments.{STORAGE}",
        {"spec": {"attacher": "a", "source": {"persistentVolumeName": "pv"}, "nodeName": "n"},
         "status": {"attached": True}},
        {"Attacher": "a", "PV": "pv", "Node": "n", "Attached": True},
    ),
    (
        f"volumeattachments.{STORAGE}", {"spec": {"attacher": "a", "source": {}, "nodeName": "n"}, "status": {}},
        {"Attacher": "a", "PV": "", "Node": "n", "Attached": False},
    ),
    (f"volumeattributesclasses.{STORAGE}", {"driverName": "d"}, {"DriverName": "d"}),
]  # fmt: skip


@pytest.mark.parametrize(("qualified", "obj", "cells"), ROWS)
def test_the_row_of_an_object(qualified, obj, cells):
    assert row(qualified, **{"metadata": META, **obj}) == cells
