"""Changes of a pod through `/resize` and `/ephemeralcontainers`."""

import pytest

from fakekube.apiserver.registry.core.pod.validation.pod import validate_ephemeral_containers
from fakekube.apiserver.registry.core.pod.validation.podresize import validate_resize
from tests.apiserver.validation.support import as_new, complete, merged, texts

POD = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}


def containers(**changes):
    return {"spec": {"containers": [{**POD["spec"]["containers"][0], **changes}]}}


def requests(**amounts):
    return containers(resources={"requests": amounts})


IMMUTABLE = "spec: Forbidden: only cpu and memory resources are mutable"


OWN = {"spec": {"resources": {"limits": {"cpu": "3"}}}}


@pytest.mark.parametrize(
    ("before", "change", "expected"),
    [
        ({}, requests(cpu="2", memory="1Gi"), []),
        (
            {},
            requests(cpu="2"),
            ["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"],
        ),
        (
            {},
            containers(resources={"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}),
            ['spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing'],
        ),
        ({}, requests(**{"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1"}), [IMMUTABLE]),
        ({}, containers(image="j"), [IMMUTABLE]),
        (
            {},
            {"spec": {"containers": [*POD["spec"]["containers"], {"name": "d", "image": "i"}]}},
            ["spec.containers: Forbidden: containers may not be added or removed on resize"],
        ),
        (
            {},
            containers(name="d"),
            ["spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize"],
        ),
        ({}, {"spec": {"nodeSelector": {"a": "b"}}}, [IMMUTABLE]),
        (
            {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": {"nodeName": "n"}},
            requests(cpu="2", memory="1Gi"),
            [": Forbidden: static pods cannot be resized"],
        ),
        (
            {"spec": {"os": {"name": "windows"}}},
            requests(cpu="2", memory="1Gi"),
            [": Forbidden: windows pods cannot be resized"],
        ),
        (OWN, {"spec": {"resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "2"}}}}, []),
        (
            OWN,
            {"spec": {"resources": {"limits": {"cpu": None, "memory": "1Gi"}}}},
            ["spec.resources.limits: Forbidden: pod-level resource limits cannot be removed"],
        ),
        (OWN, {"spec": {"resources": None}}, ["spec.resources: Forbidden: pod-level resources cannot be removed"]),
        (
            OWN,
            {"spec": {"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}},
            ["spec: Forbidden: only cpu and memory resources are mutable at pod-level"],
        ),
    ],
)
def test_resizes(before, change, expected):
    stored = as_new("Pod", merged(POD, before))
    sent = {**stored, "spec": complete("Pod", merged(stored, change))["spec"]}
    found = texts(validate_resize(sent, stored))
    assert found == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([], ["a"], []),
        (["a"], ["b", "a"], []),
        (
            ["a"],
            [],
            ['spec.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be removed\n'],
        ),
        (["a"], ["A"], None),
    ],
)
def test_ephemeral_containers(before, after, expected):
    stored, sent = (
        complete("Pod", merged(POD, {"spec": {"ephemeralContainers": [{"name": n, "image": "i"} for n in names]}}))
        for names in (before, after)
    )
    found = texts(validate_ephemeral_containers(sent, stored))
    assert found == expected if expected is not None else len(found) == 2


RESTARTS = {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}


def with_init(**fields):
    resources = {"requests": {"cpu": "1"}}
    init = {"name": "i", "image": "i", "resources": resources, **fields}
    return {"spec": {"initContainers": [init], "containers": [{"name": "c", "image": "i", "resources": resources}]}}


@pytest.mark.parametrize(
    ("before", "change", "expected"),
    [
        ({}, {"resources": {"requests": {"cpu": "2"}}}, []),
        ({}, {"image": "j"}, ["only cpu and memory resources for init or sidecar containers are mutable"]),
        ({"restartPolicy": "Always", **RESTARTS}, {"resources": {"requests": {"cpu": "2"}}}, []),
        (
            RESTARTS,
            {"resources": {"requests": {"cpu": "2"}}},
            ["non-sidecar init containers with a resize policy of RestartContainer cannot be resized"],
        ),
    ],
)
def test_resizes_of_init_containers(before, change, expected):
    stored = as_new("Pod", with_init(**before))
    sent = {**stored, "spec": complete("Pod", merged(stored, with_init(**{**before, **change})))["spec"]}
    assert texts(validate_resize(sent, stored)) == [f"spec.initContainers[0]: Forbidden: {why}" for why in expected]


def test_renamed_containers_are_reported_before_init_containers():
    stored = as_new("Pod", with_init())
    spec = {kind: [{**stored["spec"][kind][0], "name": "other"}] for kind in ("containers", "initContainers")}
    found = texts(validate_resize({**stored, "spec": {**stored["spec"], **spec}}, stored))
    renamed = [one.partition(":")[0] for one in found if "renamed" in one]
    assert renamed == ["spec.containers[0].name", "spec.initContainers[0].name"]
