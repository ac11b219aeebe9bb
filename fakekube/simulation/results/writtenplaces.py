"""The places at which operators write in a run, and whether two runs make the same changes."""

from __future__ import annotations

from collections.abc import Iterator

from fakekube.simulation.intents import written
from fakekube.simulation.observation import Commit, Observation
from fakekube.simulation.results.bugs import general
from fakekube.simulation.statemask import is_compared


def new_places(run: Observation, known: set[str]) -> Iterator[Commit]:
    """The writes of operators at places that are not known yet, and are from now on. Numbers in them do not count."""
    for one in run.by_operators():
        place = general(one.anchor.signature)
        if place not in known and is_compared(one.kind):
            known.add(place)
            yield one


def same_writes(first: Observation, second: Observation) -> bool:
    """Whether the operators of two runs have made the same changes."""
    made = [[(one.anchor, written(one.after or {})) for one in each.by_operators()] for each in (first, second)]
    return made[0] == made[1]


def changed_outside(run: Observation) -> Iterator[str]:
    """The items of external APIs that a run has changed."""
    return (one.anchor.target for one in run.commits if one.is_external)
