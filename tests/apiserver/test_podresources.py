"""Sums of the resources of a pod: its containers, its init containers, and its overhead."""

from decimal import Decimal

import pytest

from fakekube.apiserver.registry.core.pod.resources import of_pod, spelled, total


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
