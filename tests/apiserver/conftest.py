"""A new server for each test."""

import pytest

from tests.apiserver.api import CRDS, Api, definition


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def backups(api: Api) -> Api:
    """A server that also serves `backups.example.com`."""
    api.ok("POST", CRDS, definition())
    return api
