"""O2, O8, O9 and upgrades: which differences of final states are those of an operator, and which are not."""

from dataclasses import replace

import pytest

from fakekube.simulation.observation import CLUSTER, Observation
from fakekube.simulation.oracles.convergence import recovers, same_as_new
from fakekube.simulation.oracles.finalstate import final_state, is_left_revision
from fakekube.simulation.oracles.judge import Judge
from fakekube.simulation.statemask import Mask
from tests.simulation.observations import commit, obj


def run(final, *commits, **more):
    return Observation(0, final=final, commits=commits, **more)


def o2(reference, found, mask=None, new=None):
    return [str(one) for one in final_state(reference, found, mask or Mask(), new=new)]


def o8(reference, fresh, mask=None):
    return [str(one) for one in same_as_new(reference, fresh, mask or Mask())]


def owned(kind, name, *owners, **more):
    made = obj(kind, name, **more)
    made["metadata"]["ownerReferences"] = [{"kind": "Store", "name": one, "uid": f"u-{one}"} for one in owners]
    return made


ABSENT = "is absent at the end (the reference has it)"
LEFT = "is there at the end (the reference does not have it)"


# --- O2


@pytest.mark.parametrize(("number", "more"), [(1, ""), (3, ""), (4, "; 1 more"), (6, "; 3 more")])
def test_of_many_differences_three_are_listed(number, more):
    before, after = ({"cm/a": obj("ConfigMap", "a", data=dict.fromkeys("abcdef"[:number], value))} for value in "xy")
    listed = "; ".join(f"data.{name} 'x' (reference) != 'y'" for name in "abcdef"[: min(number, 3)])
    assert o2(run(before), run(after)) == [f"O2: cm/a {listed}{more}"]


@pytest.mark.parametrize(
    ("found", "new", "texts"),
    [
        ({}, {}, []),
        ({"b": "y"}, {"b": "y"}, []),
        ({"a": "x"}, {"a": "x", "b": "y"}, ["b 'y' (reference) != None"]),
        ({"b": "z"}, {"b": "y"}, ["b 'y' (reference) != 'z'"]),
        (None, None, []),
        (None, {}, [ABSENT]),
    ],
)
def test_what_is_as_with_the_last_spec_alone_is_no_difference(found, new, texts):
    """An operator that has not seen a former spec has not done what it asked for."""
    reference, *others = (
        run({} if one is None else {"store/a": obj("Store", "a", status=one)}, skipped=True)
        for one in ({"a": "x", "b": "y"}, found, new)
    )
    shown = [
        text.removeprefix("O2: store/a ").replace("status.", "") for text in o2(reference, others[0], new=others[1])
    ]
    assert shown == texts


@pytest.mark.parametrize(
    ("found", "new", "missing"), [(["x/a"], ["x/a"], []), ([], ["x/a"], ["x/a"]), (["x/a"], ["x/a", "x/b"], ["x/b"])]
)
def test_an_item_that_the_last_spec_does_not_need_is_not_missed(found, new, missing):
    reference = run({}, external=["x/a", "x/b"])
    texts = o2(reference, run({}, external=found, skipped=True), new=run({}, external=new))
    assert texts == [f"O2: {one} {ABSENT}" for one in missing]


@pytest.mark.parametrize(
    ("owners", "present", "texts"),
    [
        (["a"], [], []),  # a garbage collector would have deleted it, but none runs
        (["a"], ["a"], [f"O2: cm/x {ABSENT}"]),
        (["a", "b"], ["b"], [f"O2: cm/x {ABSENT}"]),
        ([], [], [f"O2: cm/x {ABSENT}"]),
    ],
)
def test_an_object_whose_owners_are_gone_in_the_reference_need_not_be_there(owners, present, texts):
    others = {f"store/{one}": obj("Store", one) for one in present}
    assert o2(run({"cm/x": owned("ConfigMap", "x", *owners), **others}), run(others)) == texts
    assert o2(run(others), run({**others, "cm/x": owned("ConfigMap", "x", *owners)})) == [f"O2: cm/x {LEFT}"]


def with_address(ip):
    service = obj("Service", "a", spec={"clusterIPs": [ip]})
    return {"svc/a": service, "cm/a": obj("ConfigMap", "a", data={"url": f"http://{ip}:80"})}


def test_an_address_that_is_drawn_again_may_stand_anywhere():
    first, second = with_address("10.0.0.1"), with_address("10.0.0.22")
    assert o2(run(first), run(second)) == []
    assert o8(*(run(one, commit(1, "create", "cm/a"), commit(2, "create", "svc/a")) for one in (first, second))) == []
    other = {**second, "cm/a": obj("ConfigMap", "a", data={"url": "http://10.0.0.3:80"})}
    assert o2(run(first), run(other)) == ["O2: cm/a data.url 'http://10.0.0.1:80' (reference) != 'http://10.0.0.3:80'"]


def test_an_address_that_is_drawn_again_may_stand_in_what_the_reference_does_at_rest():
    first, second = with_address("10.0.0.1"), with_address("10.0.0.22")
    late = commit(5, "update", "cm/a", before=obj("ConfigMap", "a"), after=first["cm/a"], rest=True)
    reference = run({**first, "cm/a": obj("ConfigMap", "a")}, late)
    assert o2(reference, run(second)) == []


@pytest.mark.parametrize("actor", ["operator db", CLUSTER])
def test_what_others_than_the_test_create_less_often_is_judged(actor):
    """An object that the test creates again may have met the old one, which was being deleted."""
    twice = [commit(number, "create", "cm/a", actor, occurrence=number) for number in (1, 2)]
    reference = run({"cm/a": obj("ConfigMap", "a")}, *twice)
    assert o2(reference, run({}, twice[0])) == [f"O2: cm/a {ABSENT}"]
    by_test = [replace(one, actor="test") for one in twice]
    assert o2(replace(reference, commits=by_test), run({}, by_test[0])) == []
    assert o2(replace(reference, commits=by_test), run({})) == [f"O2: cm/a {ABSENT}"], "it has not been created at all"
    updated = [replace(one, anchor=replace(one.anchor, verb="update")) for one in by_test]
    assert o2(replace(reference, commits=updated), run({}, updated[0])) == [f"O2: cm/a {ABSENT}"]


def statuses(*values):
    return [obj("Store", "a", status={"x": one}) for one in values]


@pytest.mark.parametrize(
    ("writer", "target", "verb", "is_kept"),
    [
        ("test", "store/a", "update", True),
        ("operator db", "store/a", "update", False),
        (CLUSTER, "store/a", "update", False),
        ("test", "store/b", "update", False),  # another object
        ("test", "store/a", "create", False),
    ],
)
def test_a_status_of_the_test_must_be_kept_also_where_a_reconcile_once_more_wipes_it(writer, target, verb, is_kept):
    empty, approved, wiped = statuses("", "approved", "wiped")
    written = commit(1, verb, target, writer, empty, approved)
    late = commit(2, "update", "store/a", before=approved, after=wiped, rest=True)
    reference = run({"store/a": approved}, written, late)
    assert bool(o2(reference, run({"store/a": wiped}))) is is_kept


def test_what_is_absent_at_rest_is_absent():
    """A reconcile once more deletes it; a run may have done so already, and may not have changed it."""
    late = commit(2, "delete", "cm/a", before=obj("ConfigMap", "a"), rest=True)
    reference = run({"cm/a": obj("ConfigMap", "a")}, late)
    assert o2(reference, run({})) == []
    assert o2(reference, run({"cm/a": obj("ConfigMap", "a", data={"x": "y"})})) != []
    made = commit(2, "create", "cm/b", after=obj("ConfigMap", "b"), rest=True)
    assert o2(run({}, made), run({"cm/b": obj("ConfigMap", "b")})) == []
    assert o2(run({}, made), run({"cm/b": obj("ConfigMap", "b", data={"x": "y"})})) == [f"O2: cm/b {LEFT}"]


def spec_changed(created, changed, *, target="job/v1", actor="test", before=True):
    """A reference in which an object of a kind with history is made, and the test changes something."""
    made = commit(created, "create", target, after=obj("Job", "v1"))
    states = statuses("1", "2")
    if before:
        change = commit(changed, "update", "store/a", actor, states[0], states[1])
    else:
        change = commit(changed, "create", "store/a", actor, None, states[0])
    return run({"store/a": states[1], target: obj("Job", "v1")}, *sorted([made, change], key=lambda one: one.revision))


@pytest.mark.parametrize(
    ("reference", "is_judged"),
    [
        (spec_changed(1, 2), False),
        (spec_changed(2, 1), True),  # it was made for the last spec
        (spec_changed(1, 2, actor="operator db"), True),
        (spec_changed(1, 2, before=False), True),  # a new object is no other spec
        (spec_changed(1, 2, target="cm/v1"), True),
        (spec_changed(1, 2, target="rs/v1"), False),
        (
            replace(spec_changed(1, 2), commits=spec_changed(1, 2).commits[1:]),
            True,
        ),  # the test itself has it from before
    ],
)
def test_history_of_a_spec_that_was_not_seen(reference, is_judged):
    target = next(one for one in reference.final if one != "store/a")
    missing = run({"store/a": reference.final["store/a"]}, skipped=True)
    assert o2(reference, missing) == [f"O2: {target} {ABSENT}"] * is_judged
    assert o2(reference, replace(missing, skipped=False)) == [f"O2: {target} {ABSENT}"]


@pytest.mark.parametrize(
    ("kept", "deleter", "kind", "left"),
    [
        (["v2"], CLUSTER, "ReplicaSet", ["v1"]),
        (["v2", "v3"], CLUSTER, "ReplicaSet", ["v1", "v3"]),
        (["v2"], "operator db", "ReplicaSet", ["v1"]),
        (["v2"], CLUSTER, "ConfigMap", ["v1"]),
    ],
)
def test_as_many_old_revisions_as_the_limit_are_kept(kept, deleter, kind, left):
    prefix = {"ReplicaSet": "rs", "ConfigMap": "cm"}[kind]

    def of(names):
        return {f"{prefix}/{one}": owned(kind, one, "web") for one in names}

    others = {f"{prefix}/other": owned(kind, "other", "another"), f"{prefix}/alone": obj(kind, "alone")}
    deleted = commit(9, "delete", f"{prefix}/v1", deleter, before=obj(kind, "v1"))
    made = [commit(number, "create", f"{prefix}/{one}", after=obj(kind, one)) for number, one in enumerate(kept, 1)]
    changed = commit(8, "update", "store/a", "test", *statuses("1", "2"))
    reference = run({**of(kept), **others}, *made, changed, deleted)
    explained = deleter == CLUSTER and kind == "ReplicaSet"
    found = o2(reference, run({**of(left), **others}, skipped=True))
    assert [one for one in found if one.endswith(LEFT)] == ([] if explained else [f"O2: {prefix}/v1 {LEFT}"])
    more = o2(reference, run({**of([*left, "v4"]), **others}, skipped=True))
    assert f"O2: {prefix}/v1 {LEFT}" in more, "more than the limit"


@pytest.mark.parametrize(
    ("target", "replicas", "owners", "in_reference", "is_left"),
    [
        ("rs/web-1", 0, ["web"], False, True),
        ("replicaset/web-1", None, ["web"], False, True),
        ("rs/web-1", 0, [], False, True),
        ("rs/web-1", 2, ["web"], False, False),  # it still runs
        ("rs/web-1", 0, ["gone"], False, False),
        ("rs/web-1", 0, ["web"], True, False),
        ("deploy/web-1", 0, ["web"], False, False),
        ("rs/absent", 0, ["web"], False, False),
    ],
)
def test_a_revision_that_another_release_has_rolled_out_may_be_left(target, replicas, owners, in_reference, is_left):
    spec = {} if replicas is None else {"spec": {"replicas": replicas}}
    one = owned("ReplicaSet", "web-1", *owners, **spec)
    found = run({"deploy/web": obj("Deployment", "web"), **({} if target == "rs/absent" else {target: one})})
    reference = run({target: one} if in_reference else {})
    assert is_left_revision(reference, found, target) is is_left
    judged = Judge(reference).violations(replace(found, released=True))
    is_new = target in found.final and not in_reference
    assert (f"O2: {target} {LEFT}" in map(str, judged)) is (is_new and not is_left)


def generated(*contents):
    return {f"pod/a-*~{number}": {"spec": {"x": one}} for number, one in enumerate(contents, 1)}


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        ("12", "21", []),
        ("12", "2", [f"O2: pod/a-*~1 {ABSENT}"]),
        ("12", "123", [f"O2: pod/a-*~3 {LEFT}"]),
        ("1", "2", ["O2: pod/a-*~1 spec.x '1' (reference) != '2'"]),
        ("12", "32", ["O2: pod/a-*~1 spec.x '1' (reference) != '3'"]),
    ],
)
def test_objects_with_generated_names_are_matched_by_their_content(before, after, texts):
    assert o2(run(generated(*before)), run(generated(*after))) == texts


# --- O8


def made(*targets, actor="operator db"):
    return [commit(number, "create", one, actor) for number, one in enumerate(targets, 1)]


NEW, OLD = "is absent at the end (a new cluster that is given the last spec has it)", (
    "is left at the end (a new cluster that is given the last spec does not have it)"
)  # fmt: skip


@pytest.mark.parametrize(
    ("target", "actor", "is_compared"),
    [
        ("cm/a", "operator db", True),
        ("cm/a", "test", True),
        ("cm/a", CLUSTER, False),
        ("cm/a", "race", False),
        ("pvc/a", "operator db", False),
        ("job/a", "operator db", False),
        ("event/a", "operator db", False),
        ("cm/a-*~1", "operator db", False),
    ],
)
@pytest.mark.parametrize("in_new", [True, False])
def test_o8_compares_what_operators_and_the_test_create_under_names_of_its_own(target, actor, is_compared, in_new):
    creation = commit(1, "create", target.partition("~")[0], actor)
    has, has_not = run({target: obj("ConfigMap", "a")}, creation), run({})
    text = [f"O8: {target} {NEW if in_new else OLD}"] * is_compared
    assert o8(*((has_not, has) if in_new else (has, has_not))) == text
    updated = replace(creation, anchor=replace(creation.anchor, verb="update"))
    assert o8(replace(has, commits=[updated]), has_not) == []


@pytest.mark.parametrize(
    ("old", "new", "is_found"),
    [
        ({"data": {"x": "1"}}, {"data": {"x": "2"}}, True),
        ({"status": {"x": "1"}}, {"status": {"x": "2"}}, False),
        ({"spec": {"nodeName": "a"}}, {"spec": {"nodeName": "b"}}, False),
        ({"spec": {"volumeName": "a"}}, {}, False),
        ({"spec": {"nodeNames": "a"}}, {"spec": {"nodeNames": "b"}}, True),
        ({"metadata": {"annotations": {"x/revision": "a"}}}, {"metadata": {"annotations": {"x/revision": "b"}}}, False),
        # annotations and labels that count
        ({"metadata": {"annotations": {"x": "7"}}}, {"metadata": {"annotations": {"x": "2"}}}, False),
        ({"metadata": {"labels": {"x": "7"}}}, {"metadata": {"labels": {"x": "8"}}}, False),
        ({"metadata": {"annotations": {"x": "7"}}}, {"metadata": {"annotations": {"x": "b"}}}, True),
        ({"metadata": {"annotations": {"x": "b"}}}, {"metadata": {"annotations": {"x": "7"}}}, True),
        ({"spec": {"x": "7"}}, {"spec": {"x": "8"}}, True),
    ],
)
def test_o8_fields_that_depend_on_the_way(old, new, is_found):
    creation = commit(1, "create", "cm/a")
    assert bool(o8(run({"cm/a": old}, creation), run({"cm/a": new}, creation))) is is_found


def test_o8_of_many_differences_three_are_listed():
    old, new = ({"cm/a": {"data": dict.fromkeys("abcd", value)}} for value in "xy")
    listed = "; ".join(f"data.{name} 'x', in a new cluster 'y'" for name in "abc")
    assert o8(run(old, *made("cm/a")), run(new)) == [f"O8: cm/a {listed} (given the last spec at once)"]


def test_o8_an_item_of_an_external_api_that_the_last_spec_does_not_make():
    reference, fresh = run({}, external=["external/b/x", "external/b/y"]), run({}, external=["external/b/x"])
    assert o8(reference, fresh) == ["O8: external/b/y is left at the end (with the last spec alone it is never made)"]
    assert o8(fresh, reference) == []


# --- O9


def rolled_back(was, now, *, target="pod/a", actor="operator db"):
    """The texts of O9 if an object has been like `was` before the last change, and is like `now` when it is taken back."""
    first, second = (obj("Store", "s", spec={"size": size}) for size in (1, 2))
    commits = [
        commit(1, "create", "store/s", "test", after=first),
        commit(2, "create", target, actor, after=was),
        commit(3, "update", "store/s", "test", first, second),
    ]
    found = {"store/s": first, **({} if now is None else {target: now})}
    return [str(one) for one in recovers(run({}, *commits, rests=(2,)), run(found), Mask())]


@pytest.mark.parametrize(
    ("was", "now", "is_found"),
    [
        *(
            ({"status": {"phase": word}}, {"status": {"phase": "Broken"}}, True)
            for word in ("Ready", "running", "Up-To-Date", "up_to_date", "Bound", "OK", "Available")
        ),
        *(({"status": {"phase": word}}, {"status": {"phase": "Ready"}}, False) for word in ("Pending", "", "Failed")),
        ({"status": {"ready": True}}, {"status": {"ready": False}}, True),
        ({"status": {"ready": True}}, {}, True),
        ({"status": {"State": "active"}}, {"status": {"State": "idle"}}, True),
        ({"status": {"healthy": "yes", "health": "ok"}}, {"status": {"healthy": "yes", "health": "bad"}}, True),
        ({"status": {"message": "Ready"}}, {"status": {"message": "Broken"}}, False),
        ({"spec": {"phase": "Ready"}}, {"spec": {"phase": "Broken"}}, False),
        (
            {"status": {"conditions": [{"type": "A", "reason": "Ready"}]}},
            {"status": {"conditions": [{"type": "A", "reason": "Broken"}]}},
            False,
        ),
    ],
)
def test_o9_what_a_status_says_of_an_object_that_is_well(was, now, is_found):
    assert bool(rolled_back(was, now)) is is_found


@pytest.mark.parametrize(
    ("target", "actor", "is_found"),
    [
        ("pod/a", "operator db", True), ("pod/a", "test", True), ("pod/a", CLUSTER, False),
        ("job/a", "operator db", False), ("pod/a-*", "operator db", False),
    ],
)  # fmt: skip
def test_o9_compares_what_operators_and_the_test_create(target, actor, is_found):
    text = f"O9: {target} is absent after the last change is taken back (it was there before it)"
    assert rolled_back(obj("Pod", "a"), None, target=target, actor=actor) == [text] * is_found


def test_o9_of_many_differences_three_are_listed_and_each_object_is_looked_at():
    was, now = ({"status": {f"phase{name}": value for name in "abcd"}} for value in ("Ready", "Broken"))
    listed = "; ".join(f"status.phase{name} 'Broken', before it 'Ready'" for name in "abc")
    assert rolled_back(was, now) == [f"O9: pod/a {listed} (after the last change is taken back)"]
    commits = [*made("pod/gone", "pod/bad"), commit(3, "create", "store/s", "test", after=obj("Store", "s"))]
    commits = [replace(one, after=was) for one in commits[:2]] + commits[2:]
    change = commit(4, "update", "store/s", "test", obj("Store", "s"), obj("Store", "s", spec={"x": 1}))
    reference = run({}, *commits, change, rests=(3,))
    found = [str(one) for one in recovers(reference, run({"store/s": {}, "pod/bad": now}), Mask())]
    assert [one.split(" ")[1] for one in found] == ["pod/gone", "pod/bad"]
