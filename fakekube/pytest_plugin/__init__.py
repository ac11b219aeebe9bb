"""The pytest plugin: options, markers, the fixtures, and hooks that do nothing until a cluster is used.

Every pytest run on the machine imports this module, and a run without a cluster loads no other one of the plugin.
Therefore each hook first asks `_is_used`, which reads public attributes only and cannot raise, and nothing here uses a
private name of pytest without a default. What a fixture or a hook does is in the modules that it loads (`fixtures`,
`hooks`, `reports`, `explorations`). The hooks stand here, and not in a plugin that is registered when the first cluster
opens, because pytest calls the hooks of plugins in the order of their registration: those of a conftest.py that read a
report would no longer see the timeline in it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakekube.clustersettings import SETTINGS, marker_signature
from fakekube.simulation.stash import MARKER as EXPLORE_MARKER

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.virtualtime import VirtualClock

#: The fixtures that make a cluster; the others depend on one of them.
_FIXTURES = frozenset({"fakekube", "fakekube_module", "fakekube_session"})

#: Once one of these modules is loaded, this process has a cluster or may open one (`with FakeKube()`).
_BUBBLE, _FIXTURES_MODULE = "fakekube.virtualtime.bubble", "fakekube.pytest_plugin.fixtures"

#: Name, type in an ini file, help: each is an ini value `fakekube_NAME` and an option `--fakekube-NAME`.
OPTIONS = tuple(
    (name, setting.metadata["ini"], setting.metadata["text"])
    for name, setting in SETTINGS.items()
    if setting.metadata["ini"]
)

_TIMELINE_OPTIONS = (
    ("timeline", "DIR", "write the timeline of each test with a cluster to this directory, as an HTML page"),
    ("timeline_for", "TESTS", "the tests whose timeline is written: all (default) or failed"),
)

#: The same, for the choice of the server that tests run against.
_BACKEND_OPTIONS = (
    ("backend", "string", "the API server: fakekube (default), envtest (binaries) or cluster (an existing one)"),
    ("context", "string", "context of the kubeconfig, for --fakekube-backend=cluster"),
    ("keep_crds", "bool", "leave the CustomResourceDefinitions that tests have created in a real cluster"),
    ("quiet", "string", "seconds without activity after which operators at a real cluster are settled (0.3)"),
)

MARKER = f"fakekube({marker_signature(configure=False)}): the cluster that the `fakekube` fixture makes for this test"


# --- options ---------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _exempt_from_rewriting(pluginmanager)
    group = parser.getgroup("fakekube")
    for name, kind, text in OPTIONS + _BACKEND_OPTIONS:
        parser.addini(f"fakekube_{name}", text, type=kind, default=None)
        action = {"action": "store_true", "default": None} if kind == "bool" else {}
        if kind == "args":
            action = {"action": "append", "metavar": "NAME"}
        group.addoption(f"--fakekube-{name.replace('_', '-')}", dest=f"fakekube_{name}", help=text, **action)
    for name, metavar, text in _TIMELINE_OPTIONS:
        parser.addini(f"fakekube_{name}", text, default=None)
        group.addoption(f"--fakekube-{name.replace('_', '-')}", dest=f"fakekube_{name}", metavar=metavar, help=text)
    text = "explore the tests that use `fakekube` under faults: smoke, pr, nightly, a number of runs, or a time (60s)"
    group.addoption("--fakekube-explore", dest="fakekube_explore", metavar="BUDGET", default="", help=text)
    text = "generate so many changes of the custom resources of explored tests in each plan"
    group.addoption("--fakekube-workload", dest="fakekube_workload", metavar="N", type=int, default=None, help=text)
    text = "run the tests under the faults of one plan, as the report of an exploration prints it"
    group.addoption("--fakekube-plan", dest="fakekube_plan", metavar="PLAN", default=None, help=text)
    group.addoption("--fakekube-update-golden", action="store_true", help="write the files of state.assert_golden()")


def _exempt_from_rewriting(pluginmanager: pytest.PytestPluginManager) -> None:
    """Import these packages as they are.

    pytest rewrites the assertions of every package of a distribution that has a plugin. Here no assertion is meant for
    a test, and where no bytecode is written, every run would compile several hundred modules.
    """
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked -= {"fakekube", "controllerlib"}


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers. Raises UsageError for values of this plugin's options that cannot be read."""
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", EXPLORE_MARKER)
    given = [config.getoption(f"fakekube_{name}", None) for name in ("plan", "explore", "timeline_for")]
    if any(one not in (None, "") for one in given) or given[0] == "" or config.getini("fakekube_timeline_for"):
        from fakekube.pytest_plugin.testsettings import check_options

        check_options(config)


# --- fixtures --------------------------------------------------------------------------------------------------------


@pytest.fixture
def fakekube(request: pytest.FixtureRequest) -> Iterator[FakeKube]:
    """A new Kubernetes cluster under virtual time (`fakekube.FakeKube`)."""
    from fakekube.pytest_plugin import fixtures

    yield from fixtures.cluster_of_test(request)


@pytest.fixture(scope="module")
def fakekube_module(request: pytest.FixtureRequest) -> Iterator[FakeKube]:
    """A cluster for a module: fixtures of the module prepare it, and each test begins with what they have made."""
    from fakekube.pytest_plugin import fixtures

    yield from fixtures.shared_cluster(request)


@pytest.fixture(scope="session")
def fakekube_session(request: pytest.FixtureRequest) -> Iterator[FakeKube]:
    """A cluster for all tests: fixtures of the session prepare it, and each test begins with what they have made."""
    from fakekube.pytest_plugin import fixtures

    yield from fixtures.shared_cluster(request)


@pytest.fixture
def fakekube_namespace(request: pytest.FixtureRequest) -> str:
    """A namespace of the test's cluster, with a name of its own: the same in each run."""
    from fakekube.pytest_plugin import fixtures

    return fixtures.namespace(request)


@pytest.fixture
def fakekube_clock(fakekube: FakeKube) -> VirtualClock:
    """The clock of the cluster."""
    return fakekube.clock


@pytest.fixture
def fakekube_client(fakekube: FakeKube) -> Any:
    """An official `kubernetes.client.ApiClient` for the cluster."""
    return fakekube.access.api_client()


@pytest.fixture
def fakekube_configured(fakekube: FakeKube) -> FakeKube:
    """The cluster, at which the configuration of every client points (`fakekube.access.configure`)."""
    fakekube.access.configure()
    return fakekube


@pytest.fixture
def fakekube_kubeconfig(fakekube: FakeKube) -> Path:
    """The path of a kubeconfig file for the cluster."""
    return fakekube.access.kubeconfig


@pytest.fixture(scope="session")
def _fakekube_connection(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The backend of the run: binaries that run until its end, or an existing cluster."""
    from fakekube.pytest_plugin import fixtures

    yield from fixtures.connection(request)


@pytest.fixture
def _fakekube_of_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Opens and closes the cluster of a test that uses a shared one, before its other fixtures of function scope."""
    from fakekube.pytest_plugin import fixtures

    yield from fixtures.turn_of_test(request)


@pytest.fixture
def _fakekube_shard(request: pytest.FixtureRequest) -> tuple[int, int]:
    """Which of how many shards of an exploration this is."""
    found: tuple[int, int] = request.param
    return found


# --- hooks -----------------------------------------------------------------------------------------------------------


def _is_loaded() -> bool:
    return _BUBBLE in sys.modules or _FIXTURES_MODULE in sys.modules


def _is_used(test: object) -> bool:
    """Whether a cluster can concern an item, or the request of a fixture; fast, because each hook of each test asks.

    It uses a fixture or has a marker of this plugin, or code of this process has imported what opens clusters.
    """
    if _BUBBLE in sys.modules or _FIXTURES_MODULE in sys.modules:
        return True
    names = getattr(test, "fixturenames", None)
    if names and not _FIXTURES.isdisjoint(names):
        return True
    for marker in getattr(test, "own_markers", ()):  # noqa: SIM110 - a generator would take twice as long
        if "fakekube" in marker.name:
            return True
    return False


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Divides the plans of an explored test among the workers of pytest-xdist."""
    if "PYTEST_XDIST_WORKER_COUNT" in os.environ and "fakekube" in metafunc.fixturenames:
        from fakekube.pytest_plugin import explorations

        explorations.divide(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Explores a test that is marked for it."""
    if "fakekube" not in (getattr(item, "fixturenames", None) or ()):
        return None
    from fakekube.pytest_plugin import explorations

    return explorations.explore(item, nextitem)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Runs async fixtures of tests that have a cluster on its event loop, before another plugin sees that they are."""
    if _is_used(request):
        from fakekube.pytest_plugin import hooks

        return (yield from hooks.fixture_setup(fixturedef, request))
    try:
        return (yield)
    finally:
        _claim_first(request.node)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    if not _is_used(item):
        return (yield)
    from fakekube.pytest_plugin import hooks

    return (yield from hooks.runtest_setup(item))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Seeds `random` for each run of an explored test: pytest-randomly has given it the same seed in all runs."""
    if _is_used(pyfuncitem):
        from fakekube.pytest_plugin import explorations

        explorations.seed(pyfuncitem)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Runs async tests that have a cluster on its event loop, whatever plugin they are marked for."""
    if _is_used(item):
        from fakekube.pytest_plugin import hooks

        return (yield from hooks.runtest_call(item))
    try:
        return (yield)
    finally:
        _claim_first(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Closes clusters that the test has left open, and runs all finalizers."""
    if not _is_used(item):
        return (yield)
    from fakekube.pytest_plugin import hooks

    return (yield from hooks.runtest_teardown(item, nextitem))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the timeline of the cluster to the report of a failing test, and leaves out frames of this package."""
    if not _is_used(item):
        return (yield)
    from fakekube.pytest_plugin import reports

    return (yield from reports.makereport(item, call))


def _claim_first(node: pytest.Item | pytest.Collector) -> None:
    """Note who has opened a cluster, if the code that just ran was the first of the run to import fakekube."""
    if _is_loaded():
        from fakekube.pytest_plugin.survivors import claim

        claim(node)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the bugs that explorations have found as annotations, in GitHub Actions."""
    for report in terminalreporter.stats.get("failed", ()):
        for line in getattr(report, "fakekube_annotations", ()):
            terminalreporter.write_line(line)
