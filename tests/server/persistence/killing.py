"""Kills servers of one data directory at random moments under four writers, and checks what the next one has.

`python -m tests.server.persistence.killing DIRECTORY --lives 200 --seed 1 --fsync off`
"""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import random
import signal
from pathlib import Path

from fakekube.server.standalone import Options, running
from tests.bench.wire import request

MAPS = "/api/v1/namespaces/default/configmaps"
WRITERS = 4

#: Objects of a writer, from which on it updates and deletes.
MANY = 6


class Connection:
    """One request at a time. Raises ConnectionError when the server ends."""

    def __init__(self, reader, writer):
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port):
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def _head(self, method, path, body=None):
        self._writer.write(request(method, path, body))
        head = await self._line_end(b"\r\n\r\n")
        code, lines = int(head.split(b" ", 2)[1]), head.lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), None)
        return code, length

    async def _line_end(self, end):
        try:
            return await self._reader.readuntil(end)
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError from error

    async def ask(self, method, path, body=None):
        code, length = await self._head(method, path, body)
        try:
            return code, json.loads(await self._reader.readexactly(length))
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError from error

    async def events(self, path):
        """The status, and the events of a watch."""
        code, length = await self._head("GET", path)
        if length is not None:
            yield code, None
            return
        while True:
            await self._line_end(b"\r\n")  # the size of the chunk, which has whole lines
            for line in (await self._line_end(b"\n\r\n")).splitlines():
                if line:
                    yield code, json.loads(line)

    def close(self):
        self._writer.close()


class Writer:
    """What one writer knows: the value of each of its objects as acknowledged, and its request without an answer."""

    def __init__(self, number, draw):
        self._number, self._draw, self._made = number, draw, 0
        self.known, self.pending = {}, None

    def next(self):
        """The method, name and value (None: deleted) of its next request."""
        names = sorted(self.known)
        if len(names) < MANY and (not names or self._draw.random() < 0.5):
            self._made += 1
            return "POST", f"w{self._number}-{self._made}", 0
        name = self._draw.choice(names)
        if self._draw.random() < 0.3:
            return "DELETE", name, None
        return "PUT", name, self.known[name] + 1

    async def write(self, connection, seen):
        method, name, value = self.next()
        self.pending, floor = (name, value), seen.acknowledged
        body = None if value is None else {"metadata": {"name": name}, "data": {"value": str(value)}}
        code, answer = await connection.ask(method, MAPS if method == "POST" else f"{MAPS}/{name}", body)
        assert code in (200, 201), answer
        if value is not None:  # the answer to a deletion has no revision of its own
            revision = int(answer["metadata"]["resourceVersion"])
            assert revision > floor, f"revision {revision} after {floor}"
            seen.acknowledged = max(seen.acknowledged, revision)
        self._became(name, value)
        seen.writes += 1

    def _became(self, name, value):
        self.known.pop(name, None)
        if value is not None:
            self.known[name] = value
        self.pending = None

    def compare(self, stored):
        """Check the stored values; the request without an answer may have happened."""
        mine = {name: value for name, value in stored.items() if name.startswith(f"w{self._number}-")}
        if mine != self.known and self.pending is not None:
            self._became(*self.pending)
        assert mine == self.known, f"stored {mine}, acknowledged {self.known}, without an answer {self.pending}"
        self.pending = None


class Seen:
    """The highest acknowledged revision, that of the last list, and how much was seen."""

    def __init__(self):
        self.acknowledged = self.listed = self.writes = self.events = self.expired = 0


async def recovered(connection, writers, seen):
    """Check the state of a server that has started: nothing is lost, and a watch of the life before goes on."""
    code, listing = await connection.ask("GET", MAPS)
    revision = int(listing["metadata"]["resourceVersion"])
    assert (code, revision >= max(seen.acknowledged, seen.listed)) == (200, True), (revision, vars(seen))
    stored = {
        one["metadata"]["name"]: int(one["data"]["value"]) for one in listing["items"] if "value" in one.get("data", {})
    }
    for writer in writers:
        writer.compare(stored)
    newer = {
        one["metadata"]["name"]: one["metadata"]["resourceVersion"]
        for one in listing["items"]
        if int(one["metadata"]["resourceVersion"]) > seen.listed
    }
    async with contextlib.aclosing(connection.events(f"{MAPS}?watch=1&resourceVersion={seen.listed}")) as events:
        while newer and seen.listed:
            code, event = await anext(events)
            if code == 410 or (event is not None and event["type"] == "ERROR"):
                seen.expired += 1
                break
            meta = event["object"]["metadata"]
            seen.events += 1
            if newer.get(meta["name"]) == meta["resourceVersion"]:
                del newer[meta["name"]]
    connection.close()
    seen.listed = revision


async def life(port, pid, writers, seen, draw):
    """Write until the server is killed, at a random moment after a random number of writes."""
    await recovered(await Connection.to(port), writers, seen)
    connections = [await Connection.to(port) for _ in writers]
    last = seen.writes + draw.randrange(1, 60)

    async def write(writer, connection):
        with contextlib.suppress(ConnectionError):
            while True:
                await writer.write(connection, seen)
                if seen.writes == last:
                    asyncio.get_running_loop().call_later(draw.random() / 500, os.kill, pid, signal.SIGKILL)

    await asyncio.gather(*map(write, writers, connections))
    for connection in connections:
        connection.close()


async def serve(path, fsync, ready):
    async with running(Options(data_dir=path, fsync=fsync)) as found:
        os.write(ready, f"{found.server.port}\n".encode())
        await asyncio.Event().wait()


def started(path, fsync):
    """A server in a child of this process, which has imported everything: its pid, and where its port can be read."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        try:
            asyncio.run(serve(path, fsync, writing))
        finally:
            os._exit(9)
    os.close(writing)
    return pid, os.fdopen(reading)


def killed(path, lives, seed, fsync):
    """Start and kill so many servers. Returns what was seen. AssertionError if something was lost."""
    draw, seen = random.Random(seed), Seen()
    writers = [Writer(number, draw) for number in range(WRITERS)]
    for number in range(lives):
        pid, ready = started(path, fsync)
        try:
            with ready:
                if number % 8 == 7:  # while it recovers
                    with contextlib.suppress(TimeoutError):
                        asyncio.run(asyncio.wait_for(asyncio.Event().wait(), draw.random() / 20))
                else:
                    port = ready.readline()
                    assert port, "the server has not started"
                    asyncio.run(life(int(port), pid, writers, seen, draw))
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return seen


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("--lives", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fsync", default="off")
    options = parser.parse_args()
    gc.freeze()
    print(json.dumps(vars(killed(options.path, options.lives, options.seed, options.fsync))))
