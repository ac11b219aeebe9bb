"""Path elements: how items are named, what text names one, how a path is shown."""

import pytest

from fakekube.apiserver.apply import pathelement
from fakekube.apiserver.apply.managedfieldsentry import Undecodable, decode
from fakekube.apiserver.schema.model import Schema
from tests.apiserver.apply.schemas import NUMBER, PORT, TEXT

PORTS = Schema("list", items=PORT, list_type="map", keys=("port", "protocol"))
SET = Schema("list", items=TEXT, list_type="set")


@pytest.mark.parametrize(
    ("schema", "item", "element"),
    [
        (PORTS, {"port": 1}, 'k:{"port":1,"protocol":"TCP"}'),
        (PORTS, {"port": 1, "protocol": "UDP"}, 'k:{"port":1,"protocol":"UDP"}'),
        (PORTS, {"protocol": "UDP"}, 'k:{"protocol":"UDP"}'),
        (SET, "a<b>&c", 'v:"a\\u003cb\\u003e\\u0026c"'),
        (SET, 1, "v:1"),
        (SET, True, "v:true"),
    ],
)
def test_the_element_of_an_item(schema, item, element):
    assert pathelement.of_item(item, schema) == element


KEYLESS = Schema("list", items=Schema("object", make_fields=lambda: {"a": NUMBER}), list_type="map", keys=("a", "b"))


@pytest.mark.parametrize(
    ("schema", "item", "why"),
    [
        (PORTS, None, "associative list with keys may not have a null element"),
        (PORTS, 1, "associative list with keys may not have non-map elements"),
        (
            KEYLESS,
            {},
            'associative list with keys has an element that omits all key fields ["a" "b"] '
            "(and doesn't have default values for any key fields)",
        ),
        (SET, {}, "associative list without keys has an element that's a map type"),
        (SET, [], "not supported: associative list with lists as elements"),
        (SET, None, "associative list without keys has an element that's an explicit null"),
    ],
)
def test_an_item_without_an_element(schema, item, why):
    with pytest.raises(pathelement.BadItem) as caught:
        pathelement.of_item(item, schema)
    assert str(caught.value) == why


@pytest.mark.parametrize(
    ("text", "element"),
    [
        ("f:a", "f:a"),
        ("f:", "f:"),
        ('v:"a"', 'v:"a"'),
        ("v: 1", "v:1"),
        ('k:{"b": 1, "a": "x"}', 'k:{"a":"x","b":1}'),
        ("i:3", "i:3"),
        ("i:-1", "i:-1"),
        ('v:["<", {"b>": 1, "a": "&"}]', 'v:["\\u003c",{"a":"\\u0026","b\\u003e":1}]'),
    ],
)
def test_text_is_read_as_an_element(text, element):
    assert pathelement.check(text) == element


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a", "unknown path element type: a"),
        ("x:1", "unknown path element type: x:1"),
        ("v:x", "Expecting value"),
        ("k:[]", "no key fields: k:[]"),
        ("k:", "Expecting value"),
        ("i:x", "invalid literal"),
    ],
)
def test_text_that_names_no_element(text, why):
    with pytest.raises(pathelement.BadElement) as caught:
        pathelement.check(text)
    assert str(caught.value).startswith(why)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("f:spec", "f:a.b"), ".spec.a.b"),
        (("f:ports", 'k:{"port":1,"protocol":"TCP"}', "f:name"), '.ports[port=1,protocol="TCP"].name'),
        (("f:tags", 'v:"a"'), '.tags[="a"]'),
        (("f:tags", "v:null"), ".tags[=null]"),
        (("f:tags", 'v:[1,"a"]'), '.tags[=[1,"a"]]'),
        (("f:tags", 'v:{"a":true}'), ".tags[=a=true]"),
        (("f:args", "i:2"), ".args[2]"),
    ],
)
def test_how_a_path_is_shown(path, text):
    assert pathelement.shown(path) == text


def test_elements_are_ordered_by_type_and_value():
    elements = ['v:"b"', "v:true", "v:2", 'v:"a"', "v:1.5", "v:null", "v:false"]
    ordered = sorted(elements, key=pathelement.comparable)
    assert ordered == ["v:1.5", "v:2", 'v:"a"', 'v:"b"', "v:false", "v:true", "v:null"]
    keys = ['k:{"a":2}', 'k:{"a":1,"b":1}', 'k:{"a":1}']
    assert sorted(keys, key=pathelement.comparable) == ['k:{"a":1}', 'k:{"a":1,"b":1}', 'k:{"a":2}']


ENTRY = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"operation": "Patch"}, "operation must be `Apply` or `Update`"),
        ({"operation": None}, "operation must be `Apply` or `Update`"),
        ({"apiVersion": ""}, "apiVersion must not be empty"),
        ({"fieldsType": None}, "missing fieldsType in managed fields entry 0"),
        ({"fieldsType": "FieldsV2"}, 'invalid fieldsType "FieldsV2" in managed fields entry 0'),
        ({"fieldsV1": {"f:a": 1}}, "error decoding set: expected an object"),
        ({"fieldsV1": {"x": {}}}, "error decoding set: unknown path element type: x"),
        ({"fieldsV1": {"f:a": {"v:x": {}}}}, "error decoding set: Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_entries_that_cannot_be_read(changes, why):
    assert decode([ENTRY]).managers
    with pytest.raises(Undecodable) as caught:
        decode([{**ENTRY, **changes}])
    assert str(caught.value) == why


NAMED = Schema(
    "object", name="core.v1.X", required=frozenset({"text", "number", "port"}),
    make_fields=lambda: {
        "text": TEXT, "number": NUMBER, "port": Schema("int32", default=8), "other": TEXT, "chosen": Schema("string", default="a"),
    },
)  # fmt: skip


@pytest.mark.parametrize(
    ("key", "default"),
    [("text", ""), ("number", 0), ("port", 8), ("other", None), ("chosen", "a"), ("unknown", None)],
)
def test_the_default_of_a_key(key, default):
    """A required key of a built-in type has the zero value of Go, which is always encoded."""
    assert pathelement._default(key, NAMED) == default
    assert pathelement._default(key, None) is None
