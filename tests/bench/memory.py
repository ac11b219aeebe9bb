"""The memory of a server for each object: `python -m tests.bench.memory [--count N]`.

The growth of the resident memory of `fakekube serve` while objects are created, divided by their number, and what of it is
beyond the object as JSON. Each quarter is shown: records have their limits, tables grow in steps.
"""

import argparse
import json
import resource
import urllib.request
from pathlib import Path

from tests.bench.cost import MAPS
from tests.bench.wire import SERVERS, request, serving, talk

PODS = "/api/v1/namespaces/default/pods"


def config_map(name: str) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": "x" * 100}}


def pod(name: str) -> dict:
    container = {"name": "main", "image": "nginx:1", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}
    meta = {"name": name, "labels": {"app": "web"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


def resident(pid: int) -> int:
    """The bytes of memory that a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, help="how many of each kind")
    quarter = parser.parse_args().count // 4
    for path, make in ((MAPS, config_map), (PODS, pod)):
        with serving(SERVERS[0]) as (url, pid):
            talk(url, iter([request("POST", path, make("first"))]))
            with urllib.request.urlopen(f"{url}{path}/first") as answer:
                size = len(json.dumps(json.load(answer), separators=(",", ":")))
            grown = []
            for part in range(4):
                before = resident(pid)
                talk(url, (request("POST", path, make(f"n{part}-{number}")) for number in range(quarter)))
                grown.append((resident(pid) - before) / quarter)
        mean = sum(grown) / len(grown)
        shown = ", ".join(f"{one:.0f}" for one in grown)
        print(f"{make.__name__}: {mean:.0f} bytes each ({shown}), {mean - size:.0f} beyond its {size} bytes of JSON")


if __name__ == "__main__":
    main()
