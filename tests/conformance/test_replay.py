"""Replays scenarios recorded from a real kube-apiserver. Known deviations are listed in `known_failures.txt`."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.conformance import replay

HERE = Path(__file__).parent
KNOWN_FAILURES = frozenset(
    line.split("#")[0].strip()
    for line in (HERE / "known_failures.txt").read_text().splitlines()
    if line.split("#")[0].strip()
)
PACKS = {path.stem: json.loads(path.read_text())["scenarios"] for path in sorted((HERE / "packs").glob("*.json"))}


def replayed(url, scenarios, jobs):
    return {result["id"]: result for result in asyncio.run(replay.replay(url, scenarios, jobs=jobs))}


#: The packs that were recorded without controllers; the others have tests of their own (test_workloads.py).
WITHOUT_CONTROLLERS = [name for name in PACKS if not name.startswith("workloads")]


@pytest.mark.parametrize("pack", WITHOUT_CONTROLLERS)
def test_scenarios_are_exact_except_known_failures(server_url, pack):
    found = replayed(server_url, PACKS[pack], jobs=8)
    # managedFields are in the order of their times, so that a second that ends between two requests changes answers
    missed = [one for one in PACKS[pack] if not found[one["id"]]["exact"] and one["id"] not in KNOWN_FAILURES]
    found |= replayed(server_url, missed, jobs=1)
    failing = {id for id, result in found.items() if not result["exact"]}
    new = failing - KNOWN_FAILURES
    details = "\n".join(f"{id} {found[id]['title']}\n" + "\n".join(found[id]["diffs"]) for id in sorted(new))
    assert not new, f"no longer exact:\n{details}"
    otherwise = {id for id, result in found.items() if result["messages_equal"] != result["messages"]}
    fixed = {id for id in KNOWN_FAILURES if id in found} - failing - otherwise
    assert not fixed, f"exact now, remove them from known_failures.txt: {sorted(fixed)}"
    new = otherwise - KNOWN_FAILURES
    assert not new, f"with messages that are not the real server's: {sorted(new)}"


def test_known_failures_name_scenarios_that_exist():
    ids = {scenario["id"] for scenarios in PACKS.values() for scenario in scenarios}
    assert ids >= KNOWN_FAILURES
