"""The Node authorizer by resource, verb and subresource: decisions without a server."""

from types import SimpleNamespace

import pytest

from fakekube.apiserver.auth.node import authorize, node_of
from fakekube.apiserver.auth.rbac import ALLOWED, DENIED, Decision
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.apiserver.wire.selectors import FieldTerm

KUBELET = User("system:node:n1", groups=("system:nodes",))
UNRELATED = "no relationship found between node 'n1' and this object"


class Store:
    """The objects of a cluster by collection and path."""

    def __init__(self, **objects):
        self.objects = {name.replace("_", ".", 9): found for name, found in objects.items()}

    def get(self, collection, path):
        obj = self.objects.get(collection, {}).get(path)
        return None if obj is None else SimpleNamespace(object=obj)

    def collection(self, name):
        found = [(path, SimpleNamespace(object=obj)) for path, obj in self.objects.get(name, {}).items()]
        return SimpleNamespace(scan=lambda prefix, *_: [one for one in found if one[0].startswith(prefix)])


def on(node, **spec):
    return {"metadata": {"name": "x"}, "spec": {"nodeName": node, **spec}}


MOUNTED = [
    {"name": "a", "secret": {"secretName": "mounted"}},
    {"name": "b", "persistentVolumeClaim": {"claimName": "claim"}},
]
PUBLISHED = {"csi": {"nodePublishSecretRef": {"namespace": "d", "name": "published"}}}
STORE = Store(
    pods={"d/mine": on("n1", serviceAccountName="worker", volumes=MOUNTED), "d/other": on("n2")},
    volumeattachments_storage_k8s_io={"mine": on("n1"), "other": on("n2"), "none": {"metadata": {}}},
    resourceslices_resource_k8s_io={"mine": on("n1"), "other": on("n2")},
    persistentvolumes={
        "bound": {"spec": {"claimRef": {"namespace": "d", "name": "claim"}, **PUBLISHED}},
        "elsewhere": {"spec": {"claimRef": {"namespace": "e", "name": "claim"}}},
        "free": {"spec": {}},
    },
)


def asked(verb, what, name="", namespace="", *, selects="", user=KUBELET, rules=()):
    """The decision for a request: `what` is a resource with its subresource and its group, as `pods/status` or `leases.x`."""
    plain, _, subresource = what.partition("/")
    resource, _, group = plain.partition(".")
    terms = (FieldTerm("spec.nodeName", equal=True, value=selects),) if selects else ()
    info = RequestInfo(verb, "/x", True, group, "v1", namespace, resource, name, subresource, field_terms=terms)
    return authorize(rules, STORE, user, info)


SLICES, LEASES, CSI = "resourceslices.resource.k8s.io", "leases.coordination.k8s.io", "csinodes.storage.k8s.io"
ATTACHMENTS, CLAIMS = "volumeattachments.storage.k8s.io", "persistentvolumeclaims"
READ_ONLY, GET_ONLY = "can only read resources of this type", "can only get individual resources of this type"
NO_SLICE = "can only list/watch/deletecollection resourceslices with nodeName field selector"
LEASE_VERBS = "can only get, create, update, patch, or delete a node lease"
LEASE_NAME = "can only access node lease with the same name as the requesting node"
TOKENS = "can only create tokens for individual service accounts"


@pytest.mark.parametrize(
    ("request_of", "why"),
    [
        # secrets and config maps
        (("get", "secrets", "mounted", "d"), None),
        (("list", "secrets", "mounted", "d"), None),
        (("watch", "secrets", "mounted", "d"), None),
        (("get", "secrets", "mounted", "e"), UNRELATED),
        (("get", "secrets", "published", "d"), None),
        (("get", "secrets", "published", "e"), UNRELATED),
        (("get", "secrets", "other", "d"), UNRELATED),
        (("update", "secrets", "mounted", "d"), READ_ONLY),
        (("get", "secrets/status", "mounted", "d"), "cannot read subresource"),
        (("list", "secrets"), "can only read namespaced object of this type"),
        (("list", "secrets", "", "d"), "No Object name found"),
        (("get", "configmaps", "mounted", "d"), UNRELATED),
        # claims and volumes
        (("get", CLAIMS, "claim", "d"), None),
        (("list", CLAIMS, "claim", "d"), GET_ONLY),
        (("update", f"{CLAIMS}/status", "claim", "d"), None),
        (("patch", f"{CLAIMS}/status", "claim", "d"), None),
        (("patch", f"{CLAIMS}/status", "other", "d"), UNRELATED),
        (("get", f"{CLAIMS}/status", "claim", "d"), "can only get/update/patch this type"),
        (("get", f"{CLAIMS}/other", "claim", "d"), "cannot get subresource"),
        (("get", "persistentvolumes", "bound"), None),
        (("get", "persistentvolumes", "elsewhere"), UNRELATED),
        (("get", "persistentvolumes", "free"), UNRELATED),
        (("get", "persistentvolumes", "unknown"), UNRELATED),
        (("get", "persistentvolumes/status", "bound"), "cannot get subresource"),
        (("watch", "persistentvolumes"), GET_ONLY),
        (("get", ATTACHMENTS, "mine"), None),
        (("get", ATTACHMENTS, "other"), UNRELATED),
        (("get", ATTACHMENTS, "none"), UNRELATED),
        # service accounts
        (("get", "serviceaccounts", "worker", "d"), None),
        (("get", "serviceaccounts", "default", "d"), UNRELATED),
        (("create", "serviceaccounts/token", "worker", "d"), None),
        (("create", "serviceaccounts/token", "default", "d"), UNRELATED),
        (("create", "serviceaccounts/other", "worker", "d"), "can only create token subresource of serviceaccount"),
        (("create", "serviceaccounts/token", "", "d"), TOKENS),
        (("update", "serviceaccounts/token", "worker", "d"), TOKENS),
        (("get", "serviceaccounts/token", "worker", "d"), TOKENS),
        # objects with the name of the node
        *(((verb, LEASES, "n1", "kube-node-lease"), None) for verb in ("get", "update", "patch", "delete")),
        (("create", LEASES, "", "kube-node-lease"), None),
        (("get", f"{LEASES}/x", "n1", "kube-node-lease"), None),
        (("get", LEASES, "n2", "kube-node-lease"), LEASE_NAME),
        (("list", LEASES, "", "kube-node-lease"), LEASE_VERBS),
        (("get", LEASES, "n1", "d"), 'can only access leases in the "kube-node-lease" system namespace'),
        (("get", CSI, "n1"), None),
        (("create", CSI, ""), None),
        (("delete", CSI, "n2"), "can only access CSINode with the same name as the requesting node"),
        (("get", f"{CSI}/x", "n1"), "cannot authorize CSINode subresources"),
        (("watch", CSI, "n1"), "can only get, create, update, patch, or delete a CSINode"),
        # slices
        (("create", SLICES), None),
        *(((verb, SLICES, "mine"), None) for verb in ("get", "update", "patch", "delete")),
        *(((verb, SLICES, "other"), UNRELATED) for verb in ("get", "update", "patch", "delete")),
        *(((verb, SLICES), NO_SLICE) for verb in ("list", "watch", "deletecollection")),
        (("get", f"{SLICES}/x", "mine"), "cannot authorize ResourceSlice subresources"),
        (("other", SLICES, "mine"), "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, "
         "patch, delete, deletecollection"),
        # nodes
        *(((verb, "nodes", "n2"), None) for verb in ("create", "update", "patch")),
        *(((verb, "nodes", "n1"), None) for verb in ("get", "list", "watch")),
        (("get", "nodes", "n2"), "node 'n1' cannot read 'n2', only its own Node object"),
        (("list", "nodes"), "node 'n1' cannot read all nodes, only its own Node object"),
        (("delete", "nodes", "n1"), ""),
        (("update", "nodes/status", "n1"), None),
        (("patch", "nodes/status", "n1"), None),
        (("get", "nodes/status", "n1"), ""),
        (("get", "nodes/proxy", "n1"), ""),
        # pods
        (("create", "pods", "", "d"), None),
        (("delete", "pods", "other", "d"), None),
        (("update", "pods/status", "other", "d"), None),
        (("patch", "pods/status", "other", "d"), None),
        (("create", "pods/eviction", "other", "d"), None),
        (("update", "pods", "mine", "d"), ""),
        (("patch", "pods/eviction", "mine", "d"), ""),
        (("get", "pods/log", "mine", "d"), ""),
        (("get", "pods", "mine", "d"), None),
        (("get", "pods", "other", "d"), UNRELATED),
        (("get", "pods", "mine", "e"), UNRELATED),
        (("watch", "pods", "mine", "d"), None),
        (("watch", "pods", "other", "d"), UNRELATED),
        (("list", "pods", "", "d"), "can only list/watch pods with spec.nodeName field selector"),
        # others
        (("get", "podcertificaterequests.certificates.k8s.io", "a", "d"), ""),
        (("get", "services", "a", "d"), ""),
    ],
)  # fmt: skip
def test_a_kubelet_may_read_and_write_what_its_node_needs(request_of, why):
    assert asked(*request_of) == (ALLOWED if why is None else Decision(False, why) if why else DENIED)


@pytest.mark.parametrize("verb", ["list", "watch", "deletecollection"])
def test_slices_of_the_node_may_be_selected(verb):
    assert asked(verb, SLICES, selects="n1") == ALLOWED
    assert asked(verb, SLICES, selects="n2") == Decision(False, NO_SLICE)


@pytest.mark.parametrize(("selects", "allowed"), [("n1", True), ("n2", False)])
def test_pods_of_the_node_may_be_selected(selects, allowed):
    for verb in ("list", "watch"):
        assert asked(verb, "pods", selects=selects).allowed is allowed


def test_rules_apply_to_other_resources():
    rule = {"apiGroups": [""], "resources": ["services"], "verbs": ["get"]}
    assert asked("get", "services", "a", "d", rules=[rule]) == ALLOWED
    assert asked("list", "services", "a", "d", rules=[rule]) == DENIED
    assert asked("get", "pods", "other", "d", rules=[{**rule, "resources": ["pods"]}]) == Decision(False, UNRELATED)


@pytest.mark.parametrize(
    ("user", "node"),
    [
        (KUBELET, "n1"),
        (User("system:node:", groups=("system:nodes",)), ""),
        (User("system:node:n1", groups=("other",)), None),
        (User("n1", groups=("system:nodes",)), None),
    ],
)
def test_the_node_of_a_user(user, node):
    assert node_of(user) == node
    found = asked("get", "nodes", "n1", user=user)
    if node is None:
        assert found == DENIED
    elif not node:
        assert found == Decision(False, 'unknown node for user "system:node:"')
    else:
        assert found == ALLOWED
