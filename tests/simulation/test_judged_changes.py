"""O3 to O7, O10 to O12: which changes and reconciles of a run are those of a wrong operator, and what is judged at all."""

from dataclasses import replace
from itertools import accumulate

import pytest

from fakekube.simulation.observation import CLUSTER, Observation
from fakekube.simulation.oracles.failures import exceptions, own_assertions, predicates, raised, streams
from fakekube.simulation.oracles.finalstate import counts
from fakekube.simulation.oracles.judge import Judge
from fakekube.simulation.oracles.leaks import leaks
from fakekube.simulation.oracles.progress import effort, rest, steady_retries
from fakekube.simulation.oracles.truth import ahead, status_truth
from fakekube.simulation.oracles.writers import fights, flips, lost_updates, stale_decisions
from fakekube.simulation.statemask import Mask
from tests.simulation.observations import commit, obj, record


def run(*commits, **more):
    return Observation(0, commits=commits, **more)


def texts(found):
    return [str(one) for one in found]


# --- O3


def changed(verb, target, times, actor="operator db", **more):
    return [commit(number, verb, target, actor, occurrence=number, **more) for number in range(1, times + 1)]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (0, 0, None), (1, 1, None), (2, 1, None), (1, 0, None),
        (0, 1, "once, in the reference never"), (1, 2, "2 times, in the reference once"),
        (2, 3, "3 times, in the reference 2 times"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["create", "delete"])
def test_o3_nothing_is_created_or_deleted_more_often(verb, before, after, text):
    reference, found = run(*changed(verb, "cm/a", before)), run(*changed(verb, "cm/a", after))
    expected = [] if text is None else [f"O3: cm/a is {verb}d {text}"]
    assert texts(counts(reference, found, Mask())) == expected
    assert texts(counts(reference, found, Mask(), ["update *", f"{verb} cm/b"])) == expected
    assert texts(counts(reference, found, Mask(), ["update *", f"{verb} cm/?"])) == []


@pytest.mark.parametrize(
    ("verb", "target", "actor", "more", "is_counted"),
    [
        ("create", "cm/a", CLUSTER, {}, True),
        ("create", "cm/a", "client x", {}, True),
        ("create", "cm/a", "test", {}, False),
        ("create", "cm/a", "race", {}, False),
        ("update", "cm/a", "operator db", {}, False),
        ("create", "event/a", "operator db", {}, False),
        ("create", "cm/a", "operator db", {"rest": True}, False),
    ],
)
def test_o3_which_changes_count(verb, target, actor, more, is_counted):
    assert bool(texts(counts(run(), run(*changed(verb, target, 1, actor, **more)), Mask()))) is is_counted


def test_o3_what_the_reference_does_at_rest_may_be_done_before():
    late = changed("create", "cm/a", 1, rest=True)
    assert texts(counts(run(*late), run(*changed("create", "cm/a", 1)), Mask())) == []


def owned(kind, name, *owners, uid=""):
    made = obj(kind, name, uid)
    made["metadata"]["ownerReferences"] = [{"kind": "Store", "name": one, "uid": f"u-{one}"} for one in owners]
    return made


def garbage(*owners, gone=("a",), collected=CLUSTER, target="cm/x", then=()):
    """A child is created when some owners are gone, and deleted."""
    child = owned("ConfigMap", "x", *owners)
    commits = [
        commit(number, "delete", f"store/{one}", "test", before=obj("Store", one)) for number, one in enumerate(gone)
    ]
    commits += [commit(10, "create", target, after=child), *then]
    return run(*commits, *([commit(20, "delete", target, collected, before=child)] if collected else []))


@pytest.mark.parametrize(
    ("found", "targets"),
    [
        (garbage("a"), []),
        (garbage("a", "b", gone=("a", "b")), []),
        (garbage("a", "b"), ["cm/x", "cm/x"]),  # an owner is there
        (garbage(), ["cm/x", "cm/x"]),
        (garbage("a", gone=()), ["cm/x", "cm/x"]),
        (garbage("a", collected="operator db"), ["cm/x", "cm/x"]),
        (garbage("a", collected=None), ["cm/x"]),
    ],
)
def test_o3_what_is_created_for_owners_that_are_gone(found, targets):
    assert [one.target for one in counts(run(), found, Mask())] == targets


def test_o3_endpoints_of_a_service_that_is_garbage_are_garbage():
    service, other = owned("Service", "s", "a"), owned("Service", "s")
    for made, is_garbage in ((service, True), (other, False)):
        endpoints = obj("Endpoints", "s", "u-e")
        commits = [
            commit(1, "delete", "store/a", "test", before=obj("Store", "a")),
            commit(2, "create", "svc/s", after=made),
            commit(3, "create", "ep/s", CLUSTER, after=endpoints),
            commit(4, "delete", "svc/s", CLUSTER, before=made),
            commit(5, "delete", "ep/s", CLUSTER, before=endpoints),
        ]
        assert bool(texts(counts(run(), run(*commits), Mask()))) is not is_garbage
        elsewhere = replace(commits[2], namespace="prod"), replace(commits[4], namespace="prod")
        pod = replace(commits[2], kind="pod"), replace(commits[4], kind="pod")
        for others in (elsewhere, pod):
            moved = run(*commits[:2], others[0], commits[3], others[1])
            assert [one.target for one in counts(run(), moved, Mask())].count("ep/s") == 2


# --- O4


def at_rest(target="cm/a", verb="update", before=None, after=None, **more):
    before, after = before or obj("ConfigMap", "a"), after or obj("ConfigMap", "a", data={"x": "y"})
    return commit(9, verb, target, before=before, after=after, **{"rest": True, **more})


def test_o4_the_text_names_who_writes():
    assert texts(rest(run(), run(at_rest(controller="db", key="default/a"), at_rest("cm/b")))) == [
        "O4: cm/a is written at rest: update cm/a{data.x}, by db reconciling default/a",
        "O4: cm/b is written at rest: update cm/b{data.x}, by operator db",
    ]


@pytest.mark.parametrize(
    ("known", "written", "is_found"),
    [
        ([], at_rest(), True),
        ([], at_rest(rest=False), False),
        ([], replace(at_rest(), actor=CLUSTER), False),
        ([], at_rest("event/a"), False),
        ([at_rest()], at_rest(), False),
        ([at_rest(rest=False)], at_rest(), True),
        ([at_rest("cm/b")], at_rest(), True),
        ([at_rest()], replace(at_rest(), anchor=replace(at_rest().anchor, occurrence=7)), False),
    ],
)
def test_o4_what_only_a_run_with_faults_writes_at_rest(known, written, is_found):
    assert bool(texts(rest(run(*known), run(written, written)))) is is_found
    assert len(texts(rest(run(*known), run(written, written)))) <= 1


TIMES = [{"at": f"2026-01-01T00:0{minute}:00Z"} for minute in range(2)]


@pytest.mark.parametrize(
    ("before", "after", "verb", "polls", "is_found"),
    [
        ({"status": TIMES[0]}, {"status": TIMES[1]}, "update", False, True),
        ({"status": TIMES[0]}, {"status": TIMES[1]}, "update", True, False),
        ({"status": {**TIMES[0], "x": 1}}, {"status": {**TIMES[1], "x": 2}}, "update", False, False),
        ({"status": {**TIMES[0], "x": 1}}, {"status": {**TIMES[1], "x": 1}}, "update", False, True),
        ({"status": {}}, {"status": TIMES[1]}, "update", False, False),
        ({"status": TIMES[0]}, {"status": {"at": "never"}}, "update", False, False),
        ({"data": TIMES[0]}, {"data": TIMES[1]}, "update", False, False),
        ({"status": TIMES[0], "spec": {"x": 1}}, {"status": TIMES[1], "spec": {"x": 2}}, "update", False, False),
        ({"status": TIMES[0]}, {"status": TIMES[1]}, "delete", False, False),
    ],
)
def test_o4_a_present_time_that_each_reconcile_writes(before, after, verb, polls, is_found):
    """It is wrong also if the reference does it, unless the reconcile comes again by itself."""
    late = at_rest(verb=verb, before=before, after=after, controller="db", key="default/a")
    polling = [record(requeue_after=60.0 if polls else None)]
    reference = run(late, reconciles=polling)
    assert bool(texts(rest(reference, run(late)))) is is_found
    other = run(late, reconciles=[replace(polling[0], key="default/b")])
    assert bool(texts(rest(other, run(late)))) is (is_found or (polls and verb == "update"))


# --- O5


def retries(*gaps, key="default/a", controller="db", cause="retry"):
    times = list(accumulate(gaps, initial=1.0))
    made = [record(times[0], error="x"), *(record(at, error="x", cause=cause) for at in times[1:])]
    return [replace(one, key=key, controller=controller) for one in made]


STEADY = "O5: db retries default/a at constant intervals below a second"


@pytest.mark.parametrize(
    ("records", "is_found"),
    [
        (retries(*[0.5] * 6), True),
        (retries(*[0.999] * 6), True),
        (retries(*[1.0] * 6), False),
        (retries(*[0.5] * 5), False),
        (retries(0.5, 0.5, 0.5, 0.5, 0.5, 0.500_000_5), True),
        (retries(0.5, 0.5, 0.5, 0.5, 0.5, 0.501), False),
        (retries(*[0.5] * 6, cause="updated"), False),
        # each key and controller has retries of its own
        ([*retries(*[0.5] * 5), *retries(*[0.5] * 5, key="default/b"), *retries(*[0.5] * 5, controller="x")], False),
        (sorted([*retries(*[0.5] * 6), *retries(*[0.7] * 3, key="default/b")], key=lambda one: one.started), True),
    ],
)
def test_o5_steady_retries(records, is_found):
    reference = run(reconciles=[record()] * 20)
    assert texts(effort(reference, run(reconciles=records))) == [STEADY] * is_found
    assert texts(steady_retries(run(reconciles=records))) == [f"{STEADY}, without a fault"] * is_found


def test_o5_each_controller_is_counted_alone():
    reference = run(reconciles=[record()] * 10)
    others = [replace(record(), controller="other")] * 20
    assert texts(effort(reference, run(reconciles=[*[record()] * 50, *others]))) == []
    assert texts(effort(reference, run(reconciles=[*others, *others[:1]]))) == [
        "O5: other has 21 reconciles, the reference 0 (limit 20)"
    ]


def test_o5_a_reconcile_polls_if_the_one_before_it_has_put_it_off():
    first, put_off = record(cause="added"), record(requeue_after=5.0, cause="requeue_after")
    other = replace(record(cause="requeue_after"), key="default/b")
    polling = [replace(first, requeue_after=5.0), *[put_off] * 40]
    assert texts(effort(run(), run(reconciles=polling))) == []
    assert len(texts(effort(run(), run(reconciles=[*polling, *[other] * 21])))) == 1, "of another object"


@pytest.mark.parametrize(
    ("namespace", "name", "key", "counts_them"),
    [
        ("default", "a", "default/a", False),
        ("", "a", "a", False),
        ("prod", "a", "default/a", True),
        ("", "a", "default/a", True),
    ],
)
def test_o5_reconciles_of_an_object_that_is_gone_unseen(namespace, name, key, counts_them):
    gone = replace(commit(2, "delete", "store/a", "test", before=obj("Store", "a")), namespace=namespace, name=name)
    late = replace(record(seen={"store": 1}), first=2, key=key)
    assert bool(texts(effort(run(), run(gone, reconciles=[late] * 30)))) is counts_them
    updated = replace(gone, anchor=replace(gone.anchor, verb="update"))
    assert texts(effort(run(), run(updated, reconciles=[late] * 30))) != []


# --- O6


@pytest.mark.parametrize(
    ("obj", "labels", "found"),
    [
        (owned("Pod", "x", "a"), (), []),
        (owned("Pod", "x", "a", "gone"), (), ["has an owner that is gone: Store gone"]),
        ({"metadata": {"labels": {"of": "gone", "for": "gone"}}}, ("of",), ["has an owner that is gone: of=gone"]),
        ({"metadata": {"labels": {"of": "gone", "for": "gone"}}}, ("of", "for"), ["has an owner that is gone: of=gone", "has an owner that is gone: for=gone"]),
        ({"metadata": {"labels": {"of": "a"}}}, ("of",), []),
        ({"metadata": {"labels": None}}, ("of",), []),
        ({"metadata": {"deletionTimestamp": "now", "finalizers": ["a/b", "c/d"]}}, (), ["is being deleted and keeps its finalizers a/b, c/d"]),
        ({"metadata": {"deletionTimestamp": "now", "finalizers": []}}, (), []),
        ({"metadata": {"finalizers": ["a/b"]}}, (), []),
    ],
)  # fmt: skip
def test_o6_what_is_left_of_an_owner_that_is_gone(obj, labels, found):
    present = {"store/a": {"metadata": {"name": "a", "uid": "u-a"}}}
    after = run(final={**present, "pod/x": obj})
    assert texts(leaks(run(final=present), after, Mask(), labels)) == [f"O6: pod/x {one}" for one in found]
    assert texts(leaks(after, after, Mask(), labels)) == [], "the reference has it, too"
    record_of = run(final={**present, "event/x": obj})
    assert texts(leaks(run(final=present), record_of, Mask(), labels)) == []


A = "external/b/a"


@pytest.mark.parametrize(
    ("usual", "known", "items", "text"),
    [
        (0, False, 1, "is left at the end (the reference does not make it)"),
        (0, True, 1, "is left at the end (the reference has removed it)"),
        (0, False, 2, "is there 2 times at the end (in the reference 0)"),
        (1, True, 1, None),
        (1, True, 2, "is there 2 times at the end (in the reference 1)"),
        (2, True, 2, None),
        (2, True, 1, None),
    ],
)
def test_o6_items_of_external_apis(usual, known, items, text):
    commits = [commit(1, "create", A)] if known else []
    found = texts(leaks(run(*commits, external=[A] * usual), run(external=[A] * items), Mask()))
    assert found == ([] if text is None else [f"O6: {A} {text}"])


# --- O7


def written(*changes, part="spec", kind="store", verb="update"):
    """Changes of one field: the writer and its value. The field is 0 before."""
    made, value = [], 0
    for number, (writer, new) in enumerate(changes, 1):
        who, _, controller = writer.partition("/")
        before, after = (obj("Store", "a", **{part: {"x": each, "same": 1}}) for each in (value, new))
        target = f"{kind}/a"
        made.append(commit(number, verb, target, who, before, after, number, controller=controller))
        value = new
    return made


X, Y, BACK = ("operator x", 1), ("operator y", 2), ("operator x", 1)


@pytest.mark.parametrize(
    ("changes", "more", "is_found"),
    [
        ((X, Y, BACK), {}, True),
        ((X, Y, BACK), {"part": "status"}, True),
        ((X, Y, BACK), {"part": "data"}, True),
        ((X, Y, BACK), {"part": "other"}, False),
        ((X, Y, BACK), {"kind": "lease"}, False),
        ((X, Y, ("operator x", 3)), {}, False),
        ((X, ("operator x", 2), BACK), {}, False),
        ((X, ("test", 2), BACK), {}, False),
        ((X, ("race", 2), BACK), {}, False),
        ((("test", 1), Y, ("test", 1)), {}, False),
        ((X, ("client y", 2), BACK), {}, True),
        ((("operator x/a", 1), ("operator x/b", 2), ("operator x/a", 1)), {}, True),
        ((X, Y, ("operator z", 1)), {}, False),  # three writers
        ((X, Y), {}, False),
        ((("operator x", 2), Y, BACK), {}, False),
    ],
)
def test_o7_which_writers_fight(changes, more, is_found):
    commits = written(*changes, **more)
    part = more.get("part", "spec")
    names = [f"{who} ({name})" if name else who for who, _, name in (writer.partition("/") for writer, _ in changes)]
    text = f"O7: {commits[0].anchor.target} {part}.x changes from 2 back to 1 by {' and '.join(names[1:3])}"
    assert texts(flips(run(), run(*commits))) == [text] * is_found
    assert texts(flips(run(*commits), run(*commits))) == [], "the reference does so, too"


def test_o7_a_field_that_comes_and_goes():
    without, one = obj("Store", "a", spec={"y": 1}), obj("Store", "a", spec={"x": 7, "y": 1})
    states = [without, one, without] * 5
    writers = ["operator x", "operator y"] * 5
    commits = [
        commit(number, "update", "store/a", who, states[number % 2], states[number % 2 + 1])
        for number, who in enumerate(writers)
    ]
    assert texts(flips(run(), run(*commits[:3]))) == [
        "O7: store/a spec.x changes from None back to 7 by operator y and operator x"
    ]
    assert texts(fights(run(*commits))) == [
        "O7: store/a spec.x is set by two writers in turn, without a fault: operator x sets 7, operator y sets None, "
        "again and again"
    ]


TURNS = [("operator x", 1), ("operator y", 2)]


@pytest.mark.parametrize(
    ("changes", "more", "is_found"),
    [
        (TURNS * 4, {}, True),
        ([*TURNS * 3, TURNS[0]], {}, True),
        (TURNS * 3, {}, False),
        (TURNS * 4, {"part": "data"}, True),
        (TURNS * 4, {"part": "status"}, False),
        (TURNS * 4, {"kind": "lease"}, False),
        (TURNS * 4, {"verb": "create"}, False),
        ([("operator x", 1), (CLUSTER, 2)] * 4, {}, True),
        ([("operator x", 1), ("client y", 2)] * 4, {}, False),
        ([("operator x", 1), ("operator x", 2)] * 4, {}, False),
        ([("operator x/a", 1), ("operator x/b", 2)] * 4, {}, True),
        ([*TURNS * 2, ("operator x", 3), *TURNS * 2], {}, False),
        ([("operator z", 5), *TURNS * 4], {}, True),
    ],
)
def test_o7_a_fight_without_faults(changes, more, is_found):
    commits = written(*changes, **more)
    text = (
        f"O7: store/a {more.get('part', 'spec')}.x is set by two writers in turn, without a fault: "
        + ", ".join(
            f"{who.partition('/')[0]}{' (' + who.partition('/')[2] + ')' if '/' in who else ''} sets {value}"
            for who, value in sorted(set(changes[-2:]), key=str)
        )
        + ", again and again"
    )
    assert texts(fights(run(*commits))) == [text] * is_found
    for outsider in ("test", "race"):
        between = replace(commit(99, "update", "cm/z", outsider), revision=4)
        late = run(*commits[:4], between, *commits[4:])
        assert texts(fights(late)) == ([] if len(commits) <= 9 else [text] * is_found)
    assert texts(fights(run(*commits[:3], *(replace(one, rest=True) for one in commits[3:])))) == []


# --- O10


@pytest.mark.parametrize(
    ("status", "generation", "reference", "text"),
    [
        ({"observedGeneration": 2}, 2, 2, None),
        ({"observedGeneration": 3}, 2, None, "observedGeneration 3 is greater than the generation 2"),
        ({"observedGeneration": 1}, 2, 2, "observedGeneration is 1 at the end, the generation 2"),
        ({"observedGeneration": 1}, 2, 1, None),  # the reference is behind, too
        ({"observedGeneration": 1}, 2, None, None),
        ({"observedGeneration": "1"}, 2, 2, None),
        ({}, 2, 2, None),
        (None, 2, 2, None),
        ({"observedGeneration": 3}, None, 2, None),
    ],
)
def test_o10_the_generation_that_a_status_is_of(status, generation, reference, text):
    final = {"store/a": {"metadata": {"generation": generation}, "status": status}}
    before = {"store/a": {"metadata": {"generation": 2}, "status": {"observedGeneration": reference}}}
    found = texts(status_truth(run(final=before if reference else {}), run(final=final)))
    assert found == ([] if text is None else [f"O10: store/a {text}"])
    is_ahead = text is not None and "greater" in text
    assert texts(ahead(run(final=final))) == ([f"O10: store/a {text}, without a fault"] if is_ahead else [])


# --- O11


def decision(
    seen=3, *, key="default/a", kind="store", deleted="pod/a-9", read=(), first=5, more=(), verb="delete", **of
):
    """A deletion at 8 by a reconcile that has begun after 5; a store that was made at 3 is changed at 5."""
    old, new = obj("Store", "a"), obj("Store", "a", generation=2)
    changes = [
        commit(3, "create", "store/a", "test", after=old),
        commit(5, "update", "store/a", "test", old, new),
        *more,
        commit(8, verb, deleted, before=obj("Pod", "a-9"), controller="db", key=key, incarnation=1, **of),
    ]
    made = replace(record(seen={kind: seen}, read=read), key=key or "default/a", first=first)
    return run(*changes, reconciles=[made])


STALE = "O11: pod/a-9 is deleted because of store/a at generation 1 of u-a, which is at generation 2 of u-a by then"


@pytest.mark.parametrize(
    ("found", "is_stale"),
    [
        (decision(3), True),
        (decision(4), True),
        (decision(5), False),
        (decision(2), False),  # it has not seen the object at all
        (decision(kind="pod"), False),
        (decision(read=("store/a",)), False),
        (decision(read=("pod/a",)), True),
        (decision(key=""), False),
        (decision(verb="update"), False),
        (decision(deleted="lease/x"), False),
        (decision(first=9), False),  # another reconcile has deleted it
        (decision(first=8), False),
        (decision(first=7), True),
        (replace(decision(), reconciles=[]), False),
        (replace(decision(), reconciles=[replace(decision().reconciles[0], last=7)]), False),
        (replace(decision(), reconciles=[replace(decision().reconciles[0], last=8)]), True),
        (replace(decision(), reconciles=[replace(decision().reconciles[0], incarnation=2)]), False),
    ],
)
def test_o11_what_a_deletion_was_decided_on(found, is_stale):
    assert texts(stale_decisions(found)) == [STALE] * is_stale


def test_o11_the_object_is_that_of_the_key():
    for namespace, key, is_stale in (
        ("", "a", True),
        ("", "default/a", False),
        ("prod", "prod/a", True),
        ("prod", "a", False),
    ):
        found = decision(key=key)
        moved = [replace(one, namespace=namespace) if one.kind == "store" else one for one in found.commits]
        assert bool(texts(stale_decisions(replace(found, commits=moved)))) is is_stale


@pytest.mark.parametrize(
    ("changes", "is_stale"),
    [
        ([commit(6, "delete", "store/a", "test", before=obj("Store", "a"))], False),  # what is gone takes its children along
        ([commit(6, "delete", "store/a", "test"), commit(7, "create", "store/a", "test", after=obj("Store", "a", "new"))], True),
        ([commit(9, "delete", "store/a", "test", before=obj("Store", "a"))], True),
        ([commit(6, "update", "store/a", "operator db", obj("Store", "a"), obj("Store", "a"))], False),  # back again
    ],
)  # fmt: skip
def test_o11_what_happens_between(changes, is_stale):
    found = decision(3)
    commits = sorted([*found.commits, *changes], key=lambda one: one.revision)
    assert bool(texts(stale_decisions(replace(found, commits=commits)))) is is_stale


@pytest.mark.parametrize(("first", "is_stale"), [(5, False), (6, True), (7, True)])
def test_o11_a_reconcile_does_not_know_what_the_one_before_it_has_written(first, is_stale):
    """Its cache has not seen that yet. `first`: the revision at which the reconcile has begun."""
    old, new = obj("Secret", "a"), obj("Secret", "a", generation=2)
    made = commit(2, "create", "secret/a", "test", after=old)
    own = commit(6, "update", "secret/a", before=old, after=new, controller="db", key="default/a", incarnation=1)
    found = decision(5, first=first, more=(made, own))
    found = replace(found, reconciles=[replace(found.reconciles[0], seen={"store": 5, "secret": 2})])
    found = replace(found, commits=sorted(found.commits, key=lambda one: one.revision))
    assert bool(texts(stale_decisions(found))) is is_stale


def test_o2_a_competing_write_that_is_lost():
    plain = {"metadata": {"uid": "u-a"}}
    both = {"metadata": {"uid": "u-a", **{part: {"fakekube.dev/race": "1"} for part in ("labels", "annotations")}}}
    made = commit(1, "create", "cm/a", "test", after=plain)
    loses = commit(3, "update", "cm/a", before=both, after=plain)
    text = (
        "O2: cm/a loses metadata.annotations.fakekube.dev/race, metadata.labels.fakekube.dev/race, which another client "
        "wrote after operator db had read it"
    )
    assert texts(lost_updates(run(made, loses, raced=(3,)))) == [text]
    assert texts(lost_updates(run(made, loses, raced=(2,)))) == []
    assert texts(lost_updates(run(replace(made, actor="operator db"), loses, raced=(3,)))) == []
    assert texts(lost_updates(run(replace(made, anchor=replace(made.anchor, verb="update")), loses, raced=(3,)))) == []
    gone = commit(3, "delete", "cm/a", before=both)
    assert texts(lost_updates(run(made, gone, raced=(3,)))) == []


# --- O11, O12, O13 and the test itself


DEFECT = record(error="KeyError: 'x'", unexpected=True)


@pytest.mark.parametrize(
    ("known", "records", "found"),
    [
        ([], [DEFECT], ["O12: db reconciling default/a raises KeyError: 'x'"]),
        ([], [DEFECT, DEFECT], ["O12: db reconciling default/a raises KeyError: 'x'"] * 2),
        ([DEFECT], [DEFECT], []),
        ([replace(DEFECT, unexpected=False)], [DEFECT], ["O12: db reconciling default/a raises KeyError: 'x'"]),
        ([], [replace(DEFECT, unexpected=False)], []),
    ],
)
def test_o12_defects_that_the_reference_does_not_have(known, records, found):
    assert texts(exceptions(run(reconciles=known), run(reconciles=records))) == found
    assert texts(raised(run(reconciles=records))) == [f"{one}, without a fault" for one in found[:1] or found] or known


def test_o12_what_fails_in_the_background():
    assert texts(exceptions(run(lost=["a", "b"]), run(lost=["b", "c"]))) == ["O12: c"]


def test_what_has_no_object_is_its_text():
    assert texts(predicates(run(violations=["p", "q"]))) == ["O11: p", "O11: q"]
    assert texts(streams(run(streams=["s"]))) == ["O13: s"]


@pytest.mark.parametrize(
    ("before", "failure", "where", "found"),
    [
        ("", "3 != 4", "", ["test: 3 != 4"]), ("", "3 != 4", "test_a.py:7", ["test: test_a.py:7: 3 != 4"]),
        ("", "", "test_a.py:7", []), ("3 != 4", "3 != 4", "", []),
    ],
)  # fmt: skip
def test_the_failure_of_the_test_itself(before, failure, where, found):
    assert texts(own_assertions(run(failure=before), run(failure=failure, where=where))) == found


# --- what is judged at all

STATES = obj("Store", "a", status={"observedGeneration": 1}), obj("ConfigMap", "a", uid="u-cm")
MADE = [commit(1, "create", "store/a", "test", after=STATES[0]), commit(2, "create", "cm/a", after=STATES[1])]
REFERENCE = run(*MADE, final={"store/a": STATES[0], "cm/a": STATES[1]}, reconciles=[record()], external=[A])

#: A run that does everything wrong.
WRONG = run(
    *MADE,
    *written((X[0], 1), (Y[0], 2), (X[0], 1)),
    commit(9, "create", "cm/a", after=STATES[1], occurrence=2),
    *decision().commits[:2],
    decision().commits[2],
    at_rest("cm/z"),
    final={"store/a": obj("Store", "a", generation=2, status={"observedGeneration": 1}), "pod/b": owned("Pod", "b", "gone")},
    reconciles=[*decision().reconciles, *[DEFECT] * 40],
    violations=["never"],
    streams=["stream"],
    failure="3 != 4",
)  # fmt: skip

LATER = ("O6", "O11", "O7", "O10", "O4", "O5", "O12", "O13", "test")


def judged(found, reference=REFERENCE, **settings):
    """The oracles that fail, each once, in their order."""
    return list(dict.fromkeys(one.oracle for one in Judge(reference, **settings).violations(found)))


BY_TEST = replace(WRONG, commits=[one for one in WRONG.commits if one.actor != "test" or one.revision == 1])


@pytest.mark.parametrize(
    ("found", "oracles"),
    [
        (BY_TEST, ["O11", "O2", "O3", "O6", "O7", "O10", "O4", "O5", "O12", "O13", "test"]),
        # the test has not made all its changes, and has failed
        (WRONG, ["O11", "O7", "O12", "O13", "test"]),
        (replace(WRONG, failure=""), ["O11", "O2", "O3", "O6", "O7", "O10", "O4", "O5", "O12", "O13"]),
        (replace(BY_TEST, unsettled="busy"), ["O11", "O1", "O12"]),
        (replace(BY_TEST, unjudged="slow"), []),
        (replace(BY_TEST, released=False), []),
        (replace(BY_TEST, released=True), ["O11", "O2", "O6", "O10", "O12", "O13", "test"]),
        (replace(WRONG, released=True), ["O11", "O12", "O13", "test"]),
        (replace(BY_TEST, released=True, unsettled="busy"), ["O11", "O1", "O12"]),
        (replace(BY_TEST, mode="fresh"), ["O8"]),
        (replace(BY_TEST, mode="fresh", inconclusive=True), []),
        (replace(BY_TEST, mode="rollback", unsettled="busy"), ["O1", "O12"]),
        (replace(BY_TEST, mode="rollback", inconclusive=True), []),
        (replace(WRONG, inconclusive=True), []),
        (replace(BY_TEST, inconclusive=True, failure=""), ["O11", "O2", "O3", "O6", "O7", "O10", "O4", "O5", "O12", "O13"]),
    ],
)  # fmt: skip
def test_which_oracles_judge_a_run(found, oracles):
    assert judged(found) == oracles
    for one in oracles:
        assert judged(found, off=[one]) == [each for each in oracles if each != one]


@pytest.mark.parametrize(("ended", "is_judged"), [(59.0, False), (60.0, True), (61.0, True)])
def test_a_run_that_ends_before_the_reference_and_says_nothing_is_not_judged(ended, is_judged):
    found = replace(BY_TEST, inconclusive=True, failure="", ended=ended)
    assert bool(judged(found, replace(REFERENCE, ended=60.0))) is is_judged


def test_what_is_wrong_in_the_reference_too_is_not_found_in_runs_of_any_kind():
    reference = replace(REFERENCE, reconciles=[DEFECT])
    for more in ({"mode": "rollback"}, {"unsettled": "busy"}, {"released": True}, {}):
        assert "O12" not in judged(run(reconciles=[DEFECT], **more), reference)


def test_a_rollback_is_compared_with_the_state_before_the_last_change():
    first, second = STATES[0], obj("Store", "a", generation=2, spec={"size": 2})
    change = commit(3, "update", "store/a", "test", first, second)
    reference = replace(REFERENCE, commits=[*MADE, change], rests=(2,))
    assert judged(run(final={"store/a": first}, mode="rollback"), reference) == ["O9"]
    assert judged(run(final=REFERENCE.final, mode="rollback"), reference) == []
