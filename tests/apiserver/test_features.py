"""Feature gates per version, how they are set, and what a request's rules see of them."""

import pytest

from fakekube.apiserver import features
from fakekube.apiserver.features import RefusedGates, UnknownGate, features_of, parse_gates
from fakekube.server.bootstrap import known_versions
from tests.apiserver.api import Api


@pytest.mark.parametrize(
    ("gate", "version", "state"),
    [
        ("WatchList", "1.26", False),  # not there yet
        ("WatchList", "1.31", False),  # alpha
        ("WatchList", "1.32", True),
        ("WatchList", "1.33", False),  # beta, off again
        ("WatchList", "1.34", True),
        ("AppArmor", "1.25", True),
        ("AppArmor", "1.36", True),  # removed after it was GA
        ("VolumeCapacityPriority", "1.36", False),  # removed as alpha
        ("PodObservedGenerationTracking", "1.33", False),
        ("PodObservedGenerationTracking", "1.34", True),
    ],
)
def test_a_gate_has_the_state_of_its_version(gate, version, state):
    assert features_of(version).states[gate] is state


def test_all_versions_know_the_states_of_the_same_gates():
    assert len({frozenset(features_of(version).states) for version in known_versions()}) == 1


def test_gates_of_a_version_are_those_that_it_registers():
    names = {one.name for one in features_of("1.26").gates}
    assert "AppArmor" in names
    assert "WatchList" not in names


@pytest.mark.parametrize(
    ("version", "states", "problem"),
    [
        ("1.31", {"Nope": True}, "unrecognized feature gate: Nope"),
        ("1.36", {"AppArmor": True}, "unrecognized feature gate: AppArmor"),  # removed
        ("1.26", {"WatchList": True}, "unrecognized feature gate: WatchList"),
        ("1.31", {"AppArmor": False}, "cannot set feature gate AppArmor to false, feature is locked to true"),
    ],
)
def test_a_gate_that_cannot_be_set_is_refused_in_upstream_words(version, states, problem):
    with pytest.raises(RefusedGates) as refused:
        features_of(version, states)
    assert str(refused.value) == problem


@pytest.mark.parametrize("names", [["Nope", "AppArmor", "Never"], ["Never", "AppArmor", "Nope"]])
def test_of_several_gates_that_are_refused_the_first_by_name_is_told(names):
    with pytest.raises(RefusedGates, match=r"^cannot set feature gate AppArmor to false"):
        features_of("1.31", dict.fromkeys(names, False))


def test_a_locked_gate_can_be_set_to_its_default():
    assert features_of("1.31", {"AppArmor": True}).states["AppArmor"]


def test_a_set_gate_and_no_other_changes():
    before, after = features_of("1.31"), features_of("1.31", {"WatchList": True})
    assert {name for name in before.states if before.states[name] != after.states[name]} == {"WatchList"}


@pytest.mark.parametrize(("group", "stage"), [("AllAlpha", "Alpha"), ("AllBeta", "Beta")])
def test_a_group_sets_all_gates_of_its_stage_but_those_set_by_name(group, stage):
    names = [one.name for one in features_of("1.31").gates if one.stage == stage]
    wanted = stage == "Alpha"
    found = features_of("1.31", {group: wanted, names[0]: not wanted}).states
    assert found[names[0]] is not wanted
    assert {found[name] for name in names[1:]} == {wanted}


@pytest.mark.parametrize(
    ("texts", "states"),
    [
        ([], {}),
        (["A=true,B=false", "C=1"], {"A": True, "B": False, "C": True}),
        ([" A = T , "], {"A": True}),
        (["A=true,A=false"], {"A": False}),
    ],
)
def test_gates_are_parsed_as_upstream_does(texts, states):
    assert parse_gates(texts) == states


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A", "missing bool value for A"),
        ("A=", 'invalid value of A=, err: strconv.ParseBool: parsing "": invalid syntax'),
        ("A=yes", 'invalid value of A=yes, err: strconv.ParseBool: parsing "yes": invalid syntax'),
    ],
)
def test_gates_that_cannot_be_parsed_are_refused_in_upstream_words(text, problem):
    with pytest.raises(RefusedGates) as refused:
        parse_gates([text])
    assert str(refused.value) == problem


def test_a_rule_asks_for_the_server_that_answers():
    outer = features.use(features_of("1.31"))
    try:
        assert not features.enabled("WatchList")
        assert (features.since(31), features.since(32)) == (True, False)
        inner = features.use(features_of("1.34", {"WatchList": False}))
        assert not features.enabled("WatchList")
        assert features.since(34)
        features.leave(inner)
        assert not features.since(32)
    finally:
        features.leave(outer)
    assert features.since(36)
    assert features.enabled("WatchList")


def test_a_rule_cannot_ask_for_a_gate_that_no_version_has():
    with pytest.raises(UnknownGate):
        features.enabled("Nope")


def test_metrics_tell_the_gates_of_the_server():
    shown = Api(version="1.31", feature_gates={"WatchList": True}).ok("GET", "/metrics")
    assert 'kubernetes_feature_enabled{name="WatchList",stage="ALPHA"} 1\n' in shown
    assert 'kubernetes_feature_enabled{name="AppArmor",stage=""} 1\n' in shown
    assert 'kubernetes_feature_enabled{name="AllowDNSOnlyNodeCSR",stage="DEPRECATED"} 0\n' in shown
    assert 'name="PodObservedGenerationTracking"' not in shown
