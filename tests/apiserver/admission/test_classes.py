"""Default classes: PriorityClasses of pods and StorageClasses of claims."""

from datetime import timedelta

import pytest

from tests.apiserver.api import PODS

PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def priority(api, name, value, **more):
    return api.call("POST", PRIORITIES, {"metadata": {"name": name}, "value": value, **more})


def pod(**spec):
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@pytest.mark.parametrize(
    ("spec", "value", "policy", "name"),
    [
        pytest.param({}, 0, "PreemptLowerPriority", None, id="none"),
        pytest.param({"priorityClassName": "high"}, 10, "PreemptLowerPriority", "high", id="class"),
        pytest.param({"priorityClassName": "quiet"}, 5, "Never", "quiet", id="never"),
        pytest.param({"priorityClassName": "high", "priority": 10}, 10, "PreemptLowerPriority", "high", id="as-computed"),
        pytest.param({"priorityClassName": "system-node-critical"}, 2000001000, "PreemptLowerPriority",
                     "system-node-critical", id="system"),
    ],
)  # fmt: skip
def test_the_priority_of_a_pod(api, spec, value, policy, name):
    priority(api, "high", 10)
    priority(api, "quiet", 5, preemptionPolicy="Never")
    found = api.ok("POST", PODS, pod(**spec))["spec"]
    assert (found["priority"], found["preemptionPolicy"], found.get("priorityClassName")) == (value, policy, name)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "gone"}, "no PriorityClass with name gone was found"),
        ({"priority": 7}, "the integer value of priority (7) must not be provided in pod spec; priority admission "
                          "controller computed 0 from the given PriorityClass name"),
        ({"preemptionPolicy": "Never"}, "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
                                        "priority admission controller computed PreemptLowerPriority from the given "
                                        "PriorityClass name"),
    ],
)  # fmt: skip
def test_priorities_that_are_refused(api, spec, why):
    assert api.refused("POST", PODS, pod(**spec)) == (403, "Forbidden", f'pods "p" is forbidden: {why}')


def test_the_default_class(api):
    assert priority(api, "usual", 3, globalDefault=True)[0] == 201
    found = api.ok("POST", PODS, pod())["spec"]
    assert (found["priority"], found["priorityClassName"]) == (3, "usual")
    code, refused = priority(api, "other", 4, globalDefault=True)
    assert (code, refused["message"]) == (
        403,
        'priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass usual is already marked as default. Only one '
        "default can exist",
    )


def storage(api, name, default=None):
    annotations = {"storageclass.kubernetes.io/is-default-class": default} if default is not None else {}
    body = {"metadata": {"name": name, "annotations": annotations}, "provisioner": "x"}
    return api.ok("POST", STORAGE, body)


def claim(**spec):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"metadata": {"name": "c"}, "spec": spec}


@pytest.mark.parametrize(
    ("classes", "spec", "got"),
    [
        pytest.param({"a": None}, {}, None, id="no-default"),
        pytest.param({"a": None, "b": "true"}, {}, "b", id="default"),
        pytest.param({"a": "false"}, {}, None, id="no-longer"),
        pytest.param({"b": "true", "a": "true"}, {}, "a", id="of-two-of-one-time-the-first"),
        pytest.param({"b": "true"}, {"storageClassName": "x"}, "x", id="one-of-its-own"),
        pytest.param({"b": "true"}, {"storageClassName": ""}, "", id="none-wanted"),
    ],
)
def test_the_class_of_a_claim(api, classes, spec, got):
    for name, default in classes.items():
        storage(api, name, default)
    assert api.ok("POST", CLAIMS, claim(**spec))["spec"].get("storageClassName") == got


def test_of_several_default_classes_the_newest_is_taken_then_the_first_by_name(api):
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}

    def chosen(name):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        return api.ok("POST", CLAIMS, {"metadata": {"name": name}, "spec": spec})["spec"].get("storageClassName")

    def made(name, **meta):
        api.ok("POST", STORAGE, {"metadata": {"name": name, **meta}, "provisioner": "p"})

    made("other", annotations={"storageclass.kubernetes.io/is-default-class": "false"})
    assert chosen("none") is None
    made("old", **default)
    assert chosen("one") == "old"
    api.context.time += timedelta(seconds=1)
    made("z-new", **default)
    made("y-new", **default)
    made("x-other")
    assert chosen("newest") == "y-new"


INGRESS_CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"


@pytest.mark.parametrize(
    ("classes", "ingress", "got"),
    [
        pytest.param({"a": None}, {}, None, id="no-default"),
        pytest.param({"a": None, "b": "true"}, {}, "b", id="default"),
        pytest.param({"a": "false"}, {}, None, id="no-longer"),
        pytest.param({"b": "true", "a": "true"}, {}, "a", id="of-two-of-one-time-the-first"),
        pytest.param({"a": "true", "b": None}, {"ingressClassName": "b"}, "b", id="one-of-its-own"),
        pytest.param({"a": "true"}, {"annotation": "nginx"}, None, id="an-annotation"),
    ],
)
def test_the_class_of_an_ingress(api, classes, ingress, got):
    for name, default in classes.items():
        annotations = {"ingressclass.kubernetes.io/is-default-class": default} if default is not None else {}
        meta = {"name": name, "annotations": annotations}
        api.ok("POST", INGRESS_CLASSES, {"metadata": meta, "spec": {"controller": "example.com/c"}})
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    annotation = ingress.pop("annotation", None)
    meta = {"name": "i", "annotations": {"kubernetes.io/ingress.class": annotation} if annotation else {}}
    made = api.ok("POST", INGRESSES, {"metadata": meta, "spec": {"defaultBackend": backend, **ingress}})
    assert made["spec"].get("ingressClassName") == got
    del made["spec"]["defaultBackend"]
    made["spec"] = {"defaultBackend": backend}
    assert api.ok("PUT", f"{INGRESSES}/i", made)["spec"].get("ingressClassName") is None
