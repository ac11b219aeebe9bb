"""The pytest plugin: fixtures, marker, options, and the timeline in a failing test's report.

Every pytest run on the machine imports it, so it imports nothing but pytest until a fixture is used.
"""

from __future__ import annotations

import hashlib
import inspect
import re
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
)

_TIMELINE_OPTIONS = (
    ("timeline", "DIR", "write the timeline of each test with a cluster to this directory, as an HTML page"),
    ("timeline_for", "TESTS", "the tests whose timeline is written: all (default) or failed"),
)

MARKER = (
    "fakekube(version=None, controllers=(), nodes=None, rbac=False, seed=None, stepped=None, wall_clock=True, "
    "transport='direct', "
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
    for name, metavar, text in _TIMELINE_OPTIONS:
        parser.addini(f"fakekube_{name}", text, default=None)
        group.addoption(f"--fakekube-{name.replace('_', '-')}", dest=f"fakekube_{name}", metavar=metavar, help=text)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if _option(config, "timeline_for") not in (None, "all", "failed"):
        raise pytest.UsageError(f"fakekube_timeline_for={_option(config, 'timeline_for')!r}: must be all or failed")


def _option(config: pytest.Config, name: str) -> Any:
    """The value of the command line, else that of the ini file; None if neither has one."""
    value = config.getoption(f"fakekube_{name}", None)
    if value is None:
        value = config.getini(f"fakekube_{name}")
    return None if value in ("", []) else value


def _settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of the marker, else the command line, else the ini file. Raises UsageError for positional ones."""
    found: dict[str, Any] = {}
    for name, _, _ in _OPTIONS:
        value = _option(request.config, name)
        if value is not None:
            number = name in ("seed", "nodes") and str(value).lstrip("-").isdigit()
            found[name] = int(value) if number else value
    for marker in reversed(list(request.node.iter_markers("fakekube"))):
        if marker.args:
            raise pytest.UsageError(f"{request.node.nodeid}: @pytest.mark.fakekube takes keyword arguments only")
        found.update(marker.kwargs)
    if found.get("seed") is None:
        found["seed"] = request.node.nodeid
    return found


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
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the timeline of the cluster to the report of a failing test."""
    report = yield
    cluster = item.stash.get(_CLUSTER, None)
    if cluster is None:
        return report
    page = _write_page(item, cluster, report)
    if report.failed:
        text = cluster.timeline.render(TIMELINE_LINES)
        if page is not None:
            text += f"\n\nthe whole timeline: {page}"
        report.sections.append((f"fakekube timeline (seed {cluster.seed!r})", text))
    return report


def _write_page(item: pytest.Item, cluster: FakeKube, report: pytest.TestReport) -> Path | None:
    """Write the page of a test that has been called, or failed. Returns its path, or None if it was not written."""
    directory = _option(item.config, "timeline")
    wanted = report.failed or (report.when == "call" and _option(item.config, "timeline_for") != "failed")
    if directory is None or not wanted:
        return None
    root = item.config.invocation_params.dir
    title = f"{item.nodeid} {report.outcome}"
    return cluster.timeline.html(root / directory / page_name(item.nodeid), title=title)


def page_name(nodeid: str) -> str:
    """The name of a test's page: readable, safe in every file system, and unique."""
    readable = re.sub(r"[^\w.-]+", "-", nodeid, flags=re.ASCII).strip("-.")[-120:]
    return f"{readable}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}.html"
