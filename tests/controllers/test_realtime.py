"""Controllers against a cluster: what is said when its server is gone."""

import asyncio

from fakekube.controllers.realtime import Watched


class Server:
    """A transport whose server is up or down."""

    def __init__(self):
        self.answers = []

    def _next(self):
        found = self.answers.pop(0)
        if isinstance(found, OSError):
            raise found
        return found

    async def request(self, method, path, *, query=(), headers=(), body=None):
        return self._next()

    async def open_watch(self, path, *, query=(), headers=()):
        return self._next()


def test_a_server_that_is_gone_and_its_return_are_reported_once(caplog):
    server = Server()
    watched = Watched(server, "http://x")

    def ask(*answers, watch=False):
        caplog.clear()
        for answer in answers:
            server.answers.append(answer)
            try:
                asyncio.run(watched.open_watch("/a") if watch else watched.request("GET", "/a"))
            except OSError as error:
                assert error is answer
        return [record.getMessage() for record in caplog.records]

    up, down = (200, {}, None), ConnectionRefusedError("refused")
    assert ask(up, up) == []
    assert ask(down, down) == ["the server http://x does not answer, trying again: refused"]
    assert ask(down, watch=True) == []
    assert ask((503, {}, None), up, watch=True) == ["the server http://x answers again"]
    assert ask(down) == ["the server http://x does not answer, trying again: refused"]
