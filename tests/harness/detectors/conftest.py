"""A cluster whose detectors only warn."""

import pytest

from fakekube import FakeKube


@pytest.fixture
def kube():
    """All detectors but those that are off by default."""
    with FakeKube(detect={"all": "warn", "writes-at-rest": "off", "plain-watch": "off"}) as kube:
        yield kube
