"""Pure rules of Deployments: sizes, proportional scaling, revisions, conditions (`deployment_util.go`, `progress.go`)."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.controllers.apps.deployment import deploymentstatus, revision
from fakekube.controllers.apps.deployment.scaling import (
    fenceposts,
    is_saturated,
    max_surge,
    max_unavailable,
    proportional,
    replicas,
    size_of_new,
)
from fakekube.controllers.workload.podstate import condition

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def deployment(size, surge=1, unavailable=0, *, status=None, kind="RollingUpdate", annotations=None, **spec):
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": kind, **({"rollingUpdate": rolling} if kind == "RollingUpdate" else {})}
    meta = {"name": "web", "generation": 4, "annotations": annotations or {}}
    return {"metadata": meta, "spec": {"replicas": size, "strategy": strategy, **spec}, "status": status or {}}


def replica_set(name, size, *, most=None, created=0, annotations=None, **status):
    noted = {} if most is None else {revision.PREFIX + revision.MAX_REPLICAS: str(most)}
    meta = {
        "name": name,
        "creationTimestamp": f"2026-01-01T00:00:0{created}Z",
        "annotations": noted | (annotations or {}),
    }
    return {"metadata": meta, "spec": {"replicas": size}, "status": status}


# --- sizes


@pytest.mark.parametrize(
    ("size", "surge", "unavailable", "expected"),
    [
        (10, 0, 0, (0, 1)),
        (10, 1, 0, (1, 0)),
        (10, 0, 2, (0, 2)),
        (10, "25%", "25%", (3, 2)),
        (1, "25%", "25%", (1, 0)),
        (3, "0%", "10%", (0, 1)),
    ],
)
def test_fenceposts(size, surge, unavailable, expected):
    one = deployment(size, surge, unavailable)
    assert fenceposts(one) == expected
    assert (max_surge(one), max_unavailable(one)) == expected


def test_the_limits_of_a_recreate_and_of_no_replicas():
    recreate = deployment(3, kind="Recreate")
    assert (max_surge(recreate), max_unavailable(recreate)) == (0, 0)
    assert max_unavailable(deployment(0, 0, 5)) == 0
    assert max_unavailable(deployment(2, 0, 5)) == 2


@pytest.mark.parametrize(
    ("size", "surge", "old", "new", "expected"),
    [
        (10, 2, 10, 0, 2),
        (10, 2, 12, 0, 0),
        (10, 2, 13, 1, 1),
        (10, 2, 5, 1, 7),
        (10, 2, 0, 4, 10),
        (10, 2, 0, 0, 10),  # never more than the Deployment asks for
        (10, 0, 9, 0, 1),
        (10, "25%", 10, 0, 3),
    ],
)
def test_the_size_of_the_new_replica_set(size, surge, old, new, expected):
    sets = [replica_set("old", old), replica_set("new", new)]
    assert size_of_new(deployment(size, surge), sets, sets[1]) == expected
    assert size_of_new(deployment(size, kind="Recreate"), sets, sets[1]) == size


@pytest.mark.parametrize(
    ("size", "available", "noted", "expected"),
    [(3, 3, "3", True), (3, 2, "3", False), (2, 3, "3", False), (3, 3, "4", False), (3, 3, None, False)],
)
def test_saturation(size, available, noted, expected):
    annotations = {} if noted is None else {revision.PREFIX + revision.DESIRED_REPLICAS: noted}
    one = replica_set("new", size, annotations=annotations, availableReplicas=available)
    assert is_saturated(deployment(3), one) is expected
    assert is_saturated(deployment(3), None) is False
    unknown = replica_set("new", 1, annotations={revision.PREFIX + revision.DESIRED_REPLICAS: "1"})
    assert is_saturated(deployment(1), unknown) is False


# --- proportional scaling


def model(one, sets):
    """Sizes by name, as `scale`, `GetReplicaSetProportion` and `getReplicaSetFraction` compute them."""
    allowed = replicas(one) + max_surge(one) if replicas(one) > 0 else 0
    present = sum(map(replicas, sets))
    to_add, added, sizes = allowed - present, 0, {}
    ordered = sorted(sets, key=lambda rs: (rs["metadata"]["creationTimestamp"], rs["metadata"]["name"]))
    if to_add > 0:
        ordered.reverse()
    ordered.sort(key=lambda rs: -replicas(rs))
    for rs in ordered:
        size = replicas(rs)
        share = 0
        if to_add != 0 and size != 0 and to_add != added:
            if replicas(one) == 0:
                fraction = -size
            else:
                before = int(rs["metadata"]["annotations"].get(revision.PREFIX + revision.MAX_REPLICAS) or 0)
                before = before or one["status"].get("replicas", 0)
                exact = Fraction(size * allowed, before) if before else Fraction(size)
                fraction = int(exact + Fraction(1, 2)) - size
            share = min(fraction, to_add - added) if to_add > 0 else max(fraction, to_add - added)
        sizes[rs["metadata"]["name"]] = size + share
        added += share
    if to_add != 0:
        largest = ordered[0]["metadata"]["name"]
        sizes[largest] = max(0, sizes[largest] + to_add - added)
    return sizes


def scaled(one, sets):
    return {rs["metadata"]["name"]: size for rs, size in proportional(one, sets)}


@pytest.mark.parametrize(
    ("size", "surge", "sets", "expected"),
    [
        # up: 10 -> 20 with three ReplicaSets
        (20, 0, [("a", 5, 0), ("b", 3, 1), ("c", 2, 2)], {"a": 10, "b": 6, "c": 4}),
        # what rounding leaves goes to the largest, to the newest of equal ones
        (11, 0, [("a", 4, 0), ("b", 4, 1), ("c", 2, 2)], {"a": 4, "b": 5, "c": 2}),
        (12, 0, [("a", 5, 0), ("b", 3, 1), ("c", 2, 2)], {"a": 6, "b": 4, "c": 2}),
        # down: to the oldest of equal ones
        (9, 0, [("a", 4, 0), ("b", 4, 1), ("c", 2, 2)], {"a": 3, "b": 4, "c": 2}),
        (5, 0, [("a", 5, 0), ("b", 3, 1), ("c", 2, 2)], {"a": 2, "b": 2, "c": 1}),
        (0, 0, [("a", 5, 0), ("b", 3, 1), ("c", 2, 2)], {"a": 0, "b": 0, "c": 0}),
        (10, 0, [("a", 5, 0), ("b", 3, 1), ("c", 2, 2)], {"a": 5, "b": 3, "c": 2}),
        (10, 3, [("a", 5, 0), ("b", 3, 1), ("c", 2, 2)], {"a": 7, "b": 4, "c": 2}),  # the last one gets what is left
    ],
)
def test_proportional_scaling_of_three_replica_sets(size, surge, sets, expected):
    found = [replica_set(name, number, most=10, created=created) for name, number, created in sets]
    one = deployment(size, surge, 1)
    assert scaled(one, found) == expected
    assert scaled(one, found[::-1]) == expected


def test_without_the_annotation_the_status_of_the_deployment_counts():
    sets = [replica_set("a", 6, created=1), replica_set("b", 4)]
    assert scaled(deployment(20, 0, 1, status={"replicas": 10}), sets) == {"a": 12, "b": 8}
    assert scaled(deployment(20, 0, 1), sets) == {"a": 16, "b": 4}  # nothing is known: all goes to the largest


def test_nothing_is_left_for_the_others_when_all_pods_are_given_out():
    sets = [replica_set("a", 5, most=5), replica_set("b", 4, most=13)]
    assert scaled(deployment(10, 0, 1), sets) == {"a": 6, "b": 4}


@settings(max_examples=150)
@given(
    st.integers(0, 30),
    st.integers(0, 4),
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 3), st.sampled_from([None, 5, 10, 13])), min_size=1, max_size=4
    ),
)
def test_proportional_scaling_is_that_of_the_model(size, surge, rows):
    sets = [replica_set(f"rs{i}", n, created=at, most=most) for i, (n, at, most) in enumerate(rows)]
    one = deployment(size, surge, 1, status={"replicas": 9})
    assert scaled(one, sets) == model(one, sets)


# --- revisions


def test_revisions():
    sets = [
        replica_set(str(n), 0, annotations={revision.PREFIX + revision.REVISION: text}) for n, text in enumerate("3x15")
    ]
    assert [revision.revision(one) for one in sets] == [3, None, 1, 5]
    assert revision.revision(replica_set("n", 0)) == 0
    assert (revision.max_revision(sets), revision.last_revision(sets)) == (5, 3)
    assert (revision.max_revision([]), revision.last_revision([]), revision.last_revision(sets[:1])) == (0, 0, 0)
    assert revision.last_revision([sets[0], sets[2]]) == 1


@pytest.mark.parametrize(
    ("text", "number"),
    [("5", 5), ("", None), ("-1", None), ("x", None), ("2147483647", 2147483647), ("2147483648", None)],
)
def test_numbers_in_annotations(text, number):
    one = replica_set("a", 0, annotations={revision.PREFIX + "n": text})
    assert revision.number_in(one, "n") == number


def template(image, **labels):
    return {"metadata": {"labels": labels}, "spec": {"image": image}}


def test_the_new_replica_set_is_the_oldest_with_the_template_whatever_its_hash():
    def made(name, image, created, **labels):
        one = replica_set(name, 1, created=created)
        return {**one, "spec": {**one["spec"], "template": template(image, **labels)}}

    sets = [
        made("c", "new", 3, app="web", **{revision.HASH_LABEL: "1"}),
        made("b", "new", 2, app="web", **{revision.HASH_LABEL: "2"}),
        made("a", "old", 1, app="web"),
        made("d", "new", 0, app="other"),
    ]
    new, old = revision.new_and_old({"spec": {"template": template("new", app="web")}}, sets)
    assert new["metadata"]["name"] == "b"
    assert [one["metadata"]["name"] for one in old] == ["d", "a", "c"]
    assert revision.new_and_old({"spec": {"template": template("none")}}, sets)[0] is None


REVISION, HISTORY = revision.PREFIX + "revision", revision.PREFIX + "revision-history"


@pytest.mark.parametrize(
    ("present", "number", "expected"),
    [
        ({}, 1, {REVISION: "1"}),
        ({REVISION: "1"}, 3, {REVISION: "3", HISTORY: "1"}),
        ({REVISION: "3", HISTORY: "1"}, 5, {REVISION: "5", HISTORY: "1,3"}),
        ({REVISION: "5"}, 5, {REVISION: "5"}),
        ({REVISION: "6"}, 5, {REVISION: "6"}),
        ({REVISION: "x"}, 5, {REVISION: "x"}),
    ],
)
def test_the_annotations_of_the_new_replica_set(present, number, expected):
    own = {
        "team": "a",
        REVISION: "9",
        revision.ROLLBACK_TO: "1",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    made = replica_set("a", 0, annotations={**present, "kept": "1"})
    found = revision.new_annotations(deployment(1, annotations=own), made, number)
    assert found == {**expected, "team": "a", "kept": "1"}


def test_a_history_of_revisions_is_cut_at_2000_characters():
    def history(known):
        made = replica_set("a", 0, annotations={REVISION: "99", HISTORY: known})
        return revision.new_annotations(deployment(1), made, 100)[HISTORY]

    exact = ",".join(["1234"] * 399) + ",1"  # 1996 characters, with ",99" 1999
    assert len(history(exact)) == 1999
    assert history(exact + "2") == exact + "2,99"  # 2000
    assert history(exact + "23") == (exact + "23,99").removeprefix("1234,")
    assert history("x" * 1999) == "99"


def test_a_rollback_takes_the_annotations_of_the_replica_set_but_keeps_its_own_ones():
    own = {"team": "new", REVISION: "5", "gone": "1"}
    old = replica_set("a", 0, annotations={"team": "old", REVISION: "2", HISTORY: "1"})
    assert revision.rolled_back_annotations(deployment(1, annotations=own), old) == {"team": "old", REVISION: "5"}


# --- status


def counted(**counts):
    return {"observedGeneration": 4, **counts}


COMPLETE = counted(updatedReplicas=3, replicas=3, availableReplicas=3)


@pytest.mark.parametrize(
    ("changes", "complete"),
    [
        ({}, True),
        ({"observedGeneration": 5}, True),
        ({"observedGeneration": 3}, False),
        ({"updatedReplicas": 2}, False),
        ({"replicas": 4}, False),
        ({"availableReplicas": 2}, False),
    ],
)
def test_completion(changes, complete):
    assert deploymentstatus.is_complete(deployment(3), COMPLETE | changes) is complete


def test_a_deployment_that_was_never_observed_is_not_complete():
    made = deployment(3)
    made["metadata"]["generation"] = 1
    assert not deploymentstatus.is_complete(made, {**COMPLETE, "observedGeneration": None})


@pytest.mark.parametrize(
    ("before", "after", "progressing"),
    [
        (counted(replicas=4, updatedReplicas=1), counted(replicas=4, updatedReplicas=1), False),
        (counted(updatedReplicas=1, replicas=4), counted(updatedReplicas=2, replicas=5), True),
        (counted(readyReplicas=1), counted(readyReplicas=2), True),
        (counted(availableReplicas=1), counted(availableReplicas=2), True),
        (counted(readyReplicas=2), counted(readyReplicas=1), False),
        (counted(replicas=4, updatedReplicas=1), counted(replicas=3, updatedReplicas=1), True),  # an old pod is gone
        (counted(replicas=4, updatedReplicas=1), counted(replicas=5, updatedReplicas=1), False),
    ],
)
def test_progress(before, after, progressing):
    assert deploymentstatus.is_progressing(deployment(3, status=before), after) is progressing


def progressing(reason, seconds, status="True"):
    """The condition Progressing, which changed this many seconds ago."""
    return deploymentstatus.new_condition("Progressing", status, reason, "", NOW - timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("reason", "seconds", "timed_out"),
    [
        (None, 0, False),
        ("NewReplicaSetAvailable", 900, False),
        ("ProgressDeadlineExceeded", 0, True),
        ("ReplicaSetUpdated", 600, False),
        ("ReplicaSetUpdated", 601, True),
    ],
)
def test_the_deadline_of_progress(reason, seconds, timed_out):
    status = {"conditions": [progressing(reason, seconds)] if reason else []}
    one = deployment(3, progressDeadlineSeconds=600)
    assert deploymentstatus.has_timed_out(one, status, NOW) is timed_out


@pytest.mark.parametrize(
    ("reason", "seconds", "wait"),
    [
        (None, 0, None),
        ("NewReplicaSetAvailable", 10, None),
        ("ProgressDeadlineExceeded", 10, None),
        ("ReplicaSetUpdated", 10, 591.0),
        ("ReplicaSetUpdated", 599, 2.0),
        ("ReplicaSetUpdated", 600, 0.005),
    ],
)
def test_when_progress_is_checked_again(reason, seconds, wait):
    status = counted(conditions=[progressing(reason, seconds)] if reason else [])
    one = deployment(3, progressDeadlineSeconds=600, status=status)
    assert deploymentstatus.next_progress_check(one, status, NOW) == wait
    assert deploymentstatus.next_progress_check(one, COMPLETE, NOW) is None
    assert deploymentstatus.next_progress_check(deployment(3, status=status), status, NOW) is None


def test_the_counts_of_the_status():
    old = replica_set("old", 2, replicas=3, readyReplicas=1, availableReplicas=1, terminatingReplicas=1)
    new = replica_set("new", 3, replicas=2, readyReplicas=2, availableReplicas=1, terminatingReplicas=2)
    found = deploymentstatus.calculated(deployment(3, 1, 1, status={"collisionCount": 2, "x": 1}), new, [old], NOW)
    conditions = found.pop("conditions")
    assert found == {
        "observedGeneration": 4,
        "replicas": 5,
        "updatedReplicas": 2,
        "readyReplicas": 3,
        "availableReplicas": 2,
        "unavailableReplicas": 3,
        "collisionCount": 2,
        "terminatingReplicas": 3,
    }
    assert [(one["type"], one["status"]) for one in conditions] == [("Available", "True")]
    (unavailable,) = deploymentstatus.calculated(deployment(4, 1, 1), new, [old], NOW)["conditions"]
    assert (unavailable["status"], unavailable["reason"]) == ("False", "MinimumReplicasUnavailable")
    assert "updatedReplicas" not in deploymentstatus.calculated(deployment(3), None, [old], NOW)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([{"terminatingReplicas": 1}, {"terminatingReplicas": 2}], 3),
        ([{"terminatingReplicas": 1}, {}], 1),  # the controller of ReplicaSets has not seen it yet
        ([{"terminatingReplicas": 1}, {"observedGeneration": 1}], None),
    ],
)
def test_terminating_pods_are_counted_if_all_replica_sets_count_them(statuses, expected):
    old = [replica_set(str(n), 0, **status) for n, status in enumerate(statuses)]
    assert deploymentstatus.calculated(deployment(0), None, old, NOW).get("terminatingReplicas") == expected


def rolled(new=None, old=(), **options):
    status = options.pop("status", {})
    one = deployment(3, progressDeadlineSeconds=600, status=status, **options)
    return deploymentstatus.rollout_status(one, new, old, NOW)


def test_the_condition_of_progress_of_a_rollout():
    ready = replica_set("new", 3, replicas=3, readyReplicas=3, availableReplicas=3)
    done = condition({"status": rolled(ready)}, "Progressing")
    assert (done["reason"], done["message"]) == (
        "NewReplicaSetAvailable",
        'ReplicaSet "new" has successfully progressed.',
    )
    partly = replica_set("new", 3, replicas=3, readyReplicas=1)
    begun = progressing("NewReplicaSetCreated", 60)
    on = condition({"status": rolled(partly, status={"conditions": [begun]})}, "Progressing")
    assert (on["reason"], on["lastTransitionTime"]) == ("ReplicaSetUpdated", begun["lastTransitionTime"])
    assert on["lastUpdateTime"] == "2026-01-01T12:00:00Z"
    failed = progressing("ProgressDeadlineExceeded", 60, "False")
    again = condition({"status": rolled(partly, status={"conditions": [failed]})}, "Progressing")
    assert (again["status"], again["lastTransitionTime"]) == ("True", "2026-01-01T12:00:00Z")
    stuck = {
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 1,
        "conditions": [progressing("ReplicaSetUpdated", 601)],
    }
    late = condition({"status": rolled(partly, status=stuck)}, "Progressing")
    assert (late["status"], late["reason"]) == ("False", "ProgressDeadlineExceeded")
    assert late["message"] == 'ReplicaSet "new" has timed out progressing.'
    assert condition({"status": rolled(None)}, "Progressing") is None


def test_a_finished_rollout_stays_finished_while_all_pods_are_new():
    unready = replica_set("new", 3, replicas=3, readyReplicas=2)
    finished = {"replicas": 3, "updatedReplicas": 3, "conditions": [progressing("NewReplicaSetAvailable", 900)]}
    assert condition({"status": rolled(unready, status=finished)}, "Progressing")["reason"] == "NewReplicaSetAvailable"
    more = replica_set("old", 1, replicas=1)
    grown = condition({"status": rolled(unready, [more], status=finished)}, "Progressing")
    assert grown["reason"] == "ReplicaSetUpdated"


def test_without_a_deadline_there_is_no_condition_of_progress():
    status = {"conditions": [progressing("ReplicaSetUpdated", 60)]}
    found = deploymentstatus.rollout_status(deployment(3, status=status), None, [], NOW)
    assert [one["type"] for one in found["conditions"]] == ["Available"]


def test_the_failure_of_the_new_replica_set_is_that_of_the_deployment():
    def failing(name, message):
        failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
        return replica_set(name, 1, conditions=[failure | {"lastTransitionTime": "t"}])

    new, old = failing("new", "of the new one"), failing("old", "of the old one")
    found = condition({"status": rolled(new, [old])}, "ReplicaFailure")
    assert (found["message"], found["lastUpdateTime"]) == ("of the new one", "t")
    assert condition({"status": rolled(replica_set("new", 1), [old])}, "ReplicaFailure")["message"] == "of the old one"
    before = {"conditions": [found]}
    assert condition({"status": rolled(replica_set("new", 1), status=before)}, "ReplicaFailure") is None


def test_conditions_change_only_with_their_status_or_reason():
    status = {"conditions": [progressing("A", 60), {"type": "Other", "status": "True"}]}
    deploymentstatus.set_condition(status, progressing("A", 0))
    assert [one["type"] for one in status["conditions"]] == ["Progressing", "Other"]
    deploymentstatus.set_condition(status, progressing("B", 0))
    assert [one["type"] for one in status["conditions"]] == ["Other", "Progressing"]
    assert status["conditions"][1]["lastTransitionTime"] == "2026-01-01T11:59:00Z"
    deploymentstatus.set_condition(status, progressing("B", 0, "False"))
    assert status["conditions"][1]["lastTransitionTime"] == "2026-01-01T12:00:00Z"
    deploymentstatus.remove_condition(status, "Progressing")
    deploymentstatus.remove_condition(status, "Other")
    assert status == {}
