"""Mistakes in single calls are named where they are made."""

from datetime import timedelta

import pytest

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
    assert fakekube.faults.hold_watches().active


def test_a_step_in_a_callback_is_refused():
    async def settles(kube):
        kube.settle()

    with FakeKube() as kube:
        kube.task(settles(kube))
        with pytest.raises(RuntimeError, match=r"a step \(settle\(\), advance\(\), ...\) in a callback"):
            kube.settle()
