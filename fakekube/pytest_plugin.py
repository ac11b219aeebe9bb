"""The pytest plugin: fixtures, marker, options, and the timeline in a failing test's report.

Every pytest run on the machine imports it, so it imports nothing but pytest until a fixture is used.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.virtualtime import VirtualClock

#: The number of timeline entries in a report.
TIMELINE_LINES = 60

_CLUSTER: pytest.StashKey[FakeKube] = pytest.StashKey()

#: Name, type in an ini file, help: each is an ini value `fakekube_NAME` and an option `--fakekube-NAME`.
_OPTIONS = (
    ("seed", "string", "seed of all randomness; default: derived from the name of each test"),
    ("version", "string", "Kubernetes version to serve"),
    ("rbac", "bool", "check access, with the bootstrap roles"),
    ("controllers", "args", "built-in controllers to run"),
    ("nodes", "string", "number of simulated nodes, with the scheduler and the kubelet"),
    ("detect", "args", "levels of detectors: NAME=error, NAME=warn or NAME=off; all=off"),
)

MARKER = (
    "fakekube(detect={}, version=None, controllers=(), nodes=None, rbac=False, seed=None, stepped=None, "
    "wall_clock=True, transport='direct', "
    "history_window=20000, service_cluster_ip_range='10.0.0.0/12', authorization_mode=None, "
    "enable_admission_plugins=(), disable_admission_plugins=()): "
    "the cluster that the `fakekube` fixture makes for this test"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fakekube")
    for name, kind, text in _OPTIONS:
        parser.addini(f"fakekube_{name}", text, type=kind, default=None)  # type: ignore[arg-type]
        action = {"action": "store_true", "default": None} if kind == "bool" else {}
        if kind == "args":
            action = {"action": "append", "metavar": "NAME"}
        group.addoption(f"--fakekube-{name}", dest=f"fakekube_{name}", help=text, **action)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def _settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of the marker, else the command line, else the ini file. Raises UsageError for positional ones."""
    found: dict[str, Any] = {}
    levels = _levels(request.config)
    for name, _, _ in _OPTIONS:
        value = request.config.getoption(f"fakekube_{name}", None)
        if value is None:
            value = request.config.getini(f"fakekube_{name}")
        if name == "detect":
            continue
        if value not in (None, "", []):
            number = name in ("seed", "nodes") and str(value).lstrip("-").isdigit()
            found[name] = int(value) if number else value
    for marker in reversed(list(request.node.iter_markers("fakekube"))):
        if marker.args:
            raise pytest.UsageError(f"{request.node.nodeid}: @pytest.mark.fakekube takes keyword arguments only")
        levels.update(marker.kwargs.get("detect") or {})
        found.update(marker.kwargs)
    if levels:
        found["detect"] = levels
    if found.get("seed") is None:
        found["seed"] = request.node.nodeid
    return found


def _levels(config: pytest.Config) -> dict[str, str]:
    """The levels of detectors in the ini file and the options. Raises UsageError."""
    texts = [*(config.getini("fakekube_detect") or ()), *(config.getoption("fakekube_detect", None) or ())]
    if not texts:
        return {}
    from fakekube.harness.detectors.levels import parse_levels

    try:
        return parse_levels(texts)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.fixture
def fakekube(request: pytest.FixtureRequest) -> Iterator[FakeKube]:
    """A new Kubernetes cluster under virtual time (`fakekube.FakeKube`)."""
    from fakekube.harness.cluster import FakeKube

    settings = _settings(request)
    known = set(inspect.signature(FakeKube).parameters)
    if unknown := sorted(settings.keys() - known):
        raise pytest.UsageError(
            f"@pytest.mark.fakekube has no argument {', '.join(unknown)} (it has {', '.join(sorted(known))})"
        )
    try:
        cluster = FakeKube(**settings)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"@pytest.mark.fakekube: {error}") from None
    request.node.stash[_CLUSTER] = cluster
    cluster.findings_at_exit = False
    with cluster:
        yield cluster


@pytest.fixture
def fakekube_clock(fakekube: FakeKube) -> VirtualClock:
    """The clock of the cluster."""
    return fakekube.clock


@pytest.fixture
def fakekube_client(fakekube: FakeKube) -> Any:
    """An official `kubernetes.client.ApiClient` for the cluster."""
    return fakekube.api_client()


@pytest.fixture
def fakekube_kubeconfig(fakekube: FakeKube) -> Path:
    """The path of a kubeconfig file for the cluster."""
    return fakekube.kubeconfig


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs async tests that have a cluster on its event loop; no other plugin is needed."""
    cluster = pyfuncitem.stash.get(_CLUSTER, None)
    if cluster is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    cluster.bubble.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fails a test that has passed for what its cluster's detectors have found, or warns of it."""
    from_findings = ""
    try:
        yield
    except BaseException:
        if (failed := item.stash.get(_CLUSTER, None)) is not None:
            failed.check_findings(raising=False)  # the report shows them too
        raise
    cluster = item.stash.get(_CLUSTER, None)
    if cluster is not None:
        path, line, _ = item.reportinfo()

        def warn(warning: Warning) -> None:
            warnings.warn_explicit(warning, None, str(path), (line or 0) + 1)

        try:
            cluster.check_findings(warn=warn)
        except AssertionError as error:
            from_findings = str(error)
        if from_findings:
            pytest.fail(from_findings, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the timeline of the cluster to the report of a failing test."""
    report = yield
    cluster = item.stash.get(_CLUSTER, None)
    if cluster is not None and report.failed:
        text = cluster.timeline.render(TIMELINE_LINES)
        report.sections.append((f"fakekube timeline (seed {cluster.seed!r})", text))
        if findings := cluster.findings:
            report.sections.append(("fakekube findings", "\n".join(map(str, findings))))
    return report
