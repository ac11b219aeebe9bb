"""What explorations of the sample operators find: `python -m tests.bench.exploration [RUNS [SAMPLE...]]`.

Prints for each sample the run of the first failure and its smallest plan, and how many plans of the correct twin ran
without an alarm; for comparison, the run of the first failure under faults at random places, with the same budget.
"""

import logging
import random
import sys
from dataclasses import dataclass
from statistics import median
from time import monotonic

from controllerlib import ApiError
from fakekube import FakeKube
from fakekube.simulation.explorer import Exploration, Explorer, ReferenceFails, Settings
from fakekube.simulation.plan import Plan
from fakekube.simulation.running.run import Run
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples import SAMPLES

SETTINGS = ("mask", "expect_delta", "owner_labels")

#: How likely a request fails under faults at random places, and the latest virtual second of a random crash.
SHARE, LATEST = 0.05, 200


@dataclass(frozen=True)
class Result:
    """What exploring a sample has found. `run`: the number of the first run that fails, 0 if none does."""

    run: int
    runs: int
    seconds: float
    plan: str = ""
    atoms: int = 0
    oracle: str = ""


def settings_of(name: str, runs: int) -> Settings:
    extra = getattr(SAMPLES[name], "EXPLORE", {})
    return Settings(runs=runs, **{key: value for key, value in extra.items() if key in SETTINGS})


def explored(name: str, *, bug: bool, runs: int) -> Result:
    """The exploration of a sample with or without its bug."""
    sample = SAMPLES[name]
    began = monotonic()
    runner = ScenarioRunner(lambda kube: sample.scenario(kube, sample.make(bug)), cluster={"wall_clock": False})
    found: Exploration = Explorer(runner.run, settings_of(name, runs), lambda: runner.facts).explore()
    seconds = monotonic() - began
    if found.failed is None:
        return Result(0, found.runs, seconds)
    plan = found.failed.reduced.plan
    return Result(
        found.failed.number, found.runs, seconds, str(plan), len(plan.atoms), found.failed.violation.oracle
    )  # fmt: skip


def at_random(name: str, runs: int) -> Result:
    """The same judge, with requests that fail and restarts at random, as tests without anchors have them."""
    sample = SAMPLES[name]
    began = monotonic()
    runner = ScenarioRunner(lambda kube: sample.scenario(kube, sample.make(True)))
    judge = Explorer(runner.run, settings_of(name, runs), lambda: runner.facts).reference()[1]
    for number in range(3, runs + 1):
        with FakeKube(wall_clock=False, seed=number, detect={"all": "off"}) as kube:
            run = Run(kube, Plan(number))
            run.attach()
            disturb(kube, run, random.Random(number))
            failure = None
            try:
                sample.scenario(kube, sample.make(True))
            except Exception as error:
                failure = error
            observed = run.finish(failure)
            run.detach()
        if judge.violations(observed):
            return Result(number, number, monotonic() - began)
    return Result(0, runs, monotonic() - began)


def disturb(kube: FakeKube, run: Run, draw: random.Random) -> None:
    """One fault of a random kind: a share of the operators' requests fails, or a crash comes at a random time."""
    kind = draw.choice(["error", "reset", "crash"])
    if kind == "crash":
        seconds = draw.uniform(0, LATEST)

        async def crash() -> None:
            await kube.clock.sleep_until(kube.clock.monotonic() + seconds)
            for name in run.hands.names():
                run.hands.kill(name)
                run.hands.start(name)

        kube.task(crash())
    elif kind == "error":
        kube.fault(verb="*", resource="*", error=503, share=SHARE)
    else:
        kube.fault(verb="*", resource="*", reset="after", share=SHARE)


def main(runs: int, names: list[str]) -> None:
    first, count, seconds, clean = [], 0, 0.0, 0
    for name in names:
        found = explored(name, bug=True, runs=runs)
        correct = explored(name, bug=False, runs=runs)
        try:
            random_run = at_random(name, runs).run
        except (ApiError, ReferenceFails) as error:
            random_run = -1
            print(f"{name}: the comparison did not run: {error}")
        count, seconds = count + found.runs + correct.runs, seconds + found.seconds + correct.seconds
        clean += 0 if correct.run else correct.runs
        first += [found.run] if found.run else []
        alarm = f"ALARM {correct.oracle} {correct.plan}" if correct.run else f"{correct.runs} clean"
        shown = f"run {found.run:>3}" if found.run else "not found"
        print(f"{name:26} {shown:9} at random {random_run or 'never':>5} | {alarm} | {found.plan}", flush=True)
    print(f"found {len(first)} of {len(names)}; median first failure: run {median(first) if first else '-'}")
    print(f"{count} runs, {count / seconds:.1f} a second; {clean} runs of correct twins without an alarm")


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, sys.argv[2:] or list(SAMPLES))
