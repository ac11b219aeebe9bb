"""Rules of claims and volumes: which volume is best, why one does not suit, bindings, reclaiming, protection."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.controllers.persistentvolumes import claimprotection, csimigration, volumeclaims
from fakekube.controllers.persistentvolumes.podvolumes import claim_name, is_terminated, not_owner_problem
from fakekube.controllers.persistentvolumes.protectionfinalizers import needs_finalizer
from fakekube.controllers.persistentvolumes.storagedriver.drivernames import simulates
from fakekube.controllers.persistentvolumes.volumebinder import volumeplugins
from fakekube.controllers.persistentvolumes.volumebinder.bindingwrites import CannotBind, new_claim_status
from fakekube.controllers.persistentvolumes.volumebinder.volumebindercontroller import with_deletion_finalizers
from fakekube.controllers.persistentvolumes.volumebinder.volumeplugins import PluginProblem
from tests.controllers.volumes import claim, events_of, get_claim, pod_with, storage_class, volume
from tests.controllers.workloads import node

CLASS = "volume.beta.kubernetes.io/storage-class"


def available(*args, uid="", name_of_claim="", phase="Available", deleted=False, **options):
    one = volume(*args, **options)
    one["status"] = {"phase": phase}
    if name_of_claim:
        one["spec"]["claimRef"] = {"namespace": "default", "name": name_of_claim, **({"uid": uid} if uid else {})}
    if deleted:
        one["metadata"]["deletionTimestamp"] = "t"
    return one


def made(*args, **options):
    one = claim(*args, **options)
    one["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    return one


# --- the volume of a claim


@pytest.mark.parametrize(
    ("volumes", "options", "best"),
    [
        ([available("a", "2Gi"), available("b", "1Gi")], {}, "b"),
        ([available("a"), available("b")], {}, "a"),
        ([available("a", "512Mi")], {}, None),
        ([available("a", phase="Released")], {}, None),
        ([available("a", phase="Released", name_of_claim="data")], {}, "a"),  # reserved for the claim
        ([available("a", "9Gi", name_of_claim="data"), available("b")], {}, "a"),
        ([available("a", name_of_claim="data", uid="u")], {}, "a"),
        ([available("a", name_of_claim="data", uid="other")], {}, None),
        ([available("a", name_of_claim="other")], {}, None),
        ([available("a", "512Mi", name_of_claim="data")], {}, None),
        ([available("a", deleted=True)], {}, None),
        ([available("a", volumeMode="Block")], {}, None),
        ([available("a", volumeMode="Block")], {"volumeMode": "Block"}, "a"),
        ([available("a", storageClassName="other")], {}, None),
        ([available("a", storageClassName="other", name_of_claim="data")], {}, "a"),
        ([available("a", volumeAttributesClassName="x")], {}, None),
        ([available("a", volumeAttributesClassName="x")], {"volumeAttributesClassName": "x"}, "a"),
        ([available("a", labels={"x": "1"}), available("b")], {"selector": {"matchLabels": {"x": "1"}}}, "a"),
        ([available("b")], {"selector": {"matchLabels": {"x": "1"}}}, None),
        # fewer access modes first, then the size
        ([available("a", modes=("ReadWriteOnce", "ReadOnlyMany")), available("b", "9Gi")], {}, "b"),
        ([available("a", modes=("ReadOnlyMany",))], {}, None),
        ([available("a", modes=("ReadWriteOnce", "ReadOnlyMany"))], {"modes": ("ReadOnlyMany",)}, "a"),
    ],
)
def test_the_best_volume(volumes, options, best):
    found = volumeclaims.best_volume(made(**options), volumes, only_reserved=False)
    assert (found and found["metadata"]["name"]) == best
    reserved = volumeclaims.best_volume(made(**options), volumes, only_reserved=True)
    was_reserved = best is not None and any(
        one["spec"].get("claimRef") for one in volumes if one["metadata"]["name"] == best
    )
    assert (reserved is not None) is was_reserved


@pytest.mark.slow
@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.integers(1, 4), st.sets(st.sampled_from("OM"), min_size=1), st.booleans()), max_size=5),
    st.integers(1, 4),
    st.sets(st.sampled_from("OM"), min_size=1),
)
def test_the_best_volume_is_that_of_the_model(rows, size, modes):
    names = {"O": "ReadWriteOnce", "M": "ReadWriteMany"}
    volumes = [
        available(
            f"v{i}", f"{gib}Gi", modes=[names[mode] for mode in sorted(has)], phase="Available" if free else "Bound"
        )
        for i, (gib, has, free) in enumerate(rows)
    ]
    found = volumeclaims.best_volume(
        made(size=f"{size}Gi", modes=[names[mode] for mode in sorted(modes)]), volumes, only_reserved=False
    )
    suiting = [(len(has), gib, i) for i, (gib, has, free) in enumerate(rows) if free and gib >= size and modes <= has]
    assert (found and found["metadata"]["name"]) == (f"v{min(suiting)[2]}" if suiting else None)


@pytest.mark.parametrize(
    ("one", "options", "problem"),
    [
        (available(), {}, ""),
        (available(deleted=True), {}, 'the volume is marked for deletion "pv"'),
        (available(size="512Mi"), {}, "requested PV is too small"),
        (available(storageClassName="x"), {}, "storageClassName does not match"),
        (available(volumeAttributesClassName="x"), {}, "volumeAttributesClassName does not match"),
        (available(volumeMode="Block"), {}, "incompatible volumeMode"),
        (available(), {"modes": ("ReadWriteMany",)}, "incompatible accessMode"),
        (available(modes=("ReadWriteOnce", "ReadWriteMany")), {"modes": ("ReadWriteMany",)}, ""),
    ],
)
def test_why_a_volume_cannot_be_bound(one, options, problem):
    assert volumeclaims.mismatch(one, made(**options)) == problem


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (None, False),
        ({"namespace": "default", "name": "data"}, True),
        ({"namespace": "default", "name": "data", "uid": "u"}, True),
        ({"namespace": "default", "name": "data", "uid": "v"}, False),
        ({"namespace": "other", "name": "data"}, False),
        ({"namespace": "default", "name": "other"}, False),
    ],
)
def test_volumes_that_are_bound_to_a_claim(reference, expected):
    assert volumeclaims.is_bound_to({"spec": {"claimRef": reference}}, made()) is expected


def test_the_class_of_a_claim():
    assert volumeclaims.claim_class(made()) == "manual"
    assert volumeclaims.claim_class(made(annotations={CLASS: "old"})) == "old"
    assert (volumeclaims.has_class(made()), volumeclaims.has_class(made(storageClassName=None))) == (True, False)
    assert volumeclaims.has_class(made(storageClassName=""))
    assert volumeclaims.has_class(made(storageClassName=None, annotations={CLASS: ""}))


def test_the_newest_default_class_of_several_the_first_by_name():
    def made_class(name, created, default="true"):
        one = storage_class(name, "p", annotations={"storageclass.kubernetes.io/is-default-class": default})
        one["metadata"]["creationTimestamp"] = created
        return one

    rows = [made_class("c", "2"), made_class("b", "2"), made_class("a", "1"), made_class("d", "3", "false")]
    assert volumeclaims.default_class(rows)["metadata"]["name"] == "b"
    assert volumeclaims.default_class(rows[3:]) is None
    beta = storage_class("x", "p", annotations={"storageclass.beta.kubernetes.io/is-default-class": "true"})
    assert volumeclaims.default_class([beta]) is beta


def test_annotations_are_set_and_removed():
    one = {"metadata": {"name": "x", "annotations": {"a": "1"}}}
    assert volumeclaims.with_annotations(one, {"b": "2", "a": None})["metadata"] == {
        "name": "x",
        "annotations": {"b": "2"},
    }
    assert volumeclaims.with_annotations(one, {"a": None})["metadata"] == {"name": "x"}


# --- plugins and drivers


@pytest.mark.parametrize(
    ("annotations", "spec", "plugin"),
    [
        ({}, {}, volumeplugins.HOST_PATH),
        ({volumeclaims.PROVISIONED_BY: "csi.example.com"}, {}, ""),
        ({volumeclaims.PROVISIONED_BY: "kubernetes.io/host-path"}, {}, volumeplugins.HOST_PATH),
        ({volumeclaims.MIGRATED_TO: "x"}, {}, ""),
        ({}, {"csi": {"driver": "x"}}, ""),
        ({volumeclaims.PROVISIONED_BY: "kubernetes.io/nfs"}, {}, "no deletable volume plugin matched"),
        ({volumeclaims.PROVISIONED_BY: "kubernetes.io/x"}, {}, "no volume plugin matched name: kubernetes.io/x"),
        (
            {},
            {"nfs": {"path": "/"}},
            'error getting deleter volume plugin for volume "pv": no deletable volume plugin matched',
        ),
        ({}, {"local": {"path": "/"}}, 'error getting deleter volume plugin for volume "pv": no volume plugin matched'),
    ],
)
def test_what_deletes_a_volume(annotations, spec, plugin):
    one = volume(annotations=annotations, **spec)
    if " " in plugin:
        with pytest.raises(PluginProblem) as raised:
            volumeplugins.deleter_of(one)
        assert str(raised.value) == plugin
    else:
        assert volumeplugins.deleter_of(one) == plugin


@pytest.mark.parametrize(("path", "may"), [("/tmp/x", True), ("/tmp/", False), ("/data", False), ("/a/tmp/x", True)])
def test_host_paths_that_may_be_deleted(path, may):
    one = volume(hostPath={"path": path})
    if may:
        volumeplugins.delete_host_path(one)
    else:
        with pytest.raises(PluginProblem, match="host_path deleter only supports"):
            volumeplugins.delete_host_path(one)
    with pytest.raises(PluginProblem, match="HostPath is nil"):
        volumeplugins.delete_host_path(volume(nfs={}))


@pytest.mark.parametrize(
    ("one", "seconds"),
    [
        (volume(size="1Gi"), 60),
        (volume(size="2Gi"), 60),
        (volume(size="3Gi"), 90),
        (volume(size="3900Mi"), 90),
        (volume(size="1Gi", nfs={"path": "/", "server": "s"}), 300),
        (volume(size="20Gi", nfs={"path": "/", "server": "s"}), 600),
    ],
)
def test_the_pod_that_empties_a_volume(one, seconds):
    assert volumeplugins.recycler_pod(one)["spec"]["activeDeadlineSeconds"] == seconds


@pytest.mark.parametrize(
    ("names", "driver", "expected"),
    [
        (["*"], "x", True),
        (["x"], "x", True),
        (["x"], "y", False),
        (["*", "-x"], "x", False),
        (["x", "-x"], "x", False),
        (["*"], "", False),
        (["*"], "kubernetes.io/no-provisioner", False),
        ([], "x", False),
    ],
)
def test_simulated_drivers(names, driver, expected):
    assert simulates(names, driver) is expected


def test_migrated_plugins():
    assert csimigration.driver_of("kubernetes.io/aws-ebs") == "ebs.csi.aws.com"
    assert csimigration.driver_of("x") == "x"
    assert csimigration.migrated_plugin({"spec": {"cinder": {"volumeID": "1"}}}) == "kubernetes.io/cinder"
    assert csimigration.migrated_plugin({"spec": {"csi": {}}}) == ""
    provisioned = volume(annotations={"p": "kubernetes.io/aws-ebs"})
    found = csimigration.with_migration(provisioned, "other", "p")
    assert found["metadata"]["annotations"][volumeclaims.MIGRATED_TO] == "ebs.csi.aws.com"
    assert csimigration.with_migration(found, "p") is found
    assert csimigration.with_migration(provisioned, "other") is provisioned
    stale = volume(annotations={"p": "x", volumeclaims.MIGRATED_TO: "ebs.csi.aws.com"})
    assert volumeclaims.MIGRATED_TO not in csimigration.with_migration(stale, "p")["metadata"]["annotations"]


# --- pods and their claims


@pytest.mark.parametrize(
    ("phase", "deleted", "states", "expected"),
    [
        ("Succeeded", False, [], True),
        ("Running", False, [{"running": {}}], False),
        ("Running", True, [{"running": {}}], False),
        ("Running", True, [{"terminated": {}}, {"waiting": {}}], True),
        ("Running", True, [{"terminated": {}}, {}], False),
        ("Running", False, [{"terminated": {}}], False),
        ("Pending", True, [], True),
    ],
)
def test_pods_that_do_not_use_their_volumes_any_more(phase, deleted, states, expected):
    meta = {"deletionTimestamp": "t"} if deleted else {}
    one = {
        "metadata": meta,
        "status": {"phase": phase, "initContainerStatuses": [{"state": state} for state in states]},
    }
    assert is_terminated(one) is expected


def test_the_claim_of_a_volume():
    pod = {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}}
    assert claim_name(pod, {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}) == "c"
    assert claim_name(pod, {"name": "v", "ephemeral": {}}) == "p-v"
    assert claim_name(pod, {"name": "v", "emptyDir": {}}) == ""

    def of(uid, namespace="ns", controller=True):
        owner = {"uid": uid, "controller": controller, "kind": "Pod", "name": "p"}
        return {"metadata": {"name": "p-v", "namespace": namespace, "ownerReferences": [owner]}}

    assert not_owner_problem(pod, of("u")) == ""
    for other in (of("v"), of("u", "other"), of("u", controller=False)):
        assert "was not created for pod ns/p (pod is not owner)" in not_owner_problem(pod, other)


def test_objects_that_need_a_finalizer():
    assert needs_finalizer({"metadata": {}}, "f")
    assert not needs_finalizer({"metadata": {"finalizers": ["f"]}}, "f")
    assert not needs_finalizer({"metadata": {"deletionTimestamp": "t"}}, "f")


# --- what the binder writes

PRE, ATTRIBUTES = "volume.alpha.kubernetes.io/pre-resize-capacity", "volumeAttributesClassName"
CURRENT = "currentVolumeAttributesClassName"
IN_TREE, EXTERNAL = "kubernetes.io/pv-controller", "external-provisioner.volume.kubernetes.io/finalizer"


@pytest.mark.parametrize(
    ("provisioner", "policy", "before", "after"),
    [
        (None, "Delete", [], []),
        (None, "Retain", [IN_TREE, EXTERNAL], [IN_TREE, EXTERNAL]),
        ("example.com/p", "Delete", [IN_TREE], [IN_TREE]),
        ("kubernetes.io/host-path", "Delete", [], [IN_TREE]),
        ("kubernetes.io/host-path", "Delete", ["other", IN_TREE], ["other", IN_TREE]),
        ("kubernetes.io/host-path", "Delete", ["other", EXTERNAL], ["other", IN_TREE]),
        ("kubernetes.io/host-path", "Retain", [IN_TREE, EXTERNAL, "other"], ["other"]),
        ("kubernetes.io/aws-ebs", "Delete", [IN_TREE, EXTERNAL], [EXTERNAL]),
        ("kubernetes.io/aws-ebs", "Retain", [], []),
    ],
)
def test_finalizers_of_a_volume_by_its_provisioner_and_policy(provisioner, policy, before, after):
    """`pv_controller.go`: modifyDeletionFinalizers."""
    made = volume(persistentVolumeReclaimPolicy=policy)
    made["metadata"] |= {"finalizers": before} if before else {}
    made["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": provisioner} if provisioner else {}
    corrected = with_deletion_finalizers(made)
    assert corrected["metadata"].get("finalizers", []) == after
    assert (corrected is made) is (before == after)


OF_VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}


@pytest.mark.parametrize(
    ("status", "to", "annotations", "spec", "expected"),
    [
        ({}, "Bound", {}, {}, OF_VOLUME),
        ({}, "Bound", {}, {"accessModes": None}, {**OF_VOLUME, "accessModes": []}),
        ({"phase": "Bound"}, "Bound", {}, {"capacity": {}}, {"accessModes": ["ReadWriteOnce"]}),
        ({"capacity": {"storage": "1024Mi"}}, "Bound", {}, {}, {**OF_VOLUME, "capacity": {"storage": "1024Mi"}}),
        ({"capacity": {"storage": "2Gi"}}, "Bound", {}, {}, OF_VOLUME),
        ({"capacity": {"cpu": "1"}}, "Bound", {}, {"capacity": {"storage": "0"}}, {**OF_VOLUME, "capacity": {"storage": "0"}}),
        ({"capacity": {"cpu": "1"}}, "Bound", {PRE: "1024Mi"}, {}, {**OF_VOLUME, "capacity": {"cpu": "1", "storage": "1Gi"}}),
        ({}, "Bound", {PRE: "x"}, {}, OF_VOLUME),
        ({"phase": "Pending"}, "Bound", {}, {ATTRIBUTES: "gold"}, {**OF_VOLUME, CURRENT: "gold"}),
        ({"phase": "Pending", CURRENT: "old"}, "Bound", {}, {}, OF_VOLUME),
        ({"phase": "Lost", CURRENT: "old"}, "Bound", {}, {ATTRIBUTES: "gold"}, {**OF_VOLUME, CURRENT: "old"}),
        ({"phase": "Bound", CURRENT: "old", **OF_VOLUME, "x": 1}, "Lost", {}, None, {"x": 1}),
    ],
)  # fmt: skip
def test_the_status_of_a_claim_is_that_of_its_volume(status, to, annotations, spec, expected):
    """`pv_controller.go`: updateClaimStatus."""
    bound = None if spec is None else volume(annotations=annotations, **{"capacity": {"storage": "1Gi"}, **spec})
    assert new_claim_status({**claim(), "status": status}, to, bound) == {"phase": to, **expected}


def test_a_volume_without_a_capacity_is_bound_to_no_claim():
    with pytest.raises(CannotBind, match='PersistentVolume "pv" is without a storage capacity'):
        new_claim_status(claim(), "Bound", volume(capacity=None))


# --- protection


@pytest.mark.fakekube(controllers=["pvc-protection"])
@pytest.mark.parametrize(
    ("phase", "node_name", "stays"), [("Running", "n1", True), ("Succeeded", "n1", True), ("Pending", None, False)]
)
def test_a_claim_is_kept_while_a_scheduled_pod_uses_it(fakekube, phase, node_name, stays):
    fakekube.create(node())
    fakekube.create(claim())
    fakekube.create(pod_with("data", node=node_name))
    fakekube.patch("v1", "Pod", "p", {"status": {"phase": phase}}, subresource="status")
    fakekube.settle()
    fakekube.delete("v1", "PersistentVolumeClaim", "data")
    fakekube.settle()
    assert fakekube.exists("v1", "PersistentVolumeClaim", "data") is stays
    fakekube.delete("v1", "Pod", "p", gracePeriodSeconds=0)
    fakekube.settle()
    assert not fakekube.exists("v1", "PersistentVolumeClaim", "data")


PLAIN, EPHEMERAL = {"persistentVolumeClaim": {"claimName": "p-v"}}, {"ephemeral": {"volumeClaimTemplate": {}}}
ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("source", "meta", "node_name", "uid", "uses"),
    [
        (PLAIN, {}, "n1", "other", True),
        (PLAIN, {}, None, "other", False),
        (PLAIN, {**ENDING, "deletionGracePeriodSeconds": 0}, "n1", "other", True),
        (EPHEMERAL, {}, "n1", "p", True),
        (EPHEMERAL, {}, None, "p", False),
        (EPHEMERAL, {}, "n1", "other", False),
        (EPHEMERAL, {**ENDING, "deletionGracePeriodSeconds": 0}, "n1", "p", False),
        (EPHEMERAL, {**ENDING, "deletionGracePeriodSeconds": 1}, "n1", "p", True),
        (EPHEMERAL, ENDING, "n1", "p", True),
        (EPHEMERAL, {"deletionGracePeriodSeconds": 0}, "n1", "p", True),
        ({"emptyDir": {}}, {}, "n1", "p", False),
    ],
)
def test_a_pod_that_is_shut_down_uses_no_ephemeral_volume(source, meta, node_name, uid, uses):
    """`pvc_protection_controller.go`: podUsesPVC, podIsShutDown."""
    volume = {"name": "v", **source}
    pod = {
        "metadata": {"name": "p", "namespace": "ns", "uid": "p", **meta},
        "spec": {"nodeName": node_name, "volumes": [volume]},
    }
    owner = {"kind": "Pod", "name": "p", "uid": uid, "controller": True}
    used = {"metadata": {"name": "p-v", "namespace": "ns", "ownerReferences": [owner]}}
    assert claimprotection._used_by([pod], used) is uses
    assert not claimprotection._used_by([pod], {"metadata": {**used["metadata"], "name": "q-v"}})


@pytest.mark.fakekube(controllers=["pvc-protection", "ephemeral-volume-controller"])
def test_the_claim_of_an_ephemeral_volume_belongs_to_its_pod(fakekube):
    template = {"metadata": {"labels": {"x": "1"}}, "spec": claim()["spec"]}
    one = pod_with("unused", node=None)
    one["spec"]["volumes"] = [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]
    fakekube.create(one)
    fakekube.settle()
    found = get_claim(fakekube, "p-v")
    assert (found["metadata"]["labels"], found["metadata"]["ownerReferences"][0]["kind"]) == ({"x": "1"}, "Pod")
    fakekube.delete("v1", "PersistentVolumeClaim", "p-v")
    fakekube.settle()
    assert get_claim(fakekube, "p-v")["metadata"]["uid"] != found["metadata"]["uid"]
    fakekube.create(claim("q-v"))
    fakekube.create({**one, "metadata": {**one["metadata"], "name": "q"}})
    fakekube.settle()
    (event,) = events_of(fakekube, "q")
    assert event[1:] == (
        "FailedBinding",
        "ephemeral volume v: PVC default/q-v was not created for pod default/q (pod is not owner)",
    )


def test_fewer_access_modes_come_before_the_size_and_before_the_names_of_modes():
    """`persistentVolumeOrderedIndex.allPossibleMatchingAccessModes`: byAccessModes compares the numbers of modes."""
    volumes = [
        available("two", "1Gi", modes=["ReadOnlyMany", "ReadWriteMany"]),
        available("one", "5Gi", modes=["ReadWriteMany"]),
    ]
    claim = made(size="1Gi", modes=["ReadWriteMany"])
    found = volumeclaims.best_volume(claim, volumes, only_reserved=False)
    assert found is not None
    assert found["metadata"]["name"] == "one"
