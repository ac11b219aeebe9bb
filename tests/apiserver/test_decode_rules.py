"""Rules of decoding for each type of field: what is kept, what is zero, what is unknown, and which error is reported."""

import pytest

from fakekube.apiserver.schema.decode import decode
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.wrongtype import SentNumber, WrongType
from fakekube.apiserver.schema.zerovalues import complete, is_kind, settled, without_unknown, zero

SCALARS = ("string", "boolean", "int32", "int64", "integer", "double", "bytes", "any", "quantity", "time", "microtime")


def fields():
    return {
        **{name: Schema(name) for name in SCALARS},
        "port": Schema("int-or-string"),
        "list": Schema("list", items=Schema("string")),
        "numbers": Schema("list", items=Schema("int32")),
        "map": Schema("map", values=Schema("string")),
        "counts": Schema("map", values=Schema("int32")),
        "blobs": Schema("map", values=Schema("bytes")),
        "thing": THING,
        "things": Schema("list", items=THING),
        "named": Schema("map", values=THING),
    }


THING = Schema("object", name="core.v1.Thing", make_fields=fields)
NEEDED = ("string", "boolean", "int32", "double", "quantity", "port", "list", "map", "time", "thing")
NEEDS = Schema(
    "object", name="core.v1.Needs", make_fields=lambda: {**fields(), "thing": INNER}, required=frozenset(NEEDED)
)
INNER = Schema("object", name="core.v1.Inner", make_fields=fields, required=frozenset({"int32"}))


def decoded(schema, obj):
    unknown = []
    return decode(schema, obj, unknown), unknown


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"string": ""}, {}),
        ({"string": "a"}, {"string": "a"}),
        ({"boolean": False, "int32": 0, "int64": 0, "integer": 0, "double": 0}, {"boolean": False, "int32": 0, "int64": 0, "integer": 0, "double": 0}),
        ({"bytes": ""}, {}),
        ({"bytes": "aGk=\r\n"}, {"bytes": "aGk="}),
        ({"bytes": [104, None, 255]}, {"bytes": "aAD/"}),
        ({"any": {}, "port": 0}, {"any": {}, "port": 0}),
        ({"port": ""}, {"port": ""}),
        ({"double": 1, "quantity": " 1000m "}, {"double": 1, "quantity": "1"}),
        ({"time": "2026-01-01T00:00:00+01:00", "microtime": "2026-01-01T01:00:00.000000+01:00"}, {"time": "2025-12-31T23:00:00Z", "microtime": "2026-01-01T00:00:00.000000Z"}),
        ({"list": [], "map": {}}, {}),
        ({"list": ["a", None], "numbers": [1, None]}, {"list": ["a", ""], "numbers": [1, 0]}),
        ({"map": {"a": None, "b": "c"}, "counts": {"a": None}, "blobs": {"a": None}}, {"map": {"a": "", "b": "c"}, "counts": {"a": 0}, "blobs": {"a": ""}}),
        ({"thing": {}, "things": [{}, None], "named": {"a": {}, "b": None}}, {"thing": {}, "things": [{}, {}], "named": {"a": {}, "b": {}}}),
        (dict.fromkeys(fields()), {}),
    ],
)  # fmt: skip
def test_what_is_kept_of_a_value(given, found):
    assert decoded(THING, given) == (found, [])


@pytest.mark.parametrize(
    ("given", "unknown"),
    [
        ({"x": 1}, ["x"]),
        ({"apiVersion": "v1", "kind": "Thing"}, []),
        ({"thing": {"kind": "x", "apiVersion": "y"}}, ["thing.kind", "thing.apiVersion"]),
        ({"things": [{"x": 1}, {"things": [{}, {"y": None}]}]}, ["things[0].x", "things[1].things[1].y"]),
        ({"named": {"a": {"x": 1}}}, ["named.a.x"]),
    ],
)
def test_unknown_fields_are_named_by_their_paths(given, unknown):
    assert decoded(THING, given)[1] == unknown


PLACE = "Go struct field Thing"
QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"string": 1}, f"json: cannot unmarshal number into {PLACE}.string of type string"),
        ({"boolean": "x"}, f"json: cannot unmarshal string into {PLACE}.boolean of type bool"),
        ({"boolean": 1}, f"json: cannot unmarshal number into {PLACE}.boolean of type bool"),
        ({"int32": True}, f"json: cannot unmarshal bool into {PLACE}.int32 of type int32"),
        ({"int32": 2**31}, f"json: cannot unmarshal number 2147483648 into {PLACE}.int32 of type int32"),
        ({"int32": -(2**31) - 1}, f"json: cannot unmarshal number -2147483649 into {PLACE}.int32 of type int32"),
        ({"int64": 2**63}, f"json: cannot unmarshal number 9223372036854775808 into {PLACE}.int64 of type int64"),
        ({"int32": 1.5}, f"json: cannot unmarshal number 1.5 into {PLACE}.int32 of type int32"),
        ({"int32": SentNumber("1.50")}, f"json: cannot unmarshal number 1.50 into {PLACE}.int32 of type int32"),
        ({"double": True}, f"json: cannot unmarshal bool into {PLACE}.double of type float64"),
        ({"double": "1"}, f"json: cannot unmarshal string into {PLACE}.double of type float64"),
        ({"bytes": 1}, f"json: cannot unmarshal number into {PLACE}.bytes of type []uint8"),
        ({"bytes": ["a"]}, f"json: cannot unmarshal string into {PLACE}.bytes of type uint8"),
        ({"bytes": [256]}, f"json: cannot unmarshal number 256 into {PLACE}.bytes of type uint8"),
        ({"bytes": [-1]}, f"json: cannot unmarshal number -1 into {PLACE}.bytes of type uint8"),
        ({"list": {}}, f"json: cannot unmarshal object into {PLACE}.list of type []string"),
        ({"list": [1]}, f"json: cannot unmarshal number into {PLACE}.list of type string"),
        ({"map": []}, f"json: cannot unmarshal array into {PLACE}.map of type map[string]string"),
        ({"map": {"a": 1}}, f"json: cannot unmarshal number into {PLACE}.map of type string"),
        ({"thing": []}, f"json: cannot unmarshal array into {PLACE}.thing of type v1.Thing"),
        ({"thing": {"things": [{"string": 1}]}}, f"json: cannot unmarshal number into {PLACE}.thing.things.string of type string"),
        ({"quantity": []}, QUANTITY),
        ({"quantity": "x"}, QUANTITY),
        ({"time": 1}, f"json: cannot unmarshal number into {PLACE}.time of type string"),
        ({"microtime": 1}, f"json: cannot unmarshal number into {PLACE}.microtime of type string"),
        ({"port": 2**31}, f"json: cannot unmarshal number 2147483648 into {PLACE}.port of type int32"),
        ({"port": -(2**31) - 1}, f"json: cannot unmarshal number -2147483649 into {PLACE}.port of type int32"),
        ({"port": [1]}, f"json: cannot unmarshal array into {PLACE}.port of type int32"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(given, why):
    with pytest.raises(WrongType) as caught:
        decode(THING, given, [])
    assert str(caught.value) == why


@pytest.mark.parametrize("given", [{"int32": 2**31 - 1}, {"int32": -(2**31)}, {"int64": -(2**63)}, {"port": -(2**31)}, {"port": 2**31 - 1}, {"bytes": [0, 255]}])  # fmt: skip
def test_the_largest_and_smallest_numbers_are_accepted(given):
    decode(THING, given, [])


@pytest.mark.parametrize(
    "first",
    [{"string": 1}, {"thing": {"string": 1}}, {"list": [1]}, {"counts": {"a": "x"}}],
)
@pytest.mark.parametrize(
    "later",
    [
        {"quantity": "x"},
        {"thing": {"quantity": "x"}},
        {"things": [None, {}, {"quantity": "x"}]},
        {"named": {"a": None, "b": {"quantity": "x"}}},
    ],
)
def test_the_error_of_a_type_with_its_own_decoder_is_reported_before_earlier_ones(first, later):
    given = {"things": [first, later], "unknown": {"quantity": "x"}}
    with pytest.raises(WrongType) as caught:
        decode(THING, given, [])
    assert str(caught.value) == QUANTITY


def test_required_fields_are_always_there_with_their_zero_values():
    found, _ = decoded(NEEDS, {})
    empty = {"string": "", "boolean": False, "int32": 0, "double": 0, "quantity": "0", "port": 0, "time": None}
    assert found == {**empty, "list": None, "map": None, "thing": {"int32": 0}}
    assert list(found) == [name for name in NEEDS.fields if name in NEEDED]
    assert zero(INNER) == {"int32": 0}
    kept = {"int32": 5}
    complete(INNER, kept)
    assert kept == {"int32": 5}


def test_empty_values_of_required_fields_stay_until_they_are_stored():
    found, _ = decoded(NEEDS, {"string": "", "list": [], "map": {}, "thing": {}})
    assert (found["string"], found["list"], found["map"], found["thing"]) == ("", [], {}, {"int32": 0})
    stored = settled(NEEDS, found)
    assert (stored["list"], stored["map"], stored["string"]) == (None, None, "")
    full, _ = decoded(NEEDS, {"list": ["a"], "map": {"a": "b"}})
    assert settled(NEEDS, full) is full


def test_stored_objects_are_settled_below_lists_and_objects():
    outer = Schema(
        "object", name="core.v1.Outer", make_fields=lambda: {"one": NEEDS, "many": Schema("list", items=NEEDS)}
    )
    full, empty = {"list": ["a"]}, {"list": [], "string": "x"}
    assert settled(outer, {"one": empty, "many": [full, empty]}) == {
        "one": {"list": None, "string": "x"},
        "many": [full, {"list": None, "string": "x"}],
    }
    same = {"one": full, "many": [full], "more": 1}
    assert settled(outer, same) is same


def test_a_value_without_its_unknown_fields():
    known = {"string": "a", "things": [{"int32": 1}], "map": {"x": "y"}, "any": {"z": 1}}
    assert without_unknown(THING, known) is known
    given = {"string": "a", "x": 1, "things": [{"int32": 1}, {"y": 1}], "named": {"a": {"x": 1, "int32": 2}}}
    assert without_unknown(THING, given) == {"string": "a", "things": [{"int32": 1}, {}], "named": {"a": {"int32": 2}}}
    assert without_unknown(Schema("list"), [{"x": 1}]) == [{"x": 1}]
    assert without_unknown(THING, "text") == "text"
    assert without_unknown(Schema("any"), {"x": 1}) == {"x": 1}


META = Schema("object", name="meta.v1.ObjectMeta")


@pytest.mark.parametrize(
    ("name", "fields", "kind", "encoded"),
    [
        ("core.v1.Pod", {"metadata": META}, True, {"spec": {}, "status": {}}),
        ("core.v1.PodTemplateSpec", {"metadata": META}, False, {"metadata": {}, "spec": {}}),
        ("core.v1.PersistentVolumeClaimTemplate", {"metadata": META}, False, {"metadata": {}}),
        ("core.v1.PodList", {"metadata": Schema("object", name="meta.v1.ListMeta")}, False, {}),
        ("core.v1.PodSpec", {}, False, {}),
    ],
)
def test_kinds_have_a_spec_and_a_status_that_are_always_encoded(name, fields, kind, encoded):
    inner = Schema("object", name="core.v1.Part")
    schema = Schema("object", name=name, make_fields=lambda: {**fields, "spec": inner, "status": inner, "other": inner})
    assert (is_kind(schema), zero(schema)) == (kind, encoded)
