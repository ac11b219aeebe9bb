"""The simulated programs of storage drivers: provisioner, resizer, attacher."""

from datetime import timedelta

import pytest

from fakekube.controllers.catalogue import selection
from fakekube.controllers.componentusers import component_user
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.persistentvolumes.storagedriver.drivernames import simulates
from fakekube.controllers.persistentvolumes.storagedriver.externalprovisioner import add
from fakekube.controllers.settings import Settings
from tests.controllers.volumes import claim, events_of, get_claim, storage_class

DRIVER = "csi.example.com"
CLUSTER = ["persistentvolume-binder", "pvc-protection", "pv-protection", "external-provisioner"]


def volumes(fakekube):
    return fakekube.list("v1", "PersistentVolume", None)


@pytest.mark.fakekube(controllers=CLUSTER, rbac=True)
def test_a_claim_is_bound_to_a_volume_that_is_made_a_second_later(fakekube):
    fakekube.create(storage_class("manual", DRIVER, mountOptions=["ro"]))
    fakekube.create(claim(size="3Gi"))
    started = fakekube.clock.now()
    fakekube.advance_until(lambda: get_claim(fakekube)["status"]["phase"] == "Bound", "1m")
    assert fakekube.clock.now() - started == timedelta(seconds=1)
    (volume,) = volumes(fakekube)
    name = f"pvc-{get_claim(fakekube)['metadata']['uid']}"
    assert volume["metadata"]["name"] == name
    assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/provisioned-by": DRIVER}
    spec = volume["spec"]
    assert (spec["persistentVolumeReclaimPolicy"], spec["mountOptions"]) == ("Delete", ["ro"])
    assert spec["hostPath"]["path"] == "/tmp/external-provisioner/default/data"
    assert get_claim(fakekube)["status"]["capacity"] == {"storage": "3Gi"}
    made = [one for one in events_of(fakekube, "data") if one[1] != "ExternalProvisioning"]
    assert made == [
        ("Normal", "Provisioning", 'External provisioner is provisioning volume for claim "default/data"'),
        ("Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {name}"),
    ]


@pytest.mark.fakekube(controllers=CLUSTER)
def test_a_provisioned_volume_is_deleted_after_its_claim(fakekube):
    fakekube.create(storage_class("manual", DRIVER))
    fakekube.create(claim())
    fakekube.advance(1)
    assert len(volumes(fakekube)) == 1
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    assert volumes(fakekube) == []


@pytest.mark.fakekube(controllers=CLUSTER)
def test_a_provisioned_volume_is_kept_if_its_class_says_so(fakekube):
    fakekube.create(storage_class("manual", DRIVER, reclaimPolicy="Retain"))
    fakekube.create(claim())
    fakekube.advance(1)
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.advance(hours=1)
    assert [one["status"]["phase"] for one in volumes(fakekube)] == ["Released"]


@pytest.mark.fakekube(controllers=CLUSTER)
def test_a_claim_that_waits_for_a_pod_is_provisioned_when_a_node_is_selected(fakekube):
    fakekube.create(storage_class("manual", DRIVER, volumeBindingMode="WaitForFirstConsumer"))
    fakekube.create(claim())
    fakekube.advance(minutes=1)
    assert volumes(fakekube) == []
    chosen = {"volume.kubernetes.io/selected-node": "n1"}
    fakekube.patch("v1", "PersistentVolumeClaim", "data", {"metadata": {"annotations": chosen}})
    fakekube.advance(1)
    assert get_claim(fakekube)["status"]["phase"] == "Bound"


@pytest.mark.fakekube(controllers=CLUSTER)
def test_a_class_without_a_provisioner_has_no_volumes_made(fakekube):
    fakekube.create(storage_class("manual", "kubernetes.io/no-provisioner"))
    fakekube.create(claim())
    fakekube.advance(minutes=1)
    assert volumes(fakekube) == []


@pytest.mark.fakekube(controllers=CLUSTER)
def test_a_claim_that_is_deleted_in_time_gets_no_volume(fakekube):
    fakekube.create(storage_class("manual", DRIVER))
    fakekube.create(claim())
    fakekube.settle()
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.advance(minutes=1)
    assert volumes(fakekube) == []


@pytest.mark.fakekube(controllers=[*CLUSTER, "external-resizer", "persistentvolume-expander"], rbac=True)
def test_a_simulated_volume_grows_with_its_claim(fakekube):
    fakekube.create(storage_class("manual", DRIVER, allowVolumeExpansion=True))
    fakekube.create(claim())
    fakekube.advance(1)
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    fakekube.patch("v1", "PersistentVolumeClaim", "data", larger)
    fakekube.settle()
    status = get_claim(fakekube)["status"]
    assert [one["type"] for one in status["conditions"]] == ["Resizing"]
    assert status["allocatedResourceStatuses"] == {"storage": "ControllerResizeInProgress"}
    fakekube.advance(1)
    status = get_claim(fakekube)["status"]
    assert "conditions" not in status
    assert "allocatedResourceStatuses" not in status
    assert status["capacity"] == {"storage": "2Gi"}
    assert [one["spec"]["capacity"] for one in volumes(fakekube)] == [{"storage": "2Gi"}]
    reasons = [reason for _, reason, _ in events_of(fakekube, "data")]
    assert reasons[-1] == "VolumeResizeSuccessful"
    assert "ExternalExpanding" in reasons


def stateful_set(replicas, **fields):
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "db:1"}]}}
    spec = {
        "replicas": replicas,
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}},
        "template": template,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": wanted}],
        **fields,
    }
    meta = {"name": "db", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec}


@pytest.mark.fakekube(controllers=["statefulset", *CLUSTER])
def test_the_claims_of_a_statefulset_are_bound(fakekube):
    fakekube.create(stateful_set(3, podManagementPolicy="Parallel"))
    fakekube.advance(1)
    found = fakekube.list("v1", "PersistentVolumeClaim")
    assert [(one["metadata"]["name"], one["status"]["phase"]) for one in found] == [
        ("data-db-0", "Bound"),
        ("data-db-1", "Bound"),
        ("data-db-2", "Bound"),
    ]
    assert {one["spec"]["storageClassName"] for one in found} == {"standard"}


@pytest.mark.slow
@pytest.mark.fakekube(controllers=["persistentvolume-binder"], rbac=True)
def test_a_default_class_is_created_if_the_settings_name_one(fakekube):
    def connect(user):
        return fakekube.access.transport(user=component_user(user))

    settings = Settings(storage_class="standard", storage_delay=5)
    first = fakekube.start(lambda manager: add(ControllerContext(manager, connect, settings)))
    fakekube.stop(first)
    fakekube.start(lambda manager: add(ControllerContext(manager, connect, settings)))  # it finds the class
    fakekube.create(claim(storageClassName=None))
    fakekube.advance(4)
    assert get_claim(fakekube)["spec"]["storageClassName"] == "standard"
    assert get_claim(fakekube)["status"]["phase"] == "Pending"
    fakekube.advance(1)
    assert get_claim(fakekube)["status"]["phase"] == "Bound"


STORAGE = {"external-provisioner", "external-attacher", "external-resizer"}


@pytest.mark.parametrize(
    ("names", "nodes", "simulated"),
    [
        (["*"], None, set()),
        (["*"], 1, STORAGE),
        (["*", "kubelet"], None, STORAGE),
        ([], 1, set()),
        (["*", "-external-provisioner"], 1, STORAGE - {"external-provisioner"}),
        (["external-provisioner"], None, {"external-provisioner"}),
    ],
)
def test_storage_is_simulated_where_nodes_are_and_claims_are_bound(names, nodes, simulated):
    assert {one.name for one in selection(names, nodes)} & STORAGE == simulated


@pytest.mark.slow
@pytest.mark.fakekube(controllers=["*"], nodes=1, rbac=True)
def test_a_statefulset_with_claims_becomes_ready_on_a_node(fakekube):
    default = {"storageclass.kubernetes.io/is-default-class": "true"}
    waiting = {"volumeBindingMode": "WaitForFirstConsumer"}
    fakekube.create(storage_class("fast", DRIVER, annotations=default, **waiting))
    fakekube.advance(1)
    fakekube.create(stateful_set(2))
    fakekube.advance_until(
        lambda: fakekube.get("apps/v1", "StatefulSet", "db")["status"].get("readyReplicas") == 2, "2m"
    )
    found = fakekube.list("v1", "PersistentVolumeClaim")
    assert [one["status"]["phase"] for one in found] == ["Bound", "Bound"]


@pytest.mark.fakekube(controllers=[*CLUSTER, "external-resizer", "external-attacher"])
def test_nothing_is_requested_at_rest(fakekube):
    fakekube.create(storage_class("manual", DRIVER))
    fakekube.create(claim())
    fakekube.advance(minutes=1)
    before = len(fakekube.requests())
    fakekube.advance(hours=24)
    assert {record.verb for record in fakekube.requests()[before:]} <= {"watch"}


@pytest.mark.parametrize(
    ("names", "driver", "simulated"),
    [
        (("*",), DRIVER, True),
        (("*", f"-{DRIVER}"), DRIVER, False),
        ((), DRIVER, False),
        ((DRIVER,), DRIVER, True),
        (("*",), "kubernetes.io/no-provisioner", False),
        (("*",), "", False),
    ],
)
def test_which_drivers_are_simulated(names, driver, simulated):
    assert simulates(names, driver) is simulated
