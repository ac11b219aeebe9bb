"""The overhead and the scheduling that a RuntimeClass sets in pods."""

import pytest

from tests.apiserver.api import PODS, Api
from tests.apiserver.validation.support import problems

CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "kata"},
    "handler": "kata",
    "overhead": {"podFixed": {"cpu": "100m"}},
    "scheduling": {"nodeSelector": {"kind": "vm"}, "tolerations": [{"key": "vm", "operator": "Exists"}]},
}


@pytest.fixture
def api():
    found = Api()
    found.ok("POST", "/apis/node.k8s.io/v1/runtimeclasses", CLASS)
    return found


def pod(**spec):
    containers = [{"name": "c", "image": "i"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def test_a_pod_gets_what_its_class_says(api):
    spec = api.ok("POST", PODS, pod(runtimeClassName="kata", nodeSelector={"a": "b"}))["spec"]
    assert spec["overhead"] == {"cpu": "100m"}
    assert spec["nodeSelector"] == {"a": "b", "kind": "vm"}
    assert spec["tolerations"][-1] == {"key": "vm", "operator": "Exists"}, "after those of DefaultTolerationSeconds"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        (
            {"runtimeClassName": "kata", "overhead": {"cpu": "1"}},
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            {"runtimeClassName": "kata", "nodeSelector": {"kind": "x"}},
            "conflict: runtimeClass.scheduling.nodeSelector[kind] = vm; pod.spec.nodeSelector[kind] = x",
        ),
        (
            {"overhead": {"cpu": "1"}},
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        ),
    ],
)
def test_what_contradicts_a_class_is_refused(api, spec, why):
    assert api.refused("POST", PODS, pod(**spec)) == (403, "Forbidden", f'pods "p" is forbidden: {why}')


@pytest.mark.parametrize(
    "change", [{"key": "b"}, {"value": "y"}, {"effect": "NoExecute"}, {}, {"tolerationSeconds": 5}]
)
def test_tolerations_of_a_class_differ_by_more_than_their_seconds(change):
    one = {
        "key": "a",
        "operator": "Equal",
        "value": "x",
        "effect": "NoExecute" if "tolerationSeconds" in change else "NoSchedule",
    }
    other = {**one, **change}
    found = problems("RuntimeClass", {"handler": "h", "scheduling": {"tolerations": [one, other]}})
    if change and "tolerationSeconds" not in change:
        assert found == []
        return
    [error] = found
    assert error.startswith(
        'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Equal","Value":"x","Effect":'
    )
