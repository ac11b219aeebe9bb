"""What `/ephemeralcontainers` and `/resize` take of a pod, and the nodes that a resize needs."""

from types import SimpleNamespace

import pytest

from fakekube.apiserver.admission import resize
from fakekube.apiserver.registry.core.pod.subresources import PARTS
from fakekube.apiserver.wire.status import StatusError

NOW = ""


def container(name, **fields):
    return {"name": name, "image": "i", **fields}


def cpu(amount):
    return {"resources": {"requests": {"cpu": amount}}}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"ephemeralContainers": [container("e")]}, {"nodeName": "n", "ephemeralContainers": [container("e")]}),
        ({"ephemeralContainers": [], "nodeName": "m"}, {"nodeName": "n"}),
        ({}, {"nodeName": "n"}),
    ],
)
def test_only_ephemeral_containers_are_taken(sent, kept):
    old = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "ephemeralContainers": [container("old")]}}
    assert PARTS["ephemeralcontainers"].take({"metadata": {"name": "q"}, "spec": sent}, old, NOW) == {
        "metadata": {"name": "p"}, "spec": kept,
    }  # fmt: skip


OLD = {
    "nodeName": "n", "resources": {"requests": {"cpu": "9"}}, "initContainers": [container("i", **cpu("1"))],
    "containers": [container("a", **cpu("1"), resizePolicy=[]), container("b", **cpu("1"))],
}  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        pytest.param(
            {"containers": [container("a", image="j", **cpu("2")), container("b", command=["x"], **cpu("3"))],
             "initContainers": [container("i", **cpu("4"))], "resources": {"requests": {"cpu": "8"}}, "nodeName": "m"},
            {**OLD, "containers": [container("a", **cpu("2")), container("b", **cpu("3"))],
             "initContainers": [container("i", **cpu("4"))], "resources": {"requests": {"cpu": "8"}}},
            id="resources",
        ),
        pytest.param(
            {"containers": [container("a", resizePolicy=[1]), container("b")], "initContainers": [container("i")]},
            {"nodeName": "n", "containers": [container("a", resizePolicy=[1]), container("b")],
             "initContainers": [container("i")]},
            id="without-resources",
        ),
        pytest.param(
            {"containers": [container("a"), container("c")], "initContainers": [container("i")]},
            {"nodeName": "n", "containers": [container("a"), container("c")], "initContainers": [container("i")]},
            id="other-names",
        ),
    ],
)  # fmt: skip
def test_only_resources_are_taken_by_a_resize(sent, taken):
    found = PARTS["resize"].take({"metadata": {}, "spec": sent}, {"metadata": {"name": "p"}, "spec": OLD}, NOW)
    assert found == {"metadata": {"name": "p"}, "spec": taken}


@pytest.mark.parametrize("sent", [{"containers": [container("a")]}, {"containers": OLD["containers"]}])
def test_another_number_of_containers_is_left_to_validation(sent):
    new = {"metadata": {}, "spec": sent}
    assert PARTS["resize"].take(new, {"metadata": {}, "spec": OLD}, NOW) is new


# --- the node of a resize --------------------------------------------------------------------------------------------


def call(nodes=(), classes=()):
    stored = {"nodes": dict(nodes), "storageclasses.storage.k8s.io": dict(classes)}
    store = SimpleNamespace(
        get=lambda collection, name: (
            SimpleNamespace(object=stored[collection][name]) if name in stored[collection] else None
        )
    )
    return SimpleNamespace(
        server=SimpleNamespace(store=store), info=SimpleNamespace(name="p"), resource=SimpleNamespace(qualified="pods")
    )


def node(os=None, **allocatable):
    labels = {"kubernetes.io/os": os} if os else {}
    return {"metadata": {"labels": labels}, "status": {"allocatable": allocatable}}


def pod(generation, node="n", **requests):
    return {
        "metadata": {"name": "p", "generation": generation},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": requests}}]},
    }


LACKS = "node didn't have enough allocatable resources: "


@pytest.mark.parametrize(
    ("nodes", "new", "why", "cause"),
    [
        ({"n": node(cpu="2", memory="1Gi")}, pod(2, cpu="2", memory="1Gi"), "", None),
        ({"n": node("linux", cpu="2")}, pod(2, cpu="2"), "", None),
        ({"n": node("windows", cpu="2")}, pod(2, cpu="1"),
         'pod resize is only supported on linux nodes, node "n" is "windows"', "UnsupportedPlatform"),
        ({"n": node(cpu="2", memory="1Gi")}, pod(2, cpu="2001m"), f"{LACKS}cpu, requested: 2001, allocatable: 2000",
         "NodeCapacity"),
        ({"n": node(cpu="1", memory="1")}, pod(2, cpu="2", memory="2"),
         f"{LACKS}cpu, requested: 2000, allocatable: 1000; memory, requested: 2, allocatable: 1", "NodeCapacity"),
        ({"n": node()}, pod(2, cpu="1"), f"{LACKS}cpu, requested: 1000, allocatable: 0", "NodeCapacity"),
        ({}, pod(2, cpu="1"), 'node "n" not found', None),
        ({}, pod(1, cpu="1"), "", None),
        ({}, pod(2, "", cpu="1"), "", None),
    ],
)  # fmt: skip
def test_a_resize_needs_a_linux_node_with_enough_resources(nodes, new, why, cause):
    if not why:
        resize.validate_pod(call(nodes), new, pod(1))
        return
    with pytest.raises(StatusError) as refused:
        resize.validate_pod(call(nodes), new, pod(1))
    assert refused.value.message == f'pods "p" is forbidden: {why}'
    assert (refused.value.details or {}).get("causes") == ([{"reason": cause}] if cause else None)


def test_the_overhead_of_a_pod_counts():
    new = pod(2, cpu="1")
    new["spec"]["overhead"] = {"cpu": "500m"}
    resize.validate_pod(call({"n": node(cpu="1500m")}), new, pod(1))
    with pytest.raises(StatusError, match="cpu, requested: 1500, allocatable: 1499"):
        resize.validate_pod(call({"n": node(cpu="1499m")}), new, pod(1))


# --- claims ----------------------------------------------------------------------------------------------------------


def claim(size, phase="Bound", storage_class="fast", annotation=None):
    annotations = {} if annotation is None else {"volume.beta.kubernetes.io/storage-class": annotation}
    spec = {"resources": {"requests": {"storage": size}}, "storageClassName": storage_class}
    return {"metadata": {"name": "c", "annotations": annotations}, "spec": spec, "status": {"phase": phase}}


CLASSES = {"fast": {"allowVolumeExpansion": True}, "slow": {}, "fixed": {"allowVolumeExpansion": False}}


@pytest.mark.parametrize(
    ("new", "old", "why"),
    [
        (claim("2Gi"), claim("1Gi"), ""),
        (claim("1Gi", "Pending"), claim("1Gi", "Pending"), ""),
        (claim("1Gi", "Pending"), claim("2Gi", "Pending"), ""),
        (claim("2Gi"), claim("1Gi", "Pending"), resize.UNBOUND),
        (claim("2Gi", storage_class="slow"), claim("1Gi", storage_class="slow"), resize.FIXED),
        (claim("2Gi", storage_class="fixed"), claim("1Gi", storage_class="fixed"), resize.FIXED),
        (claim("2Gi", storage_class="none"), claim("1Gi", storage_class="none"), resize.FIXED),
        (claim("2Gi", storage_class=""), claim("1Gi", storage_class=""), resize.FIXED),
        (claim("2Gi"), claim("1Gi", storage_class="slow"), resize.FIXED),
        (claim("2Gi", storage_class="slow", annotation="fast"), claim("1Gi", annotation="fast"), ""),
        (claim("2Gi", annotation=""), claim("1Gi", annotation=""), resize.FIXED),
    ],
)
def test_a_claim_grows_if_it_is_bound_and_its_class_allows_it(new, old, why):
    if why:
        with pytest.raises(StatusError, match=f"is forbidden: {why}$"):
            resize.validate_claim(call(classes=CLASSES), new, old)
    else:
        resize.validate_claim(call(classes=CLASSES), new, old)
    resize.validate_claim(call(), new, None)
