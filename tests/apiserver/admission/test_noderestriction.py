"""The admission plugin NodeRestriction: kubelets write their own node and its pods."""

import pytest

from fakekube.apiserver.user import User
from tests.apiserver.api import PODS, Api
from tests.apiserver.bodies import slice_of
from tests.apiserver.certificates import encoded, pem, request

PLACE = "/api/v1/namespaces/default"
NODES = "/api/v1/nodes"
CLAIMS = f"{PLACE}/persistentvolumeclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
TOKEN = f"{PLACE}/serviceaccounts/worker/token"

KUBELET = User("system:node:n1", groups=("system:nodes", "system:authenticated"))

MERGE = {"content_type": "application/merge-patch+json", "user": KUBELET}
MIRROR = {"kubernetes.io/config.mirror": "x"}
CONTAINERS = [{"name": "c", "image": "i"}]
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.fixture
def api():
    api = Api(enable_admission_plugins=["NodeRestriction"])
    api.uids = {}
    for node in ("n1", "n2"):
        api.uids[node] = api.ok("POST", NODES, {"metadata": {"name": node}})["metadata"]["uid"]
        volumes = [
            {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "vault"}}]}},
            {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
        ]
        spec = {"nodeName": node, "serviceAccountName": "worker", "containers": CONTAINERS, "volumes": volumes}
        api.uids[f"on-{node}"] = api.ok("POST", PODS, {"metadata": {"name": f"on-{node}"}, "spec": spec})["metadata"][
            "uid"
        ]
        api.ok("POST", SLICES, slice_of(node, node))
    api.ok("POST", f"{PLACE}/serviceaccounts", {"metadata": {"name": "worker"}})
    api.ok("POST", CLAIMS, {"metadata": {"name": "claim"}, "spec": {**CLAIM, "volumeName": "volume"}})
    source = {"csi": {"driver": "d.example.com", "volumeHandle": "h"}, "accessModes": ["ReadWriteOnce"]}
    api.ok(
        "POST",
        "/api/v1/persistentvolumes",
        {"metadata": {"name": "volume"}, "spec": {**source, "capacity": {"storage": "1Gi"}}},
    )
    tokens = {"tokenRequests": [{"audience": "driver"}]}
    api.ok("POST", "/apis/storage.k8s.io/v1/csidrivers", {"metadata": {"name": "d.example.com"}, "spec": tokens})
    return api


def refused(api, method, path, body=b"", **how):
    """The reason of a 403 after `is forbidden:`."""
    code, _, message = api.refused(method, path, body, user=KUBELET, **how)
    assert code == 403, message
    return message.partition("is forbidden: ")[2]


def own(**changes):
    return {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "UID", "controller": True, **changes}


def mirror(api, owners=None, annotations=MIRROR, **spec):
    owners = [own()] if owners is None else owners
    owners = [{**one, "uid": one["uid"].replace("UID", api.uids["n1"])} for one in owners]
    meta = {"name": "m", "annotations": annotations, "ownerReferences": owners}
    return {"metadata": meta, "spec": {"nodeName": "n1", "containers": CONTAINERS, **spec}}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"annotations": {}}, 'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods'),
        ({"nodeName": "n2"}, 'node "n1" can only create pods with spec.nodeName set to itself'),
        ({"owners": []}, 'node "n1" can only create pods with an owner reference set to itself'),
        ({"owners": [own(controller=False), own(name="n2")]},
         'node "n1" can only create pods with a single owner reference set to itself'),
        ({"owners": [own(name="n2")]}, 'node "n1" can only create pods with an owner reference set to itself'),
        ({"owners": [own(kind="Pod")]}, 'node "n1" can only create pods with an owner reference set to itself'),
        ({"owners": [own(controller=False)]}, 'node "n1" can only create pods with a controller owner reference set to itself'),
        ({"owners": [own(blockOwnerDeletion=True)]}, 'node "n1" must not set blockOwnerDeletion on an owner reference'),
        ({"owners": [own(uid="other")]}, "node n1 UID mismatch: expected other got UID"),
        ({"serviceAccountName": "worker"}, 'node "n1" can not create pods that reference serviceaccounts'),
        ({"imagePullSecrets": [{"name": "s"}]}, 'node "n1" can not create pods that reference secrets'),
        ({"volumes": [{"name": "v", "configMap": {"name": "a"}}]}, 'node "n1" can not create pods that reference configmaps'),
        ({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "a"}}]},
         'node "n1" can not create pods that reference persistentvolumeclaims'),
        ({"volumes": [{"name": "v", "csi": {"driver": "a"}}]},
         'node "n1" can not create pods that reference csidrivers (via CSI volumes)'),
        ({"resourceClaims": [{"name": "a", "resourceClaimName": "b"}]}, 'node "n1" can not create pods that reference resourceclaims'),
    ],
)  # fmt: skip
def test_mirror_pods_that_are_refused(api, changes, why):
    assert refused(api, "POST", PODS, mirror(api, **changes)) == why.replace("UID", api.uids["n1"]).replace(
        f"{api.uids['n1']} mismatch", "UID mismatch"
    )


def test_a_mirror_pod_is_created_and_deleted(api):
    api.ok("POST", PODS, mirror(api, volumes=[{"name": "v", "hostPath": {"path": "/x"}}]), user=KUBELET)
    api.ok("DELETE", f"{PODS}/m", {"gracePeriodSeconds": 0}, user=KUBELET)


@pytest.mark.parametrize(
    ("method", "path", "body", "why"),
    [
        ("DELETE", f"{PODS}/on-n2", b"", 'node "n1" can only delete pods with spec.nodeName set to itself'),
        ("POST", f"{PODS}/on-n2/eviction", {"metadata": {"name": "on-n2"}}, "node n1 can only evict pods with spec.nodeName set to itself"),
        ("POST", f"{PODS}/on-n1/binding", {"metadata": {"name": "on-n1"}, "target": {"name": "n1"}},
         "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed"),
        ("POST", NODES, {"metadata": {"name": "n3"}}, 'node "n1" is not allowed to modify node "n3"'),
        ("DELETE", f"{NODES}/n2", b"", 'node "n1" is not allowed to modify node "n2"'),
        ("DELETE", f"{CLAIMS}/claim", b"", "may only update PVC status"),
        ("POST", CLAIMS, {"metadata": {"name": "a"}, "spec": CLAIM}, "may only update PVC status"),
        ("POST", LEASES.format("default"), {"metadata": {"name": "n1"}}, 'can only access leases in the "kube-node-lease" system namespace'),
        ("POST", LEASES.format("kube-node-lease"), {"metadata": {"name": "n2"}},
         "can only access node lease with the same name as the requesting node"),
        ("POST", CSI_NODES, {"metadata": {"name": "n2"}, "spec": {"drivers": []}},
         "can only access CSINode with the same name as the requesting node"),
        ("POST", SLICES, slice_of("n2", "a"), "can only create ResourceSlice with the same NodeName as the requesting node"),
        ("DELETE", f"{SLICES}/n2", b"", "can only delete ResourceSlice with the same NodeName as the requesting node"),
    ],
)  # fmt: skip
def test_writes_that_are_refused(api, method, path, body, why):
    assert refused(api, method, path, body) == why


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("DELETE", f"{PODS}/on-n1", b""),
        ("POST", f"{PODS}/on-n1/eviction", {"metadata": {"name": "on-n1"}}),
        ("POST", LEASES.format("kube-node-lease"), {"metadata": {"name": "n1"}}),
        ("POST", CSI_NODES, {"metadata": {"name": "n1"}, "spec": {"drivers": []}}),
        ("DELETE", f"{SLICES}/n1", b""),
        ("DELETE", f"{PLACE}/serviceaccounts/worker", b""),
        ("POST", f"{PLACE}/configmaps", {"metadata": {"name": "a"}}),
    ],
)
def test_writes_that_are_allowed(api, method, path, body):
    api.ok(method, path, body, user=KUBELET)


@pytest.mark.parametrize(
    ("collection", "name", "why"),
    [
        (LEASES.format("kube-node-lease"), "n1", None),
        (
            LEASES.format("kube-node-lease"),
            "n2",
            "can only access node lease with the same name as the requesting node",
        ),
        (LEASES.format("default"), "n1", 'can only access leases in the "kube-node-lease" system namespace'),
        (CSI_NODES, "n1", None),
        (CSI_NODES, "n2", "can only access CSINode with the same name as the requesting node"),
    ],
)
def test_objects_with_the_name_of_a_node_are_deleted_by_its_kubelet(api, collection, name, why):
    api.ok(
        "POST",
        collection,
        {"metadata": {"name": name}, **({"spec": {"drivers": []}} if collection == CSI_NODES else {})},
    )
    if why is None:
        api.ok("DELETE", f"{collection}/{name}", user=KUBELET)
    else:
        assert refused(api, "DELETE", f"{collection}/{name}") == why


def test_pods_that_do_not_exist(api):
    found = api.refused("POST", f"{PODS}/none/eviction", {"metadata": {"name": "none"}}, user=KUBELET)
    assert found[::2] == (404, 'pod "none" not found')


@pytest.mark.parametrize(
    ("path", "change", "why"),
    [
        (f"{PODS}/on-n1/status", {"status": {"phase": "Running"}}, ""),
        (f"{PODS}/on-n2/status", {"status": {"phase": "Running"}},
         'node "n1" can only update pod status for pods with spec.nodeName set to itself'),
        (f"{PODS}/on-n1/status", {"metadata": {"labels": {"a": "b"}}}, 'node "n1" cannot update labels through pod status'),
        (f"{PODS}/on-n1/status", {"status": {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": "b"}]}},
         'node "n1" cannot update resource claim statues'),
        (f"{PODS}/on-n1", {"metadata": {"labels": {"a": "b"}}},
         'unexpected operation "UPDATE", node "n1" can only create and delete mirror pods'),
        (f"{CLAIMS}/claim/status", {"status": {"capacity": {"storage": "2Gi"}}}, ""),
        (f"{CLAIMS}/claim", {"metadata": {"labels": {"a": "b"}}}, "may only update PVC status"),
        (f"{CLAIMS}/claim/status", {"status": {"phase": "Lost"}},
         'node "n1" is not allowed to update fields other than status.quantity and status.conditions'),
        (f"{NODES}/n1/status", {"status": {"phase": "Running"}}, ""),
        (f"{NODES}/n2/status", {"status": {"phase": "Running"}}, 'node "n1" is not allowed to modify node "n2"'),
        (f"{NODES}/n1", {"spec": {"unschedulable": True}}, ""),
        (f"{NODES}/n1", {"spec": {"taints": None}}, 'node "n1" is not allowed to modify taints'),
        (f"{NODES}/n1", {"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u"}]}},
         'node "n1" is not allowed to modify ownerReferences'),
        *((f"{NODES}/n1", {"metadata": {"labels": {label: "1"}}}, "") for label in
          ("a", "kubernetes.io/hostname", "foo.node.kubernetes.io/a", "kubelet.kubernetes.io/a")),
        *((f"{NODES}/n1", {"metadata": {"labels": {label: "1"}}}, f"is not allowed to modify labels: {label}") for label in
          ("kubernetes.io/a", "a.k8s.io/b", "node-restriction.kubernetes.io/a", "a.node-restriction.kubernetes.io/b")),
    ],
)  # fmt: skip
def test_updates(api, path, change, why):
    code, shown = api.call("PATCH", path, change, **MERGE)
    assert (code, shown.get("message", "").partition("is forbidden: ")[2]) == (403 if why else 200, why)


def test_the_labels_of_a_new_node():
    api = Api(enable_admission_plugins=["NodeRestriction"])
    labels = {"x.k8s.io/b": "1", "kubernetes.io/a": "1", "kubernetes.io/arch": "1"}
    assert refused(api, "POST", NODES, {"metadata": {"name": "n1", "labels": labels}}) == (
        'node "n1" is not allowed to set the following labels: kubernetes.io/a, x.k8s.io/b'
    )
    del labels["x.k8s.io/b"], labels["kubernetes.io/a"]
    api.ok("POST", NODES, {"metadata": {"name": "n1", "labels": labels}}, user=KUBELET)


KUBELETS_OWN = [
    "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type", "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
    "kubelet.kubernetes.io/a", "a.kubelet.kubernetes.io/b", "node.kubernetes.io/a", "a.node.kubernetes.io/b",
]  # fmt: skip
OTHERS = [
    "kubernetes.io/role", "k8s.io/a", "a.b.k8s.io/c", "beta.kubernetes.io/a", "topology.kubernetes.io/rack",
    "node-role.kubernetes.io/master", "node-restriction.kubernetes.io/a", "xnode.kubernetes.io/a",
]  # fmt: skip
FREE = ["role", "kubernetes.io", "example.com/a", "mykubernetes.io/a", "kubernetes.io.example.com/a", "k8s.iox/a"]


def test_the_labels_that_a_kubelet_may_give_its_node():
    """`IsKubeletLabel` of k8s.io/kubelet, and the namespaces of `admission.go`."""
    api = Api(enable_admission_plugins=["NodeRestriction"])
    labels = dict.fromkeys([*KUBELETS_OWN, *OTHERS, *FREE], "1")
    assert refused(api, "POST", NODES, {"metadata": {"name": "n1", "labels": labels}}) == (
        f'node "n1" is not allowed to set the following labels: {", ".join(sorted(OTHERS))}'
    )


def test_a_kubelet_does_not_configure_its_node_dynamically(api):
    source = {"configSource": {"configMap": {"name": "a", "namespace": "b", "kubeletConfigKey": "c"}}}
    assert refused(api, "PATCH", f"{NODES}/n1", {"spec": source}, content_type=MERGE["content_type"]) == (
        'node "n1" is not allowed to update configSource to a new non-nil configSource'
    )
    api.ok("DELETE", f"{NODES}/n1")
    assert refused(api, "POST", NODES, {"metadata": {"name": "n1"}, "spec": source}) == (
        'node "n1" is not allowed to create pods with a non-nil configSource'
    )


def test_the_objects_that_a_write_refers_to_must_exist(api):
    spec = {"boundObjectRef": bound(api, "gone")}
    found = api.refused("POST", TOKEN, {"spec": spec}, user=KUBELET)
    assert found[::2] == (404, 'pod "gone" not found')
    body = mirror(api)
    api.ok("DELETE", f"{NODES}/n1")
    assert api.refused("POST", PODS, body, user=KUBELET)[::2] == (404, 'node "n1" not found')


def bound(api, pod="on-n1", uid="", **changes):
    return {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid or api.uids.get(pod, "u"), **changes}


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda api: {}, "node requested token not bound to a pod"),
        (lambda api: {"boundObjectRef": bound(api, kind="Secret")}, "node requested token not bound to a pod"),
        (lambda api: {"boundObjectRef": {**bound(api), "uid": ""}}, "node requested token with a pod binding without a uid"),
        (lambda api: {"boundObjectRef": bound(api, uid="u")},
         "the UID in the bound object reference (u) does not match the UID in record. The object might have been deleted and "
         "then recreated"),
        (lambda api: {"boundObjectRef": bound(api, "on-n2")}, "node requested token bound to a pod scheduled on a different node"),
        (lambda api: {"boundObjectRef": bound(api), "audiences": ["vault", "driver"]}, "node may only request 0 or 1 audiences"),
    ],
)  # fmt: skip
def test_tokens_that_are_refused(api, make, why):
    assert refused(api, "POST", TOKEN, {"spec": make(api)}) == why


@pytest.mark.parametrize(("audience", "allowed"), [("vault", True), ("driver", True), ("other", False), ("", False)])
def test_the_audience_of_a_token_is_that_of_a_volume(api, audience, allowed):
    api.apiserver.authorizer = Api(authorization_mode="Node").apiserver.authorizer
    spec = {"boundObjectRef": bound(api), "audiences": [audience] if audience else []}
    if allowed:
        api.ok("POST", TOKEN, {"spec": spec}, user=KUBELET)
        return
    assert refused(api, "POST", TOKEN, {"spec": spec}) == (
        f'audience "{audience}" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience'
    )


def test_a_volume_that_cannot_be_looked_up(api):
    api.ok("DELETE", "/apis/storage.k8s.io/v1/csidrivers/d.example.com")
    spec = {"boundObjectRef": bound(api), "audiences": ["other"]}
    assert refused(api, "POST", TOKEN, {"spec": spec}) == (
        'error validating audience "other": csidriver.storage.k8s.io "d.example.com" not found'
    )


@pytest.mark.parametrize(
    ("signer", "text", "why"),
    [
        ("kubernetes.io/kubelet-serving", request("system:node:n1", ("system:nodes",)), ""),
        (
            "kubernetes.io/kubelet-serving",
            request("system:node:n2"),
            "can only create a node CSR with CN=system:node:n1",
        ),
        (
            "kubernetes.io/kube-apiserver-client-kubelet",
            request(""),
            "can only create a node CSR with CN=system:node:n1",
        ),
        (
            "kubernetes.io/kubelet-serving",
            encoded(pem(b"")),
            "unable to parse csr: asn1: syntax error: sequence truncated",
        ),
        ("example.com/other", request("jane"), ""),
    ],
)
def test_certificate_requests_of_a_kubelet(api, signer, text, why):
    body = {"metadata": {"name": "r"}, "spec": {"request": text, "signerName": signer, "usages": ["digital signature"]}}
    code, shown = api.call("POST", REQUESTS, body, user=KUBELET)
    assert (code, shown.get("message", "").partition("is forbidden: ")[2]) == (403 if why else 201, why)


def test_a_kubelet_without_a_node_is_refused(api):
    unnamed = User("system:node:", groups=("system:nodes",))
    found = api.refused("DELETE", f"{PODS}/on-n1", user=unnamed)
    assert found[2].endswith('could not determine node from user "system:node:"')


def test_other_users_are_not_restricted(api):
    other = User("jane", groups=("system:nodes",))
    api.ok("DELETE", f"{PODS}/on-n2", user=other)
    assert Api().ok("POST", NODES, {"metadata": {"name": "n3"}}, user=KUBELET)
