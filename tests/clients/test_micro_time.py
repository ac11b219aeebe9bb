"""Fields of type MicroTime: clients set them to `now`, and the clock often stands on a whole second."""

import datetime
import threading
import time
from datetime import UTC

import pytest
from kubernetes import client
from kubernetes.leaderelection import electionconfig, leaderelection


def test_f13_a_lease_is_renewed_now(fakekube):
    leases = client.CoordinationV1Api(fakekube.access.api_client())
    now = datetime.datetime.now(UTC)
    spec = client.V1LeaseSpec(holder_identity="a", acquire_time=now, renew_time=now)
    made = leases.create_namespaced_lease("default", client.V1Lease(metadata=client.V1ObjectMeta(name="a"), spec=spec))
    assert made.spec.renew_time == now
    fakekube.advance(60)
    made.spec.renew_time = datetime.datetime.now(UTC)
    leases.replace_namespaced_lease("a", "default", made)
    assert fakekube.get("coordination.k8s.io/v1", "Lease", "a")["spec"]["renewTime"] == "2026-01-01T00:01:00.000000Z"


@pytest.mark.parametrize("seconds", [0, 15, 0.5])
def test_p6_the_text_of_a_reading_is_a_micro_time(fakekube, seconds):
    fakekube.advance(seconds)
    renewed = datetime.datetime.now(UTC).isoformat()
    made = fakekube.create(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "a"},
            "spec": {"holderIdentity": "a", "renewTime": renewed},
        }
    )
    assert made["spec"]["renewTime"] == fakekube.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_f13_an_event_happens_now(fakekube):
    events = client.EventsV1Api(fakekube.access.api_client())
    event = client.EventsV1Event(
        metadata=client.V1ObjectMeta(name="e"),
        event_time=datetime.datetime.now(UTC),
        action="Sync",
        reason="Synced",
        type="Normal",
        reporting_controller="example.com/op",
        reporting_instance="op-0",
        regarding=client.V1ObjectReference(kind="ConfigMap", name="a", namespace="default"),
    )
    events.create_namespaced_event("default", event)
    (found,) = fakekube.list("events.k8s.io/v1", "Event")
    assert found["eventTime"] == "2026-01-01T00:00:00.000000Z"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_f13_the_lease_lock_of_the_official_client_elects(fakekube, monkeypatch):
    leaselock = pytest.importorskip(
        "kubernetes.leaderelection.resourcelock.leaselock", reason="the official client has it from 37 on"
    )
    api = fakekube.access.api_client()
    monkeypatch.setattr(client.Configuration, "_default", api.configuration)
    led = []

    def candidate(name):
        def leads():
            led.append((name, fakekube.clock.monotonic()))
            threading.Event().wait(40)

        lock = leaselock.LeaseLock("lock", "default", name)
        config = electionconfig.Config(
            lock, lease_duration=15, renew_deadline=10, retry_period=2, onstarted_leading=leads, onstopped_leading=None
        )
        time.sleep(0 if name == "a" else 1)
        leaderelection.LeaderElection(config).run()

    fakekube.thread(candidate, "a")
    fakekube.thread(candidate, "b")
    fakekube.advance(60)
    assert led == [("a", 0)]
    lease = fakekube.get("coordination.k8s.io/v1", "Lease", "lock")
    assert lease["spec"]["holderIdentity"] == "a"
    assert lease["spec"]["renewTime"].startswith("2026-01-01T00:0")
    assert {record.code for record in fakekube.requests(resource="leases", verb="update")} == {200}
