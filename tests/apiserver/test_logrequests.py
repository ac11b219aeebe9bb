"""Requests of a container's log: which lines are left out, and what the handler of the test is asked."""

from datetime import timedelta

import pytest

from tests.apiserver.api import PODS, Api

BODY = {
    "metadata": {"name": "p"},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    "status": {"containerStatuses": [{"name": "c", "restartCount": 0, "image": "i", "imageID": "", "ready": True,
                                      "state": {"running": {"startedAt": "2025-12-31T23:59:00Z"}}}]},
}  # fmt: skip


def asked(query, output=((0, "a"), (30, "b"), (50, "c"))):
    """The body of a log at 60 seconds after the start of the container, and the request that the handler received."""
    api, requests = Api(), []
    api.ok("POST", PODS, BODY)
    api.ok("PUT", f"{PODS}/p/status", {**api.ok("GET", f"{PODS}/p"), "status": BODY["status"]})

    def logs(request):
        requests.append(request)
        return list(output)

    api.apiserver.kubelet.logs = logs
    response = api.answer("GET", f"{PODS}/p/log{query}")
    return response.body.to_object() if response.body is not None else None, requests


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "a\nb\nc\n"),
        ("?sinceSeconds=30", "b\nc\n"),
        ("?sinceSeconds=29", "c\n"),
        ("?sinceSeconds=10", "c\n"),
        ("?sinceSeconds=9", ""),
        ("?sinceTime=2025-12-31T23:59:30Z", "b\nc\n"),
        ("?sinceTime=2025-12-31T23:59:31Z", "c\n"),
        ("?tailLines=1", "c\n"),
        ("?tailLines=0", ""),
        ("?limitBytes=3", "a\nb"),
        ("?timestamps=true&tailLines=1", "2025-12-31T23:59:50.000000000Z c\n"),
    ],
)
def test_which_lines_are_answered(query, text):
    found, requests = asked(query)
    assert found == text
    assert len(requests) == 1
    assert (requests[0].container, requests[0].previous, requests[0].follow) == ("c", False, False)
    assert requests[0].timestamps is ("timestamps" in query)


def test_the_log_of_a_previous_container_is_asked_for():
    _, (request,) = asked("?previous=true")
    assert request.previous is True


def test_the_lines_of_a_container_without_a_status_begin_with_the_creation_of_its_pod():
    api = Api()
    api.ok("POST", PODS, {"metadata": {"name": "p"}, "spec": BODY["spec"]})
    api.context.time += timedelta(seconds=60)
    api.apiserver.kubelet.logs = lambda request: [(0, "a"), (30, "b")]
    text = api.answer("GET", f"{PODS}/p/log?timestamps=true").body.to_object()
    assert text == "2026-01-01T00:00:00.000000000Z a\n2026-01-01T00:00:30.000000000Z b\n"
    assert api.answer("GET", f"{PODS}/p/log?sinceSeconds=30").body.to_object() == "b\n"
