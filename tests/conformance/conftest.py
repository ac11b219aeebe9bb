"""A server to replay against: fakekube as its own process would run it, on a thread of its own."""

import asyncio
import tempfile
import threading
from pathlib import Path

import pytest

from fakekube.controllers.realtime import cluster
from fakekube.server.standalone import Options

TOKENS = 'admin-token,admin,admin-uid,"system:masters"\nalice-token,alice,alice-uid,"dev"\n'


def pytest_addoption(parser):
    parser.addoption("--conformance-url", help="replay against this server instead of fakekube")


@pytest.fixture(scope="session")
def server_url(request):
    """A URL whose server has the tokens and the settings that the packs were recorded with."""
    yield from served(request.config, ())


@pytest.fixture(scope="session")
def server_with_controllers_url(request):
    """As server_url, with the controllers of kube-controller-manager."""
    yield from served(request.config, ("*",))


def served(config, controllers):
    given = config.getoption("--conformance-url", default=None) if config is not None else None
    if given:
        yield given
        return
    started, urls, stop = threading.Event(), [], []

    async def serve():
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as tokens:
            tokens.write(TOKENS)
            tokens.flush()
            options = Options(token_auth_file=Path(tokens.name), authorization_mode="RBAC")
            async with cluster(options, controllers) as found:
                ended = asyncio.Event()
                urls.append(found.server.url)
                stop.append((asyncio.get_running_loop(), ended))
                started.set()
                await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="conformance server")
    thread.start()
    assert started.wait(30), "the server did not start"
    yield urls[0]
    loop, ended = stop[0]
    loop.call_soon_threadsafe(ended.set)
    thread.join(30)
    assert not thread.is_alive()
