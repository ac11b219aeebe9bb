"""JSON Patch (RFC 6902) and merge patch (RFC 7386): examples, deviations of the real server, and properties."""

import copy
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakekube.apiserver.patch import json_patch, merge_patch
from fakekube.apiserver.wire.status import StatusError


def op(name, path, **more):
    return {"op": name, "path": path, **more}


@pytest.mark.parametrize(
    ("document", "operations", "expected"),
    [
        pytest.param({"a": 1}, [], {"a": 1}, id="nothing"),
        pytest.param({"foo": "bar"}, [op("add", "/baz", value="qux")], {"foo": "bar", "baz": "qux"}, id="A.1"),
        pytest.param({"foo": ["a", "b"]}, [op("add", "/foo/1", value="q")], {"foo": ["a", "q", "b"]}, id="A.2"),
        pytest.param({"baz": 1, "foo": 2}, [op("remove", "/baz")], {"foo": 2}, id="A.3"),
        pytest.param({"foo": ["a", "q", "b"]}, [op("remove", "/foo/1")], {"foo": ["a", "b"]}, id="A.4"),
        pytest.param({"baz": 1, "foo": 2}, [op("replace", "/baz", value=3)], {"baz": 3, "foo": 2}, id="A.5"),
        pytest.param(
            {"foo": {"bar": 1, "waldo": 2}, "qux": {"c": 3}},
            [op("move", "/qux/thud", **{"from": "/foo/waldo"})],
            {"foo": {"bar": 1}, "qux": {"c": 3, "thud": 2}},
            id="A.6",
        ),
        pytest.param({"f": [1, 2, 3, 4]}, [op("move", "/f/3", **{"from": "/f/1"})], {"f": [1, 3, 4, 2]}, id="A.7"),
        pytest.param({"baz": "q", "f": ["a", 2]}, [op("test", "/f/1", value=2)], {"baz": "q", "f": ["a", 2]}, id="A.8"),
        pytest.param({"foo": 1}, [op("add", "/child", value={"g": {}})], {"foo": 1, "child": {"g": {}}}, id="A.10"),
        pytest.param({"/": 9, "~1": 10}, [op("test", "/~01", value=10)], {"/": 9, "~1": 10}, id="A.14"),
        pytest.param({"foo": ["b"]}, [op("add", "/foo/-", value=["x"])], {"foo": ["b", ["x"]]}, id="A.16"),
        pytest.param({"a": 1}, [op("copy", "/b", **{"from": "/a"})], {"a": 1, "b": 1}, id="copy"),
        pytest.param({"a/b": 1}, [op("remove", "/a~1b")], {}, id="escaped-slash"),
        pytest.param({"a": 1}, [op("replace", "", value={"b": 2})], {"b": 2}, id="the-whole-document"),
        pytest.param({"a": 1}, [op("replace", "", value=[1])], [1], id="the-whole-document-becomes-a-list"),
        pytest.param({}, [op("test", "/a", value=None)], {}, id="missing-equals-null"),
        pytest.param({}, [op("test", "/a")], {}, id="missing-equals-no-value"),
        pytest.param({}, [op("replace", "/a", value=1)], {"a": 1}, id="missing-is-replaced-by-being-added"),
        pytest.param(
            {"b": 1}, [op("copy", "/a", **{"from": "/c"})], {"b": 1, "a": None}, id="missing-is-copied-as-null"
        ),
        pytest.param({"a": [1, 2]}, [op("remove", "/a/-1")], {"a": [1]}, id="positions-count-from-the-end"),
        pytest.param({"a": [1, 2]}, [op("add", "/a/-1", value=3)], {"a": [1, 2, 3]}, id="added-from-the-end"),
        pytest.param({"a": [1, 2]}, [op("replace", "/a/0", value=3)], {"a": [3, 2]}, id="replaced-in-a-list"),
        pytest.param({"a": [{"b": 1}]}, [op("remove", "/a/0/b")], {"a": [{}]}, id="through-a-list"),
    ],
)
def test_the_result_of_a_json_patch(document, operations, expected):
    before = copy.deepcopy(document)
    assert json_patch.apply(document, json_patch.check(operations)) == expected
    assert document == before


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        pytest.param({"a": 1}, op("test", "/a", value=2), id="test-fails"),
        pytest.param({"a": True}, op("test", "/a", value=1), id="true-is-not-1"),
        pytest.param({"a": {"b": [True]}}, op("test", "/a", value={"b": [1]}), id="true-is-not-1-further-down"),
        pytest.param({"a": 1}, op("remove", "/b"), id="remove-of-nothing"),
        pytest.param({"a": 1}, op("remove", ""), id="remove-of-all"),
        pytest.param({"a": 1}, op("add", "/b/c", value=1), id="parent-missing"),
        pytest.param({"a": None}, op("add", "/a/c", value=1), id="parent-null"),
        pytest.param({"a": 1}, op("add", "/a/b", value=1), id="parent-a-number"),
        pytest.param({"a": 1}, op("test", "/a/b", value=1), id="through-a-number"),
        pytest.param({"a": 1}, op("test", "/b/c", value=1), id="through-nothing"),
        pytest.param({"a": [1]}, op("add", "/a/2", value=1), id="beyond-the-list"),
        pytest.param({"a": [1]}, op("remove", "/a/1"), id="remove-beyond-the-list"),
        pytest.param({"a": [1]}, op("remove", "/a/-2"), id="remove-before-the-list"),
        pytest.param({"a": [1]}, op("remove", "/a/-"), id="remove-behind-the-list"),
        pytest.param({"a": [1]}, op("remove", "/a/x"), id="no-position"),
        pytest.param({"a": [1] * 20}, op("remove", "/a/1_0"), id="underscore-in-a-position"),
        pytest.param({"a": [1]}, op("replace", "/a/" + "0" * 5000 + "1", value=1), id="thousands-of-digits"),
        pytest.param({"a": 1}, op("add", "a", value=1), id="pointer-without-a-slash"),
        pytest.param({"a": 1}, op("move", "/b", **{"from": "/c"}), id="move-of-nothing"),
        pytest.param({"a": 1}, op("move", "/b"), id="move-from-nowhere"),
        pytest.param({"a": 1}, op("copy", "/b", **{"from": 1}), id="copy-from-a-number"),
        pytest.param({"a": 1}, op("swap", "/a"), id="unknown-operation"),
        pytest.param({"a": 1}, op([], "/a"), id="operation-that-is-a-list"),
        pytest.param({"a": 1}, {"op": "add", "value": 1}, id="no-path"),
        pytest.param({"a": 1}, {}, id="empty"),
        pytest.param({"a": 1}, None, id="null"),
        pytest.param({"a": 1}, op("add", "/a" * 300, value=1), id="hundreds-of-levels"),
    ],
)
def test_a_json_patch_that_does_not_apply(document, operation):
    before = copy.deepcopy(document)
    with pytest.raises(StatusError) as refused:
        json_patch.apply(document, json_patch.check([operation]))
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert document == before


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({}, 400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ([1], 400, "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (
            [{}] * 10_001,
            413,
            "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
        ),
    ],
    ids=["no-list", "list-of-numbers", "too-many"],
)
def test_invalid_json_patches(patch, code, message):
    with pytest.raises(StatusError) as refused:
        json_patch.check(patch)
    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(
    "operation",
    [
        op("add", "/b", value="x"), op("add", "/list/0", value=[1]), op("remove", "/a"), op("replace", "/a", value={"x": 1}),
        op("replace", "", value={"x": 1}), op("test", "/a", value={"b": 1}), op("test", "", value={"a": {"b": 1}, "list": []}),
        op("move", "/c", **{"from": "/a"}), op("copy", "/c", **{"from": "/none"}),
    ],
    ids=lambda one: f"{one['op']}{one['path']}",
)  # fmt: skip
def test_only_copies_count_as_copied(operation, monkeypatch):
    document = {"a": {"b": 1}, "list": []}
    monkeypatch.setattr(json_patch, "MAX_COPIED", 0)
    json_patch.apply(document, [operation])
    with pytest.raises(StatusError):
        json_patch.apply(document, [op("copy", "/c", **{"from": "/a"})])
    monkeypatch.setattr(json_patch, "MAX_COPIED", 14)
    twice = [op("copy", f"/{name}", **{"from": "/a"}) for name in "cd"]
    assert json_patch.apply(document, twice)["d"] == {"b": 1}
    with pytest.raises(StatusError):
        json_patch.apply(document, [*twice, op("copy", "/e", **{"from": "/a/b"})])


def test_the_copied_bytes_of_a_json_patch_are_limited():
    doubling = [op("copy", f"/{i}", **{"from": ""}) for i in range(60)]
    with pytest.raises(StatusError) as refused:
        json_patch.apply({"a": "x" * 1000}, doubling)
    assert refused.value.code == 422


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({}, {"a": [{"b": None, "c": 1}, None]}, {"a": [{"c": 1}, None]}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_result_of_a_merge_patch(document, patch, expected):
    before = copy.deepcopy((document, patch))
    assert merge_patch.apply(document, patch) == expected
    assert (document, patch) == before


KEYS = st.sampled_from(["a", "b", "0", "1", "-", "~"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
POINTERS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", "-1", "~0", "~1"]), max_size=3).map(
    lambda tokens: "".join("/" + token for token in tokens)
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(sorted(json_patch.OPERATIONS)), "path": POINTERS}, optional={"from": POINTERS, "value": JSON}
)


@given(st.dictionaries(KEYS, JSON), st.lists(OPERATIONS, max_size=6))
@example({"a": {}}, [op("copy", "/b", **{"from": "/a"}), op("add", "/b/x", value=1)])
@example({}, [op("add", "/a", value={}), op("add", "/a/b", value=1)])
def test_a_json_patch_modifies_neither_the_document_nor_itself(document, operations):
    before = copy.deepcopy((document, operations))
    try:
        json_patch.apply(document, json_patch.check(operations))
    except StatusError as error:
        assert error.code == 422
    assert (document, operations) == before


@given(JSON, JSON)
def test_a_merge_patch_modifies_nothing_in_place_and_is_idempotent(document, patch):
    before = copy.deepcopy((document, patch))
    once = merge_patch.apply(document, patch)
    assert (document, patch) == before
    assert merge_patch.apply(once, patch) == once


@given(st.dictionaries(KEYS, JSON), st.dictionaries(KEYS, JSON))
def test_a_merge_patch_of_the_difference_results_in_the_other_document(before, after):
    before, after = merge_patch.apply({}, before), merge_patch.apply({}, after)
    assert merge_patch.apply(before, difference(before, after)) == after


def difference(before, after):
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    gone = {key: None for key in before if key not in after}
    return gone | {
        key: difference(before[key], value) if key in before else value
        for key, value in after.items()
        if key not in before or before[key] != value or type(before[key]) is not type(value)
    }


@pytest.mark.parametrize(
    ("value", "literal", "same"),
    [
        ("\u00e9", '"\u00e9"', True),
        ("\u00e9", r'"\u00e9"', False),
        ("<", '"<"', False),
        ("<", r'"\u003c"', True),
        ("a\tb\\", r'"a\tb\\"', True),
        (1, "1", True),
        (1, "1.0", False),
        (1, '"1"', False),
        (True, "true", True),
        (1, "true", False),
        (None, "null", True),
        ({"a": [1, {"b": ":"}]}, '{"a" : [1, {"b":":"}]}', True),
        ({"a": [1]}, '{"a":[1.0]}', False),
    ],
)
def test_a_test_compares_texts(value, literal, same):
    body = f'[{{"op":"test","path":"/x","value":{literal}}}]'
    operations, document = json_patch.check(json.loads(body)), {"x": value}
    if same:
        json_patch.check_tests(document, operations, body.encode())
    else:
        with pytest.raises(StatusError):
            json_patch.check_tests(document, operations, body.encode())


@pytest.mark.parametrize(("copies", "fits"), [(3, True), (4, False)])
def test_what_a_patch_copies_is_limited_to_three_mebibytes_in_all(copies, fits):
    """EvanPhx's AccumulatedCopySizeLimit, which kube-apiserver sets."""
    document = {"a": "x" * (1024 * 1024 - 2)}  # as JSON a mebibyte
    operations = [{"op": "copy", "from": "/a", "path": f"/b{number}"} for number in range(copies)]
    if fits:
        assert len(json_patch.apply(document, operations)) == 1 + copies
        return
    with pytest.raises(StatusError):
        json_patch.apply(document, operations)


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ([{"op": "remove", "path": "/a/z"}], "error in remove for path: '/a/z': Unable to remove nonexistent key: z: missing value"),
        ([{"op": "remove", "path": "/z/z"}], 'remove operation does not apply: doc is missing path: "/z/z": missing value'),
        ([{"op": "remove", "path": "/l/x"}], "error in remove for path: '/l/x': strconv.Atoi: parsing \"x\": invalid syntax"),
        ([{"op": "remove", "path": "/l/7"}], "error in remove for path: '/l/7': Unable to access invalid index: 7: invalid index referenced"),
        ([{"op": "remove"}], "remove operation failed to decode path: missing value"),
        ([{"op": "add", "path": "", "value": {}}], 'add operation does not apply: doc is missing path: "": missing value'),
        ([{"op": "add", "path": "/l/x", "value": 1}], "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax"),
        ([{"op": "replace", "path": "/z/z", "value": 1}], "replace operation does not apply: doc is missing path: /z/z: missing value"),
        ([{"op": "replace", "path": "/l/4", "value": 1}], "replace operation does not apply: doc is missing key: /l/4: missing value"),
        ([{"op": "replace", "path": 5}], "replace operation failed to decode path: json: cannot unmarshal number into Go value of type string"),
        ([{"op": "move", "path": "/b"}], "move operation failed to decode from: operation, missing from field: missing value"),
        ([{"op": "move", "from": "/a/z", "path": "/b"}], "error in move for path: 'z': Unable to remove nonexistent key: z: missing value"),
        ([{"op": "move", "from": "/a/b", "path": "/z/z"}], "move operation does not apply: doc is missing destination path: /z/z: missing value"),
        ([{"op": "copy", "from": "/z/z", "path": "/b"}], "copy operation does not apply: doc is missing from path: /z/z: missing value"),
        ([{"op": "copy", "from": "/l/7", "path": "/b"}], "error in copy for from: '/l/7': Unable to access invalid index: 7: invalid index referenced"),
        ([{"op": "copy", "from": "/l/x", "path": "/b"}], "error in copy for from: '/l/x': strconv.Atoi: parsing \"x\": invalid syntax"),
        ([{"op": "copy", "from": "/a", "path": "/z/z"}], "copy operation does not apply: doc is missing destination path: /z/z: missing value"),
        ([{"op": "move", "from": "/z/z", "path": "/b"}], "move operation does not apply: doc is missing from path: /z/z: missing value"),
        ([{"op": "move", "from": "/a/b", "path": "/l/9"}], "error in move for path: '/l/9': Unable to access invalid index: 9: invalid index referenced"),
        ([{"op": "test", "path": "/l/x", "value": 1}], "error in test for path: '/l/x': strconv.Atoi: parsing \"x\": invalid syntax"),
        ([{"op": "copy", "from": "/a", "path": "/l/9"}], "error while adding value during copy: Unable to access invalid index: 9: invalid index referenced"),
        ([{"op": "test", "path": "/z/z"}], "test operation does not apply: is missing path: /z/z: missing value"),
        ([{"op": "test", "path": "/a/b", "value": 2}], "testing value /a/b failed: test failed"),
        ([{"op": "jump"}], "Unexpected kind: jump"),
        ([{}], "Unexpected kind: unknown"),
    ],
)  # fmt: skip
def test_why_an_operation_does_not_apply(operations, message):
    with pytest.raises(json_patch.Rejected) as rejected:
        json_patch.applied({"a": {"b": 1}, "l": [1, 2]}, operations)
    assert str(rejected.value) == message


@pytest.mark.parametrize(
    ("operation", "keys"),
    [
        ({"op": "test", "path": "/o/b", "value": {"z": 1, "y": 2}}, ["abo", "ab", "yz"]),
        ({"op": "test", "path": "/o/a", "value": 1}, ["abo", "ab", "zy"]),
        ({"op": "copy", "from": "/o/a", "path": "/n"}, ["abno", "ab", "zy"]),
        ({"op": "add", "path": "/n", "value": 1}, ["abno", "ba", "zy"]),
    ],
)
def test_the_maps_on_the_paths_of_an_operation_are_sorted(operation, keys):
    result = json_patch.applied({"o": {"b": {"z": 1, "y": 2}, "a": 1}, "b": 1, "a": 1}, [operation])
    assert ["".join(one) for one in (result, result["o"], result["o"]["b"])] == keys


def test_what_stands_before_the_first_slash_of_a_path_is_ignored():
    assert json_patch.applied({"a": 1}, [{"op": "add", "path": "x/b", "value": 2}]) == {"a": 1, "b": 2}


def test_operations_change_neither_the_document_nor_the_values_of_the_patch():
    document, value = {"a": {"b": 1}}, {"x": []}
    operations = [
        {"op": "add", "path": "/a/c", "value": value},
        {"op": "add", "path": "/a/c/x/-", "value": 1},
        {"op": "copy", "from": "/a/c", "path": "/a/d"},
        {"op": "remove", "path": "/a/d/x/0"},
    ]
    assert json_patch.applied(document, operations) == {"a": {"b": 1, "c": {"x": [1]}, "d": {"x": []}}}
    assert (document, value) == ({"a": {"b": 1}}, {"x": []})
