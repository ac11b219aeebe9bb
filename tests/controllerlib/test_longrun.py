"""Six virtual hours with ten thousand objects: writes, broken and expired watches, and slow handlers."""

import asyncio
import gc
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from controllerlib import Client
from controllerlib.cache import ClientListWatch
from controllerlib.cache.informercontroller import InformerOptions
from controllerlib.cache.process import Notification
from controllerlib.cache.reflector import ReflectorOptions
from controllerlib.cache.sharedinformer import SharedIndexInformer
from controllerlib.client.names import deletion_handling_key
from controllerlib.random import SeededRandom as Drawn
from fakekube.apiserver.requestlog import RequestLog
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.virtualtime import Bubble
from tests.controllerlib.things import config_map, elapse

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
OBJECTS = 10_000
HOURS = 6
#: The number of changes that the server keeps.
WINDOW = 1_000
#: Average seconds between two writes.
PAUSE = 4.0
MAPS = "/api/v1/namespaces/default/configmaps"


class Server:
    """An API server with a short history, and all changes of its ConfigMaps: (revision, key, exists)."""

    def __init__(self, bubble: Bubble) -> None:
        chance = SeededRandom(bubble.seed)
        apiserver = bootstrap.api_server(bubble.clock.now(), chance, history_window=WINDOW)
        self.runner = ServerRunner(apiserver, bubble.clock, chance, log=RequestLog(limit=1_000))
        self.transport = DirectTransport(self.runner)
        self.history: list[tuple[int, str, bool]] = []
        self.runner.on_write(self._written)
        self._draw = random.Random(7)
        self._names = [f"m{number:05}" for number in range(OBJECTS)]
        for name in self._names:
            self._send("POST", "", config_map(name))
        self._made = OBJECTS

    def write(self) -> None:
        """Make one random write, mostly an update; objects are deleted as often as created."""
        number = self._draw.randrange(len(self._names))
        name, what = self._names[number], self._draw.random()
        if what < 0.8:
            self._send("PATCH", f"/{name}", {"data": {"number": str(len(self.history))}})
        elif what < 0.95:
            self._send("DELETE", f"/{name}")
            self._made += 1
            self._names[number] = f"m{self._made:05}"
            self._send("POST", "", config_map(self._names[number]))
        else:  # the same name, immediately
            self._send("DELETE", f"/{name}")
            self._send("POST", "", config_map(name))

    def cut(self) -> None:
        """End open watches."""
        self.runner.end_watches()

    def expire(self) -> None:
        """End open watches so that they cannot be resumed."""
        self.runner.end_watches()
        for _ in range(5):
            self.write()
        self.runner.apiserver.store.compact()

    def _send(self, method: str, path: str, body: Any = None) -> None:
        headers = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        code, _, answer = self.transport.request_now(method, MAPS + path, body=body, headers=headers)
        assert code < 300, answer

    def _written(self, change: Change) -> None:
        if change.collection == "configmaps":
            self.history.append((change.revision, change.path, change.after is not None))


class Judge:
    """A handler that follows the server's history: each change of a watch is delivered once and in order.

    After a list its state equals the server's at one revision, from which it continues.
    """

    def __init__(self, server: Server, slow: float) -> None:
        self._history, self._slow = server.history, slow
        #: Revision by key, by notifications and by the history up to `_place`.
        self._known: dict[str, int] = {}
        self._server: dict[str, int] = {}
        self._place = 0
        self._listed = False
        self.known = {"watch": 0, "list": 0, "resync": 0}

    def notify(self, notified: Notification) -> Any:
        self.known[notified.origin] += 1
        key = deletion_handling_key(notified.obj)
        if notified.sync:
            assert self._known[key] == _revision(notified.obj)
        elif notified.origin == "watch":
            self._follow(key, _revision(notified.obj), notified)
        else:
            self._listed = True
            self._keep(key, notified)
        # unchanged objects need little work
        return elapse(self._slow) if self._slow and (not notified.sync or _revision(notified.obj) % 20 == 0) else None

    def _keep(self, key: str, notified: Notification) -> None:
        if notified.kind == "deleted":
            assert self._known.pop(key) == _revision(notified.obj.obj)
            return
        before = self._known.get(key)
        assert (before is None) if notified.kind == "added" else (before == _revision(notified.old))
        assert before is None or before < _revision(notified.obj)
        self._known[key] = _revision(notified.obj)

    def _follow(self, key: str, revision: int, notified: Notification) -> None:
        while self._listed and self._history[self._place][0] < revision:
            self._step()
        if self._listed:
            assert self._server == self._known, "a list is what the server had when it was made"
            self._listed = False
        assert self._history[self._place] == (revision, key, notified.kind != "deleted"), (
            "nothing lost, twice or too early"
        )
        self._step()
        if notified.kind == "deleted":
            del self._known[key]
        else:
            assert self._known.get(key) == (_revision(notified.old) if notified.old else None)
            self._known[key] = revision

    def _step(self) -> None:
        revision, key, there = self._history[self._place]
        self._place += 1
        if there:
            self._server[key] = revision
        else:
            del self._server[key]

    def knows_all(self) -> bool:
        """Return whether it has received the whole history."""
        while self._listed and self._place < len(self._history):
            self._step()
        return self._place == len(self._history) and self._known == self._server


def _revision(obj: Any) -> int:
    return int(obj["metadata"]["resourceVersion"])


class Watcher:
    """An informer with a fast and a slow handler."""

    def __init__(self, bubble: Bubble, server: Server, name: str, options: InformerOptions) -> None:
        client = Client(server.transport)
        self.informer = SharedIndexInformer(
            ClientListWatch(client, "v1", "ConfigMap"), name=name, options=options, resync_period=2_400.0,
            clock=bubble.clock, random=Drawn(name),
        )  # fmt: skip
        self.judges = [Judge(server, 0.0), Judge(server, 0.05)]
        self.places = [self.informer.add_handler(judge) for judge in self.judges]
        self.task = bubble.loop.create_task(self.informer.run(), name=name)

    def backlog(self) -> int:
        return max(len(place.listener) for place in self.places)


#: Objects with limits of their own, which are not reached at each count: the window of the history, and the cache of
#: parsed requests, which the process shares with the tests before.
_BOUNDED = (Change, Entry, RequestInfo)


def _objects() -> int:
    gc.collect()
    return sum(type(one) not in _BOUNDED for one in gc.get_objects())


def test_six_hours_of_ten_thousand_objects() -> None:
    # in a process of its own: caches that tests before have filled would be counted, too
    command = "from tests.controllerlib.test_longrun import six_hours; six_hours()"
    ended = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr


def six_hours() -> None:
    others = _objects()
    with Bubble(seed=3, wall_clock=False) as bubble:
        server = Server(bubble)
        listing = InformerOptions(reflector=ReflectorOptions(streaming=False))
        watchers = [
            Watcher(bubble, server, "streamed", InformerOptions()),
            Watcher(bubble, server, "listed", listing),
        ]
        draw = random.Random(11)
        bubble.advance(minutes=10)
        tasks, sizes = len(asyncio.all_tasks(bubble.loop)), [_objects() - others]
        for _ in range(HOURS):
            _one_hour(bubble, server, watchers, draw)
            bubble.advance(minutes=9)
            bubble.advance_until(lambda: not any(watcher.backlog() for watcher in watchers), timeout=60)
            assert len(asyncio.all_tasks(bubble.loop)) == tasks
            assert len(server.runner.apiserver.store.changes()) <= 1.25 * WINDOW
            sizes.append(_objects() - others)
        assert max(sizes) < 1.05 * sizes[1], "memory is bounded by what there is, not by what has been"
        for watcher in watchers:
            store = watcher.informer.indexer
            assert len(store) == OBJECTS
            for judge in watcher.judges:
                assert judge.knows_all()
                assert judge.known["watch"] > 1_000
                assert judge.known["list"] > HOURS * OBJECTS
                assert judge.known["resync"] >= 2 * OBJECTS
            watcher.task.cancel()
        bubble.settle()
        assert asyncio.all_tasks(bubble.loop) == set()
        assert not server.runner.watches


def _one_hour(bubble: Bubble, server: Server, watchers: list[Watcher], draw: random.Random) -> None:
    """Write for 50 minutes; watches break several times and expire once."""
    end = bubble.clock.monotonic() + 3_000
    expiry = draw.uniform(300, 2_500) + bubble.clock.monotonic()
    while bubble.clock.monotonic() < end:
        bubble.advance(seconds=draw.expovariate(1 / PAUSE))
        server.write()
        if draw.random() < 0.01:
            server.cut()
        if bubble.clock.monotonic() > expiry:
            expiry = end + 1
            server.expire()
        assert all(watcher.backlog() <= 3 * OBJECTS for watcher in watchers)
