"""Sums of the resources of a pod: its containers, its init containers, and its overhead."""

from decimal import Decimal

import pytest

from fakekube.apiserver.registry.core.pod.resources import default_resources, of_pod, spelled, total


def one(amount, **more):
    return {"resources": {"requests": {"cpu": amount}}, **more}


ALWAYS = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("containers", "init", "cpu"),
    [
        (["1", "2"], [], "3"),
        (["1"], [("2", {})], "2"),
        (["2"], [("2", {})], "2"),
        (["3"], [("2", {}), ("1", {})], "3"),
        (["1"], [("2", ALWAYS)], "3"),
        (["1"], [("2", ALWAYS), ("4", {})], "6"),
        (["1"], [("4", {}), ("2", ALWAYS)], "4"),
        (["1"], [("1", ALWAYS), ("1", ALWAYS)], "3"),
        (["5"], [("1", ALWAYS), ("3", {}), ("1", ALWAYS)], "7"),
        (["500m", "500m"], [], "1"),
    ],
)
def test_what_a_pod_needs(containers, init, cpu):
    spec = {
        "containers": [one(amount) for amount in containers],
        "initContainers": [one(amount, **more) for amount, more in init],
    }
    assert of_pod(spec, "requests") == {"cpu": cpu}
    assert total(spec, "requests")["cpu"] == Decimal(cpu)
    assert of_pod(spec, "limits") == {}


def test_the_overhead_and_the_resources_of_the_pod():
    spec = {
        "containers": [one("1")],
        "overhead": {"cpu": "250m", "memory": "1Mi"},
        "resources": {"requests": {"cpu": "4", "example.com/x": "1"}},
    }
    assert of_pod(spec, "requests") == {"cpu": "4"}
    assert of_pod(spec, "requests", overhead=True) == {"cpu": "4250m", "memory": "1Mi"}
    assert of_pod(spec, "limits", overhead=True) == {}


@pytest.mark.parametrize(
    ("number", "like", "text"),
    [
        (1023, "1Ki", "1023"), (1024, "1Ki", "1Ki"), (1024, "1", "1024"), (1025, "1Ki", "1025"), (2048, "1Mi", "2Ki"), (1048576, "1Ki", "1Mi"),
        (-2048, "1Ki", "-2Ki"), (Decimal("1.5"), "1Ki", "1500m"), (Decimal("2048.5"), "1Ki", "2048500m"), (1000, "1", "1k"), (0, "1Ki", "0"),
    ],
)  # fmt: skip
def test_a_sum_in_the_notation_of_a_quantity(number, like, text):
    assert spelled(Decimal(number), like) == text


def held(**resources):
    return {"resources": resources}


@pytest.mark.parametrize(
    ("own", "containers", "limits", "requests"),
    [
        pytest.param({}, [held(limits={"cpu": "1"})], None, None, id="no-resources-of-the-pod"),
        pytest.param(
            {"limits": {"cpu": "2"}}, [held(requests={"cpu": "1"}), held(requests={"cpu": "500m"})],
            {"cpu": "2"}, {"cpu": "1500m"}, id="requests-are-those-of-the-containers",
        ),
        pytest.param(
            {"limits": {"cpu": "2", "memory": "1Gi"}}, [held(requests={"cpu": "1"})],
            {"cpu": "2", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, id="else-the-limits-of-the-pod",
        ),
        pytest.param(
            {"limits": {"cpu": "2"}, "requests": {"cpu": "250m"}}, [held(requests={"cpu": "1"})],
            {"cpu": "2"}, {"cpu": "250m"}, id="requests-of-the-pod-stay",
        ),
        pytest.param(
            {"limits": {"cpu": "2"}}, [held(requests={"example.com/x": "1"})],
            {"cpu": "2"}, {"cpu": "2"}, id="only-resources-that-a-pod-can-have",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}}, [held(limits={"hugepages-2Mi": "4Mi"}), held(limits={"hugepages-2Mi": "2Mi"})],
            {"hugepages-2Mi": "6Mi"}, {"cpu": "1", "hugepages-2Mi": "6Mi"}, id="limits-of-huge-pages",
        ),
        pytest.param(
            {"requests": {"hugepages-2Mi": "8Mi"}}, [held(limits={"hugepages-2Mi": "4Mi"})],
            None, {"hugepages-2Mi": "8Mi"}, id="no-limit-of-huge-pages-that-the-pod-requests",
        ),
        pytest.param(
            {"limits": {"hugepages-2Mi": "8Mi"}}, [held(limits={"hugepages-2Mi": "4Mi"})],
            {"hugepages-2Mi": "8Mi"}, {"hugepages-2Mi": "8Mi"}, id="limits-of-the-pod-stay",
        ),
        pytest.param(
            {"requests": {"cpu": "1"}}, [held(limits={"cpu": "1", "memory": "1Gi"})], None, {"cpu": "1"},
            id="no-limits-but-those-of-huge-pages",
        ),
    ],
)  # fmt: skip
def test_the_resources_of_the_pod_default_to_those_of_its_containers(own, containers, limits, requests):
    """`defaultHugePagePodLimits`, `defaultPodRequests`."""
    spec = {"containers": containers, **({"resources": own} if own else {})}
    default_resources(spec)
    found = spec.get("resources") or {}
    assert (found.get("limits"), found.get("requests")) == (limits, requests)


def test_the_requests_of_containers_default_to_their_limits():
    spec = {
        "containers": [
            held(limits={"cpu": "2", "memory": "1Gi"}, requests={"cpu": "1"}),
            held(requests={"cpu": "1"}),
            {},
        ],
        "initContainers": [held(limits={"cpu": "3"})],
    }
    default_resources(spec)
    first, second, third = spec["containers"]
    assert first["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert second == held(requests={"cpu": "1"})
    assert third == {}
    assert spec["initContainers"] == [held(limits={"cpu": "3"}, requests={"cpu": "3"})]
