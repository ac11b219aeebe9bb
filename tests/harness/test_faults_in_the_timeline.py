"""The timeline shows which requests a fault has affected, and the names of creations that have failed."""

import pytest
from kubernetes import client

from tests.harness.operators import build, config_map, nothing

BODY = {"metadata": {"name": "a"}}


@pytest.mark.parametrize("error", [500, 409])
def test_a_fault_and_the_request_that_it_affects_are_rows(fakekube, error):
    api = client.CoreV1Api(fakekube.access.api_client())
    with fakekube.fault(verb="create", resource="configmaps", error=error, times=1, user_agent="*"):
        with pytest.raises(client.ApiException):
            api.create_namespaced_config_map("default", BODY)
        api.create_namespaced_config_map("default", BODY)
    rows = [(entry.what, entry.cause) for entry in fakekube.timeline]
    assert rows[0] == (
        "fault injected into create configmaps default",
        f"fault(verb='create', resource='configmaps', times=1, error={error})",
    )
    assert rows[1][0].startswith(f"create configmaps default/a -> {error}")
    assert [row[0] for row in rows[2:]] == ["create configmaps default/a -> 201"]


def test_a_creation_that_is_rejected_has_its_name(fakekube):
    with pytest.raises(client.ApiException):
        client.CoreV1Api(fakekube.access.api_client()).create_namespaced_config_map("missing", BODY)
    fakekube.assert_requests(1, verb="create", resource="configmaps", name="a", code=404)


def test_a_late_watch_and_a_paused_operator_are_rows(fakekube):
    operator = fakekube.start(build(nothing))
    hold = fakekube.faults.hold_watches(operator, resource="configmaps")
    fakekube.apply(config_map("a"))
    fakekube.advance(1)
    hold.release()
    fakekube.faults.pause(operator)
    fakekube.advance(1)
    fakekube.faults.resume(operator)
    rows = [((entry.at - fakekube.clock.epoch).total_seconds(), entry.actor, entry.what) for entry in fakekube.timeline]
    held = f"watches of configmaps of minder held at resourceVersion {hold.at}"
    assert [row for row in rows if "reconcile" not in row[2]] == [
        (0, "test", held),
        (0, "test", "create configmaps default/a -> 201"),
        (1, "test", f"released: {held}"),
        (1, "minder", "paused"),
        (2, "minder", "resumed"),
    ]


def test_what_late_watches_of_clients_are_called(fakekube):
    fakekube.findings.allow("unused-fault", reason="nothing watches")
    with fakekube.faults.hold_watches(user_agent="mine*"), fakekube.faults.hold_watches():
        rows = [entry.what for entry in fakekube.timeline]
    assert [row.partition(" held at ")[0] for row in rows] == ["watches of clients mine*", "watches"]
