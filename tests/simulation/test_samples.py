"""The sample operators work without faults, and are at rest then."""

import pytest

from fakekube import FakeKube
from tests.simulation.samples import SAMPLES


def log_of(sample, bug):
    with FakeKube(seed=7) as fakekube:
        sample.scenario(fakekube, sample.make(bug))
        fakekube.assert_no_writes_at_rest()
        return fakekube.log()


@pytest.mark.parametrize("bug", [True, False], ids=["bug", "correct"])
@pytest.mark.parametrize("name", SAMPLES)
def test_samples_pass_without_faults(name, bug):
    assert log_of(SAMPLES[name], bug) == log_of(SAMPLES[name], bug)
