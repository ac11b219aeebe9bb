"""The sample operators: all work without faults; with its fault, each that has the bug fails, and its twin does not.

The faults are those of `FakeKube.fault`, late watches, and restarts; no exploration is needed.
"""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from controllerlib import ApiError
from fakekube import FakeKube
from tests.simulation.samples import SAMPLES, admission_timeout, merge_keeps_keys, two_writers
from tests.simulation.samples.definitions import API, custom, definition

BUILT_IN = (("v1", "ConfigMap"), ("v1", "Secret"), ("v1", "Pod"), ("batch/v1", "Job"), ("apps/v1", "Deployment"))
SERVER_FIELDS = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "annotations"}
BOTH = pytest.mark.parametrize("bug", [True, False], ids=["bug", "correct"])


# --- without faults --------------------------------------------------------------------------------------------------


def log_of(sample, bug):
    with FakeKube(seed=7, detect={"all": "off"}) as fakekube:
        sample.scenario(fakekube, sample.make(bug))
        fakekube.findings.assert_no_writes_at_rest()
        assert fakekube.clock.monotonic() < 7200
        return fakekube.log()


@BOTH
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_passes_without_faults(name, bug):
    assert log_of(SAMPLES[name], bug) == log_of(SAMPLES[name], bug)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_writes_several_times(name):
    sample = SAMPLES[name]
    with FakeKube(seed=7, detect={"all": "off"}) as fakekube:
        sample.scenario(fakekube, sample.make(False))
        resources = [one.resource for one in fakekube.requests() if one.verb in ("create", "update", "patch", "delete")]
    assert 6 <= len([one for one in resources if one not in ("leases", "events")]) <= 25


def test_every_family_has_one_sample():
    assert len({sample.FAMILY for sample in SAMPLES.values()}) == len(SAMPLES) == 25
    assert all(sample.NEEDS for sample in SAMPLES.values())


# --- faults ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Steps:
    """A cluster for a scenario: it calls `before` and `after` a change of the test, by the number of the change."""

    cluster: FakeKube
    before: dict = field(default_factory=dict)
    after: dict = field(default_factory=dict)
    started: list = field(default_factory=list)
    changes: int = 0

    def __getattr__(self, name):
        return getattr(self.cluster, name)

    def start(self, build, **options):
        self.started.append((self.cluster.start(build, **options), build))

    def create(self, *arguments):
        self._change(self.cluster.create, arguments)

    def patch(self, *arguments):
        self._change(self.cluster.patch, arguments)

    def delete(self, *arguments):
        self._change(self.cluster.delete, arguments)

    def _change(self, call, arguments):
        self.changes += 1
        self.before.get(self.changes, lambda: None)()
        call(*arguments)
        self.after.get(self.changes, lambda: None)()

    def stop(self):
        self.cluster.stop(self.started[0][0])

    def restart(self):
        self.cluster.start(self.started[0][1])

    def hold(self, resource, seconds):
        """End the watches, and delay the next one of a resource."""
        self.cluster.fault(verb="watch", resource=resource, delay=seconds, times=1)
        self.cluster.faults.cut_watches()

    def at(self, seconds, action):
        """Do something when the clock has reached this time."""

        async def later():
            await self.cluster.clock.sleep_until(seconds)
            action()

        self.cluster.task(later())


def fault(**rule):
    return lambda steps: steps.cluster.fault(**{"times": 1, **rule})


def hold(change, resource, seconds):
    def disturb(steps):
        steps.before[change] = lambda: steps.hold(resource, seconds)

    return disturb


def gap(change, resource):
    def disturb(steps):
        steps.before[change] = lambda: steps.hold(resource, 5)
        steps.after[change] = lambda: (steps.cluster.settle(), steps.cluster.faults.compact())

    return disturb


def down(change):
    def disturb(steps):
        steps.before[change], steps.after[change] = steps.stop, steps.restart

    return disturb


def no_finalizer_until_deleted(steps):
    rule = steps.cluster.fault(verb="update", resource="buckets", name="b", error=500)
    steps.after[3] = rule.disarm


def status_not_seen(steps):
    """The status is written five seconds late, and its event is not seen for a while."""
    steps.cluster.fault(verb="*", resource="listeners*", name="b", after=1, delay=5, times=1)
    steps.at(62, lambda: steps.hold("listeners", 20))


def annotated_meanwhile(steps):
    steps.cluster.fault(verb="update", resource="secrets", delay=5, times=1)
    annotated = {"metadata": {"annotations": {"by": "others"}}}
    steps.at(62, lambda: steps.cluster.patch("v1", "Secret", "a", annotated))


FAULTS = {
    "acknowledged_when_created": fault(verb="create", resource="configmaps", reset="after"),
    "cleanup_after_finalizer": fault(verb="delete", resource="configmaps", error=500),
    "count_from_cache": hold(1, "pods", 5),
    "done_taken_for_error": fault(verb="delete", resource="secrets", reset="after"),
    "error_as_absent": fault(verb="get", resource="shares", after=3, error=503),
    "expired_watch": gap(3, "notes"),
    "finalizer_after_child": no_finalizer_until_deleted,
    "generated_job_name": fault(verb="create", resource="jobs", reset="after"),
    "guarded_first_write": fault(verb="create", resource="secrets", reset="after"),
    "lock_never_resumed": fault(verb="create", resource="configmaps", error=503),
    "lost_update": hold(2, "configmaps", 65),
    "marker_before_work": fault(verb="create", resource="configmaps", after=4, error=503),
    "move_orphans": fault(verb="delete", resource="secrets", error=503),
    "sees_transition": down(2),
    "stale_ready": fault(verb="update", resource="shards", after=2, delay=12),
    "stale_switch": hold(5, "caches", 20),
    "swallowed_conflict": annotated_meanwhile,
    "unconditional_status": status_not_seen,
    "waits_for_health": fault(verb="update", resource="configmaps", reset="after"),
}


# --- with faults -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Run:
    """Whether the scenario passes; the objects at the end; how many objects operators created and deleted."""

    passes: bool
    state: list
    changes: Counter

    def is_as(self, reference):
        """Whether it ends as the reference does, and has created and deleted nothing beyond what that has."""
        return self.passes and self.state == reference.state and not self.changes - reference.changes


def run_of(name, bug, disturb=lambda steps: None):
    sample = SAMPLES[name]
    with FakeKube(seed=7, detect={"all": "off"}) as fakekube:
        steps = Steps(fakekube)
        disturb(steps)
        try:
            sample.scenario(steps, sample.make(bug))
            passes = True
        except (AssertionError, ApiError, KeyError):
            passes = False
        return Run(passes, state_of(fakekube), changes_of(fakekube))


def state_of(fakekube):
    kinds = [
        one["spec"]["names"]["kind"]
        for one in fakekube.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", None)
    ]
    found = [obj for api_version, kind in BUILT_IN for obj in fakekube.list(api_version, kind)]
    return [
        without_server_fields(obj) for obj in [*found, *(obj for kind in kinds for obj in fakekube.list(API, kind))]
    ]


def without_server_fields(value):
    if isinstance(value, dict):
        return {key: without_server_fields(item) for key, item in value.items() if key not in SERVER_FIELDS}
    return [without_server_fields(item) for item in value] if isinstance(value, list) else value


def changes_of(fakekube):
    made = [one for one in fakekube.requests() if one.verb in ("create", "delete") and one.code < 300]
    return Counter((one.verb, one.resource) for one in made if one.resource not in ("leases", "events"))


@BOTH
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_exposes_the_bug_alone(name, bug):
    reference = run_of(name, bug)
    assert reference.passes
    assert run_of(name, bug, FAULTS[name]).is_as(reference) is not bug


@BOTH
def test_a_restart_makes_two_writers_disagree(bug):
    with FakeKube(seed=7, detect={"all": "off"}) as fakekube:
        steps = Steps(fakekube)
        steps.before[3] = lambda: (steps.stop(), steps.restart())
        two_writers.scenario(steps, two_writers.make(bug))
        written = [obj["spec"]["replicas"] for _, obj in fakekube.state.versions("apps/v1", "Deployment", "a")]
    assert (1 in written[written.index(3) :]) is bug


@BOTH
def test_a_webhook_that_times_out_once_rejects_a_gate(bug):
    delays = [0, 3600]

    async def handler(http):
        delay = delays.pop(0) if delays else 0
        await fakekube.clock.sleep_until(fakekube.clock.monotonic() + delay)
        return await admission_timeout.admit(http)

    with FakeKube(seed=7, detect={"all": "off"}) as fakekube:
        if bug:
            with pytest.raises((AssertionError, ApiError)):
                admission_timeout.scenario(fakekube, admission_timeout.make(bug), handler)
        else:
            admission_timeout.scenario(fakekube, admission_timeout.make(bug), handler)


@pytest.mark.slow
@BOTH
def test_a_merge_keeps_what_a_new_cluster_does_not_have(bug):
    with FakeKube(seed=7, detect={"all": "off"}) as fakekube:
        merge_keeps_keys.scenario(fakekube, merge_keeps_keys.make(bug))
        settings = fakekube.get(API, "Profile", "a")["spec"]["settings"]
        old = fakekube.get("v1", "ConfigMap", "a")["data"]
    with FakeKube(seed=7, detect={"all": "off"}) as fakekube:
        fakekube.apply(definition("Profile", settings="map"), custom("Profile", settings=settings))
        fakekube.start(merge_keeps_keys.make(bug))
        assert (fakekube.get("v1", "ConfigMap", "a")["data"] != old) is bug
