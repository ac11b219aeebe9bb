"""Runs a test of pytest as an exploration: set up, called and torn down once for each plan."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from fakekube.simulation.atoms import Unanchored
from fakekube.simulation.explorer import (
    Exploration,
    Explorer,
    Failed,
    NothingToExplore,
    ReferenceFails,
    Settings,
    base_of,
)
from fakekube.simulation.failurepage import PlanResult, write_page
from fakekube.simulation.marker import budget_of, plans_of, settings_of
from fakekube.simulation.observation import Observation
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.realism import Facts, IllegalPlan, check_legal
from fakekube.simulation.report import annotated, failure, properties, side_by_side, success
from fakekube.simulation.results.annotations import annotation
from fakekube.simulation.results.notexercised import not_exercised
from fakekube.simulation.results.planstore import PlanStore
from fakekube.simulation.results.statusline import StatusLine
from fakekube.simulation.stash import PAGED, PLAN, RECORDED, SHARD

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.simulation.running.run import Run

RUN: pytest.StashKey[Run] = pytest.StashKey()
OBSERVED: pytest.StashKey[Observation] = pytest.StashKey()
FACTS: pytest.StashKey[Facts] = pytest.StashKey()


def attach(item: pytest.Item, cluster: FakeKube) -> None:
    """Connect the cluster of a test with the plan that it runs under."""
    from fakekube.simulation.running.run import Run

    plan = item.stash[PLAN]
    assert plan is not None, "the test is explored"
    run = item.stash[RUN] = Run(cluster, plan, with_timeline=item.stash.get(RECORDED, False))
    run.attach()


def observe(item: pytest.Item, error: Exception | None) -> None:
    """End the run of a plan: what it has done is observed, and the cluster is let go."""
    run = item.stash[RUN]
    item.stash[OBSERVED] = run.finish(error)
    if not run.plan.atoms:  # only those of a run without faults are read
        item.stash[FACTS] = run.facts
    run.detach()


def settings_for(item: pytest.Item) -> Settings:
    """The settings of a test's marker; the option overrides its budget. Raises UsageError."""
    marker = item.get_closest_marker("fakekube_explore")
    arguments = dict(marker.kwargs) if marker is not None else {}
    if marker is not None and marker.args:
        raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.fakekube_explore takes keyword arguments only")
    if item.config.option.fakekube_workload is not None:
        arguments["workload"] = item.config.option.fakekube_workload
    try:
        found = settings_of(arguments, shard=_shard(item))
        plans_of(arguments)
        if item.config.option.fakekube_explore:
            budget = budget_of(item.config.option.fakekube_explore)
            found = replace(found, runs=budget.runs, seconds=budget.seconds)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from None
    return found.for_shard(*found.shard)


def _shard(item: pytest.Item) -> tuple[int, int]:
    callspec = getattr(item, "callspec", None)
    found: tuple[int, int] = callspec.params.get(SHARD, (0, 1)) if callspec is not None else (0, 1)
    return found


def plans_for(
    item: pytest.Item, plan_file: Callable[[str, str], Path]
) -> tuple[PlanStore, Sequence[Plan], Sequence[Plan]]:
    """The file with plans that have failed, and the plans that are tried first: those of the marker, and of the file.

    The file is not read if one plan is run again. Raises UsageError.
    """
    marker = item.get_closest_marker("fakekube_explore")
    directory, always = plans_of(marker.kwargs if marker is not None else {})
    store = PlanStore(plan_file(directory, nodeid_of(item)))
    try:
        return store, always, [] if item.config.option.fakekube_plan else store.plans()
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from None


def nodeid_of(item: pytest.Item) -> str:
    """The id of a test, without its shard."""
    return re.sub(r"\[shard \d+ of \d+\]|-shard \d+ of \d+", "", item.nodeid)


class _NextRun(pytest.Item):
    """Stands for the next run of a test, so that only its own fixtures are torn down after this one."""

    def runtest(self) -> None:
        """Never called."""


@dataclass(frozen=True, slots=True)
class Runner:
    """How pytest runs a test: what an exploration needs of it.

    run_once: set up, call and tear down a test, without the fixtures that the second one needs, too; returns the
    reports. tear_down: tear down all that the next test does not need (None: everything).
    """

    run_once: Callable[[pytest.Item, pytest.Item], Sequence[pytest.TestReport]]
    tear_down: Callable[[pytest.Session, pytest.Item | None], None]


@dataclass(frozen=True, slots=True)
class Files:
    """Where an exploration writes to.

    page_of: the path of the page with both runs, by whether the test has failed; None if none is wanted. plan_file: the
    file with the plans of a test that have failed, by the directory of the marker (empty: the default one) and the id
    of the test.
    """

    page_of: Callable[[bool], Path | None]
    plan_file: Callable[[str, str], Path]


class ItemExplorer:
    """Explores one test. `nextitem`: the test that follows, for fixtures of a wider scope."""

    def __init__(
        self,
        item: pytest.Item,
        nextitem: pytest.Item | None,
        files: Files,
        runner: Runner,
    ) -> None:
        self._item, self._nextitem, self._page_of, self._runner = item, nextitem, files.page_of, runner
        self._plan_file = files.plan_file
        assert item.parent is not None, "a test has a parent"
        self._next_run: pytest.Item = _NextRun.from_parent(item.parent, name=item.name)
        self._reports: Sequence[pytest.TestReport] = ()
        self._last_reports: Sequence[pytest.TestReport] = ()
        self._properties: Sequence[tuple[str, object]] = ()
        self._annotations: Sequence[str] = ()
        self._facts = Facts()
        self._always: Sequence[Plan] = ()

    def run(self) -> Sequence[pytest.TestReport]:
        """The reports of the whole exploration: those of a run without faults, with its result."""
        settings = settings_for(self._item)
        self._item.stash[RECORDED] = False
        text = self._item.config.option.fakekube_plan
        store, self._always, kept = plans_for(self._item, self._plan_file)
        progress = self._progress_of(settings)
        explorer = Explorer(
            self._observed,
            settings,
            lambda: self._facts,
            kept=[*self._always, *kept],
            progress=progress.begins,
        )
        try:
            if text:
                outcome, message = self._replayed(explorer, text, settings)
            else:
                outcome, message = self._explored(explorer, settings, store)
        except KeyboardInterrupt:
            progress.interrupted()
            raise
        except ReferenceFails:
            return self._ended(self._with_section("the test fails without any fault: nothing was explored"))
        except NothingToExplore as error:
            outcome, message = "failed" if self._is_marked() else "passed", str(error)
        except pytest.UsageError as error:
            outcome, message = "failed", str(error)
        return self._ended(self._with_result(outcome, message))

    def _progress_of(self, settings: Settings) -> StatusLine:
        config = self._item.config
        terminal = config.pluginmanager.get_plugin("terminalreporter")

        def write(line: str) -> None:
            if terminal is not None and not hasattr(config, "workerinput"):
                terminal.ensure_newline()
                terminal.write_line(line)

        name = self._item.name
        return StatusLine(write, monotonic, name, settings.runs, config.getoption("verbose", 0))

    def _explored(self, explorer: Explorer, settings: Settings, store: PlanStore) -> tuple[str, str]:
        found = explorer.explore()
        for plan in self._always:
            if problem := plan.unknown_steps(found.reference.steps):
                raise pytest.UsageError(f"plans: {str(plan)!r}: {problem}")
        _keep(store, found)
        self._properties = properties(found)
        if found.failed is None:
            return "passed", success(found)
        self._annotations = [
            self._annotation(annotated(one, nodeid_of(self._item), settings.runs)) for one in found.bugs
        ]
        message = failure(found, found.failed, nodeid_of(self._item), settings.runs)
        recorded = self._recorded(explorer, found.failed)
        if recorded is None:  # the output is that of the failing run
            explorer.observe(found.failed.reduced.plan)
        return "failed", self._with_page(message, recorded)

    def _annotation(self, message: str) -> str:
        path, line, _ = self._item.reportinfo()
        return annotation(Path(path), (line or 0) + 1, f"exploration of {self._item.name}", message, os.environ)

    def _recorded(self, explorer: Explorer, failed: Failed) -> PlanResult | None:
        """The smallest plan run once more as `--fakekube-plan` runs it, with timelines."""
        if self._page_of(True) is None:
            return None
        plan = failed.reduced.plan
        self._item.stash[RECORDED] = True
        explorer.seeded(plan.seed)
        try:
            reference, judge = explorer.reference(plan.skipped, is_old=base_of(plan)[0])
        except ReferenceFails:  # runs of this test are not the same each time
            return None
        observed = explorer.observe(plan)
        violations = explorer.violations(plan, observed, {base_of(plan): (reference, judge)}) or [failed.violation]
        return PlanResult(plan, reference, observed, violations, failed.reduced.clean)

    def _replayed(self, explorer: Explorer, text: str, settings: Settings) -> tuple[str, str]:
        plan = parse_plan(text)
        self._item.stash[RECORDED] = self._page_of(True) is not None
        explorer.seeded(plan.seed)
        reference, judge = explorer.reference(plan.skipped)
        plan = plan.resolved(self._facts.kinds)
        # a test that fails without a step does not reach all others
        if plan.unknown_steps(reference.steps) and (
            problem := plan.unknown_steps(explorer.observe(Plan(plan.seed)).steps)
        ):
            raise pytest.UsageError(f"--fakekube-plan: {problem}")
        base = base_of(plan)
        if base[0] and settings.releases is not None:
            reference, judge = explorer.reference(plan.skipped, is_old=True)
        if not settings.unrealistic:
            try:
                check_legal(plan, self._facts)
            except IllegalPlan as error:
                raise pytest.UsageError(f"--fakekube-plan: {error}") from None
        observed = explorer.observe(plan)
        shown = self._last_reports
        violations = explorer.violations(plan, observed, {base: (reference, judge)})
        self._last_reports = shown  # a run that it is compared with may follow
        anchored = [(number, atom) for number, atom in enumerate(plan.atoms) if not isinstance(atom, Unanchored)]
        missing = [atom for number, atom in anchored if number not in observed.fired]
        lines = [f"plan: {plan}", *(not_exercised(atom, observed, self._facts.kinds) for atom in missing)]
        if observed.unjudged:
            return "failed", "\n".join([*lines, f"not judged, because real time has decided: {observed.unjudged}"])
        found = PlanResult(plan, reference, observed, violations)
        if not violations:
            exercised = not missing and not observed.inconclusive
            lines.append("no oracle fails" if exercised else "no oracle fails, but the plan was not exercised")
            return "passed" if exercised else "failed", self._with_page("\n".join(lines), found)
        lines += [*map(str, violations), "", *side_by_side(reference, observed)]
        if self._page_of(True) is not None:
            self._item.stash[RECORDED] = False
            reduced = explorer.shrink(plan, violations[0], {base: (reference, judge)})
            found = replace(found, clean=reduced.clean)
        return "failed", self._with_page("\n".join(lines), found)

    def _with_page(self, message: str, found: PlanResult | None) -> str:
        """The message with the path of the page, which is written if it is asked for."""
        path = None if found is None else self._page_of(bool(found.violations))
        if found is None or path is None:
            return message
        return f"{message}\n\nboth timelines: {write_page(path, found, nodeid_of(self._item))}"

    def _observed(self, plan: Plan) -> Observation:
        """Run the test once under a plan."""
        stash = self._item.stash
        stash[PLAN] = plan
        stash[PAGED] = not self._reports  # that of the first run, which has no faults
        if OBSERVED in stash:
            del stash[OBSERVED]
        try:
            reports = self._runner.run_once(self._item, self._next_run)
        finally:
            stash[PLAN] = None
        found = stash.get(OBSERVED, None)
        self._last_reports = reports
        if found is None:
            self._reports = reports
            raise ReferenceFails("the test did not reach its cluster")
        if not plan.atoms:
            if not self._reports or any(not report.passed for report in reports):
                self._reports = reports
            self._facts = stash[FACTS]
        del stash[RUN]
        bad = next((report for report in reports if report.failed), None)
        if bad is not None and not (found.failure or found.unsettled or found.inconclusive):
            found = replace(found, failure=str(bad.longreprtext).strip().rpartition("\n")[2])
        return found

    def _is_marked(self) -> bool:
        return self._item.get_closest_marker("fakekube_explore") is not None

    def _with_section(self, message: str) -> Sequence[pytest.TestReport]:
        """The reports, of which those that fail have a section more."""
        for report in self._reports:
            if report.failed:
                report.sections.append(("fakekube exploration", message))
        return self._reports

    def _with_result(self, outcome: str, message: str) -> Sequence[pytest.TestReport]:
        reports = []
        output = {report.when: report.sections for report in self._last_reports}
        for report in self._reports:
            report.user_properties = [*report.user_properties, *self._properties]
            if report.when == "call":
                if outcome == "failed":
                    report.outcome = "failed"
                    vars(report)["fakekube_annotations"] = [one for one in self._annotations if one]
                    report.longrepr = _representation(message)
                    report.sections = output.get("call", [])
                else:
                    report.sections.append(("fakekube exploration", message))
            reports.append(report)
        return reports

    def _ended(self, reports: Sequence[pytest.TestReport]) -> Sequence[pytest.TestReport]:
        """Tear down fixtures of a wider scope that the next test does not need."""
        self._runner.tear_down(self._item.session, self._nextitem)
        return reports


def _representation(message: str) -> Any:
    """A message as pytest shows the error of a test. Its summary has the first line only: CI does not shorten it."""
    try:
        pytest.fail(message, pytrace=False)
    except pytest.fail.Exception as error:
        found: Any = pytest.ExceptionInfo.from_exception(error).getrepr(style="value")
    found.reprcrash.message = message.partition("\n")[0]
    return found


def _keep(plans: PlanStore, found: Exploration) -> None:
    """Note which plans have failed, as their smallest plans, and which have passed."""
    failed = [(bug.reduced.plan, str(bug.violation)) for bug in found.bugs if bug.reduced.plan.atoms]
    passed = [trial.plan for trial in found.trials if not (trial.violations or trial.unjudged)]
    plans.update(failed=failed, passed=passed)


def runs_protocol(item: pytest.Item, nextitem: pytest.Item | None, files: Files, runner: Runner) -> bool:
    """Run a test as an exploration, and report it as one test."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in ItemExplorer(item, nextitem, files, runner).run():
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
