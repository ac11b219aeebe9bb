"""The processor time of a server for each request: `python -m tests.bench.cost [--before TREE] [--rounds N]`.

Each server is a process of its own: this tree, another one (`--before`, a folder with another commit), and aiohttp with a
constant answer. Rounds take turns, so that a busy machine slows all of them; the least of each is shown, in microseconds.
Time of the client does not count. Four connections, each with one request at a time; events go to 100 watchers.
"""

import argparse
import asyncio
import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.wire import SERVERS, request, serving, talk

CONNECTIONS, WATCHERS, EVENTS, PAGES = 4, 100, 200, 100
MAPS, DEPLOYMENTS = "/api/v1/namespaces/default/configmaps", "/apis/apps/v1/namespaces/default/deployments"
_names = itertools.count()


def config_map(name: str) -> dict:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"colour": name}}


def deployment(name: str) -> dict:
    labels = {"app": name}
    container = {"name": "c", "image": "nginx", "ports": [{"containerPort": 80}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def patch(kind: str) -> bytes:
    if kind == "apply":
        found = request("PATCH", f"{MAPS}/a?fieldManager=x&force=true", config_map("a") | {"data": {"x": _next()}})
    else:
        found = request("PATCH", f"{MAPS}/a", {"data": {"x": _next()}})
    return found.replace(
        b"application/json", f"application/{kind}-patch+{'yaml' if kind == 'apply' else 'json'}".encode()
    )


def _next() -> str:
    return f"n{next(_names)}"


#: What is measured: a request of each, and how many.
REQUESTS = {
    "health": (lambda: request("GET", "/readyz"), 4_000),
    "get": (lambda: request("GET", f"{MAPS}/a"), 4_000),
    "create": (lambda: request("POST", MAPS, config_map(_next())), 1_500),
    "patch": (lambda: patch("merge"), 1_500),
    "apply": (lambda: patch("apply"), 1_500),
    "create Deployment": (lambda: request("POST", DEPLOYMENTS, deployment(_next())), 1_000),
    "page of 100": (lambda: request("GET", f"{MAPS}?limit=100"), 1_500),
}


def microseconds_of(pid: int) -> float:
    """The processor time of a process, in microseconds. Its clock ticks are no measure: there are a hundred a second."""
    return sum(int(one.read_text().split()[0]) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1_000


async def _watched(url: str, pid: int, writes: Iterator[bytes]) -> float:
    """Send writes while watchers read, whose watches are open; returns the microseconds that it took."""
    address, ready = urlsplit(url), asyncio.Event()
    open_ones = []
    for _ in range(WATCHERS):
        reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=2**22)
        writer.write(request("GET", f"{MAPS}?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Da"))
        await reader.readline()
        open_ones.append((reader, writer))

    async def drain(reader: asyncio.StreamReader) -> None:
        seen = 0
        while seen < EVENTS + 1:
            seen += (await reader.read(2**16)).count(b'"type":')
        ready.set()

    before = microseconds_of(pid)
    readers = [asyncio.ensure_future(drain(reader)) for reader, _ in open_ones]
    await asyncio.to_thread(talk, url, writes)
    await asyncio.wait(readers, timeout=60)
    took = microseconds_of(pid) - before
    for _, writer in open_ones:
        writer.close()
    return took


def costs(url: str, pid: int, *, is_constant: bool) -> dict[str, float]:
    """Microseconds for each request, and for each event to each watcher."""
    found = {}
    for name, (make, count) in REQUESTS.items():
        if is_constant and name != "get":
            continue
        requests = [make() for _ in range(count)]
        before = microseconds_of(pid)
        talk(url, iter(requests), CONNECTIONS)
        found[name] = (microseconds_of(pid) - before) / count
    if not is_constant:
        writes = [patch("merge") for _ in range(EVENTS)]
        took = asyncio.run(_watched(url, pid, iter(writes)))
        found["event to each watcher"] = (took - EVENTS * found["patch"]) / (EVENTS * WATCHERS)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the folder of another commit")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    trees = {"now": None} | ({"before": asked.before} if asked.before else {})
    least: dict[tuple[str, str], float] = {}
    for _ in range(asked.rounds):
        for label, name, tree in [
            *((label, SERVERS[0], tree) for label, tree in trees.items()),
            ("aiohttp", SERVERS[1], None),
        ]:
            with ExitStack() as stack:
                url, pid = stack.enter_context(serving(name, tree))
                talk(url, iter([request("POST", MAPS, config_map("a"))]))
                talk(url, iter([request("POST", MAPS, config_map(f"page{number}")) for number in range(PAGES)]))
                for what, cost in costs(url, pid, is_constant=label == "aiohttp").items():
                    least[what, label] = min(cost, least.get((what, label), cost))
    labels = [*trees, "aiohttp"]
    print(f"{'microseconds':<24}" + "".join(f"{label:>10}" for label in labels))
    for what in [*REQUESTS, "event to each watcher"]:
        print(
            f"{what:<24}"
            + "".join(f"{least[what, label]:>10.1f}" if (what, label) in least else " " * 10 for label in labels)
        )


if __name__ == "__main__":
    main()
