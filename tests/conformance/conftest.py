"""A server to replay against: fakekube as its own process would run it, on a thread of its own."""

import asyncio
import threading

import pytest

from fakekube.apiserver.auth.authentication import parse_token_file
from fakekube.server import bootstrap
from fakekube.server.http import listen
from fakekube.server.random import SystemRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import SystemClock

TOKENS = ('admin-token,admin,admin-uid,"system:masters"', 'alice-token,alice,alice-uid,"dev"')


def pytest_addoption(parser):
    parser.addoption("--conformance-url", help="replay against this server instead of fakekube")


@pytest.fixture(scope="session")
def server_url(request):
    """A URL whose server has the tokens and the settings that the packs were recorded with."""
    given = request.config.getoption("--conformance-url", default=None)
    if given:
        yield given
        return
    started, urls, stop = threading.Event(), [], []

    async def serve():
        clock, chance = SystemClock(), SystemRandom()
        apiserver = bootstrap.api_server(clock.now(), chance, authorization_mode="RBAC")
        tokens = parse_token_file(TOKENS)
        async with listen(ServerRunner(apiserver, clock, chance, tokens=tokens)) as server:
            ended = asyncio.Event()
            urls.append(server.url)
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
