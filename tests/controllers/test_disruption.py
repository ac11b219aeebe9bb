"""The controller of PodDisruptionBudgets."""

from datetime import timedelta

import pytest

from fakekube.controllers.workload.podstate import condition
from tests.controllers.workloads import deployment, make_all_ready, pods, set_ready, template

pytestmark = pytest.mark.fakekube(controllers=["deployment", "replicaset", "disruption"], rbac=True)


def budget(name="pdb", **spec):
    meta = {"name": name, "namespace": "default"}
    selector = {"matchLabels": {"app": "web"}}
    spec = {"selector": selector, **spec}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": spec}


def counts(fakekube):
    """Healthy, desired, expected, allowed."""
    status = fakekube.get("policy/v1", "PodDisruptionBudget", "pdb")["status"]
    return tuple(status[name] for name in ("currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed"))


def reason(fakekube):
    return condition(fakekube.get("policy/v1", "PodDisruptionBudget", "pdb"), "DisruptionAllowed")["reason"]


def bare_pod(name):
    meta = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template()["spec"]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 3}, (4, 3, 4, 1)),
        ({"minAvailable": "50%"}, (4, 2, 4, 2)),
        ({"minAvailable": "51%"}, (4, 3, 4, 1)),
        ({"maxUnavailable": 1}, (4, 3, 4, 1)),
        ({"maxUnavailable": "30%"}, (4, 2, 4, 2)),
        ({"maxUnavailable": 0}, (4, 4, 4, 0)),
        ({"maxUnavailable": 9}, (4, 0, 4, 4)),
    ],
)
def test_counts_of_a_deployment(fakekube, spec, expected):
    fakekube.create(deployment(4))
    fakekube.settle()
    make_all_ready(fakekube)
    fakekube.create(budget(**spec))
    fakekube.settle()
    assert counts(fakekube) == expected
    assert reason(fakekube) == ("SufficientPods" if expected[3] else "InsufficientPods")


def test_pods_that_are_not_ready_are_not_healthy(fakekube):
    fakekube.create(deployment(2))
    fakekube.create(budget(minAvailable=1))
    fakekube.settle()
    make_all_ready(fakekube)
    assert counts(fakekube) == (2, 1, 2, 1)
    set_ready(fakekube, pods(fakekube)[0], ready=False)
    fakekube.settle()
    assert counts(fakekube) == (1, 1, 2, 0)


def test_percentages_count_no_pods_without_a_controller(fakekube):
    fakekube.create(budget(minAvailable="50%"))
    fakekube.create(bare_pod("bare"))
    fakekube.settle()
    set_ready(fakekube, pods(fakekube)[0])
    fakekube.settle()
    assert counts(fakekube) == (1, 0, 0, 0)
    (event,) = fakekube.events(reason="UnmanagedPods")
    assert "(selector: &LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions" in event["message"]


def test_an_owner_without_a_scale_fails_safe(fakekube):
    job = {"template": {"spec": {**template()["spec"], "restartPolicy": "Never"}}}
    meta = {"name": "j", "namespace": "default"}
    owner = fakekube.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": job})
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": owner["metadata"]["uid"]}
    pod = bare_pod("p")
    pod["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    fakekube.create(pod)
    fakekube.create(budget(maxUnavailable=1))
    fakekube.settle()
    assert reason(fakekube) == "SyncFailed"
    message = "jobs.batch does not implement the scale subresource"
    found = condition(fakekube.get("policy/v1", "PodDisruptionBudget", "pdb"), "DisruptionAllowed")
    assert found["message"] == message
    (event,) = fakekube.events(reason="CalculateExpectedPodCountFailed")
    assert event["message"] == f"Failed to calculate the number of expected pods: {message}"


def test_a_budget_that_fails_allows_nothing_and_keeps_its_counts(fakekube):
    """`disruption.go`: failSafe."""
    fakekube.create(deployment(2))
    fakekube.create(budget(maxUnavailable=1))
    fakekube.settle()
    make_all_ready(fakekube)
    assert counts(fakekube) == (2, 1, 2, 1)
    fakekube.advance(5)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u", "controller": True}
    stray = bare_pod("stray")
    stray["metadata"]["ownerReferences"] = [owner]
    fakekube.create(stray)
    fakekube.settle()
    assert counts(fakekube) == (2, 1, 2, 0)
    found = condition(fakekube.get("policy/v1", "PodDisruptionBudget", "pdb"), "DisruptionAllowed")
    assert (found["status"], found["reason"], found["observedGeneration"]) == ("False", "SyncFailed", 1)
    assert found["lastTransitionTime"] == "2026-01-01T00:00:05Z"
    fakekube.delete("v1", "Pod", "stray")
    fakekube.settle()
    assert (counts(fakekube), reason(fakekube)) == ((2, 1, 2, 1), "SufficientPods")


def test_an_evicted_pod_that_is_not_deleted_counts_again_after_two_minutes(fakekube):
    fakekube.create(deployment(2))
    fakekube.create(budget(minAvailable=1))
    fakekube.settle()
    make_all_ready(fakekube)
    name = pods(fakekube)[0]["metadata"]["name"]
    now = f"{fakekube.clock.now().isoformat()[:19]}Z"
    status = {"status": {"disruptedPods": {name: now}, "disruptionsAllowed": 0}}
    fakekube.patch("policy/v1", "PodDisruptionBudget", "pdb", status, subresource="status")
    fakekube.settle()
    assert counts(fakekube) == (1, 1, 2, 0)
    begun = fakekube.clock.now()
    fakekube.advance_until(lambda: counts(fakekube)[0] == 2, "1h")
    assert fakekube.clock.now() - begun == timedelta(minutes=2, milliseconds=5)
    assert "disruptedPods" not in fakekube.get("policy/v1", "PodDisruptionBudget", "pdb")["status"]
    assert [event["involvedObject"]["name"] for event in fakekube.events(reason="NotDeleted")] == [name]


def test_each_of_two_evicted_pods_counts_again_after_its_own_two_minutes(fakekube):
    fakekube.create(deployment(3))
    fakekube.create(budget(minAvailable=1))
    fakekube.settle()
    make_all_ready(fakekube)
    begun = fakekube.clock.now()
    names = [pod["metadata"]["name"] for pod in pods(fakekube)[:2]]
    times = [f"{(begun + timedelta(seconds=late)).isoformat()[:19]}Z" for late in (0, 60)]
    status = {"status": {"disruptedPods": dict(zip(names, times, strict=True)), "disruptionsAllowed": 0}}
    fakekube.patch("policy/v1", "PodDisruptionBudget", "pdb", status, subresource="status")
    fakekube.settle()
    for healthy, minutes in ((1, 0), (2, 2), (3, 3)):
        fakekube.advance_until(lambda healthy=healthy: counts(fakekube)[0] == healthy, "1h")
        assert (fakekube.clock.now() - begun) // timedelta(minutes=1) == minutes


def disruption_target(kube):
    """The condition of a pod that was evicted now."""
    now = f"{kube.clock.now().isoformat()[:19]}Z"
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "lastTransitionTime": now,
    }


def test_a_stale_disruption_target_is_taken_back_after_two_minutes(fakekube):
    fakekube.create(bare_pod("p"))
    target = disruption_target(fakekube)
    fakekube.patch("v1", "Pod", "p", {"status": {"conditions": [target]}}, subresource="status")
    begun = fakekube.clock.now()

    def taken_back():
        return condition(fakekube.get("v1", "Pod", "p"), "DisruptionTarget")["status"] == "False"

    fakekube.advance_until(taken_back, "1h")
    assert fakekube.clock.now() - begun == timedelta(minutes=2)
    kept = disruption_target(fakekube) | {"reason": "TerminationByKubelet"}
    fakekube.patch("v1", "Pod", "p", {"status": {"conditions": [kept]}}, subresource="status")
    fakekube.advance(500)
    assert not taken_back()


def test_a_pod_of_two_budgets_is_an_event(fakekube):
    fakekube.create(budget("a", minAvailable=1))
    fakekube.create(budget("b", minAvailable=1))
    fakekube.create(bare_pod("p"))
    fakekube.settle()
    (event,) = fakekube.events(reason="MultiplePodDisruptionBudgets")
    assert event["message"] == 'Pod "default"/"p" matches multiple PodDisruptionBudgets.  Chose "a" arbitrarily.'


def test_an_idle_budget_makes_no_requests(fakekube):
    fakekube.create(deployment(2))
    fakekube.create(budget(minAvailable=1))
    fakekube.settle()
    make_all_ready(fakekube)
    before = len([record for record in fakekube.requests() if record.verb != "watch"])
    fakekube.advance(hours=24)
    assert len([record for record in fakekube.requests() if record.verb != "watch"]) == before
