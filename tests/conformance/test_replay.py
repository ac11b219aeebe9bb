"""Replays scenarios recorded from a real kube-apiserver. Known deviations are listed in `known_failures.txt`."""

import asyncio
import json
from pathlib import Path

import pytest

from fakekube.apiserver.auth.authentication import parse_token_file
from tests.conformance import replay
from tests.conformance.conftest import TOKENS

HERE = Path(__file__).parent
KNOWN_FAILURES = frozenset(
    line.split("#")[0].strip()
    for line in (HERE / "known_failures.txt").read_text().splitlines()
    if line.split("#")[0].strip()
)
PACKS = {path.stem: json.loads(path.read_text())["scenarios"] for path in sorted((HERE / "packs").glob("*.json"))}


#: The packs that were recorded without controllers; the others have tests of their own (test_workloads.py).
WITHOUT_CONTROLLERS = [name for name in PACKS if not name.startswith("workloads")]


@pytest.mark.parametrize("pack", WITHOUT_CONTROLLERS)
@pytest.mark.fakekube(rbac=True)
async def test_scenarios_are_exact_except_known_failures(fakekube, pack):
    check(await replayed(fakekube, PACKS[pack]))


@pytest.mark.slow
@pytest.mark.parametrize("pack", WITHOUT_CONTROLLERS)
def test_scenarios_are_exact_in_real_time(server_url, pack):
    found = asyncio.run(replay.replay(server_url, PACKS[pack], jobs=8))
    # managedFields are in the order of their times, so that a second that ends between two requests changes answers
    missed = {one["id"] for one in found if not one["exact"]} - KNOWN_FAILURES
    again = [one for one in PACKS[pack] if one["id"] in missed]
    check([*(one for one in found if one["id"] not in missed), *asyncio.run(replay.replay(server_url, again, jobs=1))])


async def replayed(fakekube, scenarios):
    """The results of scenarios, whose requests have tokens of their own. What they wait for costs no time."""
    fakekube.access._address._parts.endpoint._tokens.update(parse_token_file(TOKENS.splitlines()))
    return await replay.replay(fakekube.access.url, scenarios, jobs=1)


def check(found):
    """Asserts that scenarios are exact, with their messages, except those that are known not to be."""
    failing = {one["id"] for one in found if not one["exact"] or one["messages_equal"] != one["messages"]}
    details = "\n".join(
        f"{one['id']} {one['title']}\n" + "\n".join(one["diffs"])
        for one in found
        if one["id"] in failing - KNOWN_FAILURES
    )
    assert not failing - KNOWN_FAILURES, f"no longer exact:\n{details}"
    fixed = {one["id"] for one in found} & KNOWN_FAILURES - failing
    assert not fixed, f"exact now, remove them from known_failures.txt: {sorted(fixed)}"


def test_known_failures_name_scenarios_that_exist():
    ids = {scenario["id"] for scenarios in PACKS.values() for scenario in scenarios}
    assert ids >= KNOWN_FAILURES
