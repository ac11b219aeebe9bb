"""An aiohttp application for the tests: numbers in memory, slow answers, and a watch."""

import asyncio

from aiohttp import web


class Server:
    """Serves as soon as it is created.

    GET /now: the virtual second.  GET /slow?after=s: the same after s seconds.  PUT /n/{name}: add one, notify watches.
    GET /n/{name}.  GET /watch: a line for each PUT.  POST /length: of the body.  GET /never: no answer.
    """

    def __init__(self, bubble, *, ssl_context=None, host="127.0.0.1"):
        self.bubble = bubble
        self.peers = []
        self.numbers = {}
        self.changed = None
        self.host = host
        self.port = bubble.run(self._start(ssl_context))
        self.scheme = "https" if ssl_context else "http"

    @property
    def url(self):
        return f"{self.scheme}://{self.host}:{self.port}"

    async def _start(self, ssl_context):
        self.changed = asyncio.Condition()
        app = web.Application(client_max_size=1 << 30)
        app.router.add_get("/now", self._now)
        app.router.add_get("/slow", self._slow)
        app.router.add_get("/never", self._never)
        app.router.add_put("/n/{name}", self._put)
        app.router.add_get("/n/{name}", self._get)
        app.router.add_get("/watch", self._watch)
        app.router.add_post("/length", self._length)
        self.runner = web.AppRunner(app, access_log=None, keepalive_timeout=3600)
        await self.runner.setup()
        await web.TCPSite(self.runner, self.host, 0, ssl_context=ssl_context).start()
        return self.runner.addresses[0][1]

    def _seconds(self, request):
        self.peers.append((request.transport.get_extra_info("peername"), request.scheme))
        return web.json_response(self.bubble.clock.monotonic())

    async def _now(self, request):
        return self._seconds(request)

    async def _slow(self, request):
        await asyncio.sleep(float(request.query["after"]))
        return self._seconds(request)

    async def _never(self, request):
        await asyncio.Event().wait()

    async def _put(self, request):
        name = request.match_info["name"]
        async with self.changed:
            self.numbers[name] = self.numbers.get(name, 0) + 1
            self.changed.notify_all()
        return web.json_response(self.numbers[name])

    async def _get(self, request):
        return web.json_response(self.numbers.get(request.match_info["name"], 0))

    async def _watch(self, request):
        response = web.StreamResponse()
        await response.prepare(request)
        seen = dict(self.numbers)
        while True:
            async with self.changed:
                while seen == self.numbers:
                    await self.changed.wait()
                news = {name: number for name, number in self.numbers.items() if seen.get(name) != number}
                seen = dict(self.numbers)
            for name, number in news.items():
                await response.write(f"{name}={number}\n".encode())

    async def _length(self, request):
        return web.json_response(len(await request.read()))
