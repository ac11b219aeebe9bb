"""Each rule of legality refuses what no real cluster does, and nothing else."""

import pytest

from fakekube.simulation.plan import parse_plan
from fakekube.simulation.realism import RULES, Facts, IllegalPlan, broken_rules, check_legal

FACTS = Facts(lists_from_cache=frozenset({"store"}), lease=15, webhooks=True, releases=True)

REFUSED = [
    ("whole-runs-stand-alone", "fresh + crash@create pod/a#1"),
    ("stale-reads", "stale(pod, at=create pod/a#1, when=delete pod/a#1)"),
    ("conflict-needs-a-writer", "error(409, 1)@update store/a{spec}#1"),
    ("gone-needs-compaction", "error(410, 1)@update store/a{spec}#1"),
    ("errors-need-a-reason", "error(422, 1)@update store/a{spec}#1"),
    ("watches-keep-their-order", "hold(pod, create pod/a#1..create pod/a#1)"),
    ("watches-keep-their-order", "gap(pod, create store/a#1..rest)"),
    ("time-goes-forward", "jump(-60)@create pod/a#1"),
    ("at-least-once", "error(503, 0)@create pod/a#1"),
    ("reads-commit-nothing", "crash@get pod/a#1"),
    ("external-apis-are-outside", "lost(reset)@create external/buckets/a#1"),
    ("external-apis-are-outside", "error(503, 1)@create external/buckets/a#1"),
    ("external-apis-are-outside", "hold(external, create external/buckets/a#1..rest)"),
    ("one-lag-a-watch", "hold(pod, create pod/a#1..rest) + gap(pod, create pod/b#1..rest)"),
    ("one-change-of-the-release", "upgrade@create pod/a#1 + downgrade@create pod/b#1"),
    ("external-apis-are-outside", "late(until=rest)@create external/buckets/a#1"),
    ("nodes-run-pods", "evict(cm/a)@create pod/a#1"),
    ("external-apis-are-outside", "crash@call external/buckets/add/a#1"),
    ("external-apis-are-outside", "error@call cm/a#1"),
    ("changes-are-of-specs", "change(store/a, status.size=1)"),
    ("whole-runs-stand-alone", "old + dup"),
    ("down-once", "down(until=rest)@create pod/a#1 + pause(until=rest)@create pod/b#1"),
]


@pytest.mark.parametrize(("rule", "atoms"), REFUSED)
def test_a_plan_is_refused_with_the_name_of_the_rule(rule, atoms):
    with pytest.raises(IllegalPlan, match=rule) as refused:
        check_legal(parse_plan(f"FK1 seed=0 {atoms}"), FACTS)
    assert refused.value.rule == rule


@pytest.mark.parametrize(
    ("rule", "atoms"),
    [
        ("one-leader", "zombie@create pod/a#1"),
        ("hooks-are-called", "hook(timeout)@create pod/a#1"),
        ("upgrades-need-releases", "upgrade@create pod/a#1"),
        ("upgrades-need-releases", "downgrade@create external/buckets/a#1"),
    ],
)
def test_what_a_test_does_not_have_cannot_fail(rule, atoms):
    with pytest.raises(IllegalPlan, match=rule):
        check_legal(parse_plan(f"FK1 seed=0 {atoms}"), Facts())
    check_legal(parse_plan(f"FK1 seed=0 {atoms}"), FACTS)


@pytest.mark.parametrize(
    "atoms",
    [
        "crash@create pod/a#1",
        "crash@create external/buckets/a#1",
        "pause(until=rest)@delete external/buckets/a#1",
        "stale(store, at=create store/a#1, when=update store/a{spec}#1)",
        "error(429, 2)@get pod/a#1",
        "late(until=rest)@get pod/a#1",
        "error@call external/buckets/add/a#1",
        "lost(reset)@call external/buckets/add/a#1 + late(until=rest)@call external/buckets/add/b#1",
        "hold(pod, create pod/a#1..delete pod/a#1) + gap(store, create store/a#1..rest)",
        "race(annotate)@update store/a{status}#1",
        "dup + order",
        "rollback",
    ],
)
def test_what_a_real_cluster_does_is_legal(atoms):
    assert list(broken_rules(parse_plan(f"FK1 seed=0 {atoms}"), FACTS)) == []


def test_each_rule_of_atoms_has_a_case():
    assert set(RULES) - {rule for rule, _ in REFUSED} == {
        "one-leader",
        "hooks-are-called",
        "upgrades-need-releases",
    }
