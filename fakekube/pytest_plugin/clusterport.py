"""The members of FakeKube that only the plugin uses: how a test's cluster is judged and where its golden files are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube


def prepare(cluster: FakeKube, *, is_explored: bool) -> None:
    """Called before the cluster of a test is opened. The plugin checks the findings when the test has been called."""
    cluster.is_explored = is_explored
    cluster.findings_at_exit = False


def set_golden(cluster: FakeKube, folder: Path, *, update: bool) -> None:
    """The folder that golden files are relative to; update: write them. Other backends have none."""
    if cluster.backend == "fakekube":
        cluster.golden.folder = folder
        cluster.golden.update = update


def configure(cluster: FakeKube, configuration: bool | str) -> None:
    """Let clients that load their own configuration find the cluster: as a service account, or its administrator."""
    if configuration:
        cluster.configure(service_account="" if configuration is True else configuration)


def judge(cluster: FakeKube, warn: Callable[[Warning], None]) -> str:
    """End the operators of a test that has passed. Returns why it fails all the same; empty: it does not."""
    try:
        cluster.finish()
        cluster.check_findings(warn=warn)
    except AssertionError as found:
        return str(found)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return ""


def note_problems(cluster: FakeKube, error: BaseException) -> None:
    """Adds to the error of a test what it did not await, and completes the findings that its report shows."""
    try:
        cluster.finish()
    except Exception as problem:
        if str(problem) != str(error):
            error.add_note(f"{type(problem).__name__}: {problem}")
    cluster.check_findings(raising=False)


def has_left_clients(cluster: FakeKube) -> bool:
    """Whether killed operators have left clients that they did not close."""
    return cluster.backend == "fakekube" and bool(cluster.bubble.loop.processes.left_clients)
