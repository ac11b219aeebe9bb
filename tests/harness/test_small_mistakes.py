"""Mistakes in single calls are named where they are made."""

import re
from datetime import timedelta

import pytest

from controllerlib import ApiError
from fakekube import FakeKube


@pytest.mark.parametrize(
    "call",
    [
        lambda kube: kube.advance(1e20),
        lambda kube: kube.advance("9999999999h"),
        lambda kube: kube.advance(hours=1e12),
        lambda kube: kube.faults.jump(1e15),
    ],
)
def test_a_time_out_of_range_is_a_value_error(fakekube, call):
    with pytest.raises(ValueError, match=r"duration out of range: .* \(times end with the year 9999\)"):
        call(fakekube)


def test_time_moves_up_to_the_year_9999(fakekube):
    fakekube.advance_to("9999-12-31T23:59:59Z")
    assert fakekube.clock.now().year == 9999


def test_an_unknown_kind_that_is_like_a_known_one_is_suggested(fakekube):
    with pytest.raises(LookupError, match="did you mean 'Deployment' in 'apps/v1'"):
        fakekube.get("apps/v1", "Deploymnt", "a")


def test_delays_of_faults_are_durations(fakekube):
    fakekube.findings.allow("unused-fault", reason="only its arguments are read")
    assert fakekube.fault(delay="8s").delay == 8
    assert fakekube.faults.disturb_watches(delay=timedelta(seconds=2)).event_delay == 2
    assert fakekube.faults.damage_bodies(verb="list", delay="1m").body_delay == 60
    with pytest.raises(ValueError, match="delay='soon': not a duration: 'soon'"):
        fakekube.fault(delay="soon")


def test_a_hold_of_none_is_refused(fakekube):
    with pytest.raises(TypeError, match="None is no operator"):
        fakekube.faults.hold_watches(None)
    hold = fakekube.faults.hold_watches()
    assert hold.active
    fakekube.findings.allow("unused-fault", reason="nothing watches")


def test_a_step_in_a_callback_is_refused():
    async def settles(kube):
        kube.settle()

    with FakeKube() as kube:
        kube.task(settles(kube))
        with pytest.raises(RuntimeError, match=r"a step \(settle\(\), advance\(\), ...\) in a callback"):
            kube.settle()


@pytest.mark.parametrize(
    ("name", "desk"),
    [
        ("hold_watches", "fakekube.faults.hold_watches"),
        ("snapshot", "fakekube.state.snapshot"),
        ("url", "fakekube.access.url"),
        ("on_logs", "fakekube.pods.on_logs"),
        ("serve_webhook", "fakekube.webhooks.serve"),
        ("advence", "fakekube.advance"),
        ("assert_requets", "fakekube.assert_requests"),
        ("fault_", "fakekube.fault"),
        ("finding", "fakekube.findings"),
        ("resume_", "fakekube.faults.resume"),
    ],
)
def test_a_member_that_is_looked_for_on_the_cluster_is_suggested(fakekube, name, desk):
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}': did you mean {re.escape(desk)}"):
        getattr(fakekube, name)
    assert not hasattr(fakekube, name)


def test_an_unknown_member_without_a_like_one(fakekube):
    with pytest.raises(AttributeError, match=r"'FakeKube' object has no attribute 'quxx'$"):
        fakekube.quxx()


@pytest.mark.parametrize("resource", ["configmap", "ConfigMap", "cm"])
def test_the_resource_of_late_watches_is_checked(fakekube, resource):
    with pytest.raises(ValueError, match="did you mean 'configmaps'"):
        fakekube.faults.hold_watches(resource=resource)


def test_a_fault_of_a_subresource(fakekube):
    fakekube.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    with fakekube.fault(
        verb="update", resource="namespaces", subresource="status", error=500, user_agent="test"
    ) as rule:
        found = fakekube.get("v1", "Namespace", "default")
        fakekube.update(found)
        with pytest.raises(ApiError, match="Internal"):
            fakekube.update(found, subresource="status")
    assert rule.hits == 1
