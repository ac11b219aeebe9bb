"""A bubble for each test, and a small server in it."""

import pytest

from fakekube.virtualtime import Bubble
from tests.virtualtime.server import Server


@pytest.fixture
def bubble():
    with Bubble(wall_clock=False) as bubble:
        yield bubble


@pytest.fixture
def server(bubble):
    return Server(bubble)
