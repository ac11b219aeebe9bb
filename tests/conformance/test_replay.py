"""The scenarios recorded from a real kube-apiserver, replayed. See `known_failures.txt` for what is not exact yet."""

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


@pytest.fixture(scope="session")
def results(server_url):
    """Every pack's results by scenario id; each pack is replayed once, when it is first asked for."""
    done: dict[str, dict[str, dict]] = {}

    def of(pack):
        if pack not in done:
            done[pack] = {r["id"]: r for r in asyncio.run(replay.replay(server_url, PACKS[pack], jobs=8))}
        return done[pack]

    return of


@pytest.mark.xdist_group("conformance")
@pytest.mark.parametrize("pack", PACKS)
def test_scenarios_are_exact_but_for_those_known_not_to_be(results, pack):
    found = results(pack)
    failing = {id for id, result in found.items() if not result["exact"]}
    new = failing - KNOWN_FAILURES
    details = "\n".join(f"{id} {found[id]['title']}\n" + "\n".join(found[id]["diffs"]) for id in sorted(new))
    assert not new, f"no longer exact:\n{details}"
    fixed = {id for id in KNOWN_FAILURES if id in found} - failing
    assert not fixed, f"exact now, so take them off known_failures.txt: {sorted(fixed)}"


def test_known_failures_name_scenarios_that_exist():
    ids = {scenario["id"] for scenarios in PACKS.values() for scenario in scenarios}
    assert ids >= KNOWN_FAILURES


#: The least share of a pack's messages that must be equal to the letter.
MESSAGES = {"list_watch": 0.98, "objects": 0.98, "patch": 0.98, "crd": 0.95, "access": 0.98, "surface": 0.95}


@pytest.mark.xdist_group("conformance")
@pytest.mark.parametrize("pack", MESSAGES)
def test_messages_are_the_real_servers(results, pack):
    found = results(pack).values()
    total, equal = sum(r["messages"] for r in found), sum(r["messages_equal"] for r in found)
    assert equal / total >= MESSAGES[pack], f"{equal} of {total}"
