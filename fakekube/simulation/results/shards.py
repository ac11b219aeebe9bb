"""Which plans each of several workers of an exploration tries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

from fakekube.simulation.atoms import Order, SpecChange
from fakekube.simulation.plan import Plan
from fakekube.simulation.results.bugs import causes_of


class Shards:
    """Divides plans among shards: those with faults at the same places, which show the same bugs, belong to one shard.

    So a bug is found, shrunk and reported once. Orders and generated changes, of which there are many, take turns.
    `first`: the plans that are divided first; each shard must divide the same ones in the same order.
    """

    def __init__(self, count: int, first: Sequence[Plan] = ()) -> None:
        self._count = count
        self._numbers: dict[object, int] = {}
        for plan in first:
            self.of(plan)

    def of(self, plan: Plan) -> int:
        """The number of the shard of a plan."""
        return self._numbers.setdefault(self._key(plan), len(self._numbers)) % self._count

    def part_of(self, plan: Plan, index: int) -> Plan:
        """A plan with those of its atoms that belong to a shard."""
        mine = [atom for atom in plan.atoms if self.of(replace(plan, atoms=(atom,))) == index]
        return replace(plan, atoms=tuple(mine))

    def of_kept(self, plan: Plan) -> int:
        """The same for a plan of which other shards may not know."""
        return self._numbers.get(self._key(plan), crc32(str(plan).encode())) % self._count

    def _key(self, plan: Plan) -> object:
        takes_turns = any(isinstance(atom, Order | SpecChange) for atom in plan.atoms)
        return plan if takes_turns else causes_of(plan)
