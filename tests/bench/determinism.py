"""Run the determinism scenario many times, over hash seeds and busy cores, and count the logs.

python -m tests.bench.determinism                  200 runs direct and in memory, 100 of each other kind
python -m tests.bench.determinism direct=20 tcp=5  fewer
python -m tests.bench.determinism controllers=100  all controllers of a cluster with three nodes
python -m tests.bench.determinism operators=100    each published operator, with one hash seed
"""

import argparse
import os
import statistics
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.determinism.test_determinism import ROOT, busy_cores
from tests.operators.scenario import OPERATORS

RUNS = {"direct": 200, "memory": 200, "tcp": 100, "threads": 100, "controllers": 100}

#: PYTHONHASHSEED of the processes; the last one runs while the cores are busy.
HASH_SEEDS = ("0", "1", "random", "random", "2")

#: Operators that keep strings in sets give one log for each hash seed.
ONE_HASH_SEED = ("0",) * len(HASH_SEEDS)


def runs(kind, count, hash_seed):
    """(digest, seconds) of each."""
    module = "tests.operators.scenario" if kind in OPERATORS else "tests.determinism.scenario"
    command = [sys.executable, "-m", module, kind, "--runs", str(count)]
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return [(line.split()[0], float(line.split()[1])) for line in done.stdout.splitlines()]


def measure(kind, count, jobs):
    hash_seeds = ONE_HASH_SEED if kind in OPERATORS else HASH_SEEDS
    shares = [count // len(HASH_SEEDS)] * (len(HASH_SEEDS) - 1)
    shares.append(count - sum(shares))
    with ThreadPoolExecutor(jobs) as pool:
        found = [one for part in pool.map(runs, [kind] * 4, shares[:-1], hash_seeds[:-1]) for one in part]
    with busy_cores():
        busy = runs(kind, shares[-1], hash_seeds[-1])
    digests = Counter(digest for digest, _ in [*found, *busy])
    quiet = [seconds for _, seconds in found]
    print(
        f"{kind}: {sum(digests.values())} runs, {len(digests)} log(s) {dict(digests.most_common(3))}; seconds a run: "
        f"least {min(quiet):.3f}, median {statistics.median(quiet):.3f}, "
        f"with busy cores {statistics.median(seconds for _, seconds in busy):.3f}",
        flush=True,
    )
    return len(digests) == 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="KIND or KIND=RUNS")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    asked = parser.parse_args()
    wanted = dict(RUNS)
    if asked.kinds:
        pairs = [one.partition("=") for one in asked.kinds]
        wanted = {kind: int(count) if count else RUNS.get(kind, 100) for kind, _, count in pairs}
        if count := wanted.pop("operators", 0):
            wanted |= dict.fromkeys(OPERATORS, count)
    one_each = [measure(kind, count, asked.jobs) for kind, count in wanted.items()]
    return 0 if all(one_each) else 1


if __name__ == "__main__":
    sys.exit(main())
