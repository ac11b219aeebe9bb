"""A cluster whose detectors only warn."""

import pytest

from fakekube import FakeKube


@pytest.fixture
def kube():
    """All detectors but the probe of all objects."""
    with FakeKube(detect={"all": "warn", "writes-at-rest": "off"}) as kube:
        yield kube
