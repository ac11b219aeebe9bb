"""The controller that attaches volumes to nodes, against what persistentvolume-attach-detach-controller does."""

import pytest

from fakekube.controllers.persistentvolumes.attachdetach import MANAGED
from tests.controllers.volumes import claim, events_of, pod_with, volume
from tests.controllers.workloads import node

DRIVER = "csi.example.com"
UNIQUE = f"kubernetes.io/csi/{DRIVER}^h"
#: csi-, and the SHA-256 of handle, driver and node.
NAME = "csi-b443ff371db9b71827ff6dcb6a58f7474195968c4317513778b950b8560576b6"
CONTROLLERS = ["persistentvolume-binder", "attachdetach", "external-attacher"]


def managed_node(name, **settings):
    made = node(name, **settings)
    made["metadata"]["annotations"] = {MANAGED: "true"}
    return made


def start(fakekube, **of_volume):
    for name in ("n1", "n2"):
        fakekube.create(managed_node(name))
    fakekube.create(volume(csi={"driver": DRIVER, "volumeHandle": "h"}, **of_volume))
    fakekube.create(claim(modes=of_volume.get("modes", ("ReadWriteOnce",))))
    fakekube.settle()


def attached(fakekube):
    return [one["spec"]["nodeName"] for one in fakekube.list("storage.k8s.io/v1", "VolumeAttachment", None)]


def reported(fakekube, name="n1"):
    return [one["name"] for one in fakekube.get("v1", "Node", name)["status"].get("volumesAttached", ())]


def end(fakekube, name="p"):
    fakekube.patch("v1", "Pod", name, {"status": {"phase": "Succeeded"}}, subresource="status")
    fakekube.settle()


@pytest.mark.fakekube(controllers=CONTROLLERS, rbac=True)
def test_a_volume_is_attached_while_a_pod_uses_it(fakekube):
    start(fakekube)
    assert attached(fakekube) == []
    fakekube.create(pod_with("data"))
    fakekube.settle()
    (attachment,) = fakekube.list("storage.k8s.io/v1", "VolumeAttachment", None)
    assert attachment["spec"] == {"attacher": DRIVER, "nodeName": "n1", "source": {"persistentVolumeName": "pv"}}
    assert attachment["metadata"]["name"] == NAME
    assert reported(fakekube) == [UNIQUE]
    text = 'AttachVolume.Attach succeeded for volume "pv" '
    assert events_of(fakekube, "p") == [("Normal", "SuccessfulAttachVolume", text)]
    end(fakekube)
    assert (attached(fakekube), reported(fakekube)) == ([], [])


@pytest.mark.fakekube(controllers=CONTROLLERS)
def test_a_volume_of_one_node_is_attached_to_another_after_it_was_detached(fakekube):
    start(fakekube)
    fakekube.create(pod_with("data"))
    fakekube.settle()
    fakekube.create(pod_with("data", name="q", node="n2"))
    fakekube.settle()
    assert attached(fakekube) == ["n1"]
    text = 'Multi-Attach error for volume "pv" Volume is already used by pod(s) p'
    assert events_of(fakekube, "q") == [("Warning", "FailedAttachVolume", text)]
    end(fakekube)
    assert attached(fakekube) == ["n2"]
    assert (reported(fakekube), reported(fakekube, "n2")) == ([], [UNIQUE])


@pytest.mark.fakekube(controllers=CONTROLLERS)
def test_a_shared_volume_is_attached_to_several_nodes(fakekube):
    start(fakekube, modes=("ReadWriteMany",))
    fakekube.create(pod_with("data"))
    fakekube.create(pod_with("data", name="q", node="n2"))
    fakekube.settle()
    assert sorted(attached(fakekube)) == ["n1", "n2"]


@pytest.mark.parametrize(("ready", "minutes"), [("True", None), ("Unknown", 6)])
@pytest.mark.fakekube(controllers=CONTROLLERS)
def test_a_mounted_volume_is_detached_by_force_from_a_node_that_is_not_ready(fakekube, ready, minutes):
    start(fakekube)
    fakekube.create(pod_with("data"))
    fakekube.settle()
    conditions = [{"type": "Ready", "status": ready}]
    status = {"volumesInUse": [UNIQUE], "conditions": conditions}
    fakekube.patch("v1", "Node", "n1", {"status": status}, subresource="status")
    end(fakekube)
    fakekube.advance(minutes=6, seconds=-1)
    assert attached(fakekube) == ["n1"]
    fakekube.advance(1)
    assert attached(fakekube) == ([] if minutes else ["n1"])
    fakekube.patch("v1", "Node", "n1", {"status": {"volumesInUse": None}}, subresource="status")
    fakekube.settle()
    assert attached(fakekube) == []


@pytest.mark.fakekube(controllers=CONTROLLERS)
def test_a_driver_that_needs_no_attachment_has_none(fakekube):
    meta = {"name": DRIVER}
    spec = {"attachRequired": False}
    fakekube.create({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": meta, "spec": spec})
    start(fakekube)
    fakekube.create(pod_with("data"))
    fakekube.settle()
    assert attached(fakekube) == []


@pytest.mark.fakekube(controllers=["persistentvolume-binder", "attachdetach"], rbac=True)
def test_an_error_of_the_attacher_is_an_event_of_the_pod(fakekube):
    start(fakekube)
    fakekube.create(pod_with("data"))
    fakekube.settle()
    (attachment,) = fakekube.list("storage.k8s.io/v1", "VolumeAttachment", None)
    error = {"status": {"attached": False, "attachError": {"message": "no room", "time": "2025-01-01T00:00:00Z"}}}
    fakekube.patch("storage.k8s.io/v1", "VolumeAttachment", attachment["metadata"]["name"], error, subresource="status")
    fakekube.settle()
    text = 'AttachVolume.Attach failed for volume "pv" : no room'
    assert events_of(fakekube, "p") == [("Warning", "FailedAttachVolume", text)]
    for number in range(3):
        fakekube.patch("v1", "Node", "n1", {"metadata": {"labels": {"again": f"{number}"}}}, "")
        fakekube.patch("v1", "Pod", "p", {"metadata": {"labels": {"again": f"{number}"}}})
        fakekube.advance("1s")
    (event,) = fakekube.events(reason="FailedAttachVolume")
    assert event["count"] == 1  # the same problem is recorded once


@pytest.mark.fakekube(controllers=CONTROLLERS)
def test_nothing_is_requested_at_rest(fakekube):
    start(fakekube)
    fakekube.create(pod_with("data"))
    fakekube.advance(minutes=1)
    before = len(fakekube.requests())
    fakekube.advance(hours=24)
    assert {record.verb for record in fakekube.requests()[before:]} <= {"watch"}


def foreign(name):
    spec = {"attacher": DRIVER, "nodeName": "n1", "source": {"persistentVolumeName": "pv"}}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name}, "spec": spec}


@pytest.mark.fakekube(controllers=["persistentvolume-binder", "attachdetach"])
def test_f6_an_attachment_that_another_client_creates_stays(fakekube):
    """F6: the controller deletes only what it has made, or what was there when it started."""
    start(fakekube)
    fakekube.create(foreign("theirs"))
    fakekube.create(pod_with("data", name="q", node="n2"))
    fakekube.advance(600)
    assert fakekube.exists("storage.k8s.io/v1", "VolumeAttachment", "theirs", "")


@pytest.mark.fakekube(controllers=CONTROLLERS)
def test_the_attached_volumes_of_a_node_are_reported_in_order_and_once(fakekube):
    start(fakekube)
    second = volume("pv2", csi={"driver": DRIVER, "volumeHandle": "a"})
    fakekube.create({**second, "metadata": {**second["metadata"], "name": "pv2"}})
    fakekube.create(claim("more"))
    fakekube.settle()
    fakekube.create(pod_with("data"))
    fakekube.settle()
    fakekube.create(pod_with("more", name="q"))
    fakekube.settle()
    assert reported(fakekube) == [f"kubernetes.io/csi/{DRIVER}^a", UNIQUE]
    before = len(fakekube.requests(verb="patch", resource="nodes"))
    fakekube.patch("v1", "Pod", "p", {"metadata": {"labels": {"again": "1"}}})
    fakekube.patch("v1", "Node", "n1", {"metadata": {"labels": {"again": "1"}}}, "")
    fakekube.advance("10m")
    patches = fakekube.requests(verb="patch", resource="nodes", user_agent="kube-controller-manager*")
    assert len(patches) <= before
