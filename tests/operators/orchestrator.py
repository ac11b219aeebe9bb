"""The API of an OpenTestFactory orchestrator that agents use, as far as its operator calls it."""

import asyncio
import itertools
from collections import defaultdict, deque

from aiohttp import web


class Orchestrator:
    """Agents by their id, what each of them shall run, and what it answered. Serves on the running loop."""

    def __init__(self, clock):
        self._clock = clock
        self.agents = {}
        self.commands = defaultdict(deque)
        self.results = []
        self.touched = []
        self.refused = []
        self.is_up = True
        self._numbers = itertools.count(1)

    async def serve(self):
        app = web.Application(middlewares=[self._answers])
        app.router.add_post("/agents", self._register)
        app.router.add_get("/agents", self._list)
        app.router.add_patch("/agents", self._touch)
        app.router.add_get("/agents/{agent}", self._command)
        app.router.add_post("/agents/{agent}", self._result)
        app.router.add_delete("/agents/{agent}", self._leave)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        _, port = runner.addresses[0]
        self.url = f"http://127.0.0.1:{port}"
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            await runner.cleanup()

    def order(self, agent, *commands):
        """What an agent shall run; it is busy until the last of it has been fetched and answered."""
        self.commands[agent].extend({"kind": "exec", "command": text} for text in commands)

    @web.middleware
    async def _answers(self, request, handler):
        if not self.is_up:
            self.refused.append(round(self._clock.monotonic()))
            return web.json_response({"message": "down"}, status=503)
        return await handler(request)

    async def _register(self, request):
        agent = f"agent-{next(self._numbers)}"
        self.agents[agent] = await request.json()
        return web.json_response({"message": "registered", "details": {"uuid": agent}}, status=201)

    async def _list(self, request):
        items = [
            {
                "metadata": {**manifest["metadata"], "agent_id": agent},
                "status": {"phase": "BUSY" if self.commands[agent] else "IDLE"},
            }
            for agent, manifest in self.agents.items()
        ]
        return web.json_response({"message": "", "items": items})

    async def _touch(self, request):
        self.touched.append((round(self._clock.monotonic()), sorted(await request.json())))
        return web.json_response({"message": "ok"})

    async def _command(self, request):
        agent = request.match_info["agent"]
        if not self.commands[agent]:
            return web.Response(status=204)
        return web.json_response({"message": "", "details": self.commands[agent].popleft()})

    async def _result(self, request):
        self.results.append((request.match_info["agent"], await request.json()))
        return web.json_response({"message": "ok"})

    async def _leave(self, request):
        del self.agents[request.match_info["agent"]]
        return web.json_response({"message": "gone"})
