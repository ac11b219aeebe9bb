"""Controllers sleep until an object concerns them, and then do what those do that have run from the start."""

import pytest

from fakekube import FakeKube
from fakekube.controllers.catalogue import CONTROLLERS
from fakekube.controllers.controllermanager import controller_manager
from fakekube.controllers.dormancy import COLLECTOR, CONCERNS, Alarm, Dependents
from fakekube.controllers.settings import Settings

#: The controllers that have something to do in a new cluster, and those of which dormancy.py says why they never sleep.
AWAKE = {
    "pod-garbage-collector-controller", "serviceaccount-controller", "persistentvolume-attach-detach-controller",
    "root-ca-certificate-publisher-controller", "legacy-serviceaccount-token-cleaner-controller",
    "service-cidr-controller", "kube-scheduler", "kubelet", "kubelet-node", "endpoints-controller",
    "certificatesigningrequest-cleaner-controller", "node-lifecycle-controller", "persistentvolume-binder-controller",
    "external-provisioner",
}  # fmt: skip


def meta(name="a", namespace="default", **more):
    return {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", **more}}


def owned(*uids, **more):
    references = [{"apiVersion": "v1", "kind": "ConfigMap", "name": uid, "uid": f"uid-{uid}"} for uid in uids]
    return meta("child", ownerReferences=references, **more)


def alarm(*owners):
    known = {one["metadata"]["name"]: one for one in owners}
    return Alarm(Dependents(lambda reference, namespace: known.get(reference.get("name"))))


def test_each_controller_sleeps_or_has_a_reason_not_to():
    names = [one.name for one in CONTROLLERS if one.module]
    settings = Settings("a certificate", str, (b"a certificate", b"a key"), nodes=[])
    made = controller_manager(names, lambda user: None, settings, alarm=alarm()).manager
    assert {name for name in made.controllers if not made.alarm.is_asleep(name)} == AWAKE
    assert set(made.controllers) - AWAKE == {COLLECTOR, *CONCERNS}


@pytest.mark.parametrize(
    ("name", "collection", "obj", "wakes"),
    [
        ("deployment-controller", "deployments.apps", meta(), True),
        ("deployment-controller", "replicasets.apps", meta(), False),
        ("endpointslice-controller", "services", meta(), True),
        ("endpointslice-controller", "services", meta("kubernetes"), False),
        ("endpointslice-controller", "services", meta("kubernetes", "other"), True),
        ("endpointslice-controller", "endpointslices.discovery.k8s.io", meta("kubernetes"), False),
        ("endpointslice-mirroring-controller", "endpoints", meta("a"), True),
        ("endpointslice-mirroring-controller", "services", meta("a"), False),
        ("namespace-controller", "namespaces", meta(), False),
        ("namespace-controller", "namespaces", meta(deletionTimestamp="2026-01-01T00:00:00Z"), True),
        ("job-controller-orphan-pods", "pods", meta(), False),
        ("job-controller-orphan-pods", "pods", meta(finalizers=["batch.kubernetes.io/job-tracking"]), True),
        ("disruption-controller-stale-pods", "pods", meta() | {"status": {"conditions": [{"type": "Ready"}]}}, False),
        ("disruption-controller-stale-pods", "pods",
         meta() | {"status": {"conditions": [{"type": "DisruptionTarget"}]}}, True),
        ("ephemeral-volume-controller", "pods", meta() | {"spec": {"volumes": [{"emptyDir": {}}]}}, False),
        ("ephemeral-volume-controller", "pods", meta() | {"spec": {"volumes": [{"ephemeral": {}}]}}, True),
        ("resourceclaim-controller", "pods", meta() | {"spec": {}}, False),
        ("resourceclaim-controller", "pods", meta() | {"spec": None}, False),
        ("resourceclaim-controller", "pods", meta() | {"spec": {"resourceClaims": [{"name": "a"}]}}, True),
        ("clusterrole-aggregation-controller", "clusterroles.rbac.authorization.k8s.io",
         meta(labels={"kubernetes.io/bootstrapping": "rbac-defaults"}), False),
        ("clusterrole-aggregation-controller", "clusterroles.rbac.authorization.k8s.io",
         meta(labels={"kubernetes.io/bootstrapping": "rbac-defaults"}) | {"aggregationRule": {"a": []}}, True),
        ("clusterrole-aggregation-controller", "clusterroles.rbac.authorization.k8s.io", meta(), True),
    ],
)  # fmt: skip
def test_which_objects_wake_a_controller(name, collection, obj, wakes):
    ringing = alarm()
    woken, other = ringing.sleep(name), ringing.sleep("cronjob-controller")
    ringing.look(collection, meta() | {"spec": {}} | obj)
    assert (woken.is_set(), ringing.is_asleep(name)) == (wakes, not wakes)
    assert not other.is_set()


def test_a_controller_is_woken_once():
    ringing = alarm()
    woken = ringing.sleep("deployment-controller")
    assert ringing.wake("deployment-controller")
    assert woken.is_set()
    assert not ringing.wake("deployment-controller")
    ringing.look("deployments.apps", meta())


ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("owners", "shown", "wakes"),
    [
        ([], [(meta(), False)], False),
        ([meta("a")], [(owned("a"), False)], False),
        ([], [(owned("a"), False)], True),
        ([meta("a", **ENDING)], [(owned("a"), False)], True),
        ([meta("a", uid="another")], [(owned("a"), False)], True),
        ([meta("a")], [(owned("a", "b"), False)], True),
        ([meta("a")], [(owned("a"), False), (meta("a"), True)], True),
        ([meta("a")], [(owned("a"), False), (meta("a", **ENDING), False)], True),
        ([meta("a")], [(owned("a"), False), (meta("b"), True)], False),
        ([meta("a")], [(owned("a"), False), (owned("a"), True)], False),
        ([], [(owned("a"), True)], False),
        ([], [(meta(ownerReferences=[{}]), False)], True),
        ([], [(meta("a"), True)], False),
        ([], [(meta("a", finalizers=["orphan"]), False)], False),
        ([], [(meta("a", finalizers=["orphan"], **ENDING), False)], True),
        ([], [(meta("a", finalizers=["foregroundDeletion"], **ENDING), False)], True),
        ([], [(meta("a", finalizers=["other"], **ENDING), False)], False),
    ],
)
def test_when_there_is_something_to_collect(owners, shown, wakes):
    ringing = alarm(*owners)
    woken = ringing.sleep(COLLECTOR)
    for obj, is_gone in shown:
        assert not woken.is_set()
        ringing.look("configmaps", obj, is_gone=is_gone)
    assert woken.is_set() == wakes


DEPLOYMENT = {
    "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {
        "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}},
}  # fmt: skip


@pytest.mark.fakekube(controllers=["*"])
def test_a_controller_that_nothing_concerns_makes_no_request(fakekube):
    fakekube.create(DEPLOYMENT)
    fakekube.settle()
    assert len(fakekube.list("v1", "Pod")) == 1
    asked = {one.resource for one in fakekube.requests(verb="list")}
    assert {"deployments", "replicasets", "pods"} <= asked
    assert not asked & {"daemonsets", "statefulsets", "jobs", "cronjobs", "resourcequotas", "events"}


@pytest.mark.fakekube(controllers=["*"])
def test_endpoints_that_were_made_by_hand_are_no_leftovers(fakekube):
    made = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "a"}}
    fakekube.create(made | {"subsets": [{"addresses": [{"ip": "192.0.2.7"}], "ports": [{"port": 80}]}]})
    service = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80}]}}
    fakekube.create(service | {"metadata": {"name": "a"}})
    fakekube.create({**service, "metadata": {"name": "b"}, "spec": {**service["spec"], "selector": {"app": "b"}}})
    fakekube.advance(hours=1)
    assert fakekube.get("v1", "Endpoints", "a")["subsets"]


@pytest.mark.fakekube(controllers=["*"], nodes=1)
def test_the_default_storage_class_is_there_before_the_first_claim(fakekube):
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = fakekube.create(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "spec": claim}
    )
    assert made["spec"]["storageClassName"] == "standard"


@pytest.mark.fakekube(controllers=["garbagecollector"])
def test_a_controller_that_the_test_names_is_awake(fakekube):
    owner = fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = {"name": "child", "ownerReferences": [reference]}
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": child})
    assert not fakekube.requests(resource="configmaps", verb="list")
    assert fakekube.controllers["garbagecollector"].name == COLLECTOR
    assert fakekube.requests(resource="configmaps", verb="list")


def test_a_restored_state_wakes_controllers():
    paused = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "paused": True}}
    options = {"controllers": ["deployment", "replicaset"], "wall_clock": False}
    with FakeKube(**options) as cluster:
        empty = cluster.state.snapshot()
        cluster.create(paused)
        full = cluster.state.snapshot()
    with FakeKube(**options) as cluster:
        cluster.state.restore(empty)
        cluster.settle()
        assert not cluster.requests(resource="deployments", verb="list")
        cluster.state.restore(full)
        cluster.settle()
        assert cluster.requests(resource="deployments", verb="list")
