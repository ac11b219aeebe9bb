"""Strategic merge patch: what it makes of a document, and what it refuses in which words."""

import copy

import pytest

from fakekube.apiserver.patch.strategic import BadPatch, apply, without_applied_directives
from fakekube.apiserver.schema.model import Schema

TEXT = Schema("string")
MERGE = frozenset({"merge"})
PORT = Schema("object", name="v1.Port", make_fields=lambda: {"port": Schema("int32"), "name": TEXT, "tags": TAGS})
TAGS = Schema("list", items=TEXT, patch_strategy=MERGE)
SCHEMA = Schema(
    "object",
    name="v1.Thing",
    make_fields=lambda: {
        "a": TEXT,
        "labels": Schema("map", values=TEXT),
        "nested": SCHEMA,
        "whole": Schema("object", make_fields=lambda: {"a": TEXT}, patch_strategy=frozenset({"replace"})),
        "args": Schema("list", items=TEXT),
        "tags": TAGS,
        "ports": Schema("list", name="ports", items=PORT, patch_strategy=MERGE, merge_key="port"),
        "keyless": Schema("list", name="keyless", items=PORT, patch_strategy=MERGE),
        "free": Schema("any"),
    },
)


def ports(*numbers, **more):
    return [{"port": number, **more} for number in numbers]


#: A document, a patch, and what comes of it.
MADE = [
    pytest.param({"a": "1"}, {}, {"a": "1"}, id="nothing"),
    pytest.param({"a": "1"}, {"a": "2"}, {"a": "2"}, id="scalar"),
    pytest.param({"a": "1"}, {"a": None}, {}, id="null-removes"),
    pytest.param({}, {"labels": {"x": "1", "y": None}}, {"labels": {"x": "1"}}, id="what-is-new-has-no-nulls"),
    pytest.param({"labels": {"x": "1"}}, {"labels": {"y": "2", "x": None}}, {"labels": {"y": "2"}}, id="map"),
    pytest.param({"nested": {"a": "1", "args": ["x"]}}, {"nested": {"a": "2"}}, {"nested": {"a": "2", "args": ["x"]}}, id="nested"),
    pytest.param({"nested": {"a": "1"}}, {"nested": {"$patch": "replace", "args": []}}, {"nested": {"args": []}}, id="replaced-by-directive"),
    pytest.param({"nested": {"a": "1"}}, {"nested": {"$patch": "delete"}}, {"nested": {}}, id="deleted-by-directive"),
    pytest.param({}, {"nested": {"$patch": "delete", "a": "1"}}, {}, id="a-directive-without-anything-to-delete"),
    pytest.param({"whole": {"a": "1"}}, {"whole": {}}, {"whole": {}}, id="replaced-by-strategy"),
    pytest.param({"a": "1", "labels": {}}, {"$retainKeys": ["a"], "a": "2"}, {"a": "2"}, id="only-these-keys"),
    pytest.param({"a": "1"}, {"$retainKeys": ["a"], "labels": None}, {"a": "1"}, id="a-null-need-not-be-retained"),
    pytest.param({"a": "1"}, {"a": {"x": 1}}, {"a": {"x": 1}}, id="another-type"),
    pytest.param({"args": ["x"]}, {"args": ["y"]}, {"args": ["y"]}, id="atomic-list"),
    pytest.param({"tags": ["x", "y"]}, {"tags": ["y", "z"]}, {"tags": ["x", "y", "z"]}, id="list-of-scalars"),
    pytest.param({"tags": []}, {"tags": []}, {"tags": []}, id="empty-lists"),
    pytest.param({"tags": ["x", "y"]}, {"$deleteFromPrimitiveList/tags": ["x"]}, {"tags": ["y"]}, id="deleted-from-a-list"),
    pytest.param({}, {"$deleteFromPrimitiveList/tags": ["x"]}, {}, id="deleted-from-no-list"),
    pytest.param(
        {"tags": ["x", "y"]},
        {"$deleteFromPrimitiveList/tags": ["x"], "$setElementOrder/tags": ["z", "y"], "tags": ["z"]},
        {"tags": ["z", "y"]},
        id="deleted-added-and-ordered",
    ),
    pytest.param({"ports": ports(1, name="a")}, {"ports": ports(1, name="b")}, {"ports": ports(1, name="b")}, id="item-by-key"),
    pytest.param({"ports": ports(1)}, {"ports": [{"port": 2, "name": None}]}, {"ports": [{"port": 2, "name": None}, *ports(1)]}, id="new-item-is-taken-as-it-is-and-first"),
    pytest.param({}, {"ports": [{"port": 1, "$patch": "replace"}, {"port": 2}]}, {"ports": ports(2)}, id="new-list-without-its-directives"),
    pytest.param({}, {"ports": [{"port": 1, "$retainKeys": []}]}, {"ports": [{"port": 1, "$retainKeys": []}]}, id="new-list-keeps-what-is-no-directive"),
    pytest.param({}, {"ports": [{"$patch": "delete"}], "$setElementOrder/ports": []}, {"ports": []}, id="new-ordered-list-without-its-directives"),
    pytest.param({"ports": ports(1, 2)}, {"ports": [{"port": 1, "$patch": "delete"}]}, {"ports": ports(2)}, id="deleted-item"),
    pytest.param({"ports": ports(1, 2)}, {"ports": [{"$patch": "replace"}, {"port": 3}]}, {"ports": ports(3)}, id="replaced-list"),
    pytest.param({}, {"ports": [{"port": 1, "$patch": "delete"}, {"port": 2}, {"$patch": "replace"}]}, {"ports": ports(2)}, id="directives-in-a-new-list"),
    pytest.param({"ports": ports(1, 2, 3)}, {"$setElementOrder/ports": ports(3, 1)}, {"ports": ports(2, 3, 1)}, id="order-of-items"),
    pytest.param({"ports": ports(1, 2)}, {"$setElementOrder/ports": ports(2, 3, 1), "ports": ports(3)}, {"ports": ports(2, 3, 1)}, id="order-and-a-new-item"),
    pytest.param({"ports": ports(1)}, {"$setElementOrder/ports": ports(1), "ports": [{"port": 1, "$patch": "delete"}]}, {"ports": []}, id="order-and-a-deleted-item"),
    pytest.param({}, {"$setElementOrder/ports": ports(1)}, {}, id="order-of-nothing"),
    pytest.param({"free": {"a": {"b": 1}}}, {"free": {"a": {"c": 2}}}, {"free": {"a": {"b": 1, "c": 2}}}, id="of-any-type"),
    pytest.param({"labels": {"m": {"x": "1"}}}, {"labels": {"m": {"y": "2"}}}, {"labels": {"m": {"x": "1", "y": "2"}}}, id="values-of-a-map"),
    pytest.param({"a": "1"}, {"$patch": "replace", "tags": ["x"]}, {"tags": ["x"]}, id="all-replaced"),
    pytest.param({"a": "1"}, {"$patch": "delete", "tags": ["x"]}, {}, id="all-deleted"),
    pytest.param({"a": ["x"]}, {"a": "y"}, {"a": "y"}, id="a-scalar-for-a-list"),
    pytest.param({"nested": "x"}, {"nested": {"$patch": "delete", "a": "1"}}, {}, id="a-directive-for-a-scalar"),
    pytest.param({"nested": "x"}, {"nested": {"a": "1", "nested": {"$patch": "delete"}}}, {"nested": {"a": "1"}}, id="a-struct-with-a-directive-for-a-scalar"),
    pytest.param({"tags": ["x", "x", "y"]}, {"tags": ["y", "x"]}, {"tags": ["y", "x"]}, id="each-scalar-once"),
    pytest.param({"tags": ["x"]}, {"$deleteFromPrimitiveList/tags": "x"}, {"tags": ["x"]}, id="deletions-that-are-no-list"),
    pytest.param({"tags": ["x"]}, {"$deleteFromPrimitiveList/tags": None}, {}, id="null-deletions-remove-the-list"),
    pytest.param({"args": ["x", "y"]}, {"$deleteFromPrimitiveList/args": ["x"]}, {"args": ["y"]}, id="deleted-from-an-atomic-list"),
    pytest.param({"ports": ports(1)}, {"ports": []}, {"ports": ports(1)}, id="no-items"),
    pytest.param({"ports": ports(1)}, {"ports": [{"$patch": "replace"}]}, {"ports": []}, id="replaced-by-nothing"),
    pytest.param({"ports": ports(1, 2, 3, 4)}, {"ports": ports(4, 2)}, {"ports": ports(1, 3, 4, 2)}, id="items-of-the-patch-keep-its-order"),
    pytest.param({"tags": ["a", "b", "c"]}, {"$setElementOrder/tags": ["c", "a"]}, {"tags": ["b", "c", "a"]}, id="order-of-scalars"),
    pytest.param({"tags": ["a", "b", "c"]}, {"$setElementOrder/tags": ["c", "a", "d"], "tags": ["d"]}, {"tags": ["b", "c", "a", "d"]}, id="order-and-a-new-scalar"),
    pytest.param({"tags": ["a", "b", "c"]}, {"$setElementOrder/tags": ["c", "d"], "$deleteFromPrimitiveList/tags": ["a"], "tags": ["d"]}, {"tags": ["b", "c", "d"]}, id="order-deletion-and-addition"),
    pytest.param({"tags": ["a", "b", "c"]}, {"$setElementOrder/tags": ["c", "b"], "$deleteFromPrimitiveList/tags": ["a"]}, {"tags": ["c", "b"]}, id="order-and-deletion"),
    pytest.param({}, {"$setElementOrder/tags": ["c", "d"], "tags": ["d"]}, {"tags": ["d"]}, id="order-of-a-new-list"),
    pytest.param({}, {"$setElementOrder/tags": ["c"], "$deleteFromPrimitiveList/tags": ["a"]}, {}, id="order-and-deletion-of-nothing"),
    pytest.param({"tags": ["a"]}, {"$setElementOrder/tags": [], "tags": ["d"]}, {"tags": ["d", "a"]}, id="an-empty-order-is-no-order"),
    pytest.param({"args": ["a", "b"]}, {"$setElementOrder/args": ["c"], "args": ["c"]}, {"args": ["c"]}, id="order-of-a-replaced-list"),
    pytest.param({"args": ["a", "b"]}, {"$setElementOrder/args": ["b", "a"]}, {"args": ["b", "a"]}, id="order-of-an-atomic-list"),
    pytest.param({"a": "1", "tags": ["x"]}, {"$retainKeys": ["tags"], "$setElementOrder/tags": ["y", "x"], "tags": ["y"]}, {"tags": ["y", "x"]}, id="a-list-with-an-order-is-retained"),
    pytest.param({"a": "1", "tags": ["x"]}, {"$retainKeys": ["tags"], "$deleteFromPrimitiveList/tags": ["x"]}, {"tags": []}, id="a-list-with-deletions-is-retained"),
    pytest.param(
        {},
        {"nested": {"a": "1", "ports": [{"$patch": "delete", "port": 1}, {"port": 2}, {"port": 1, "$patch": "replace"}]}},
        {"nested": {"a": "1", "ports": ports(2)}},
        id="what-is-new-has-no-directives",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("document", "patch", "made"), MADE)
def test_what_a_patch_makes_of_a_document(document, patch, made):
    before = copy.deepcopy((document, patch))
    assert apply(document, patch, SCHEMA) == made
    assert (document, patch) == before


#: A document, a patch, its status code, and the words.
REFUSED = [
    pytest.param({"nope": {}}, {"nope": {}}, 500, 'unable to find api field in struct Thing for the json field "nope"', id="unknown-field"),
    pytest.param({}, {"$patch": "merge"}, 500, "unknown patch type: merge in map: map[$patch:merge]", id="unknown-directive"),
    pytest.param({}, {"$retainKeys": "a"}, 400, "invalid patch format of retainKeys", id="keys-that-are-no-list"),
    pytest.param({}, {"$retainKeys": ["b"], "a": "1"}, 400, "invalid patch format of retainKeys", id="a-key-that-is-not-retained"),
    pytest.param({}, {"$setElementOrder/ports": "x"}, 500, "expected a []interface {}, but received a string", id="order-that-is-no-list"),
    pytest.param({"ports": ports(1)}, {"$setElementOrder/ports": ports(1), "ports": None}, 500, "expected a []interface {}, but received a %!s(<nil>)", id="order-and-null"),
    pytest.param({}, {"$setElementOrder/ports": ports(1, 2), "ports": ports(2, 1)}, 500, "The order in patch list:\n[map[port:2] map[port:1]]\n doesn't match $setElementOrder list:\n[map[port:1] map[port:2]]\n", id="another-order"),
    pytest.param({}, {"$setElementOrder/ports": ports(1), "ports": ports(2)}, 500, "The order in patch list:\n[map[port:2]]\n doesn't match $setElementOrder list:\n[map[port:1]]\n", id="an-item-that-is-not-in-the-order"),
    pytest.param({"ports": ports(1)}, {"ports": [{"name": "a"}]}, 500, "map: map[name:a] does not contain declared merge key: port", id="no-key"),
    pytest.param({"ports": ports(1)}, {"ports": [{"$patch": "delete"}]}, 500, "map: map[$patch:delete] does not contain declared merge key: port", id="no-key-to-delete"),
    pytest.param({"ports": ports(1)}, {"ports": [{"port": 1, "$patch": "merge"}]}, 500, "merging lists cannot yet be specified in the patch", id="merge-of-a-list"),
    pytest.param({"ports": ports(1)}, {"ports": [{"port": 1, "$patch": "x"}]}, 500, "unknown patch type: x in map: map[$patch:x port:1]", id="unknown-directive-of-an-item"),
    pytest.param({"keyless": ports(1)}, {"keyless": ports(2)}, 500, "cannot merge lists without merge key for struct", id="no-merge-key"),
    pytest.param({"tags": [["x"]]}, {"tags": [["y"]]}, 422, "lists of lists are not supported", id="lists-of-lists"),
    pytest.param({"tags": ["x"]}, {"tags": [1]}, 500, "list element types are not identical: [[x] [1]]", id="mixed-types"),
    pytest.param({"tags": ["x", 1]}, {"tags": ["y"]}, 500, "list element types are not identical: [[x 1] [y]]", id="mixed-types-before"),
    pytest.param({"tags": []}, {"tags": [["y"]]}, 422, "lists of lists are not supported", id="a-list-of-lists-in-the-patch"),
    pytest.param({}, {"$patch": 5}, 500, "unknown patch type: %!s(int64=5) in map: map[$patch:5]", id="a-number-as-directive"),
    pytest.param({}, {"$setElementOrder/ports": None}, 500, "expected a []interface {}, but received a %!s(<nil>)", id="null-as-order"),
    pytest.param({"ports": ports(1, 2)}, {"$setElementOrder/ports": ports(2, 1), "ports": ports(1, 2)}, 500, "The order in patch list:\n[map[port:1] map[port:2]]\n doesn't match $setElementOrder list:\n[map[port:2] map[port:1]]\n", id="another-order-of-existing-items"),
    pytest.param({"ports": ports(1, 2)}, {"$setElementOrder/ports": ports(2, 1), "ports": ports(2, 2, 1)}, 500, "The order in patch list:\n[map[port:2] map[port:2] map[port:1]]\n doesn't match $setElementOrder list:\n[map[port:2] map[port:1]]\n", id="an-item-twice-in-the-patch"),
    pytest.param({}, {"$setElementOrder/ports": ["a"], "ports": ports(1)}, 500, "expected a map[string]interface {}, but received a string", id="an-order-of-texts"),
    pytest.param({}, {"$setElementOrder/ports": ports(1), "ports": ["a"]}, 500, "expected a map[string]interface {}, but received a string", id="texts-among-items"),
    pytest.param({}, {"$setElementOrder/ports": [{"name": "a"}], "ports": ports(1)}, 500, "map: map[name:a] does not contain declared merge key: port", id="no-key-in-the-order"),
    pytest.param({"ports": ports(1)}, {"$setElementOrder/ports": ["a"]}, 500, "value for key 0 is not a map", id="an-order-of-texts-for-existing-items"),
    pytest.param({"ports": ports(1)}, {"$setElementOrder/ports": [*ports(1), "a"]}, 500, "expected a map[string]interface {}, but received a string", id="a-text-at-the-end-of-the-order"),
    pytest.param({"ports": []}, {"$setElementOrder/ports": []}, 500, "no elements in any of the given slices", id="an-order-of-nothing"),
    pytest.param({}, {"$setElementOrder/tags": [], "tags": ["x", {"$patch": "replace"}]}, 500, "list element types are not identical: [[] [x map[$patch:replace]]]", id="mixed-types-of-an-ordered-list"),
    pytest.param({"ports": ports(1)}, {"$setElementOrder/ports": ports(1), "ports": [*ports(1), {"$patch": "replace"}]}, 500, "The order in patch list:\n[map[port:1] map[$patch:replace]]\n doesn't match $setElementOrder list:\n[map[port:1]]\n", id="a-directive-after-the-order"),
    pytest.param({"ports": {}}, {"$setElementOrder/ports": ports(1)}, 500, "expected a []interface {}, but received a map[string]interface {}", id="an-order-of-a-map"),
    pytest.param({}, {"$patch": None}, 500, "unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]", id="null-as-directive"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "patch", "code", "message"), REFUSED)
def test_a_patch_is_refused(document, patch, code, message):
    with pytest.raises(BadPatch) as caught:
        apply(document, patch, SCHEMA)
    assert (caught.value.code, str(caught.value)) == (code, message)


@pytest.mark.parametrize(
    ("patch", "left"),
    [
        ({"a": 1, "$patch": "delete", "$retainKeys": []}, {"a": 1, "$retainKeys": []}),
        (
            {"$retainKeys": [], "b": {"$setElementOrder/x": [], "$deleteFromPrimitiveList/y": [], "d": 1}},
            {"b": {"d": 1}},
        ),
        ({"$setElementOrder/x": [], "x": [1], "y": [2]}, {"y": [2]}),
        ({"b": {"$patch": "replace", "d": {"$retainKeys": []}}}, {"b": {"d": {"$retainKeys": []}}}),
        ({"list": [{"$patch": "delete"}]}, {"list": [{"$patch": "delete"}]}),
        ([1], [1]),
    ],
)
def test_what_is_left_of_a_patch_that_was_applied(patch, left):
    assert without_applied_directives(patch) == left
