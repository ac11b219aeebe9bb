"""Who owns the replicas, in an object and in its Scale: entries of managedFields in both directions (upstream: ScaleHandler)."""

import pytest

from fakekube.apiserver.apply.scalehandler import to_parent, to_scale

TIME, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
REPLICAS = {"f:spec": {"f:replicas": {}}}
#: apps/v1 has its replicas elsewhere, old/v1 has no scale subresource
PATHS = {"x/v1": ("f:spec", "f:replicas"), "y/v1": ("f:spec", "f:size"), "old/v1": None}
SIZE = {"f:spec": {"f:size": {}}}
BOTH = {"f:spec": {"f:replicas": {}, "f:selector": {}}}
OTHER = {"f:spec": {"f:selector": {}}}


def entry(manager, fields=REPLICAS, version="x/v1", operation="Update", time=TIME, **more):
    made = {
        "manager": manager,
        "operation": operation,
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**made, **({"time": time} if time else {}), **more}


@pytest.mark.parametrize(
    ("parent", "scale"),
    [
        ([], []),
        ([entry("a")], [entry("a", version="autoscaling/v1")]),
        ([entry("a", BOTH)], [entry("a", version="autoscaling/v1")]),
        ([entry("a", SIZE, "y/v1")], [entry("a", version="autoscaling/v1")]),
        ([entry("a", OTHER)], []),
        ([entry("a", {"f:spec": {}})], []),
        ([entry("a", {"f:spec": {".": {}}})], []),
        ([entry("a", version="old/v1")], []),
        ([entry("a", version="unknown/v1")], []),
        ([entry("a", operation="Apply", time="")], [entry("a", version="autoscaling/v1", operation="Apply", time="")]),
        (
            [entry("a"), entry("b", time=LATER), entry("c", OTHER)],
            [entry("a", version="autoscaling/v1"), entry("b", version="autoscaling/v1", time=LATER)],
        ),
    ],
)
def test_a_scale_has_the_managers_of_the_replicas(parent, scale):
    assert to_scale(parent, PATHS) == scale


def of_scale(manager, fields=REPLICAS, **more):
    return entry(manager, fields, more.pop("version", "autoscaling/v1"), **more)


@pytest.mark.parametrize(
    ("parent", "scale", "found"),
    [
        pytest.param([], [], [], id="none"),
        pytest.param([entry("a", OTHER)], [], [entry("a", OTHER)], id="other-fields-stay"),
        pytest.param([entry("a", version="old/v1")], [], [entry("a", version="old/v1")], id="a-version-without-scale-stays"),
        pytest.param([entry("a", version="unknown/v1")], [], [], id="an-unknown-version-goes"),
        pytest.param([entry("a")], [], [], id="what-the-scale-has-not-is-lost"),
        pytest.param([entry("a", BOTH)], [], [entry("a", OTHER)], id="and-nothing-else"),
        pytest.param([], [of_scale("b")], [entry("b", time="")], id="a-new-manager-has-no-time"),
        pytest.param([], [of_scale("b", operation="Apply")], [entry("b", operation="Apply", time="")], id="one-that-applies"),
        pytest.param([], [of_scale("b", {"f:status": {}})], [], id="one-of-other-fields"),
        pytest.param(
            [entry("a", BOTH)], [of_scale("b")], [entry("b", time=""), entry("a", OTHER)], id="one-takes-it-from-another"
        ),
        pytest.param(
            [entry("a", BOTH, operation="Apply")],
            [of_scale("a", operation="Apply", time=LATER)],
            [entry("a", BOTH, operation="Apply")],
            id="one-that-has-it-in-both-is-kept",
        ),
        pytest.param(
            [entry("a", SIZE, "y/v1")], [], [], id="by-the-path-of-its-version",
        ),
    ],
)  # fmt: skip
def test_the_managers_after_a_write_of_the_scale(parent, scale, found):
    assert to_parent(parent, scale, PATHS, "x/v1") == found


def test_a_new_manager_owns_the_replicas_of_the_version_of_the_write():
    assert to_parent([], [of_scale("b")], PATHS, "y/v1") == [entry("b", SIZE, "y/v1", time="")]
    assert to_parent([], [of_scale("b")], PATHS, "old/v1") == []
    assert to_parent([], [of_scale("b")], PATHS, "unknown/v1") == []
