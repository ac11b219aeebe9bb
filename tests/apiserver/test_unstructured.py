"""Values that kube-apiserver converts from unstructured data into the types of a kind (`runtime/converter.go`)."""

import pytest

from fakekube.apiserver.schema import unstructured
from fakekube.apiserver.schema.model import Schema
from fakekube.apiserver.schema.wrongtype import WrongType

TEXT = Schema("string")
STRUCT = Schema("object", make_fields=lambda: {"text": TEXT, "any": Schema("any")})
TYPES = {
    "text": TEXT, "flag": Schema("boolean"), "small": Schema("int32"), "large": Schema("int64"), "real": Schema("double"),
    "bytes": Schema("bytes"), "time": Schema("time"), "quantity": Schema("quantity"), "any": Schema("any"),
    "struct": STRUCT, "map": Schema("map", values=TEXT), "list": Schema("list", items=TEXT),
    "structs": Schema("list", items=STRUCT),
}  # fmt: skip
ROOT = Schema("object", make_fields=lambda: TYPES)


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("text", "a", "a"),
        ("text", None, None),
        ("flag", True, True),
        ("small", 5, 5),
        ("small", 5.0, 5),
        ("small", 2**31, -(2**31)),
        ("large", 2**31, 2**31),
        ("real", 5, 5),
        ("real", 0.5, 0.5),
        ("bytes", "YQ==", "YQ=="),
        ("time", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("quantity", "1Gi", "1Gi"),
        ("any", {"a": [1]}, {"a": [1]}),
        ("struct", {"text": "a", "unknown": 1}, {"text": "a", "unknown": 1}),
        ("map", {"a": "b"}, {"a": "b"}),
        ("list", ["a", None], ["a", None]),
        ("structs", [{"text": "a"}], [{"text": "a"}]),
    ],
)
def test_values_of_the_right_kind(field, value, found):
    assert unstructured.converted(ROOT, {field: value}) == {field: found}


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("text", 5, "cannot convert int64 to string"),
        ("text", True, "unrecognized type: string"),
        ("text", {}, "unrecognized type: string"),
        ("flag", "true", "unrecognized type: bool"),
        ("small", "5", "unrecognized type: int32"),
        ("small", 5.5, "cannot convert float64 to int32"),
        ("large", [], "unrecognized type: int64"),
        ("real", "5", "unrecognized type: float64"),
        ("bytes", 5, "cannot restore slice from int64"),
        ("bytes", True, "cannot restore slice from bool"),
        ("bytes", {}, "cannot restore slice from map"),
        ("time", 5, "json: cannot unmarshal number into Go value of type string"),
        ("struct", [], "cannot restore struct from: slice"),
        ("struct", "a", "cannot restore struct from: string"),
        ("map", [], "cannot restore map from slice"),
        ("map", {"a": 5}, "cannot convert int64 to string"),
        ("list", {}, "cannot restore slice from map"),
        ("list", [5], "cannot convert int64 to string"),
        ("structs", ["a"], "cannot restore struct from: string"),
        ("structs", [{"text": 5}], "cannot convert int64 to string"),
    ],
)
def test_values_of_another_kind(field, value, why):
    with pytest.raises(WrongType) as refused:
        unstructured.converted(ROOT, {field: value})
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("obj", "paths"),
    [
        ({"apiVersion": "v1", "kind": "X", "text": "a"}, []),
        ({"b": 1, "a": 1}, ["a", "b"]),
        ({"struct": {"x": 1, "text": "a", "any": {"y": 1}}}, ["struct.x"]),
        ({"structs": [{"x": 1}, {"text": "a"}, {"x": 1}]}, ["structs[0].x", "structs[2].x"]),
        ({"map": {"k": "v"}, "list": ["a"]}, []),
        ({"struct": [], "structs": {}, "map": []}, []),
        ({"held": {"k": {"x": 1}}}, ["held.x"]),
    ],
)
def test_unknown_fields(obj, paths):
    """Those of the values of a map are named without its keys."""
    root = Schema("object", make_fields=lambda: {**TYPES, "held": Schema("map", values=STRUCT)})
    assert unstructured.unknown_fields(root, obj) == paths
