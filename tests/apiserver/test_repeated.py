"""Fields that occur more than once in a document, as Go decodes them into the types of a kind (`sigs.k8s.io/json`)."""

import json

import pytest

from fakekube.apiserver.schema.repeated import merged
from fakekube.apiserver.wire.gojson import Pairs
from tests.apiserver.validation.support import CORE

POD = CORE.schemas.of_kind("", "v1", "Pod")


def decoded(fields: str, schema=POD):
    return merged(schema, json.loads(f"{{{fields}}}", object_pairs_hook=Pairs))


def of_spec(first: str, second: str):
    return decoded(f'"spec":{{{first}}},"spec":{{{second}}}')["spec"]


@pytest.mark.parametrize(
    ("first", "second", "spec"),
    [
        # structs by their fields, maps by their keys
        ('"nodeName":"a"', '"hostname":"b"', {"nodeName": "a", "hostname": "b"}),
        ('"nodeName":"a"', '"nodeName":"b"', {"nodeName": "b"}),
        ('"nodeSelector":{"a":"1","b":"1"}', '"nodeSelector":{"b":"2"}', {"nodeSelector": {"a": "1", "b": "2"}}),
        ('"overhead":{"cpu":"1"}', '"overhead":{"cpu":"2"}', {"overhead": {"cpu": "2"}}),
        # lists by the positions of their items
        ('"containers":[{"name":"a","image":"i"}]', '"containers":[{"name":"b"}]',
         {"containers": [{"name": "b", "image": "i"}]}),
        ('"containers":[{"name":"a"}]', '"containers":[{"image":"i"},{"name":"c"}]',
         {"containers": [{"name": "a", "image": "i"}, {"name": "c"}]}),
        ('"containers":[{"name":"a"},{"name":"b"}]', '"containers":[{"image":"i"}]',
         {"containers": [{"name": "a", "image": "i"}]}),
        ('"containers":[{"name":"a"}]', '"containers":[null,null]', {"containers": [{"name": "a"}, None]}),
        ('"containers":[{"name":"a"}]', '"containers":[]', {"containers": []}),
        # null resets pointers, maps and lists, and leaves other values
        ('"nodeName":"a"', '"nodeName":null', {"nodeName": "a"}),
        ('"hostNetwork":true', '"hostNetwork":null', {"hostNetwork": True}),
        ('"activeDeadlineSeconds":1', '"activeDeadlineSeconds":null', {"activeDeadlineSeconds": None}),
        ('"enableServiceLinks":true', '"enableServiceLinks":null', {"enableServiceLinks": None}),
        ('"affinity":{"nodeAffinity":{}}', '"affinity":null', {"affinity": None}),
        ('"nodeSelector":{"a":"1"}', '"nodeSelector":null', {"nodeSelector": None}),
        ('"containers":[{"name":"a"}]', '"containers":null', {"containers": None}),
        ('"affinity":null', '"affinity":{"nodeAffinity":{}}', {"affinity": {"nodeAffinity": {}}}),
        ('"containers":null', '"containers":[{"name":"a"}]', {"containers": [{"name": "a"}]}),
        # a value of a wrong type stays, so that its error is reported
        ('"nodeName":1', '"nodeName":"a"', {"nodeName": 1}),
        ('"hostNetwork":"x"', '"hostNetwork":true', {"hostNetwork": "x"}),
        ('"containers":{"a":1}', '"containers":[]', {"containers": {"a": 1}}),
        ('"nodeSelector":[1]', '"nodeSelector":{}', {"nodeSelector": [1]}),
        ('"affinity":1', '"affinity":{}', {"affinity": 1}),
        # fields that the type does not have: the last one counts
        ('"x":{"a":1}', '"x":{"b":2}', {"x": {"b": 2}}),
        ('"x":[{"a":1,"a":2}]', '"y":1', {"x": [{"a": 2}], "y": 1}),
    ],
)  # fmt: skip
def test_a_later_value_is_decoded_into_the_earlier_one(first, second, spec):
    assert of_spec(first, second) == spec


def test_null_does_not_reset_the_structs_of_an_object():
    found = decoded(
        '"metadata":{"name":"a"},"metadata":null,"spec":{"nodeName":"b"},"spec":null,"status":{},"status":null'
    )
    assert found == {"metadata": {"name": "a"}, "spec": {"nodeName": "b"}, "status": {}}


def test_fields_are_repeated_on_any_level():
    assert of_spec('"containers":[{"name":"a","name":"b","env":[{"name":"x","name":"y"}]}]', "") == {
        "containers": [{"name": "b", "env": [{"name": "y"}]}]
    }
    assert of_spec('"nodeSelector":{"a":"1","a":"2"}', "") == {"nodeSelector": {"a": "2"}}


@pytest.mark.parametrize(
    ("capacity", "found"),
    [
        ('{"c":{"requestPolicy":{"default":"1"},"requestPolicy":{"validValues":["1"]}}}',
         {"c": {"requestPolicy": {"default": "1", "validValues": ["1"]}}}),
        ('{"c":{"requestPolicy":{"default":"1"}},"c":{"requestPolicy":{"validValues":["1"]}}}',
         {"c": {"requestPolicy": {"validValues": ["1"]}}}),
        ('{"c":{"requestPolicy":{"default":"1"},"requestPolicy":null}}', {"c": {"requestPolicy": None}}),
        ('{"c":{"value":"1","value":"2"},"d":{"x":1,"x":2}}', {"c": {"value": "2"}, "d": {"x": 2}}),
    ],
)  # fmt: skip
def test_fields_of_the_values_of_maps(capacity, found):
    """A key of a map that occurs again has a new value: maps have no addressable values."""
    slices = CORE.schemas.of_kind("resource.k8s.io", "v1", "ResourceSlice")
    spec = decoded(f'"spec":{{"devices":[{{"capacity":{capacity}}}]}}', slices)["spec"]
    assert spec["devices"][0]["capacity"] == found
