"""Servers that clients are tried on: one of a test's own cluster, under virtual time, and one in a process of its own."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import subprocess
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import orjson
import yaml

from fakekube import FakeKube

T = TypeVar("T")
Object = dict[str, Any]

HERE = Path(__file__).parent
GADGETS = HERE / "gadgets.yaml"

#: How many changes the servers here remember: few, so that versions expire soon.
HISTORY_WINDOW = 60


class Server(Protocol):
    """What a client, and its test, need of a server.."""

    url: str
    kubeconfig: Path

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run what an asyncio client does."""

    def expire(self) -> None:
        """Make every version so far too old to watch from."""

    def make_namespace(self, name: str) -> None: ...


class InProcess:
    """The server of a `FakeKube`."""

    def __init__(self, cluster: FakeKube) -> None:
        self._cluster = cluster
        self.url, self.kubeconfig = cluster.access.url, cluster.access.kubeconfig

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._cluster.run(work)

    def expire(self) -> None:
        self._cluster.faults.compact()

    def make_namespace(self, name: str) -> None:
        self._cluster.create(namespace(name))


class Standalone:
    """A `fakekube serve`."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.url = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        self._writes = itertools.count()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)

    def expire(self) -> None:
        path = "/api/v1/namespaces/default"
        for _ in range(2 * HISTORY_WINDOW):
            self.call("PATCH", path, {"metadata": {"annotations": {"write": str(next(self._writes))}}})

    def make_namespace(self, name: str) -> None:
        self.call("POST", "/api/v1/namespaces", namespace(name))

    def call(self, method: str, path: str, body: Object) -> Object:
        """One request by no client at all."""
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        connection.request(method, path, orjson.dumps(body), {"Content-Type": kind})
        with connection.getresponse() as response:
            answer: Object = orjson.loads(response.read())
        connection.close()
        assert response.status < 400, answer
        return answer


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@contextmanager
def standalone(folder: Path, *options: str) -> Iterator[Standalone]:
    """A `fakekube serve` with the definition of gadgets."""
    kubeconfig = folder / "kubeconfig"
    command = [sys.executable, "-m", "fakekube", "serve", "--port", "0", "--kubeconfig", str(kubeconfig)]
    command += ["--manifests", str(GADGETS), "--history-window", str(HISTORY_WINDOW), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if "Ctrl-C" in line:
                    break
            yield Standalone(kubeconfig)
        finally:
            process.terminate()
            assert process.wait(60) == 0
