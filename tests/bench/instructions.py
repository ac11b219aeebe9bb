"""The instructions of a server for each request: `python -m tests.bench.instructions [--before TREE]`.

Valgrind's cachegrind counts them, so that a busy machine makes no difference, and two runs differ by less than 1 %. What
is shown is the difference between many requests and few, in thousands; a server runs fifty times slower meanwhile.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.bench.cost import CONNECTIONS, MAPS, PAGES, REQUESTS, config_map
from tests.bench.wire import SERVE, request, talk

FEW, MANY = 200, 1_000
COUNTED = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")


def instructions(what: str, count: int, tree: Path | None) -> int:
    """Those of a server from its start to its end, with so many requests."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"} | ({} if tree is None else {"PYTHONPATH": str(tree)})
    command = [*COUNTED, *SERVE]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tree
    ) as server:
        try:
            url = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
            talk(url, iter([request("POST", MAPS, config_map(name)) for name in ("a", *map(str, range(PAGES)))]))
            talk(url, iter([REQUESTS[what][0]() for _ in range(count)]), CONNECTIONS)
        finally:
            server.terminate()
        said = server.communicate()[1]
    return int(re.search(r"I\s+refs:\s+([\d,]+)", said)[1].replace(",", ""))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the folder of another commit")
    asked = parser.parse_args()
    if shutil.which(COUNTED[0]) is None:
        print("valgrind is not installed", file=sys.stderr)
        return 1
    trees = {"now": None} | ({"before": asked.before} if asked.before else {})
    print(f"{'thousands':<24}" + "".join(f"{label:>10}" for label in trees))
    for what in REQUESTS:
        found = [
            (instructions(what, MANY, one) - instructions(what, FEW, one)) / (MANY - FEW) for one in trees.values()
        ]
        print(f"{what:<24}" + "".join(f"{one / 1_000:>10.0f}" for one in found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
