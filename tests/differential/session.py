"""A run of the tool: draws scenarios of areas, runs them on both servers, and collects what differs."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from tests.differential.areas import AREAS
from tests.differential.differences import WORDS, Difference, compared
from tests.differential.normalising import PROGRAM, normalised
from tests.differential.running import answers, compared_steps, send
from tests.differential.scenario import Draw, Name, Scenario
from tests.differential.servers import Server


@dataclass(slots=True)
class Count:
    """The requests of an area that were compared, those with the same answers, and those that differ in words alone."""

    requests: int = 0
    exact: int = 0
    words: int = 0
    accepted: int = 0
    """Those that the other server did not refuse: an area that is refused too often finds little."""

    def add(self, requests: int, differences: Sequence[Difference], accepted: int) -> None:
        self.accepted += accepted
        self.requests += requests
        self.exact += requests - len(differences)
        self.words += sum(one.rule.kind == WORDS for one in differences)


@dataclass(slots=True)
class Outcome:
    """What a run found. `failures` has the scenarios that could not be run, with the reason."""

    counts: dict[str, Count] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    failures: list[tuple[Name, str]] = field(default_factory=list)


def drawn(name: Name) -> Scenario:
    """The scenario of a name."""
    return AREAS[name.area].draw(Draw(name), name.namespace)


@dataclass(slots=True)
class Session:
    """Compares two servers. `again`: scenarios that differ run once more, and only what differs twice counts.
    `program`: the file name of the other server."""

    theirs: Server
    ours: Server
    seed: int
    jobs: int = 16
    again: bool = True
    program: str = PROGRAM
    progress: Callable[[Outcome], None] = lambda _: None
    outcome: Outcome = field(default_factory=Outcome)

    async def run(self, budgets: Mapping[str, int]) -> Outcome:
        """Run scenarios of each area until the number of requests is reached."""
        for area, budget in budgets.items():
            await self._area(area, budget)
        return self.outcome

    async def only(self, names: Sequence[tuple[str, int]]) -> Outcome:
        for area, number in names:
            await self._prepared(area)
            await self._scenario(area, number)
        return self.outcome

    async def _prepared(self, area: str) -> Count:
        """The count of an area, whose lasting objects exist then."""
        if area not in self.outcome.counts:
            for step in AREAS[area].kept():
                await send(self.theirs, step)
                await send(self.ours, step)
        return self.outcome.counts.setdefault(area, Count())

    async def _area(self, area: str, budget: int) -> None:
        count = await self._prepared(area)
        numbers = iter(range(10**6))

        async def work() -> None:
            while count.requests < budget:
                await self._scenario(area, next(numbers))
                self.progress(self.outcome)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.jobs, AREAS[area].jobs)):
                group.create_task(work())

    async def _scenario(self, area: str, number: int) -> None:
        found, requests, accepted = await self._compared(area, number)
        if found and self.again:
            repeated, _, _ = await self._compared(area, number)
            rules = {one.rule for one in repeated}
            found = [one for one in found if one.rule in rules]
        self.outcome.counts[area].add(requests, found, accepted)
        self.outcome.differences += found

    async def _compared(self, area: str, number: int) -> tuple[list[Difference], int, int]:
        name = Name(self.seed, area, number, secrets.token_hex(2))
        scenario = drawn(name)
        try:
            theirs = await answers(self.theirs, name, scenario)
            ours = await answers(self.ours, name, scenario)
        except Exception as error:  # one scenario must not end the run
            self.outcome.failures.append((name, f"{type(error).__name__}: {error}"))
            return [], 0, 0
        now = datetime.now(UTC)
        steps = compared_steps(scenario)
        found, requests = compared(name, steps, normalised(theirs, now, self.program), normalised(ours, now))
        return found, requests, sum(answer.status < 400 for _, answer in theirs[:requests])
