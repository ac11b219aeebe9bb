"""Servers in processes of their own, and a client that costs next to nothing."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

#: What the constant server answers: a small object.
CONSTANT = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "uid": "6a1c1a7e-4f0e-4d5c-9a55-0a5c3ae9d2a1",
            "resourceVersion": "17",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "data": {"colour": "red"},
    }
)

_CONSTANT_SERVER = f"""
from aiohttp import web

async def answer(request):
    await request.read()
    return web.Response(body={CONSTANT!r}.encode(), content_type="application/json")

def say(text):
    print(text, flush=True)

app = web.Application()
app.router.add_route("*", "/{{path:.*}}", answer)
web.run_app(app, host="127.0.0.1", port=0, access_log=None, print=say)
"""

#: The command that starts a server.
SERVE = (sys.executable, "-m", "fakekube", "serve", "--port", "0")

_COMMANDS = {
    "fakekube": SERVE,
    "aiohttp and a constant": (sys.executable, "-c", _CONSTANT_SERVER),
}
SERVERS = tuple(_COMMANDS)


@contextmanager
def serving(name: str, tree: Path | None = None) -> Iterator[tuple[str, int]]:
    """The URL of a server and the id of its process. `tree`: the folder of the code, instead of the installed one."""
    environment = None if tree is None else {**os.environ, "PYTHONPATH": str(tree)}
    # in that folder: Python looks for a module (`-m`) in the present one first
    with subprocess.Popen(_COMMANDS[name], stdout=subprocess.PIPE, text=True, env=environment, cwd=tree) as process:
        try:
            url = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
            yield url, process.pid
        finally:
            process.terminate()


def request(method: str, path: str, body: object = None) -> bytes:
    """The bytes of a request."""
    payload = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(payload)}\r\n"
    return head.encode() + b"Content-Type: application/json\r\n\r\n" + payload


class _Talk(asyncio.Protocol):
    """Sends the next request when the answer to the one before is complete."""

    def __init__(self, requests: Iterator[bytes], done: asyncio.Future) -> None:
        self._requests, self._done, self._got = requests, done, b""

    def connection_made(self, transport):
        self._transport = transport
        self._next()

    def _next(self):
        message = next(self._requests, None)
        if message is None:
            self._transport.close()
            self._done.set_result(None)
        else:
            self._transport.write(message)

    def data_received(self, data):
        self._got += data
        head, separator, body = self._got.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            assert head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")), self._got
            self._got = b""
            self._next()


async def _talk(url: str, requests: Iterator[bytes], connections: int) -> None:
    loop, address = asyncio.get_running_loop(), urlsplit(url)
    ends = [loop.create_future() for _ in range(connections)]
    for end in ends:
        await loop.create_connection(lambda end=end: _Talk(requests, end), address.hostname, address.port)
    await asyncio.gather(*ends)


def talk(url: str, requests: Iterator[bytes], connections: int = 1) -> None:
    """Send all requests, each connection one at a time, and wait for the answers."""
    asyncio.run(_talk(url, requests, connections))
