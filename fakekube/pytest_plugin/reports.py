"""The report of a test that has a cluster: timeline, findings, pages, and tracebacks without the frames of fakekube."""

from __future__ import annotations

import gc
import re
import sys
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakekube.pytest_plugin import clusterport
from fakekube.pytest_plugin.itemkeys import CLUSTER, FAILURES, RAISED
from fakekube.pytest_plugin.testsettings import option
from fakekube.pythongarbage import no_collections
from fakekube.simulation.stash import PAGED, PLAN

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube

#: The number of timeline entries in a report.
TIMELINE_LINES = 60


def makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the timeline of the cluster to the report of a failing test, and leaves out frames of this package."""
    fulltrace = getattr(item.config.option, "fulltrace", False)
    if call.excinfo is not None and not fulltrace and "fakekube.harness" in sys.modules:
        from fakekube.harness import tracebacks

        error = call.excinfo.value
        error.__traceback__ = tracebacks.without_own_frames(error)
        call.excinfo = pytest.ExceptionInfo.from_exception(error)
    if call.excinfo is None:
        report = yield
    else:
        # A finalizer may log a traceback, which parses source code: that of a task whose exception nothing has
        # retrieved does. Within another parse, of pytest's own traceback, that is a SystemError: "AST constructor
        # recursion depth mismatch" (CPython issue 106905; fixed in 3.11.8 and 3.12.2).
        with no_collections():
            report = yield
    cluster = item.stash.get(CLUSTER, None)
    if cluster is None:
        return report
    if not fulltrace:
        _shorten_logs(report)
    page = _write_page(item, cluster, report)
    if report.failed:
        text = cluster.timeline.render(TIMELINE_LINES, fold=True)
        if page is not None:
            text += f"\n\nthe whole timeline: {page}"
        report.sections.append((f"fakekube timeline (seed {clusterport.seed_of(cluster)!r})", text))
        _add_findings(item, cluster, report)
    if report.when == "teardown":
        del item.stash[CLUSTER]  # the session keeps its items
        item.stash[FAILURES] = []
        if clusterport.has_left_clients(cluster):
            _free_clients()
    return report


def _add_findings(item: pytest.Item, cluster: FakeKube, report: pytest.TestReport) -> None:
    """Add the findings that the error of the test does not list."""
    raised = item.stash.get(RAISED, ())
    if rest := [one for one in cluster.findings if one not in raised]:
        from fakekube.harness.detectors.finding import listed

        report.sections.append(("fakekube findings", listed(rest)))


def _shorten_logs(report: pytest.TestReport) -> None:
    """Show a traceback that operators have logged again and again once."""
    from fakekube.harness.repeatedtracebacks import without_repetitions

    for number, (title, text) in enumerate(report.sections):
        if title.startswith(("Captured log", "Captured stderr")):
            report.sections[number] = (title, without_repetitions(text))


def _free_clients() -> None:
    """Free what killed operators have left now: a later test has other filters of the warnings that this causes."""
    from fakekube.virtualtime.processcontrol import ignore_unclosed

    with warnings.catch_warnings():
        ignore_unclosed()
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        gc.collect()


def _write_page(item: pytest.Item, cluster: FakeKube, report: pytest.TestReport) -> Path | None:
    """Write the page of a test that has been called, or failed. Returns its path, or None if it was not written."""
    plan = item.stash.get(PLAN, None)
    if plan is not None and (plan.atoms or not (report.failed or item.stash[PAGED])):
        return None  # one of many runs of an exploration, which writes its page itself
    path = page_of(item, report.failed) if report.failed or report.when == "call" else None
    if path is None:
        return None
    from fakekube.harness.records.testfailure import failure_text

    failures = item.stash.setdefault(FAILURES, [])
    if report.failed:
        failures.append(failure_text(report.longrepr, item.config.rootpath))
    return cluster.timeline.html(path, title=f"{item.nodeid} {report.outcome}", failure="\n\n".join(failures))


def page_of(item: pytest.Item, failed: bool) -> Path | None:
    """The path of a test's page; None if none is wanted."""
    directory = option(item.config, "timeline")
    if directory is None or not (failed or option(item.config, "timeline_for") != "failed"):
        return None
    found: Path = item.config.invocation_params.dir / directory / page_name(item.nodeid)
    return found


def page_name(nodeid: str) -> str:
    """The name of a test's page: readable, safe in every file system, and unique."""
    import hashlib

    readable = re.sub(r"[^\w.-]+", "-", nodeid, flags=re.ASCII).strip("-.")[-120:]
    return f"{readable}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}.html"
