"""Structural schemas: pruning, nulls, defaults, embedded resources and correlation with old values."""

import copy
from typing import Any

import pytest

from fakekube import data
from fakekube.apiserver.crd import embedded
from fakekube.apiserver.crd.correlatedobject import CorrelatedObject
from fakekube.apiserver.crd.defaulting import default, prune_nulls
from fakekube.apiserver.crd.listtypes import list_errors
from fakekube.apiserver.crd.pruning import prune, prune_value
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas

TEXT = {"type": "string"}
INT = {"type": "integer"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}
META = BuiltinSchemas(data.load("schemas.json"), "1.36").type("meta.v1.ObjectMeta")


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def items(schema: Any) -> dict[str, Any]:
    return {"type": "array", "items": schema}


#: A schema, a value, the pruned value, and the paths of the pruned fields.
PRUNED = [
    pytest.param(of(a=TEXT), {"a": "x"}, {"a": "x"}, [], id="known"),
    pytest.param(of(a=TEXT), {"a": "x", "b": 1}, {"a": "x"}, ["b"], id="unknown"),
    pytest.param(of(a=TEXT), {"kind": "K", "metadata": {"z": 1}}, {"kind": "K", "metadata": {"z": 1}}, [], id="the-resource's-own"),
    pytest.param(of(s=of(a=TEXT)), {"s": {"b": {"c": 1}}}, {"s": {}}, ["s.b"], id="nested"),
    pytest.param(of(l=items(of(a=TEXT))), {"l": [{"a": "x"}, {"b": 1}, 3]}, {"l": [{"a": "x"}, {}, 3]}, ["l[1].b"], id="in-a-list"),
    pytest.param(of(l=items(items(of(a=TEXT)))), {"l": [[{"b": 1}]]}, {"l": [[{}]]}, ["l[0][0].b"], id="in-a-list-of-lists"),
    pytest.param(of(l={"type": "array"}), {"l": [{"b": 1}]}, {"l": [{}]}, ["l[0].b"], id="a-list-without-a-schema-of-items"),
    pytest.param({"type": "object", "additionalProperties": of(a=TEXT)}, {"x": {"b": 1}}, {"x": {}}, ["x.b"], id="in-a-map"),
    pytest.param({"type": "object", "additionalProperties": True}, {"x": {"b": 1}}, {"x": {}}, ["x.b"], id="a-map-of-anything"),
    pytest.param({**of(a=of(b=TEXT)), **OPEN}, {"a": {"c": 1}, "d": {"e": 1}}, {"a": {}, "d": {"e": 1}}, ["a.c"], id="open"),
    pytest.param(of(l={**items(of(a=TEXT)), **OPEN}), {"l": [{"b": 1}, [1], 2]}, {"l": [{"b": 1}, [1], 2]}, [], id="an-open-list"),
    pytest.param(of(l={**items(of(a=of(b=TEXT))), **OPEN}), {"l": [{"a": {"c": 1}}]}, {"l": [{"a": {}}]}, ["l[0].a.c"], id="below-an-open-list"),
    pytest.param(of(l={**items(items(of(a=of(b=TEXT)))), **OPEN}), {"l": [[{"a": {"c": 1}}]]}, {"l": [[{"a": {}}]]}, ["l[0][0].a.c"], id="lists-in-an-open-list"),
    pytest.param(of(l=OPEN), {"l": [{"b": 1}]}, {"l": [{"b": 1}]}, [], id="open-without-a-schema-of-items"),
    pytest.param(of(e={**of(a=TEXT), "x-kubernetes-embedded-resource": True}), {"e": {"kind": "K", "z": 1}}, {"e": {"kind": "K"}}, ["e.z"], id="embedded"),
    pytest.param(None, {"kind": "K", "spec": 1}, {"kind": "K"}, ["spec"], id="no-schema"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "kept", "unknown"), PRUNED)
def test_unknown_fields_are_dropped(schema: Any, value: Any, kept: Any, unknown: list[str]) -> None:
    before, found = copy.deepcopy(value), list[str]()
    made = prune(value, Structural(schema) if schema is not None else None, found)
    assert (made, found, value) == (kept, unknown, before)
    assert (made is value) == (not unknown)


def test_a_value_inside_is_pruned_by_its_own_schema() -> None:
    assert prune_value({"kind": "K", "b": 1}, Structural(of(a=TEXT))) == {}
    assert prune_value([{"b": 1}], Structural(items(of(a=TEXT)))) == [{}]
    assert prune_value("x", Structural(TEXT)) == "x"


NULLABLE = {**INT, "nullable": True}

#: A schema, a value, and the value without its nulls.
NULLS = [
    pytest.param(of(a=INT), {"a": None, "b": None}, {"b": None}, id="known-fields-only"),
    pytest.param(of(a=NULLABLE), {"a": None}, {"a": None}, id="nullable"),
    pytest.param(of(a={**INT, "default": 1}), {"a": None}, {"a": None}, id="waits-for-its-default"),
    pytest.param(of(s=of(a=INT)), {"s": {"a": None}}, {"s": {}}, id="nested"),
    pytest.param(of(l=items(of(a=INT))), {"l": [{"a": None}, None]}, {"l": [{}, None]}, id="in-a-list"),
    pytest.param({"type": "object", "additionalProperties": INT}, {"x": None, "y": 1}, {"y": 1}, id="in-a-map"),
]


@pytest.mark.parametrize(("schema", "value", "made"), NULLS)
def test_nulls_that_are_not_allowed_are_dropped(schema: Any, value: Any, made: Any) -> None:
    before = copy.deepcopy(value)
    assert (prune_nulls(value, Structural(schema)), value) == (made, before)
    assert prune_nulls(value, None) is value


ONE = {**INT, "default": 1}

#: A schema, a value, and the value with its defaults.
DEFAULTS = [
    pytest.param(of(a=ONE), {}, {"a": 1}, id="missing"),
    pytest.param(of(a=ONE), {"a": None}, {"a": 1}, id="null"),
    pytest.param(of(a={**ONE, "nullable": True}), {"a": None}, {"a": None}, id="null-that-is-allowed"),
    pytest.param(of(a=ONE), {"a": 2}, {"a": 2}, id="set"),
    pytest.param(of(s=of(a=ONE)), {}, {}, id="below-what-is-missing"),
    pytest.param(of(s=of(a=ONE)), {"s": {}}, {"s": {"a": 1}}, id="nested"),
    pytest.param(of(s={**of(a=ONE), "default": {}}), {}, {"s": {"a": 1}}, id="in-a-default"),
    pytest.param(of(l=items(of(a=ONE))), {"l": [{}, {"a": 2}]}, {"l": [{"a": 1}, {"a": 2}]}, id="in-a-list"),
    pytest.param(of(l=items(ONE)), {"l": [None, 2]}, {"l": [1, 2]}, id="a-null-item"),
    pytest.param(of(l=items({**ONE, "nullable": True})), {"l": [None]}, {"l": [None]}, id="a-null-item-that-is-allowed"),
    pytest.param({**of(a=INT), "additionalProperties": of(b=ONE)}, {"a": 1, "x": {}}, {"a": 1, "x": {"b": 1}}, id="in-a-map"),
    pytest.param({"type": "object", "additionalProperties": ONE}, {"x": None, "y": 2}, {"x": 1, "y": 2}, id="a-null-in-a-map"),
    pytest.param(of(s=of(a=ONE)), {"s": "text"}, {"s": "text"}, id="a-value-of-another-type"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "made"), DEFAULTS)
def test_defaults_are_filled_in(schema: Any, value: Any, made: Any) -> None:
    before = copy.deepcopy(value)
    assert (default(value, Structural(schema)), value) == (made, before)
    assert default(value, None) is value


# --- embedded resources ----------------------------------------------------------------------------------------------

RESOURCE = {"type": "object", "x-kubernetes-embedded-resource": True, **OPEN}
RIGHT = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}

#: An embedded resource, and its errors.
EMBEDDED = [
    pytest.param(RIGHT, [], id="right"),
    pytest.param({"metadata": {}}, ["e.apiVersion: Required value", "e.kind: Required value"], id="missing"),
    pytest.param({**RIGHT, "apiVersion": ""}, ['e.apiVersion: Invalid value: "": must not be empty'], id="empty-version"),
    pytest.param({**RIGHT, "apiVersion": 1}, ["e.apiVersion: Invalid value: 1: must be a string"], id="version-of-another-type"),
    pytest.param({**RIGHT, "apiVersion": "a/b/c"}, ['e.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'], id="version-of-three-parts"),
    pytest.param({**RIGHT, "kind": ""}, ['e.kind: Invalid value: "": must not be empty'], id="empty-kind"),
    pytest.param({**RIGHT, "kind": 1}, ["e.kind: Invalid value: 1: must be a string"], id="kind-of-another-type"),
]  # fmt: skip


@pytest.mark.parametrize(("resource", "errors"), EMBEDDED)
def test_what_an_embedded_resource_must_be(resource: Any, errors: list[str]) -> None:
    assert list(map(str, embedded.embedded_errors({"e": resource}, Structural(of(e=RESOURCE))))) == errors
    in_list = embedded.embedded_errors({"e": [resource]}, Structural(of(e=items(RESOURCE))))
    assert list(map(str, in_list)) == [error.replace("e.", "e[0].", 1) for error in errors]
    in_map = embedded.embedded_errors(
        {"m": {"e": resource}}, Structural(of(m={"type": "object", "additionalProperties": RESOURCE}))
    )
    assert list(map(str, in_map)) == [error.replace("e.", "m[e].", 1) for error in errors]


def test_a_kind_is_a_label_in_any_case() -> None:
    (error,) = embedded.embedded_errors({"e": {**RIGHT, "kind": "-a"}}, Structural(of(e=RESOURCE)))
    assert str(error).startswith(
        'e.kind: Invalid value: "-a": may have mixed case, but should otherwise match: a DNS-1035 label'
    )


def test_metadata_of_embedded_resources_is_that_of_all_objects() -> None:
    schema, unknown = Structural(of(e=items(RESOURCE))), list[str]()
    value = {"e": [{**RIGHT, "metadata": {"name": "a", "nope": 1}}, {**RIGHT, "metadata": None}, 3]}
    made = embedded.coerce(value, schema, META, unknown)
    assert made == {"e": [RIGHT, {**RIGHT, "metadata": {}}, 3]}
    assert unknown == ["e[0].metadata.nope"]
    assert embedded.coerce({"e": [RIGHT]}, schema, META, [])["e"] == [RIGHT]


@pytest.mark.parametrize(
    ("resource", "why"),
    [
        ({"apiVersion": 1}, "e.apiVersion: Invalid value: 1: must be a string"),
        ({"kind": None}, "e.kind: Invalid value: null: must be a string"),
        ({"metadata": "x"}, 'e.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta'),
        ({"metadata": {"labels": 1}}, "e.metadata: Invalid value: "),
    ],
)  # fmt: skip
def test_an_embedded_resource_that_cannot_be_read(resource: Any, why: str) -> None:
    with pytest.raises(embedded.MalformedEmbeddedResource) as caught:
        embedded.coerce({"e": resource}, Structural(of(e=RESOURCE)), META, [])
    assert str(caught.value).startswith(why)


def test_an_additional_property_is_in_brackets() -> None:
    schema, unknown = Structural(of(e={"type": "object", "additionalProperties": RESOURCE})), list[str]()
    embedded.coerce({"e": {"x y": {**RIGHT, "metadata": {"nope": 1}}}}, schema, META, unknown)
    assert unknown == ["e[x y].metadata.nope"]
    with pytest.raises(embedded.MalformedEmbeddedResource, match=r"^e\[k\].kind: Invalid value: 1"):
        embedded.coerce({"e": {"k": {**RIGHT, "kind": 1}}}, schema, META, [])


# --- what is unchanged -----------------------------------------------------------------------------------------------

PAIRS = {
    **items({"type": "object", "properties": {"k": OPEN, "v": INT}}),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
}

#: A schema, an old value, a new value, and whether it is unchanged.
UNCHANGED = [
    pytest.param(of(a=INT), {"a": 1}, {"a": 1}, True, id="equal"),
    pytest.param(of(a=INT), {"a": 1}, {"a": 2}, False, id="other"),
    pytest.param(of(a=INT), {"a": 1}, {"a": 1.0}, False, id="another-type"),
    pytest.param(of(a=INT), {"a": 1}, {}, False, id="fewer"),
    pytest.param(of(a=INT), {"a": 1}, {"b": 1}, False, id="another-field"),
    pytest.param(of(a=INT), {"z": 1}, {"z": 1}, False, id="a-field-that-the-schema-does-not-know"),
    pytest.param(of(l=items(INT)), {"l": [1, {"a": [2]}]}, {"l": [1, {"a": [2]}]}, True, id="list"),
    pytest.param(of(l=items(INT)), {"l": [1, 2]}, {"l": [2, 1]}, False, id="order-of-a-list"),
    pytest.param(of(l=items(INT)), {"l": [1]}, {"l": [1, 2]}, False, id="length-of-a-list"),
    pytest.param(of(l=PAIRS), {"l": [{"k": 1}, {"k": 2}]}, {"l": [{"k": 2}, {"k": 1}]}, True, id="order-of-a-map-list"),
    pytest.param(of(l=PAIRS), {"l": [{"k": 1, "v": 1}]}, {"l": [{"k": 1, "v": 2}]}, False, id="value-in-a-map-list"),
    pytest.param(of(l=PAIRS), {"l": [{"k": 1}]}, {"l": [{"k": 2}]}, False, id="key-in-a-map-list"),
    pytest.param(of(l=PAIRS), {"l": [{"k": [1, {"a": 1}]}]}, {"l": [{"k": [1, {"a": 1}]}]}, True, id="keys-that-are-open"),
    pytest.param(
        of(l=PAIRS), {"l": [{"k": [1], "v": 1}, {"k": [2], "v": 2}]}, {"l": [{"k": [2], "v": 2}, {"k": [1], "v": 1}]}, True,
        id="keys-that-are-lists",
    ),
    pytest.param(of(l=PAIRS), {"l": [{"k": [1]}]}, {"l": [{"k": [True]}]}, False, id="other-keys-that-are-lists"),
    pytest.param(of(l=PAIRS), {"l": [{"k": {"a": 1}}]}, {"l": [{"k": {"a": 1}}]}, False, id="fields-of-an-open-key"),
    pytest.param(of(l=PAIRS), {"l": ["x"]}, {"l": ["x"]}, True, id="items-without-keys"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "old", "new", "unchanged"), UNCHANGED)
def test_what_is_unchanged(schema: Any, old: Any, new: Any, unchanged: bool) -> None:
    assert CorrelatedObject(new, old, Structural(schema)).unchanged() == unchanged


def test_items_have_a_correlation_in_lists_of_type_map_only() -> None:
    new, old = [{"k": 1, "v": 2}, {"k": 9}], [{"k": 2}, {"k": 1, "v": 1}]
    found = CorrelatedObject(new, old, Structural(PAIRS)).index(0)
    assert found is not None
    assert found.old == {"k": 1, "v": 1}
    assert CorrelatedObject(new, old, Structural(PAIRS)).index(1) is None
    assert CorrelatedObject(new, old, Structural(PAIRS)).index(2) is None
    assert CorrelatedObject(new, "x", Structural(PAIRS)).index(0) is None
    assert CorrelatedObject(new, old, Structural(items(OPEN))).index(0) is None


MAPS = {"type": "object", "additionalProperties": {**items(INT), "x-kubernetes-list-type": "set"}}

#: A schema, a value, and what its list types say against it.
REPEATED = [
    pytest.param(of(m=MAPS), {"m": {"x": [1, 1]}}, ["m[x][1]: Duplicate value: 1"], id="a-set-in-a-map"),
    pytest.param(of(l=items({**items(INT), "x-kubernetes-list-type": "set"})), {"l": [[1], [2, 2]]}, ["l[1][1]: Duplicate value: 2"], id="a-set-in-a-list"),
    pytest.param(of(l=PAIRS), {"l": [{"k": 1}, 3]}, ["l[1]: Invalid value: 3: must be an object for an array of list-type map"], id="an-item-that-is-no-object"),
    pytest.param(of(l=PAIRS), {"l": [{"k": 1}, {"k": 1}]}, ['l[1]: Duplicate value: {"k":1}'], id="a-key-twice"),
    pytest.param(of(l=PAIRS), {"l": "x"}, [], id="a-value-of-another-type"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "value", "errors"), REPEATED)
def test_what_is_repeated_in_a_list(schema: Any, value: Any, errors: list[str]) -> None:
    assert list(map(str, list_errors(value, Structural(schema)))) == errors
