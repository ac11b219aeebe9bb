"""The order in which Go encodes the fields of a struct, and the keys of a map."""

import pytest

from fakekube.apiserver.schema.omitempty import ALWAYS_UNTIL, always_in
from fakekube.apiserver.wire.structorder import in_struct_order


def shown(obj, kind="Pod", api_version="v1"):
    return in_struct_order(obj, api_version, kind)


def order_of(value):
    """The keys on every level."""
    if isinstance(value, dict):
        return [(key, order_of(one)) for key, one in value.items()]
    return [order_of(one) for one in value] if isinstance(value, list) else value


def test_fields_are_in_the_order_of_the_struct_and_maps_in_that_of_their_keys():
    obj = {
        "spec": {
            "nodeSelector": {"b": "1", "a": "2"},
            "unknown": {"z": 1, "y": 2},
            "containers": [
                {"image": "i", "name": "c", "resources": {"requests": {"memory": "1", "cpu": "2"}, "limits": {}}}
            ],
            "volumes": [{"secret": {"secretName": "s"}, "name": "v"}],
        },
        "metadata": {"labels": {"b": "1", "a": "2"}, "name": "p"},
        "other": {"b": 1, "a": 2},
    }
    assert order_of(shown(obj)) == order_of({
        "spec": {
            "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
            "containers": [{"name": "c", "image": "i", "resources": {"limits": {}, "requests": {"cpu": "2", "memory": "1"}}}],
            "nodeSelector": {"a": "2", "b": "1"},
            "unknown": {"z": 1, "y": 2},
        },
        "metadata": {"name": "p", "labels": {"a": "2", "b": "1"}},
        "other": {"b": 1, "a": 2},
    })  # fmt: skip


def test_maps_of_structs_are_sorted_too():
    devices = [{"name": "d", "attributes": {"b": {"int": 1}, "a": {"string": "x"}}}]
    found = shown({"spec": {"devices": devices}}, "ResourceSlice", "resource.k8s.io/v1")
    assert list(found["spec"]["devices"][0]["attributes"]) == ["a", "b"]


@pytest.mark.parametrize(
    "obj",
    [{"spec": None}, {"spec": {"containers": None}}, {"spec": {"nodeSelector": "x"}}, {"spec": {"volumes": ["x"]}}],
)
def test_values_of_other_types_stay(obj):
    assert shown(obj) == obj


def test_a_custom_resource_stays_as_it_is():
    obj = {"spec": {"b": 1, "a": 2}}
    assert shown(obj, "Backup", "example.com/v1") is obj


@pytest.mark.parametrize(("where", "last"), sorted((where, last) for where, (last, _) in ALWAYS_UNTIL.items()))
def test_a_field_is_encoded_though_it_is_not_set_until_a_version(where, last):
    owner, _, field = where.rpartition(".")
    assert [field in always_in(minor, owner) for minor in (last - 1, last, last + 1)] == [True, True, False]
    assert always_in(last, owner)[field] == ALWAYS_UNTIL[where][1]
    assert always_in(last, f"{owner}x") == {}
