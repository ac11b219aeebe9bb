"""The port of a cluster for the plugin: how a test's cluster is judged and where its golden files are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fakekube.harness.engine import driven, engine_of

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.detectors.finding import Finding
    from fakekube.virtualtime import Bubble


def prepare(cluster: FakeKube, *, is_explored: bool) -> None:
    """Called before the cluster of a test is opened. The plugin checks the findings when the test has been called."""
    engine = engine_of(cluster)
    engine.is_explored = is_explored
    engine.findings_at_exit = False


def set_golden(cluster: FakeKube, folder: Path, *, update: bool) -> None:
    """The folder that golden files are relative to; update: write them. Other backends have none."""
    if cluster.access.backend == "fakekube":
        golden = engine_of(cluster).golden
        golden.folder, golden.update = folder, update


def configure(cluster: FakeKube, configuration: bool | str) -> None:
    """Let clients that load their own configuration find the cluster: as a service account, or its administrator.

    Raises UsageError for what is no service account.
    """
    if not configuration:
        return
    try:
        cluster.access.configure(service_account="" if configuration is True else configuration)
    except (TypeError, ValueError):
        raise pytest.UsageError(
            f"@pytest.mark.fakekube: configure={configuration!r}: pass True for the administrator, or the "
            "'namespace/name' of a service account"
        ) from None


def judge(cluster: FakeKube, warn: Callable[[Warning], None]) -> tuple[str, Sequence[Finding]]:
    """End the operators of a test that has passed. Returns why it fails all the same (empty: it does not), and the
    findings that this lists."""
    port = driven(cluster)
    try:
        port.finish()
        port.check_findings(warn=warn)
    except AssertionError as found:
        return str(found), getattr(found, "findings", ())
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}", ()
    return "", ()


def note_problems(cluster: FakeKube, error: BaseException) -> None:
    """Adds to the error of a test what it did not await, and completes the findings that its report shows."""
    port = driven(cluster)
    try:
        port.finish()
    except Exception as problem:
        if str(problem) != str(error):
            error.add_note(f"{type(problem).__name__}: {problem}")
    port.check_findings(raising=False)


def has_left_clients(cluster: FakeKube) -> bool:
    """Whether killed operators have left clients that they did not close."""
    return cluster.access.backend == "fakekube" and bool(driven(cluster).bubble.loop.processes.left_clients)


def bubble_of(cluster: object) -> Bubble:
    """The virtual time of a cluster; on other backends what takes its place."""
    found: Bubble = driven(cluster).bubble
    return found


def seed_of(cluster: object) -> int | str:
    """The seed of a cluster, or the name of its test."""
    return driven(cluster).seed
