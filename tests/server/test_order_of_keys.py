"""Objects are answered with their keys in order, however they came to be: clients that keep them as text compare it."""

import pytest

from fakekube import FakeKube
from tests.simulation.samples.definitions import API, definition


def in_order(value):
    """Whether the keys are sorted on every level."""
    if isinstance(value, dict):
        return list(value) == sorted(value) and all(map(in_order, value.values()))
    return not isinstance(value, list) or all(map(in_order, value))


@pytest.fixture(scope="module")
def kube():
    with FakeKube() as opened:
        opened.apply(definition("Store", size="integer", colour="string"))
        yield opened


STORE = {"apiVersion": API, "kind": "Store", "metadata": {"name": "a"}, "spec": {"size": 1, "colour": "red"}}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"z": "1", "b": "2"}}


@pytest.mark.parametrize("obj", [STORE, MAP], ids=["a custom resource", "a built-in one"])
def test_keys_are_in_order_after_each_kind_of_write(kube, obj):
    key = (obj["apiVersion"], obj["kind"], "a")
    field = "spec" if "spec" in obj else "data"
    answers = [kube.create({**obj, "metadata": {"name": "a", "labels": {"z": "1", "b": "2"}}})]
    answers.append(kube.patch(*key, {field: {"zz": None, "aa": None}}))
    answers.append(kube.update({**answers[-1], field: dict(reversed(obj[field].items()))}))
    (listed,) = [one for one in kube.list(*key[:2]) if one["metadata"]["name"] == "a"]
    for answer in [*answers, kube.get(*key), listed]:
        assert in_order(answer["metadata"])
        assert list(answer[field]) == sorted(obj[field])
