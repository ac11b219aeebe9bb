"""The reference itself is judged: what is wrong without any fault is found, too."""

from dataclasses import replace

import pytest

from fakekube.simulation.observation import Observation
from fakekube.simulation.oracles.judge import Judge
from tests.simulation.observations import CHILD, REFERENCE, commit, obj, record


def wrong(**more):
    return [str(one) for one in Judge(replace(REFERENCE, **more)).of_reference()]


def changes(*writers, part="spec", values=(1, 2), **more):
    """One change after the other, by these actors, each to the value of its place."""
    made, value = [], 0
    for number, actor in enumerate(writers):
        old, value = value, values[number % len(values)]
        before, after = (
            obj("Deployment", "web", **{part: {"replicas": old}}),
            obj("Deployment", "web", **{part: {"replicas": value}}),
        )
        made.append(commit(10 + number, "update", "deploy/web", actor, before, after, occurrence=number + 1, **more))
    return made


FIGHT = ("operator a", "operator b") * 4


@pytest.mark.parametrize(
    ("commits", "number"),
    [
        pytest.param(changes(*FIGHT), 1, id="two operators"),
        pytest.param(changes(*("operator a", "cluster") * 4), 1, id="an operator and a controller of the cluster"),
        pytest.param(changes(*FIGHT[:6]), 0, id="too few rounds"),
        pytest.param(changes(*FIGHT, part="status"), 0, id="a status may be a protocol"),
        pytest.param(changes(*FIGHT, values=tuple(range(8))), 0, id="each value is new"),
        pytest.param(changes(*("operator a", "client x") * 4), 0, id="a client of the test"),
        pytest.param(changes(*["operator a"] * 8), 0, id="one writer"),
        pytest.param([*changes(*FIGHT[:4]), commit(20, "update", "store/a", "test", CHILD, CHILD), *changes(*FIGHT[:4])], 0, id="the test writes in between"),
    ],
)  # fmt: skip
def test_o7_a_fight(commits, number):
    found = wrong(commits=[*REFERENCE.commits, *commits])
    assert len(found) == number
    if number:
        assert found[0].startswith("O7: deploy/web spec.replicas is set by two writers in turn, without a fault: ")
        assert "operator a sets 1" in found[0]


def test_o7_two_controllers_of_one_operator_are_named():
    made = changes(*["operator a"] * 8)
    commits = [replace(one, controller=("first", "second")[number % 2]) for number, one in enumerate(made)]
    assert "operator a (first) sets 1, operator a (second) sets 2" in wrong(commits=commits)[0]


def test_o12_an_exception_that_is_a_defect():
    error = record(error="KeyError: 'phase'", unexpected=True)
    assert wrong(reconciles=[error, error, record()]) == [
        "O12: db reconciling default/a raises KeyError: 'phase', without a fault"
    ]
    assert wrong(reconciles=[record(error="ApiError: 409")]) == []


@pytest.mark.parametrize(("seen", "number"), [(1, 0), (2, 0), (3, 1)])
def test_o10_a_generation_that_does_not_exist(seen, number):
    final = {"store/a": obj("Store", "a", generation=2, status={"observedGeneration": seen})}
    assert len(wrong(final=final)) == number


def test_what_is_right():
    assert wrong() == []
    assert Judge(Observation(0)).of_reference() == []
