"""Replays scenarios recorded from earlier versions of the real kube-apiserver on servers of these versions."""

import json

import pytest

from tests.conformance.test_replay import HERE, replayed

KNOWN_WORDS = frozenset(
    line.strip() for line in (HERE / "known_words.txt").read_text().splitlines() if not line.startswith("#")
)
PACKS = {path.stem: json.loads(path.read_text())["scenarios"] for path in sorted((HERE / "packs-1.31").glob("*.json"))}


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.fakekube(version="1.31", rbac=True)
async def test_scenarios_of_1_31_are_exact(fakekube, pack):
    found = {result["id"]: result for result in await replayed(fakekube, PACKS[pack])}
    failing = sorted(id for id, result in found.items() if not result["exact"])
    details = "\n".join(f"{id} {found[id]['title']}\n" + "\n".join(found[id]["diffs"]) for id in failing)
    assert not failing, f"not exact:\n{details}"
    otherwise = {f"1.31/{id}" for id, result in found.items() if result["messages_equal"] != result["messages"]}
    assert not otherwise - KNOWN_WORDS, "with messages that are not the real server's"
    known = {one for one in KNOWN_WORDS if one.removeprefix("1.31/") in found}
    assert not known - otherwise, "the same words now, remove them from known_words.txt"
