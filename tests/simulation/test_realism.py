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


NOTHING = Facts()

AT = "create pod/a#1"


@pytest.mark.parametrize(
    ("atoms", "facts", "broken"),
    [
        (f"stale(pod, at={AT}, when=delete pod/a#1)", Facts(frozenset({"pod"})), []),
        (f"stale(pod, at={AT}, when=delete pod/a#1)", Facts(frozenset({"store"})), ["stale-reads"]),
        *((f"error({code}, 1)@{AT}", NOTHING, []) for code in (429, 500, 503, 504)),
        (f"error(409, 1)@{AT}", NOTHING, ["conflict-needs-a-writer"]),
        (f"error(410, 1)@{AT}", NOTHING, ["gone-needs-compaction"]),
        *(
            (f"error({code}, 1)@{AT}", NOTHING, ["errors-need-a-reason"])
            for code in (400, 404, 408, 411, 501, 502, 505)
        ),
        (f"error(503, 0)@{AT}", NOTHING, ["at-least-once"]),
        (f"error(503, -1)@{AT}", NOTHING, ["at-least-once"]),
        (f"error(404, 0)@{AT}", NOTHING, ["errors-need-a-reason", "at-least-once"]),
        (f"jump(0)@{AT}", NOTHING, ["time-goes-forward"]),
        (f"jump(1)@{AT}", NOTHING, []),
        (f"zombie@{AT}", NOTHING, ["one-leader"]),
        (f"zombie@{AT}", Facts(lease=0.5), []),
        (f"hook(timeout)@{AT}", NOTHING, ["hooks-are-called"]),
        (f"hook(timeout)@{AT}", Facts(webhooks=True), []),
        ("old", NOTHING, ["upgrades-need-releases"]),
        ("old", Facts(releases=True), []),
        (f"hold(pod, {AT}..rest)", NOTHING, []),
        (f"hold(pod, {AT}..{AT})", NOTHING, ["watches-keep-their-order"]),
        (f"hold(pod, {AT}..create pod/a#2)", NOTHING, []),
        (f"gap(cm, {AT}..rest)", NOTHING, ["watches-keep-their-order"]),
        # one watch of a kind is late at a time
        (f"hold(pod, {AT}..rest) + hold(pod, delete pod/a#1..rest)", NOTHING, ["one-lag-a-watch"]),
        (f"hold(pod, {AT}..rest) + gap(cm, create cm/a#1..rest)", NOTHING, []),
        (f"hold(pod, {AT}..rest) + crash@{AT}", NOTHING, []),
        # an operator is down once at a time
        (f"down(until=rest)@{AT} + down(until=rest)@create pod/b#1", NOTHING, ["down-once"]),
        (f"down(until=rest)@{AT} + crash@create pod/b#1", NOTHING, []),
        (f"crash@{AT} + crash@create pod/b#1", NOTHING, []),
        (f"pause(until=rest)@{AT} + crash@create pod/b#1", NOTHING, []),
        (f"pause(until=rest)@{AT}", NOTHING, []),
        # runs of the whole test
        *((f"{one} + order", Facts(releases=True), ["whole-runs-stand-alone"]) for one in ("fresh", "rollback", "old")),
        *((one, Facts(releases=True), []) for one in ("fresh", "rollback", "old")),
        ("dup + order", NOTHING, []),
        (f"upgrade@{AT} + upgrade@create pod/b#1", Facts(releases=True), ["one-change-of-the-release"]),
        (f"upgrade@{AT} + crash@create pod/b#1", Facts(releases=True), []),
        # reads
        *(
            (f"{atom}@{verb} pod/a#1", NOTHING, [])
            for verb in ("get", "list")
            for atom in ("error(503, 1)", "late(until=rest)")
        ),
        *(
            (f"{atom}@{verb} pod/a#1", Facts(releases=True), ["reads-commit-nothing"])
            for verb in ("get", "list")
            for atom in (
                "crash",
                "lost(504)",
                "race(label)",
                "pause(until=rest)",
                "jump(1)",
                "upgrade",
                "surge(until=rest)",
            )
        ),
    ],
)
def test_the_rules_that_a_plan_breaks(atoms, facts, broken):
    assert [rule for rule, _ in broken_rules(parse_plan(f"FK1 seed=0 {atoms}"), facts)] == broken


@pytest.mark.parametrize(
    ("atom", "is_legal"),
    [
        ("crash@{}", True), ("down(until=rest)@{}", True), ("pause(until=rest)@{}", True), ("jump(1)@{}", True),
        ("upgrade@{}", True), ("downgrade@{}", True), ("lost(504)@{}", False), ("error(503, 1)@{}", False),
        ("race(label)@{}", False), ("late(until=rest)@{}", False), ("zombie@{}", False), ("hook(timeout)@{}", False),
        ("surge(until=rest)@{}", False), ("hold(external, {}..rest)", False), ("gap(external, {}..rest)", False),
        ("stale(store, at={}, when=create store/a#1)", False), ("stale(store, at=create store/a#1, when={})", False),
        ("hold(pod, create pod/a#1..{})", True),
    ],
)  # fmt: skip
def test_the_server_has_no_part_in_changes_of_external_apis(atom, is_legal):
    plan = parse_plan(f"FK1 seed=0 {atom.format('create external/buckets/a#1')}")
    rules = {rule for rule, _ in broken_rules(plan, FACTS)}
    assert rules == (set() if is_legal else {"external-apis-are-outside"})


@pytest.mark.parametrize(
    ("atoms", "text"),
    [
        (f"error(409, 1)@{AT}", f"409 only comes from a real competing write, which is race@{AT}"),
        (f"error(410, 1)@{AT}", "410 only comes below the compaction floor, which is gap(pod, ...)"),
        (f"error(404, 1)@{AT}", "a server answers 404 for a reason; the codes for none are [429, 500, 503, 504]"),
        (f"hold(cm, {AT}..rest)", "the watch of cm has no event of pod"),
        (f"hold(pod, {AT}..rest) + gap(pod, delete pod/a#1..rest)", "two atoms delay the watch of pod"),
        ("order + fresh", "fresh is combined with other atoms"),
    ],
)
def test_a_refusal_says_what_to_do_instead(atoms, text):
    with pytest.raises(IllegalPlan) as refused:
        check_legal(parse_plan(f"FK1 seed=0 {atoms}"), NOTHING)
    assert str(refused.value).endswith(text)
    assert str(refused.value).startswith(f"{refused.value.rule}: ")


def test_a_legal_plan_is_not_refused():
    check_legal(parse_plan(f"FK1 seed=0 crash@{AT}"), NOTHING)
