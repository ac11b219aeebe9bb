"""The controller of Jobs: counting, back-off, deadlines, indexes, policies, suspension."""

import itertools
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from tests.controllers.batchwork import condition_types, end, job, job_status, running
from tests.controllers.workloads import pods, set_ready

pytestmark = pytest.mark.fakekube(controllers=["job"], rbac=True)

INDEX = "batch.kubernetes.io/job-completion-index"


def started(fakekube, **spec):
    fakekube.create(job(**spec))
    fakekube.settle()


def end_all(fakekube, code=0):
    for pod in running(fakekube):
        end(fakekube, pod, code)
    fakekube.advance("2s")


def index_of(pod):
    return int(pod["metadata"]["annotations"][INDEX])


def reasons(fakekube, name="j"):
    return [event["reason"] for event in fakekube.events() if event["involvedObject"]["name"] == name]


# --- the way of a Job


def test_a_job_completes_when_its_pod_has_succeeded(fakekube):
    started(fakekube)
    (pod,) = pods(fakekube)
    assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    end(fakekube, pod)
    fakekube.settle()
    assert job_status(fakekube)["active"] == 1  # the events of pods are batched for a second
    begun = fakekube.clock.now()
    fakekube.advance_until(lambda: condition_types(fakekube) == ["SuccessCriteriaMet", "Complete"], "1m")
    assert fakekube.clock.now() - begun == timedelta(seconds=1)
    found = job_status(fakekube)
    assert (found["succeeded"], found["ready"], found["terminating"]) == (1, 0, 0)
    assert "active" not in found
    assert found["uncountedTerminatedPods"] == {}
    assert "finalizers" not in pods(fakekube)[0]["metadata"]
    assert reasons(fakekube) == ["SuccessfulCreate", "Completed"]


def test_the_writes_of_a_job_that_completes(fakekube):
    started(fakekube)
    end_all(fakekube)
    writes = [
        (record.verb, record.resource, record.subresource)
        for record in fakekube.requests(user="system:serviceaccount:kube-system:job-controller")
    ]
    assert writes == [
        ("create", "pods", ""),
        ("update", "jobs", "status"),  # active
        ("update", "jobs", "status"),  # uncounted, SuccessCriteriaMet
        ("patch", "pods", ""),  # the finalizer
        ("update", "jobs", "status"),  # counted, Complete
    ]


def test_a_job_without_completions_waits_for_all_pods_after_the_first_success(fakekube):
    started(fakekube, parallelism=3, completions=None)
    first, *others = pods(fakekube)
    end(fakekube, first)
    fakekube.advance("2s")
    assert len(running(fakekube)) == 2  # none is created in its place
    assert condition_types(fakekube) == []
    for pod in others:
        end(fakekube, pod)
    fakekube.advance("2s")
    assert condition_types(fakekube) == ["SuccessCriteriaMet", "Complete"]


def test_ready_pods_are_counted(fakekube):
    started(fakekube, parallelism=2, completions=2)
    set_ready(fakekube, pods(fakekube)[0])
    fakekube.advance("1s")
    assert job_status(fakekube)["ready"] == 1


# --- back-off


def test_back_off_is_10_seconds_doubled_by_each_failure_up_to_10_minutes(fakekube):
    started(fakekube, backoffLimit=8)
    times = []
    for _ in range(9):
        fakekube.advance_until(lambda: running(fakekube), "1h")
        times.append(fakekube.clock.now())
        for pod in running(fakekube):
            end(fakekube, pod, 1)
        fakekube.settle()
    fakekube.advance_until(lambda: "Failed" in condition_types(fakekube), "1h")
    waits = [(after - before).total_seconds() for before, after in itertools.pairwise(times)]
    assert waits == [10, 20, 40, 80, 160, 320, 600, 600]
    assert job_status(fakekube)["failed"] == 9
    assert "BackoffLimitExceeded" in reasons(fakekube)


@pytest.mark.slow
def test_a_success_resets_the_back_off(fakekube):
    started(fakekube, completions=3, backoffLimit=10)
    for code in (1, 1, 0, 1):
        fakekube.advance_until(lambda: running(fakekube), "1h")
        end(fakekube, running(fakekube)[0], code)
        failed_at = fakekube.clock.now()
        fakekube.settle()
    fakekube.advance_until(lambda: running(fakekube), "1h")
    assert fakekube.clock.now() - failed_at == timedelta(seconds=10)


def test_active_deadline_fails_the_job_at_its_second(fakekube):
    started(fakekube, activeDeadlineSeconds=30)
    begun = fakekube.clock.now()
    fakekube.advance_until(lambda: "Failed" in condition_types(fakekube), "1h")
    assert fakekube.clock.now() - begun == timedelta(seconds=31)  # terminating pods are counted a second later
    first = job_status(fakekube)["conditions"][0]
    assert (first["type"], first["reason"]) == ("FailureTarget", "DeadlineExceeded")
    assert datetime.fromisoformat(first["lastTransitionTime"]) - begun == timedelta(seconds=30)
    assert pods(fakekube) == []


def test_restarts_count_towards_the_limit_if_pods_restart_on_failure(fakekube):
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "busybox:1"}]}}
    started(fakekube, backoffLimit=2, template=template)
    container = {"name": "c", "image": "busybox:1", "imageID": "", "ready": False, "restartCount": 2}
    status = {"phase": "Running", "containerStatuses": [container]}
    name = pods(fakekube)[0]["metadata"]["name"]
    fakekube.patch("v1", "Pod", name, {"status": status}, subresource="status")
    fakekube.advance("5s")
    assert condition_types(fakekube) == ["FailureTarget", "Failed"]


# --- suspension


def test_a_suspended_job_has_no_pods_and_no_start_until_it_is_resumed(fakekube):
    started(fakekube, suspend=True, parallelism=2, completions=2)
    assert pods(fakekube) == []
    assert "startTime" not in job_status(fakekube)
    assert condition_types(fakekube) == ["Suspended"]
    fakekube.advance("10m")
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"suspend": False}})
    fakekube.settle()
    assert len(pods(fakekube)) == 2
    assert datetime.fromisoformat(job_status(fakekube)["startTime"]) == fakekube.clock.now()
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"suspend": True}})
    fakekube.advance("2s")
    assert pods(fakekube) == []
    assert "failed" not in job_status(fakekube)  # pods that are deleted by the suspension are not counted
    assert sorted(reasons(fakekube)) == [
        "Resumed",
        "SuccessfulCreate",
        "SuccessfulCreate",
        "SuccessfulDelete",
        "SuccessfulDelete",
        "Suspended",  # two of them
    ]


# --- indexes


def test_an_indexed_job_completes_when_each_index_has_succeeded_once(fakekube):
    started(fakekube, completionMode="Indexed", completions=5, parallelism=2)
    while "Complete" not in condition_types(fakekube):
        assert len(running(fakekube)) <= 2
        end(fakekube, running(fakekube)[0])
        fakekube.advance("2s")
    assert sorted(map(index_of, pods(fakekube))) == [0, 1, 2, 3, 4]
    assert job_status(fakekube)["completedIndexes"] == "0-4"


def test_an_index_is_deleted_if_it_has_two_pods(fakekube):
    started(fakekube, completionMode="Indexed", completions=2, parallelism=2)
    first = next(pod for pod in pods(fakekube) if index_of(pod) == 0)
    kept = ("labels", "annotations", "ownerReferences", "finalizers", "namespace")
    meta = {name: first["metadata"][name] for name in kept}
    fakekube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "name": "twin"}, "spec": first["spec"]})
    fakekube.advance("5s")
    assert sorted(map(index_of, pods(fakekube))) == [0, 1]


def test_an_elastic_indexed_job_follows_completions_and_parallelism(fakekube):
    started(fakekube, completionMode="Indexed", completions=3, parallelism=3)
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"completions": 5, "parallelism": 5}})
    fakekube.settle()
    assert sorted(map(index_of, pods(fakekube))) == [0, 1, 2, 3, 4]
    fakekube.patch("batch/v1", "Job", "j", {"spec": {"completions": 2, "parallelism": 2}})
    fakekube.advance("3s")
    assert sorted(map(index_of, pods(fakekube))) == [0, 1]


def test_failed_indexes_do_not_stop_the_others(fakekube):
    started(fakekube, completionMode="Indexed", completions=3, parallelism=3, backoffLimitPerIndex=1)
    begun = fakekube.clock.now()
    for pod in running(fakekube):
        end(fakekube, pod, 1 if index_of(pod) == 1 else 0)
    fakekube.advance_until(lambda: running(fakekube), "1h")
    assert fakekube.clock.now() - begun == timedelta(seconds=10)  # the back-off of the index
    (again,) = running(fakekube)
    assert index_of(again) == 1
    assert again["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    end(fakekube, again, 1)
    fakekube.advance("5s")
    found = job_status(fakekube)
    assert (found["completedIndexes"], found["failedIndexes"]) == ("0,2", "1")
    assert found["conditions"][-1]["reason"] == "FailedIndexes"


def test_a_job_fails_by_too_many_failed_indexes(fakekube):
    limits = {"backoffLimitPerIndex": 0, "maxFailedIndexes": 1}
    started(fakekube, completionMode="Indexed", completions=4, parallelism=4, **limits)
    for pod in running(fakekube)[:2]:
        end(fakekube, pod, 1)
    fakekube.advance("5s")
    assert job_status(fakekube)["conditions"][-1]["reason"] == "MaxFailedIndexesExceeded"
    assert running(fakekube) == []


@pytest.mark.parametrize(
    ("rule", "ended", "met"),
    [
        ({"succeededIndexes": "0,2"}, [0], False),
        ({"succeededIndexes": "0,2"}, [0, 2], True),
        ({"succeededCount": 2}, [1], False),
        ({"succeededCount": 2}, [1, 3], True),
        ({"succeededIndexes": "0-2", "succeededCount": 1}, [3], False),
        ({"succeededIndexes": "0-2", "succeededCount": 1}, [2], True),
    ],
)
def test_a_success_policy_ends_the_job_early(fakekube, rule, ended, met):
    policy = {"rules": [rule]}
    started(fakekube, completionMode="Indexed", completions=4, parallelism=4, successPolicy=policy)
    for pod in running(fakekube):
        if index_of(pod) in ended:
            end(fakekube, pod)
    fakekube.advance("5s")
    assert ("Complete" in condition_types(fakekube)) == met
    assert len(running(fakekube)) == (0 if met else 4 - len(ended))
    if met:
        assert job_status(fakekube)["conditions"][0]["message"] == "Matched rules at index 0"


# --- pod failure policies


def exit_codes(action, operator="In", values=(42,), **more):
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values), **more}}


@pytest.mark.parametrize(
    ("rules", "code", "failed", "ended"),
    [
        ([exit_codes("FailJob")], 42, 1, True),
        ([exit_codes("FailJob")], 1, 1, False),
        ([exit_codes("FailJob", "NotIn")], 1, 1, True),
        ([exit_codes("Ignore")], 42, 0, False),
        ([exit_codes("Count"), exit_codes("FailJob")], 42, 1, False),
        ([exit_codes("FailJob", containerName="other")], 42, 1, False),
    ],
)
def test_pod_failure_policies(fakekube, rules, code, failed, ended):
    template = job()["spec"]["template"]
    if any("containerName" in rule["onExitCodes"] for rule in rules):
        containers = [*template["spec"]["containers"], {"name": "other", "image": "busybox:1"}]
        template = {**template, "spec": {**template["spec"], "containers": containers}}
    started(fakekube, podFailurePolicy={"rules": rules}, template=template)
    name = pods(fakekube)[0]["metadata"]["name"]
    end_all(fakekube, code)
    fakekube.advance("2s")
    found = job_status(fakekube)
    assert found.get("failed", 0) == failed
    assert ("Failed" in condition_types(fakekube)) == ended
    if ended:
        message = f"Container c for pod default/{name} failed with exit code {code} matching FailJob rule at index 0"
        assert found["conditions"][-1]["message"] == message


def test_a_failure_policy_of_an_index_fails_it_at_once(fakekube):
    policy = {"rules": [exit_codes("FailIndex")]}
    per_index = {"completionMode": "Indexed", "backoffLimitPerIndex": 5}
    started(fakekube, completions=2, parallelism=2, podFailurePolicy=policy, **per_index)
    end(fakekube, next(pod for pod in running(fakekube) if index_of(pod) == 0), 42)
    fakekube.advance("5s")
    assert job_status(fakekube)["failedIndexes"] == "0"


@pytest.mark.parametrize(("policy", "replaced"), [("TerminatingOrFailed", True), ("Failed", False)])
def test_terminating_pods_are_replaced_by_policy(fakekube, policy, replaced):
    template = job()["spec"]["template"]
    bound = {**template, "spec": {**template["spec"], "nodeName": "node"}}
    started(fakekube, podReplacementPolicy=policy, template=bound)
    name = pods(fakekube)[0]["metadata"]["name"]
    fakekube.delete("v1", "Pod", name)
    fakekube.advance("11s")
    assert job_status(fakekube)["terminating"] == 1
    assert bool(running(fakekube)) == replaced


# --- ownership


def test_a_job_that_another_controller_manages_is_left_alone(fakekube):
    started(fakekube, managedBy="example.com/controller")
    fakekube.advance("1m")
    assert pods(fakekube) == []
    assert "startTime" not in job_status(fakekube)


def test_pods_of_a_deleted_job_lose_their_finalizer(fakekube):
    started(fakekube, parallelism=2, completions=2)
    fakekube.delete("batch/v1", "Job", "j", propagationPolicy="Background")
    for pod in pods(fakekube):
        fakekube.patch("v1", "Pod", pod["metadata"]["name"], {"metadata": {"ownerReferences": None}})
    fakekube.settle()
    assert [pod["metadata"].get("finalizers") for pod in pods(fakekube)] == [None, None]


def test_an_idle_job_makes_no_requests(fakekube):
    started(fakekube)
    end_all(fakekube)
    fakekube.create(job("suspended", suspend=True))
    fakekube.create(job("runs"))
    fakekube.advance("1m")
    before = len([record for record in fakekube.requests() if record.verb != "watch"])
    fakekube.advance(hours=24)
    assert len([record for record in fakekube.requests() if record.verb != "watch"]) == before


# --- model


ACTIONS = ["succeed", "fail", "delete", "suspend", "resume", "parallelism", "wait"]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    indexed=st.booleans(),
    completions=st.integers(1, 6),
    actions=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 5)), max_size=16),
)
def test_counts_of_a_job_never_go_backwards_at_any_commit(indexed, completions, actions):
    """No commit lowers a count, and none counts more pods than have ended."""
    with FakeKube(controllers=["job"], wall_clock=False) as fakekube:
        mode = {"completionMode": "Indexed"} if indexed else {}
        started(fakekube, completions=completions, parallelism=3, backoffLimit=20, **mode)
        succeeded, gone, broken = set(), set(), []
        last = {"succeeded": 0, "failed": 0}

        def check(change):
            if change.collection == "pods" and change.after is None:
                gone.add(change.before.object["metadata"]["uid"])
            if change.collection != "jobs.batch" or change.after is None:
                return
            status = change.after.object.get("status") or {}
            for name in last:
                if status.get(name, 0) < last[name]:
                    broken.append(f"{name} went from {last[name]} to {status.get(name)}")
                last[name] = status.get(name, 0)
            counted = last["succeeded"] + len(status["uncountedTerminatedPods"].get("succeeded", ()))
            if counted > len(succeeded):
                broken.append(f"{counted} are counted, {len(succeeded)} have succeeded")

        engine_of(fakekube).server.on_write(check)
        for action, which in actions:
            present = running(fakekube)
            pod = present[which % len(present)] if present else None
            if action == "succeed" and pod:
                succeeded.add(pod["metadata"]["uid"])
                end(fakekube, pod)
            elif action == "fail" and pod:
                end(fakekube, pod, 1)
            elif action == "delete" and pod:
                fakekube.delete("v1", "Pod", pod["metadata"]["name"])
            elif "Complete" not in condition_types(fakekube) and action in ("suspend", "resume"):
                fakekube.patch("batch/v1", "Job", "j", {"spec": {"suspend": action == "suspend"}})
            elif action == "parallelism":
                fakekube.patch("batch/v1", "Job", "j", {"spec": {"parallelism": which}})
            elif action == "wait":
                fakekube.advance(seconds=which)
            fakekube.settle()
        fakekube.advance("20m")
        assert broken == []
        assert job_status(fakekube)["uncountedTerminatedPods"] == {}
        assert last["succeeded"] == min(len(succeeded), completions) or not indexed
