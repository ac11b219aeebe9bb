"""What the status of a container says, and what a kubelet reads from it again."""

from datetime import UTC, datetime

import pytest

from fakekube.controllers.kubelet.podreport import status_of
from fakekube.controllers.kubelet.podrun import Ended, new_run

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMITS = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}


def a_pod(**status):
    container = {"name": "c", "image": "nginx:1", "resources": LIMITS}
    spec = {"nodeName": "n1", "restartPolicy": "Always", "containers": [container]}
    meta = {"name": "p", "namespace": "ns", "uid": "u"}
    return {"metadata": meta, "spec": spec, "status": {"startTime": "2026-01-01T11:00:00Z", **status}}


def restored(**status):
    made = a_pod(containerStatuses=[{"name": "c", **status}])
    run = new_run(made, NOW)
    return run.containers["c"], status_of(run, made, "10.0.0.1", NOW)["containerStatuses"][0]


RUNNING = {"running": {"startedAt": "2026-01-01T11:30:00Z"}}


@pytest.mark.parametrize(
    ("state", "pulled"), [({"waiting": {}}, False), (RUNNING, True), ({"terminated": {"exitCode": 3}}, True)]
)
def test_a_container_has_image_and_resources_when_its_image_is_pulled(state, pulled):
    _, found = restored(state=state)
    assert found["image"] == ("docker.io/library/nginx:1" if pulled else "nginx:1")
    assert bool(found["imageID"]) == pulled
    assert found.get("resources") == (LIMITS if pulled else None)
    assert found["allocatedResources"] == LIMITS["requests"]


def test_a_container_that_runs_is_restored():
    one, found = restored(state=RUNNING, restartCount=4, containerID="x", ready=True, started=True)
    assert (one.state, one.started_at) == ("running", datetime(2026, 1, 1, 11, 30, tzinfo=UTC))
    assert (one.restarts, one.container_id, one.ready, one.started) == (4, "x", True, True)
    assert [found[name] for name in ("restartCount", "containerID", "ready", "started")] == [4, "x", True, True]
    one, _ = restored()
    assert (one.restarts, one.container_id, one.ready, one.started, one.ended) == (0, "", False, False, None)


def test_an_end_without_fields_is_a_success():
    one, _ = restored(state={"terminated": {}})
    assert (one.state, one.ended) == ("ended", Ended(0, "", "", None, None, ""))


@pytest.mark.parametrize("without", ["", "message", "containerID"])
def test_an_end_is_reported_as_it_was_restored(without):
    times = {"startedAt": "2026-01-01T11:30:00Z", "finishedAt": "2026-01-01T11:40:00Z"}
    full = {"exitCode": 7, "reason": "Error", "message": "m", **times, "containerID": "x"}
    end = {name: value for name, value in full.items() if name != without}
    _, found = restored(state={"terminated": end})
    assert found["state"] == {"terminated": end}
    _, found = restored(state=RUNNING, lastState={"terminated": end})
    assert found["lastState"] == {"terminated": end}
    assert found["state"] == RUNNING


def test_the_end_before_is_that_of_a_container_that_waits():
    full = {"exitCode": 7, "reason": "Error", "message": "m", "containerID": "x"}
    ended = Ended(7, "Error", "m", None, None, "x")
    one, _ = restored(state={"waiting": {}}, lastState={"terminated": full})
    assert (one.ended, one.last) == (ended, None)
    one, _ = restored(state={"terminated": {"exitCode": 1}}, lastState={"terminated": full})
    assert (one.ended.code, one.last) == (1, ended)
