"""The annotation of client-side apply, which an apply of kubectl keeps up to date (`lastappliedupdater.go`)."""

import json

import pytest

from fakekube.apiserver.apply.managedfields import ANNOTATIONS_LIMIT, LAST_APPLIED, _with_last_applied


def obj(**annotations):
    return {"metadata": {"name": "a", **({"annotations": annotations} if annotations else {})}, "data": {"x": "1"}}


def last_applied(found):
    return json.loads(found["metadata"]["annotations"][LAST_APPLIED])


@pytest.mark.parametrize("live", [obj(), obj(other="1"), obj(**{LAST_APPLIED: ""})])
def test_an_object_without_the_annotation_gets_none(live):
    assert _with_last_applied(live, obj()) == live


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        (obj(), obj()),
        (obj(a="1"), obj(a="1")),
        (obj(**{"a": "1", LAST_APPLIED: "old"}), obj(a="1")),
        ({"metadata": {"name": "a", "annotations": {}}}, {"metadata": {"name": "a", "annotations": {}}}),
        (
            {"metadata": {"name": "a", "annotations": {LAST_APPLIED: "old"}}},
            {"metadata": {"name": "a", "annotations": {}}},
        ),
    ],
)
def test_the_annotation_has_the_configuration_without_itself(config, shown):
    live = obj(**{"kept": "1", LAST_APPLIED: "old"})
    found = _with_last_applied(live, config)
    assert last_applied(found) == shown
    assert found["metadata"]["annotations"]["kept"] == "1"
    assert found["metadata"]["annotations"][LAST_APPLIED].endswith("}\n")
    assert found["data"] == live["data"]
    assert live["metadata"]["annotations"][LAST_APPLIED] == "old"


@pytest.mark.parametrize(("more", "is_kept"), [(0, True), (1, False)])
def test_the_annotation_goes_where_all_would_be_too_large(more, is_kept):
    """The names and the values of all annotations count, in bytes: at most 256 KiB."""
    assert ANNOTATIONS_LIMIT == 262_144
    text = len(_with_last_applied(obj(**{LAST_APPLIED: "old"}), obj())["metadata"]["annotations"][LAST_APPLIED])
    left = ANNOTATIONS_LIMIT - len(LAST_APPLIED) - text - len("bé".encode())
    found = _with_last_applied(obj(**{LAST_APPLIED: "old", "bé": "x" * (left + more)}), obj())
    assert (LAST_APPLIED in found["metadata"]["annotations"]) is is_kept
    assert "bé" in found["metadata"]["annotations"]
