"""One session: draws mutants of rooms, tries them in several trees at once, and counts the verdicts."""

import queue
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.mutation import equivalents
from tests.mutation.closest import all_sources, closest, of_constants, reaching, without
from tests.mutation.coveragemap import CoverageMap, Reaching
from tests.mutation.mutants import Mutant
from tests.mutation.trial import START, Outcome, Tree, Verdict


class Result(NamedTuple):
    """The verdict of one mutant, the test that killed it, and how many tests were run of those that reach it."""

    mutant: Mutant
    verdict: Verdict
    killer: str
    run: int
    reaching: int


class Plan(NamedTuple):
    """A mutant with the tests that reach it, and those of constants that try it as well."""

    mutant: Mutant
    tests: list[Reaching]
    of_constants: list[Reaching]

    def without(self, names: Collection[str]) -> "Plan":
        return Plan(self.mutant, without(self.tests, names), without(self.of_constants, names))


@dataclass(frozen=True, slots=True)
class Limits:
    """The most tests that try a mutant, and the seconds that they take together."""

    tests: int = 300
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Session:
    """What all trials share."""

    root: Path
    packages: Collection[str]
    known: CoverageMap
    listed: Sequence[equivalents.Equivalent]
    limits: Limits = Limits()
    start: float = START

    def tried(self, mutants: Iterable[Mutant], jobs: int, report: Callable[[Result], None]) -> list[Result]:
        """Tries the mutants, in `jobs` copies of the tree at a time. Results are in the order of the mutants.

        A test that fails in a copy without a mutant kills none: its mutants are tried again without it.
        """
        files = all_sources(self.root, self.packages)
        plans = [
            Plan(mutant, reaching(mutant, self.known, files), of_constants(mutant, self.known)) for mutant in mutants
        ]
        with tempfile.TemporaryDirectory(prefix="mutation-") as temporary, ThreadPoolExecutor(jobs) as pool:
            trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
            for number in range(jobs):
                trees.put(Tree(self.root, Path(temporary, str(number)), self.start))

            def one(plan: Plan, left_out: Collection[str] = ()) -> Result:
                tree = trees.get()
                try:
                    result = self._try(tree, plan.without(left_out))
                finally:
                    trees.put(tree)
                report(result)
                return result

            results = list(pool.map(one, plans))
            killers = sorted({result.killer for result in results if result.killer})
            failing = trees.get()
            seconds = {test.name: test.seconds for plan in plans for test in (*plan.tests, *plan.of_constants)}
            unreliable = failing.failing(
                [name for name in killers if name in seconds], sum(seconds.get(name, 0) for name in killers)
            )
            trees.put(failing)
            again = [index for index, result in enumerate(results) if result.killer in unreliable]
            for index in again:
                results[index] = one(plans[index], unreliable)
            for _ in range(jobs):
                trees.get().close()
        return results

    def _try(self, tree: Tree, plan: Plan) -> Result:
        mutant, tests = plan.mutant, plan.tests
        chosen = closest(tests, self.limits.tests, self.limits.seconds)
        if chosen:
            chosen += without(plan.of_constants, [test.name for test in chosen])
        if equivalents.reason(mutant, self.listed) is not None:
            outcome = Outcome(Verdict.EQUIVALENT)
        elif not chosen:
            outcome = Outcome(Verdict.UNREACHED)
        else:
            outcome = tree.try_mutant(mutant, [test.name for test in chosen], sum(test.seconds for test in chosen))
        every = len(tests) + len(plan.of_constants)
        return Result(mutant, outcome.verdict, outcome.killer.partition("\n")[0], len(chosen), every)


def rate(results: Iterable[Result]) -> tuple[int, int]:
    """How many mutants were noticed (killed or timed out), of how many that count."""
    count = Counter(result.verdict for result in results)
    noticed = count[Verdict.KILLED] + count[Verdict.TIMED_OUT]
    return noticed, noticed + count[Verdict.SURVIVED] + count[Verdict.UNREACHED]
