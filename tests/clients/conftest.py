"""Servers and namespaces for clients."""

import itertools

import pytest
import yaml

from tests.clients import servers

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def standalone(tmp_path_factory):
    """A `fakekube serve`, the same for all tests that ask for it."""
    with servers.standalone(tmp_path_factory.mktemp("standalone")) as server:
        yield server


@pytest.fixture(params=["fixture", "standalone"])
def server(request):
    """The server of a cluster of the test's own, and then the standalone one; both have gadgets."""
    if request.param == "standalone":
        return request.getfixturevalue("standalone")
    cluster = request.getfixturevalue("fakekube")
    cluster.apply(yaml.safe_load(servers.GADGETS.read_text()))
    return servers.InProcess(cluster)


@pytest.fixture
def namespace(server):
    """A namespace of the test's own."""
    name = f"test-{next(_NUMBERS)}"
    server.make_namespace(name)
    return name


@pytest.fixture
def namespaced(standalone):
    """A namespace of the test's own on the standalone server."""
    name = f"test-{next(_NUMBERS)}"
    standalone.make_namespace(name)
    return name
