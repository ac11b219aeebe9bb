"""Patterns of a marker that nothing has matched are reported: they are misspelt, or not needed any more."""

from dataclasses import replace

import pytest

from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.report import failure, success
from fakekube.simulation.results.unmatched import Unmatched
from tests.simulation.observations import commit, obj
from tests.simulation.test_explorer import BASE, LOST_SECRET, crashes_at, explorer

POD = obj("Pod", "a-0", spec={"node": "n", "ports": [{"name": "web"}]}, status={"conditions": [{"type": "Ready"}]})
RUN = Observation(
    0,
    final={"pod/a-0": POD, "cm/a": {"data": {"x.y": "1"}}},
    commits=[
        commit(1, "create", "store/a", "test"),
        commit(2, "create", "pod/a-0"),
        commit(3, "update", "pod/a-0", before={"a": 1}, after={"a": 2}),
        commit(4, "delete", "job/b", "controller job"),
        commit(5, "create", "external/buckets/photos"),
        commit(6, "create", "cm/z", "race"),
    ],
)


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("spec.node", True),
        ("spec", True),
        ("spec.*", True),
        ("spec.ports[0].name", True),
        ("status.conditions[Ready]", True),
        ("pod/*:spec.node", True),
        ("pod/b-*:spec.node", False),
        ("cm/*:spec.node", False),
        ("spec.nod", False),
        ("stauts.*", False),
        ("pods/*:spec", False),
    ],
)
def test_a_mask_is_matched_by_a_field_of_an_object_at_the_end(pattern, matches):
    left = Unmatched(mask=[pattern])
    left.saw(Observation(0))
    assert left.texts() == [f"mask={pattern!r}"]
    left.saw(RUN)
    left.saw(Observation(0))
    assert left.texts() == ([] if matches else [f"mask={pattern!r}"])


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("create pod/*", True),
        ("delete job/b", True),
        ("* job/*", True),
        ("create external/buckets/*", True),
        ("create store/a", False),  # by the test
        ("create cm/z", False),  # by the fault
        ("update pod/*", False),  # updates are not counted
        ("create pods/*", False),
        ("pod/*", False),
    ],
)
def test_an_expected_delta_is_matched_by_what_o3_counts(pattern, matches):
    left = Unmatched(expect_delta=[pattern])
    left.saw(RUN)
    assert left.texts() == ([] if matches else [f"expect_delta={pattern!r}"])


@pytest.mark.parametrize(("pattern", "matches"), [("O2: cm/a*", True), ("O2:*", True), ("O2: cm/a", False), ("O3: *", False)])  # fmt: skip
def test_a_baseline_is_matched_by_a_violation(pattern, matches):
    left = Unmatched(known=[pattern])
    violations = [Violation("O2", "cm/a", "is absent")]
    assert left.found(violations) == violations
    assert left.texts() == ([] if matches else [f"known={pattern!r}"])


def test_the_line_of_a_report_names_each_argument():
    settings = {
        "mask": ["data", "spec.siez", "stauts"],
        "expect_delta": ["create cm/*", "create job/*"],
        "known": ["O2: secret/a *", "O2: nothing*"],
    }
    line = "matched nothing: mask='spec.siez', mask='stauts', expect_delta='create job/*', known='O2: nothing*'"
    base = replace(BASE, final={**BASE.final, "cm/a": {"data": {"x": "1"}}})
    final = {name: one for name, one in base.final.items() if name in LOST_SECRET["final"]}
    found, _ = explorer(crashes_at("cm/a", then={"final": final}), base=base, runs=8, **settings)
    result = found.explore()
    assert result.failed is None
    assert f"  {line}" in success(result).split("\n")
    found, _ = explorer(
        crashes_at("cm/a", then={"final": {}}),
        base=base,
        runs=8,
        bugs=1,
        **{**settings, "known": settings["known"][1:]},
    )
    result = found.explore()
    assert line in failure(result, result.failed, "a.py::test_it", 8).split("\n")


def test_a_fault_may_be_what_brings_the_match():
    """A field that only a run with a crash has."""
    final = {**BASE.final, "cm/a": {"data": {"retried": "yes"}}}
    found, _ = explorer(crashes_at("cm/a", then={"final": final}), runs=6, mask=["data.retried", "data.other"])
    assert found.explore().unmatched == ["mask='data.other'"]


def test_without_patterns_and_in_one_of_several_shards_nothing_is_said():
    found, _ = explorer(runs=5)
    assert "matched nothing" not in success(found.explore())
    found, _ = explorer(runs=5, mask=["stauts"], shard=(0, 2))
    assert found.explore().unmatched == ()
