"""A server with a control API whose time is stepped, in this process and without sockets."""

import asyncio
import functools

import orjson

from fakekube.control.api import ControlApi
from fakekube.control.guard import Guard
from fakekube.control.steering import Beside, Steering
from fakekube.server import bootstrap
from fakekube.server.controldoor import Asked
from fakekube.server.direct import DirectTransport
from fakekube.server.http import HttpServer
from fakekube.server.process.pacedloop import PacedClock, PacedLoop
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.standalone import Running
from fakekube.virtualtime.seeds import Seed

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

#: Headers of curl on this machine.
HERE = {"host": "127.0.0.1:8001", "content-type": "application/json"}


def stepped(test):
    """Run an async test on a loop whose time moves by `advance`; it is called with a Steered."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        async def main():
            steered = Steered()
            await test(steered, *args, **kwargs)
            steered.runner.retire()

        with asyncio.Runner(loop_factory=lambda: PacedLoop(0)) as runner:
            runner.run(main())

    del run.__wrapped__  # pytest would take the first argument for a fixture
    return run


class Steered:
    """A server, a client of its Kubernetes API, and its control API."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.clock = PacedClock(self.loop)
        random = SeededRandom(Seed(1))
        server = bootstrap.api_server(self.clock.now(), random, fixed_uids=True)
        self.runner = ServerRunner(server, self.clock, random)
        running = Running(HttpServer(self.runner, "127.0.0.1", 0, secure=False), None, {}, 0, None)
        self.steering = Steering(running, self.clock, Beside(None, self.loop))
        self.control = ControlApi(self.steering, Guard(is_local=True))

    def client(self, user_agent="mine/1.0"):
        return DirectTransport(self.runner, headers={"User-Agent": user_agent})

    async def make(self, name, data="1", user_agent="mine/1.0"):
        body = {"metadata": {"name": name}, "data": {"x": data}}
        return await self.client(user_agent).request("POST", CONFIGMAPS, body=body)

    async def answered(self, method, path, body=None, /, **query):
        """An answer of the control API."""
        asked = Asked(
            method, f"/_fakekube/v1{path}", {name: (str(value),) for name, value in query.items()}, HERE,
            b"" if body is None else orjson.dumps(body), "127.0.0.1",
        )  # fmt: skip
        return await self.control.answer(asked)

    async def page(self, path):
        """The code and the answer of a file of the page."""
        found = await self.control.answer(Asked("GET", f"/_fakekube/{path}", {}, HERE, b"", "127.0.0.1"))
        return found.status, found

    async def call(self, method, path, body=None, /, **query):
        """The code and the content of an answer of the control API."""
        found = await self.answered(method, path, body, **query)
        is_json = found.body and found.content_type == "application/json"
        return found.status, orjson.loads(found.body) if is_json else found.body.decode()

    async def refused(self, method, path, body=None, /, **query):
        """The code and the message of a refusal."""
        code, found = await self.call(method, path, body, **query)
        assert code >= 400, found
        return code, found["message"]
