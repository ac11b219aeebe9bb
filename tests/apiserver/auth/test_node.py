"""The Node authorizer, and lists of authorization modes."""

import pytest

from fakekube.apiserver.auth.authorizer import parse_modes
from fakekube.apiserver.user import ADMIN, User
from tests.apiserver.api import PODS, Api
from tests.apiserver.bodies import slice_of

PLACE = "/api/v1/namespaces/default"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"

KUBELET = User("system:node:n1", groups=("system:nodes", "system:authenticated"))

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
CONTAINER = {
    "name": "c",
    "image": "i",
    "envFrom": [{"configMapRef": {"name": "environment"}}],
    "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "variable", "key": "k"}}}],
}
SPEC = {
    "serviceAccountName": "worker",
    "imagePullSecrets": [{"name": "registry"}],
    "containers": [CONTAINER],
    "resourceClaims": [{"name": "r", "resourceClaimName": "device"}],
    "volumes": [
        {"name": "a", "secret": {"secretName": "volume"}},
        {"name": "b", "configMap": {"name": "volume"}},
        {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
        {
            "name": "e",
            "projected": {"sources": [{"secret": {"name": "projected"}}, {"configMap": {"name": "projected"}}]},
        },
        {"name": "f", "csi": {"driver": "d.example.com", "nodePublishSecretRef": {"name": "inline"}}},
    ],
}
VOLUME = {
    "metadata": {"name": "volume"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "claimRef": {"namespace": "default", "name": "claim"},
        "csi": {
            "driver": "d.example.com",
            "volumeHandle": "h",
            "nodePublishSecretRef": {"namespace": "default", "name": "published"},
            "controllerPublishSecretRef": {"namespace": "default", "name": "controller"},
        },
    },
}


@pytest.fixture
def api():
    api = Api(authorization_mode="Node,RBAC")
    for name, node in (("mine", "n1"), ("other", "n2")):
        spec = SPEC if name == "mine" else {"containers": [{"name": "c", "image": "i"}]}
        api.ok("POST", PODS, {"metadata": {"name": name}, "spec": {**spec, "nodeName": node}})
        api.ok("POST", SLICES, slice_of(node, name))
        source = {"persistentVolumeName": name}
        api.ok(
            "POST",
            ATTACHMENTS,
            {"metadata": {"name": name}, "spec": {"attacher": "a", "nodeName": node, "source": source}},
        )
    api.ok("POST", "/api/v1/persistentvolumes", VOLUME)
    api.ok(
        "POST",
        f"{PLACE}/persistentvolumeclaims",
        {"metadata": {"name": "claim"}, "spec": {**CLAIM, "volumeName": "volume"}},
    )
    return api


UNRELATED = "no relationship found between node 'n1' and this object"


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        *((f"{PLACE}/secrets/{name}", True) for name in
          ("registry", "variable", "volume", "projected", "inline", "published")),
        *((f"{PLACE}/secrets/{name}", False) for name in ("environment", "controller", "other")),
        *((f"{PLACE}/configmaps/{name}", True) for name in ("environment", "volume", "projected")),
        *((f"{PLACE}/configmaps/{name}", False) for name in ("variable", "other")),
        *((f"{PLACE}/persistentvolumeclaims/{name}", True) for name in ("claim", "mine-d")),
        *((f"{PLACE}/persistentvolumeclaims/{name}", False) for name in ("other", "other-d")),
        ("/api/v1/persistentvolumes/volume", True),
        ("/api/v1/persistentvolumes/other", False),
        (f"{PLACE}/serviceaccounts/worker", True),
        (f"{PLACE}/serviceaccounts/default", False),
        ("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/device", True),
        ("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/other", False),
        (f"{PODS}/mine", True), (f"{PODS}/other", False), (f"{SLICES}/mine", True), (f"{SLICES}/other", False),
        (f"{ATTACHMENTS}/mine", True), (f"{ATTACHMENTS}/other", False),
        ("/api/v1/namespaces/kube-system/secrets/volume", False),
    ],
)  # fmt: skip
def test_a24_what_pods_of_the_node_need_is_allowed(api, path, allowed):
    code, shown = api.call("GET", path, user=KUBELET)
    assert (code in (200, 404)) == allowed
    assert allowed or shown["message"].endswith(f": {UNRELATED}")


@pytest.mark.parametrize(
    ("method", "path", "why"),
    [
        ("PUT", f"{PLACE}/secrets/volume", "can only read resources of this type"),
        ("GET", "/api/v1/secrets", "can only read namespaced object of this type"),
        ("GET", f"{PLACE}/secrets", "No Object name found"),
        ("GET", f"{PLACE}/secrets?fieldSelector=metadata.name%3Dother", UNRELATED),
        ("GET", f"{PLACE}/persistentvolumeclaims", "can only get individual resources of this type"),
        ("GET", "/api/v1/persistentvolumes/volume/status", "cannot get subresource"),
        ("GET", f"{PLACE}/persistentvolumeclaims/claim/status", "can only get/update/patch this type"),
        ("GET", f"{PLACE}/serviceaccounts", "can only create tokens for individual service accounts"),
        ("POST", f"{PLACE}/serviceaccounts/default/token", UNRELATED),
        ("GET", LEASES, "can only get, create, update, patch, or delete a node lease"),
        ("GET", f"{LEASES}/n2", "can only access node lease with the same name as the requesting node"),
        ("GET", LEASES.replace("kube-node-lease", "default") + "/n1",
         'can only access leases in the "kube-node-lease" system namespace'),
        ("GET", CSI_NODES, "can only get, create, update, patch, or delete a CSINode"),
        ("GET", f"{CSI_NODES}/n2", "can only access CSINode with the same name as the requesting node"),
        ("GET", SLICES, "can only list/watch/deletecollection resourceslices with nodeName field selector"),
        ("GET", "/api/v1/nodes", "node 'n1' cannot read all nodes, only its own Node object"),
        ("GET", "/api/v1/nodes/n2", "node 'n1' cannot read 'n2', only its own Node object"),
        ("GET", "/api/v1/pods", "can only list/watch pods with spec.nodeName field selector"),
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2", "can only list/watch pods with spec.nodeName field selector"),
    ],
)  # fmt: skip
def test_a24_the_reasons_of_the_authorizer(api, method, path, why):
    code, shown = api.call(method, path, user=KUBELET)
    assert (code, shown["message"].endswith(f": {why}")) == (403, True), shown["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{PLACE}/secrets?fieldSelector=metadata.name%3Dvolume"),
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"),
        ("GET", f"{SLICES}?fieldSelector=spec.nodeName%3Dn1"),
        ("GET", "/api/v1/nodes/n1"), ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn1"),
        ("GET", f"{LEASES}/n1"), ("GET", f"{CSI_NODES}/n1"), ("GET", "/api/v1/services"),
        ("GET", "/apis/storage.k8s.io/v1/csidrivers"), ("DELETE", f"{PODS}/other"), ("DELETE", f"{SLICES}/mine"),
    ],
)  # fmt: skip
def test_a24_the_reads_and_writes_of_a_kubelet(api, method, path):
    assert api.call(method, path, user=KUBELET)[0] in (200, 404)


@pytest.mark.parametrize(("method", "path"), [("DELETE", "/api/v1/nodes/n1"), ("GET", "/apis/apps/v1/deployments"),
                                              ("PUT", f"{PODS}/mine"), ("GET", f"{PODS}/mine/log")])  # fmt: skip
def test_a24_other_requests_have_no_reason(api, method, path):
    code, shown = api.call(method, path, user=KUBELET)
    assert code == 403
    assert shown["message"].endswith(("at the cluster scope", 'in the namespace "default"'))


def test_a24_a_deleted_pod_takes_its_rights_with_it(api):
    assert api.call("GET", f"{PLACE}/secrets/volume", user=KUBELET)[0] == 404
    api.ok("DELETE", f"{PODS}/mine", {"gracePeriodSeconds": 0})
    assert api.call("GET", f"{PLACE}/secrets/volume", user=KUBELET)[0] == 403


def test_a24_a_mirror_pod_grants_nothing():
    api = Api(authorization_mode="Node,RBAC")
    meta = {"name": "a", "annotations": {"kubernetes.io/config.mirror": "x"}}
    api.ok(
        "POST",
        PODS,
        {"metadata": meta, "spec": {**SPEC, "nodeName": "n1", "serviceAccountName": "", "resourceClaims": []}},
    )
    assert api.call("GET", f"{PLACE}/secrets/volume", user=KUBELET)[0] == 403
    assert api.call("GET", f"{PODS}/a", user=KUBELET)[0] == 200


@pytest.mark.parametrize(
    ("user", "allowed"),
    [
        (KUBELET, True),
        (User("system:node:n1", groups=("system:authenticated",)), False),
        (User("n1", groups=("system:nodes",)), False),
        (User("system:node:", groups=("system:nodes",)), False),
        (User("system:node:n2", groups=("system:nodes",)), False),
    ],
)
def test_who_is_a_kubelet(api, user, allowed):
    assert (api.call("GET", "/api/v1/nodes/n1", user=user)[0] == 404) == allowed


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        ({"verb": "get", "resource": "secrets", "namespace": "default", "name": "volume"}, {"allowed": True}),
        ({"verb": "get", "resource": "secrets", "namespace": "default", "name": "other"}, {"allowed": False, "reason": UNRELATED}),
        ({"verb": "list", "resource": "pods", "fieldSelector": {"rawSelector": "spec.nodeName=n1"}}, {"allowed": True}),
        ({"verb": "list", "resource": "pods", "fieldSelector": {"requirements": [
            {"key": "spec.nodeName", "operator": "In", "values": ["n1"]}]}}, {"allowed": True}),
        ({"verb": "list", "resource": "pods", "fieldSelector": {"requirements": [
            {"key": "spec.nodeName", "operator": "NotIn", "values": ["n1"]}]}},
         {"allowed": False, "reason": "can only list/watch pods with spec.nodeName field selector"}),
        ({"verb": "list", "resource": "pods", "fieldSelector": {"rawSelector": "spec.nodeName"}},
         {"allowed": False, "reason": "can only list/watch pods with spec.nodeName field selector",
          "evaluationError": "spec.resourceAttributes.fieldSelector ignored due to parse error"}),
    ],
)  # fmt: skip
def test_access_reviews_of_a_kubelet(api, attributes, status):
    review = {"spec": {"resourceAttributes": attributes}}
    assert api.ok("POST", REVIEWS, review, user=KUBELET)["status"] == status


def test_the_rules_of_a_kubelet_are_incomplete(api):
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    status = api.ok("POST", path, {"spec": {"namespace": "default"}}, user=KUBELET)["status"]
    assert (status["incomplete"], status["evaluationError"]) == (
        True,
        "node authorizer does not support user rule resolution",
    )


# --- modes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modes", "alice", "kubelet"),
    [
        ("AlwaysAllow", 200, 200), ("AlwaysDeny", 403, 403), ("RBAC", 403, 403), ("Node", 403, 200),
        ("Node,RBAC", 403, 200), ("Node,AlwaysAllow", 200, 200), ("AlwaysDeny,Node", 403, 200),
    ],
)  # fmt: skip
def test_the_first_mode_that_allows_decides(modes, alice, kubelet):
    api = Api(authorization_mode=modes)
    assert api.call("GET", "/api/v1/services", user=User("alice"))[0] == alice
    assert api.call("GET", "/api/v1/services", user=KUBELET)[0] == kubelet
    assert api.call("GET", "/api/v1/services", user=ADMIN)[0] == 200


def test_the_reasons_of_several_modes():
    api = Api(authorization_mode="AlwaysDeny,Node")
    assert api.refused("GET", "/api/v1/nodes", user=KUBELET)[2].endswith(
        "at the cluster scope: Everything is forbidden.\nnode 'n1' cannot read all nodes, only its own Node object"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("No", 'authorization-mode "No" is not a valid mode'),
        ("", 'authorization-mode "" is not a valid mode'),
        ("RBAC,", 'authorization-mode "" is not a valid mode'),
        ("Node,ABAC", 'authorization-mode "ABAC" is not supported by this server'),
        ("RBAC,Node,RBAC", 'authorization-mode "RBAC" is specified more than once'),
    ],
)
def test_invalid_modes(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_modes(text)
