"""Each oracle fires when it should, and not when it should not."""

from dataclasses import replace
from itertools import accumulate

import pytest

from fakekube.simulation.observation import Observation
from fakekube.simulation.oracles.judge import Judge
from fakekube.simulation.statemask import Mask
from tests.simulation.observations import CHILD, REFERENCE, commit, conditions, obj, record


def oracles_of(run, reference=REFERENCE, **settings):
    return [one.oracle for one in Judge(reference, **settings).violations(run)]


def test_the_reference_itself_is_correct():
    assert oracles_of(REFERENCE) == []


def test_o1_a_run_that_does_not_settle():
    assert oracles_of(replace(REFERENCE, unsettled="HotLoop: ...", final={})) == ["O1"]


@pytest.mark.parametrize(
    ("final", "oracles"),
    [
        ({}, ["O2"]),
        ({"pod/a-0": obj("Pod", "a-0", spec={"image": "2"})}, ["O2"]),
        ({"pod/a-0": CHILD, "pod/a-1": CHILD}, ["O2"]),
        ({"pod/a-0": {**CHILD, "metadata": {"name": "a-0", "uid": "other", "resourceVersion": "7"}}}, []),
        ({"pod/a-0": CHILD, "event/x": {"reason": "Synced"}}, []),
    ],
)
def test_o2_the_final_state(final, oracles):
    assert oracles_of(replace(REFERENCE, final=final)) == oracles


def test_o2_what_differs_between_references_is_masked_and_so_are_declared_fields():
    mask = Mask(["pod/*:spec.node"])
    mask.learn({"pod/a-0": {"spec": {"ip": "1", "node": "x"}}}, {"pod/a-0": {"spec": {"ip": "2", "node": "x"}}})
    reference = replace(REFERENCE, final={"pod/a-0": {"spec": {"ip": "1", "node": "x", "image": "1"}}})
    run = replace(REFERENCE, final={"pod/a-0": {"spec": {"ip": "3", "node": "y", "image": "1"}}})
    assert oracles_of(run, reference, mask=mask) == []
    assert oracles_of(run, reference) == ["O2"]


@pytest.mark.parametrize(
    ("before", "after", "other"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z", "never"),
        (1767225600, 1767225605, 0),
        (1767225600.25, 1767225605.5, 5.5),
        ("1767225600000", "1767225605000", "1767225600000s"),
    ],
)
def test_o2_times_count_as_equal(before, after, other):
    reference = replace(REFERENCE, final={"store/a": {"status": {"at": before}}})
    assert oracles_of(replace(REFERENCE, final={"store/a": {"status": {"at": after}}}), reference) == []
    assert oracles_of(replace(REFERENCE, final={"store/a": {"status": {"at": other}}}), reference) == ["O2"]


def test_o2_conditions_are_compared_by_their_type():
    reference = replace(REFERENCE, final={"store/a": conditions(Ready="True", Degraded="False")})
    other_order = replace(REFERENCE, final={"store/a": conditions(Degraded="False", Ready="True")})
    assert oracles_of(other_order, reference) == []
    swapped = replace(REFERENCE, final={"store/a": conditions(Ready="False", Degraded="True")})
    (found,) = Judge(reference).violations(swapped)
    assert str(found).startswith("O2: store/a status.conditions[Ready].status 'True' (reference) != 'False'")


def numbered(path, *numbers):
    return {
        f"claim/{name}": obj("Claim", name, **{path: {"of": one}}) for name, one in zip("abc", numbers, strict=True)
    }


@pytest.mark.parametrize(
    ("before", "after", "oracles"),
    [
        ((0, 1, 2), (0, 2, 1), []),
        (("disk-1", "disk-2", "disk-3"), ("disk-3", "disk-2", "disk-1"), []),
        ((0, 1, 2), (0, 1, 1), ["O2"]),
        ((0, 1, 2), (0, 1, 3), ["O2"]),
        ((0, 0, 1), (0, 1, 0), ["O2", "O2"]),
        (("blue1", "red1", "red2"), ("red1", "blue1", "red2"), ["O2", "O2"]),
    ],
)
def test_o2_numbers_that_are_handed_out_in_another_order(before, after, oracles):
    reference = replace(REFERENCE, final=numbered("status", *before))
    assert oracles_of(replace(REFERENCE, final=numbered("status", *after)), reference) == oracles


def test_o2_numbers_of_objects_that_are_gone_count_as_handed_out():
    (_, first), (_, second), (_, other) = numbered("status", "vm-1", "vm-2", "vm-1").items()
    gone = commit(8, "delete", "claim/a", "test", before=first)
    reference = replace(REFERENCE, final={"claim/b": second}, commits=[*REFERENCE.commits, gone])
    late = replace(gone, before=obj("Claim", "a"))
    run = replace(reference, commits=[*REFERENCE.commits, late])
    assert oracles_of(replace(run, final={"claim/b": replace_name(other, "b")}), reference) == []
    third = numbered("status", 0, "vm-3", 0)["claim/b"]
    assert oracles_of(replace(run, final={"claim/b": third}), reference) == ["O2"]
    assert oracles_of(replace(run, final={"claim/b": obj("Claim", "b", status={"of": []})}), reference) == ["O2"]


def test_o2_the_number_of_an_object_that_is_gone_may_be_handed_out_again():
    (_, first), (_, second), (_, third) = numbered("status", "vm-1", "vm-2", "vm-1").items()
    gone = commit(8, "delete", "claim/a", "test", before=first)
    final = {"claim/b": second, "claim/c": third}
    reference = replace(REFERENCE, final=final, commits=[*REFERENCE.commits, gone])
    swapped = {"claim/b": replace_name(third, "b"), "claim/c": replace_name(second, "c")}
    assert oracles_of(replace(reference, final=swapped), reference) == []
    twice = {"claim/b": second, "claim/c": replace_name(second, "c")}
    assert oracles_of(replace(reference, final=twice), reference) == ["O2"]


def replace_name(found, name):
    return {**found, "metadata": {**found["metadata"], "name": name}}


def test_o2_a_creation_of_the_test_that_met_the_old_object_is_not_judged():
    """The test deletes an object and applies it again; where a watch is late, it meets the one that is being deleted."""
    again = commit(9, "create", "store/a", "test", occurrence=2)
    reference = replace(REFERENCE, commits=[*REFERENCE.commits, again])
    reference = replace(reference, final={**REFERENCE.final, "store/a": obj("Store", "a")})
    assert oracles_of(replace(REFERENCE, final={}), reference) == []
    assert oracles_of(replace(REFERENCE, final={}, commits=reference.commits), reference) == ["O2", "O2"]


def test_o2_o3_a_reference_that_is_not_at_rest():
    """A reconcile once more deletes a-0 and resizes a-1; a run may have done so before its end."""
    deleted = commit(8, "delete", "pod/a-0", before=CHILD)
    old, new = obj("Pod", "a-1", spec={"size": 1}), obj("Pod", "a-1", spec={"size": 2})
    resized = commit(9, "update", "pod/a-1", before=old, after=new)
    rest = [replace(one, rest=True) for one in (deleted, resized)]
    reference = replace(REFERENCE, final={"pod/a-0": CHILD, "pod/a-1": old}, commits=[*REFERENCE.commits, *rest])
    run = replace(REFERENCE, commits=[*REFERENCE.commits, deleted, resized])
    assert oracles_of(replace(run, final={"pod/a-1": new}), reference) == []
    assert oracles_of(replace(run, final={"pod/a-0": CHILD, "pod/a-1": new}), reference) == []
    other = obj("Pod", "a-1", spec={"size": 3})
    assert oracles_of(replace(run, final={"pod/a-1": other}), reference) == ["O2"]
    twice = replace(run, final={"pod/a-1": new}, commits=[*run.commits, replace(deleted, revision=12)])
    assert oracles_of(twice, reference) == ["O3"]


def test_o3_how_often_an_object_is_created():
    twice = replace(REFERENCE, commits=[*REFERENCE.commits, commit(3, "create", "pod/a-0", occurrence=2)])
    assert oracles_of(twice) == ["O3"]
    assert oracles_of(twice, expect_delta=["create pod/*"]) == []
    by_test = replace(REFERENCE, commits=[*REFERENCE.commits, commit(3, "delete", "pod/a-0", "race")])
    assert oracles_of(by_test) == []


@pytest.mark.parametrize(
    ("owner", "deleted_by", "oracles"),
    [("u-a", "cluster", []), ("u-b", "cluster", ["O3", "O3"]), ("u-a", "operator db", ["O3", "O3"])],
)
def test_o3_what_is_created_for_an_owner_that_is_gone_and_collected(owner, deleted_by, oracles):
    child = obj("Pod", "a-1")
    child["metadata"]["ownerReferences"] = [{"kind": "Store", "name": owner, "uid": owner}]
    commits = [
        *REFERENCE.commits,
        commit(7, "delete", "store/a", "test", before=obj("Store", "a")),
        commit(8, "create", "pod/a-1", after=child),
        commit(9, "delete", "pod/a-1", deleted_by, before=child),
    ]
    reference = replace(REFERENCE, commits=commits[:3])
    assert oracles_of(replace(REFERENCE, commits=commits), reference) == oracles


def test_o3_what_controllers_make_for_garbage_is_garbage():
    def owned(kind, name, owner, uid):
        made = obj(kind, name, uid)
        made["metadata"]["ownerReferences"] = [{"uid": owner}] if owner else []
        return made

    made = {
        "svc/s": owned("Service", "s", "u-a", "u-s"),
        "endpointslice/s-1": owned("EndpointSlice", "s-1", "u-s", "u-es"),
        "ep/s": owned("Endpoints", "s", "", "u-ep"),
    }
    gone = [*REFERENCE.commits, commit(7, "delete", "store/a", "test", before=obj("Store", "a"))]
    created = [commit(8 + at, "create", name, after=one) for at, (name, one) in enumerate(made.items())]
    deleted = [commit(12 + at, "delete", name, "cluster", before=one) for at, (name, one) in enumerate(made.items())]
    reference = replace(REFERENCE, commits=gone)
    assert oracles_of(replace(REFERENCE, commits=[*gone, *created, *deleted]), reference) == []
    without_service = [*gone, *created[1:], *deleted[1:]]
    assert set(oracles_of(replace(REFERENCE, commits=without_service), reference)) == {"O3"}


@pytest.mark.parametrize(
    ("status", "requeue_after", "oracles"),
    [
        ({"size": 1, "at": "2026-01-01T00:01:37Z"}, None, ["O4"]),
        ({"size": 1, "at": "2026-01-01T00:01:37Z"}, 60.0, []),  # it polls
        ({"size": 2, "at": "2026-01-01T00:01:37Z"}, None, []),  # the reference was not at rest
    ],
)
def test_o4_the_time_that_each_reconcile_writes(status, requeue_after, oracles):
    before, after = (
        obj("Store", "a", status={"size": 1, "at": "2026-01-01T00:00:00Z"}),
        obj("Store", "a", status=status),
    )
    late = commit(9, "update", "store/a", before=before, after=after, rest=True, controller="db", key="default/a")
    polls = [replace(one, requeue_after=requeue_after) for one in REFERENCE.reconciles]
    reference = replace(REFERENCE, commits=[*REFERENCE.commits, late], reconciles=polls)
    assert oracles_of(reference, reference) == oracles


def test_o4_a_write_at_rest():
    late = commit(9, "update", "pod/a-0", before=CHILD, after=obj("Pod", "a-0", spec={"image": "3"}), rest=True)
    assert oracles_of(replace(REFERENCE, commits=[*REFERENCE.commits, late])) == ["O4"]
    known = replace(REFERENCE, commits=[*REFERENCE.commits, late])
    assert oracles_of(known, known) == []


def test_o5_far_more_reconciles():
    assert oracles_of(replace(REFERENCE, reconciles=[record()] * 29)) == []
    assert oracles_of(replace(REFERENCE, reconciles=[record()] * 30)) == ["O5"]


@pytest.mark.parametrize(
    ("seen", "gone_at", "oracles"), [({"store": 5}, 50, []), ({"store": 5}, 150, ["O5"]), ({"store": 60}, 50, ["O5"])]
)
def test_o5_reconciles_of_an_object_whose_deletion_is_not_seen(seen, gone_at, oracles):
    deleted = commit(gone_at, "delete", "store/a", "test", before=obj("Store", "a"))
    many = [replace(record(number, seen=seen), first=100) for number in range(100)]
    run = replace(REFERENCE, commits=[*REFERENCE.commits, deleted], reconciles=many)
    assert oracles_of(run, replace(REFERENCE, commits=[*REFERENCE.commits, deleted])) == oracles


@pytest.mark.parametrize(("delay", "oracles"), [(0.1, ["O5"]), (1.0, []), (None, ["O5"])])
def test_o5_a_controller_that_polls_is_no_hot_loop(delay, oracles):
    polled = [record(number, requeue_after=delay, cause="requeue_after") for number in range(100)]
    assert oracles_of(replace(REFERENCE, reconciles=polled)) == oracles


@pytest.mark.parametrize(
    ("gaps", "causes", "oracles"),
    [
        ([0.1] * 12, ["retry"], ["O5"]),
        ([0.3, 0.2, 0.1] * 3, ["retry"], []),
        ([0.005 * 2**number for number in range(12)], ["retry"], []),
        ([5.0] * 12, ["retry"], []),
        ([0.1] * 12, ["updated"], []),
        ([0.1] * 12, ["retry", "retry", "updated"], []),
        ([0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 0.01], ["retry"], []),
    ],
)
def test_o5_retries_at_constant_gaps(gaps, causes, oracles):
    times = accumulate(gaps)
    made = [record(at, error="503", cause=causes[number % len(causes)]) for number, at in enumerate(times)]
    assert oracles_of(replace(REFERENCE, reconciles=made)) == oracles


@pytest.mark.parametrize(
    ("meta", "labels", "oracles"),
    [
        ({"ownerReferences": [{"kind": "Store", "name": "a", "uid": "gone"}]}, (), ["O6"]),
        ({"ownerReferences": [{"kind": "Store", "name": "a", "uid": "u-a"}]}, (), []),
        ({"labels": {"store": "b"}}, ["store"], ["O6"]),
        ({"labels": {"store": "a"}}, ["store"], []),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}, (), ["O6"]),
    ],
)
def test_o6_leaks(meta, labels, oracles):
    owner, child = obj("Store", "a"), {"metadata": {"name": "a-0", "uid": "u-0", **meta}}
    reference = replace(REFERENCE, final={"store/a": owner, "pod/a-0": {"metadata": {"name": "a-0", "uid": "u-0"}}})
    mask = Mask(["metadata.*"])
    run = replace(REFERENCE, final={"store/a": owner, "pod/a-0": child})
    assert oracles_of(run, reference, mask=mask, owner_labels=labels) == oracles


A, B, X, Y = (f"external/buckets/{name}" for name in "abxy")


@pytest.mark.parametrize(
    ("items", "oracles"), [([B], []), ([A, B], ["O6"]), ([B, B], ["O6"]), ([], ["O2"]), ([A], ["O2", "O6"])]
)
def test_o2_and_o6_items_of_an_external_api(items, oracles):
    assert oracles_of(replace(REFERENCE, external=items), replace(REFERENCE, external=[B])) == oracles


@pytest.mark.parametrize(("times", "oracles"), [(0, []), (1, []), (2, ["O3"])])
def test_o3_items_of_an_external_api(times, oracles):
    reference = replace(REFERENCE, commits=[*REFERENCE.commits, commit(2, "create", A)])
    made = [commit(2, "create", A, occurrence=number) for number in range(1, times + 1)]
    assert oracles_of(replace(REFERENCE, commits=[*REFERENCE.commits, *made]), reference) == oracles


def test_items_that_have_another_name_in_each_reference_are_counted():
    mask = Mask()
    mask.learn_external([X, "external/zones/a"], [Y, "external/zones/a"])
    made = [*REFERENCE.commits, commit(2, "create", X)]
    reference = replace(REFERENCE, external=[X, "external/zones/a"], commits=made)
    other = [*REFERENCE.commits, commit(2, "create", A)]
    run = replace(REFERENCE, external=[A, "external/zones/a"], commits=other)
    assert oracles_of(run, reference, mask=mask) == []
    assert oracles_of(replace(run, external=[A, B, "external/zones/a"]), reference, mask=mask) == ["O6"]
    assert oracles_of(replace(run, external=[A, "external/zones/b"]), reference, mask=mask) == ["O2", "O6"]
    assert oracles_of(replace(run, commits=[*other, commit(2, "create", B)]), reference, mask=mask) == ["O3"]


MARKED = {"metadata": {"name": "a", "uid": "u", "annotations": {"fakekube.dev/race": "1"}}}
PLAIN = {"metadata": {"name": "a", "uid": "u"}}


@pytest.mark.parametrize(
    ("maker", "after", "raced", "oracles"),
    [
        ("test", PLAIN, (11,), ["O2"]),
        ("test", MARKED, (11,), []),
        ("test", PLAIN, (), []),  # it has read the object again
        ("operator db", PLAIN, (11,), []),  # an object of its own
    ],
)
def test_o2_what_another_client_writes_meanwhile(maker, after, raced, oracles):
    made = commit(9, "create", "cm/a", maker, None, PLAIN)
    reference = replace(REFERENCE, commits=[*REFERENCE.commits, made])
    raced_by = [
        commit(10, "update", "cm/a", "race", PLAIN, MARKED),
        commit(11, "update", "cm/a", before=MARKED, after=after),
    ]
    run = replace(reference, commits=[*reference.commits, *raced_by], raced=raced)
    assert oracles_of(run, reference) == oracles


def flip(*actors):
    states = [obj("Store", "a", spec={"size": size}) for size in (1, 2, 1, 2)]
    return [
        commit(10 + at, "update", "store/a", actor, states[at], states[at + 1], at + 1)
        for at, actor in enumerate(actors)
    ]


def test_o7_two_controllers_of_one_operator():
    first, second, third = flip("operator a", "operator a", "operator a")
    fight = [replace(first, controller="x"), replace(second, controller="y"), replace(third, controller="x")]
    assert oracles_of(replace(REFERENCE, commits=[*REFERENCE.commits, *fight])) == ["O7"]
    alone = [replace(one, controller="x") for one in fight]
    assert oracles_of(replace(REFERENCE, commits=[*REFERENCE.commits, *alone])) == []


@pytest.mark.parametrize(("writer", "oracles"), [("test", ["O2"]), ("operator db", [])])
def test_o2_a_status_of_the_test_that_a_reconcile_once_more_removes(writer, oracles):
    plain, approved = obj("Store", "a", status={"size": 1}), obj("Store", "a", status={"size": 1, "approved": "yes"})
    made = commit(10, "update", "store/a", writer, plain, approved)
    again = commit(11, "update", "store/a", before=approved, after=plain, rest=True)
    reference = replace(REFERENCE, final={"store/a": approved}, commits=[*REFERENCE.commits, made, again])
    assert oracles_of(replace(reference, final={"store/a": plain}), reference) == oracles


@pytest.mark.parametrize(
    ("kind", "skipped", "changed", "oracles"),
    [
        ("job", True, True, []),
        ("job", False, True, ["O2"]),  # the operator has seen each state
        ("job", True, False, ["O2"]),  # it is for the last spec
        ("cm", True, True, ["O2"]),
    ],
)
def test_o2_history_of_a_spec_that_an_operator_has_not_seen(kind, skipped, changed, oracles):
    first, second = obj("Store", "a", spec={"version": 1}), obj("Store", "a", spec={"version": 2}, generation=2)
    changes = [commit(11, "update", "store/a", "test", first, second)] if changed else []
    commits = [*REFERENCE.commits, commit(10, "create", f"{kind}/v1", after=obj("Job", "v1")), *changes]
    reference = replace(REFERENCE, final={"store/a": second, f"{kind}/v1": obj("Job", "v1")}, commits=commits)
    run = replace(reference, final={"store/a": second}, commits=[*REFERENCE.commits, *changes], skipped=skipped)
    assert oracles_of(run, reference) == oracles


@pytest.mark.parametrize(
    ("before", "after", "oracles"),
    [
        ({}, {"status": {}}, []),
        ({"status": {"failed": None}}, {"status": {"conditions": []}}, []),
        ({}, {"status": {"failed": False}}, ["O2"]),
        ({}, {"spec": {}}, ["O2"]),
    ],
)
def test_o2_an_empty_status_is_none(before, after, oracles):
    reference = replace(REFERENCE, final={"store/a": obj("Store", "a", **before)})
    assert oracles_of(replace(REFERENCE, final={"store/a": obj("Store", "a", **after)}), reference) == oracles


def revision(name, deployment="web"):
    owner = {"kind": "Deployment", "name": deployment, "uid": f"u-{deployment}"}
    return {"kind": "ReplicaSet", "metadata": {"name": name, "uid": f"u-{name}", "ownerReferences": [owner]}}


@pytest.mark.parametrize(
    ("deleter", "kept", "oracles"),
    [
        pytest.param("operator db", ["v1"], ["O2"], id="an operator deletes it in the reference"),
        pytest.param("cluster", ["v1"], [], id="the limit of revisions deletes it, another one is missing"),
        pytest.param("cluster", ["v1", "v2"], ["O2"], id="more revisions are left than the limit"),
    ],
)
def test_o2_what_is_left_of_a_spec_that_an_operator_has_not_seen(deleter, kept, oracles):
    web = obj("Deployment", "web")
    first, second = obj("Store", "a", spec={"version": 1}), obj("Store", "a", spec={"version": 2}, generation=2)
    commits = [
        *REFERENCE.commits,
        commit(10, "create", "rs/v1", after=revision("v1")),
        commit(11, "create", "rs/v2", after=revision("v2")),
        commit(12, "update", "store/a", "test", first, second),
        commit(13, "delete", "rs/v1", deleter, before=revision("v1")),
    ]
    final = {"store/a": second, "deploy/web": web}
    reference = replace(REFERENCE, final={**final, "rs/v2": revision("v2")}, commits=commits)
    run = replace(
        reference, final={**final, **{f"rs/{one}": revision(one) for one in kept}}, commits=commits[:-1], skipped=True
    )
    assert oracles_of(run, reference) == oracles


def test_o7_two_writers_of_one_field():
    assert oracles_of(
        replace(REFERENCE, commits=[*REFERENCE.commits, *flip("operator a", "operator b", "operator a")])
    ) == ["O7"]
    assert (
        oracles_of(replace(REFERENCE, commits=[*REFERENCE.commits, *flip("operator a", "operator a", "operator a")]))
        == []
    )
    assert oracles_of(replace(REFERENCE, commits=[*REFERENCE.commits, *flip("operator a", "test", "operator a")])) == []


@pytest.mark.parametrize("outsider", ["test", "race"])
@pytest.mark.parametrize("first", [True, False])
def test_o7_an_operator_that_corrects_what_no_operator_wrote(outsider, first):
    """Code 1: neither the test nor the competing writer of an exploration is a program that fights."""
    actors = (outsider, "operator a") if first else ("operator a", outsider)
    changes = flip(actors[0], actors[1], actors[0])
    assert oracles_of(replace(REFERENCE, commits=[*REFERENCE.commits, *changes])) == []


@pytest.mark.parametrize(
    ("seen", "generation", "oracles"), [(2, 1, ["O10"]), (1, 2, ["O10"]), (1, 1, []), (None, 2, [])]
)
def test_o10_the_observed_generation(seen, generation, oracles):
    status = {} if seen is None else {"observedGeneration": seen}
    reference = replace(REFERENCE, final={"store/a": obj("Store", "a", status={"observedGeneration": 1})})
    found = {"store/a": obj("Store", "a", generation=generation, status=status)}
    mask = Mask(["status.*", "status"])
    assert oracles_of(replace(REFERENCE, final=found), reference, mask=mask) == oracles


def test_o11_a_predicate():
    assert oracles_of(replace(REFERENCE, violations=["never more than three pods: revision 9"])) == ["O11"]


def decided(seen, read=()):
    """A deletion by a reconcile that has seen a revision of its object, which was changed at 5."""
    changes = [
        commit(3, "create", "store/a", "test", after=obj("Store", "a")),
        commit(5, "update", "store/a", "test", obj("Store", "a"), obj("Store", "a", generation=2, spec={"on": True})),
        commit(6, "delete", "pod/a-9", before=CHILD, controller="db", key="default/a", incarnation=1),
    ]
    one = record(seen={"store": seen}, read=read)
    return Observation(0, commits=changes, reconciles=[one])


def test_o11_a_deletion_for_a_reason_that_no_longer_holds():
    mask = {"reference": replace(decided(5), final={})}
    assert oracles_of(decided(3), **mask) == ["O11"]
    assert oracles_of(decided(5), **mask) == []
    assert oracles_of(decided(3, read=("store/a",)), **mask) == []


def test_o11_a_reconcile_knows_what_it_has_written_itself():
    run = decided(5)
    states = obj("Secret", "a"), obj("Secret", "a", generation=2)
    own = commit(5, "update", "secret/a", "operator db", *states, controller="db", key="default/a", incarnation=1)
    made = commit(2, "create", "secret/a", "test", after=obj("Secret", "a"))
    one = record(seen={"store": 5, "secret": 2})
    run = replace(run, commits=[made, *run.commits[:1], own, *run.commits[2:]], reconciles=[replace(one, first=4)])
    assert oracles_of(run, replace(run, final={})) == []
    by_another = replace(own, controller="other")
    run = replace(run, commits=[by_another if one is own else one for one in run.commits])
    assert oracles_of(run, replace(run, final={})) == ["O11"]


@pytest.mark.parametrize("terminates", [True, False])
def test_o11_what_is_deleted_because_of_an_object_that_is_going_would_go_with_it(terminates):
    run = decided(3)
    gone = obj("Store", "a", generation=2)
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    going = replace(run.commits[1], after=gone) if terminates else commit(5, "delete", "store/a", "test", before=gone)
    run = replace(run, commits=[run.commits[0], going, run.commits[2]])
    assert oracles_of(run, replace(run, final={})) == []


def test_o12_exceptions():
    assert oracles_of(replace(REFERENCE, reconciles=[record(error="KeyError: 'x'", unexpected=True)])) == ["O12"]
    assert oracles_of(replace(REFERENCE, reconciles=[record(error="503 ServiceUnavailable")])) == []
    assert oracles_of(replace(REFERENCE, lost=["task x: ValueError"])) == ["O12"]


def test_o13_watch_streams():
    assert oracles_of(replace(REFERENCE, streams=["watch of pods: revision 5 after 6"])) == ["O13"]


def test_the_own_assertion_of_a_test():
    assert oracles_of(replace(REFERENCE, failure="AssertionError: 3 != 4")) == ["test"]


def test_p4_a_test_that_fails_before_its_changes_is_not_compared_with_the_reference():
    """Its own failure is reported, and nothing of the changes that it did not make."""
    early = replace(REFERENCE, failure="AssertionError: 3 != 4", final={}, commits=[])
    assert oracles_of(early) == ["test"]
    assert oracles_of(replace(early, commits=REFERENCE.commits)) == ["O2", "test"]


def test_p4_what_real_time_has_decided_is_not_judged():
    slow = replace(REFERENCE, final={}, unsettled="NotQuiescent: busy for 30 s", unjudged="NotQuiescent: busy for 30 s")
    assert oracles_of(slow) == []
    assert oracles_of(replace(slow, unjudged="")) != []


def test_oracles_can_be_left_out():
    assert oracles_of(replace(REFERENCE, failure="AssertionError: 3 != 4"), off=["test"]) == []


def test_a_run_that_fails_while_an_operator_is_down_is_judged_if_the_test_has_made_all_its_changes():
    bad = replace(REFERENCE, final={}, inconclusive=True)
    assert oracles_of(bad) == ["O2"]
    assert oracles_of(replace(bad, commits=[])) == []
    assert oracles_of(bad, replace(REFERENCE, ended=60.0)) == []
