"""The pytest plugin: fixtures, marker, options, and the timeline in a failing test's report.

Every pytest run on the machine imports it, so it imports nothing but pytest until a fixture is used.
"""

from __future__ import annotations

import gc
import inspect
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fakekube.simulation.stash import MARKER as EXPLORE_MARKER
from fakekube.simulation.stash import PAGED, PLAN, SHARD

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.engine import Driven, Engine
    from fakekube.harness.sharing import SharedCluster
    from fakekube.virtualtime import Bubble, VirtualClock


def engine_of(cluster: object) -> Engine:
    """The engine of a cluster, imported when it is used."""
    from fakekube.harness import engine

    return engine.engine_of(cluster)


def driven(cluster: object) -> Driven:
    """The port of any cluster, imported when it is used."""
    from fakekube.harness import engine

    return engine.driven(cluster)


_SHARED: pytest.StashKey[dict[str, SharedCluster]] = pytest.StashKey()

_SHARED_NAMES = ("fakekube_module", "fakekube_session")

_OF_TEST = "_fakekube_of_test"

#: The number of timeline entries in a report.
TIMELINE_LINES = 60

_CLUSTER: pytest.StashKey[FakeKube] = pytest.StashKey()

#: The failures of a test: of its call, then of its teardown.
_FAILURES: pytest.StashKey[list[str]] = pytest.StashKey()

#: What is wrong with the marker of a test that is explored.
_PROBLEM: pytest.StashKey[str] = pytest.StashKey()

#: Name, type in an ini file, help: each is an ini value `fakekube_NAME` and an option `--fakekube-NAME`.
_OPTIONS = (
    ("seed", "string", "seed of all randomness; default: derived from the name of each test"),
    ("version", "string", "Kubernetes version to serve"),
    ("rbac", "bool", "check access, with the bootstrap roles"),
    ("controllers", "args", "built-in controllers to run"),
    ("real_connections", "bool", "let code under test connect to other machines"),
    ("nodes", "string", "number of simulated nodes, with the scheduler and the kubelet"),
    ("detect", "args", "levels of detectors: NAME=error, NAME=warn or NAME=off; all=off"),
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

MARKER = (
    "fakekube(detect={}, version=None, controllers=(), nodes=None, rbac=False, seed=None, stepped=None, "
    "wall_clock=True, transport='direct', "
    "history_window=20000, service_cluster_ip_range='10.0.0.0/12', authorization_mode=None, "
    "enable_admission_plugins=(), disable_admission_plugins=(), real_connections=False, configure=False): "
    "the cluster that the `fakekube` fixture makes for this test"
)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    _exempt_from_rewriting(pluginmanager)
    group = parser.getgroup("fakekube")
    for name, kind, text in _OPTIONS + _BACKEND_OPTIONS:
        parser.addini(f"fakekube_{name}", text, type=kind, default=None)  # type: ignore[arg-type]
        action = {"action": "store_true", "default": None} if kind == "bool" else {}
        if kind == "args":
            action = {"action": "append", "metavar": "NAME"}
        group.addoption(f"--fakekube-{name.replace('_', '-')}", dest=f"fakekube_{name}", help=text, **action)
    for name, metavar, text in _TIMELINE_OPTIONS:
        parser.addini(f"fakekube_{name}", text, default=None)
        group.addoption(f"--fakekube-{name.replace('_', '-')}", dest=f"fakekube_{name}", metavar=metavar, help=text)
    _add_exploration(parser, group)
    group.addoption("--fakekube-update-golden", action="store_true", help="write the files of state.assert_golden()")


def _add_exploration(parser: pytest.Parser, group: pytest.OptionGroup) -> None:
    text = "explore the tests that use `fakekube` under faults: smoke, pr, nightly, a number of runs, or a time (60s)"
    group.addoption("--fakekube-explore", dest="fakekube_explore", metavar="BUDGET", default="", help=text)
    text = "run the tests under the faults of one plan, as the report of an exploration prints it"
    group.addoption("--fakekube-plan", dest="fakekube_plan", metavar="PLAN", default="", help=text)


def _exempt_from_rewriting(pluginmanager: pytest.PytestPluginManager) -> None:
    """Import these packages as they are.

    pytest rewrites the assertions of every package of a distribution that has a plugin. Here no assertion is meant for
    a test, and where no bytecode is written, every run would compile several hundred modules.
    """
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked -= {"fakekube", "controllerlib"}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    config.addinivalue_line("markers", EXPLORE_MARKER)
    if _option(config, "timeline_for") not in (None, "all", "failed"):
        raise pytest.UsageError(f"fakekube_timeline_for={_option(config, 'timeline_for')!r}: must be all or failed")
    options = config.option
    if options.fakekube_plan or options.fakekube_explore:
        _check_exploration(options.fakekube_plan, options.fakekube_explore)


def _check_exploration(plan: str, budget: str) -> None:
    """Raises UsageError for a plan or a budget that cannot be read."""
    from fakekube.simulation.marker import budget_of
    from fakekube.simulation.plan import parse_plan

    for name, value, parse in (("plan", plan, parse_plan), ("explore", budget, budget_of)):
        try:
            if value:
                parse(value)
        except ValueError as error:
            raise pytest.UsageError(f"--fakekube-{name}: {error}") from None


def _option(config: pytest.Config, name: str) -> Any:
    """The value of the command line, else that of the ini file; None if neither has one."""
    value = config.getoption(f"fakekube_{name}", None)
    if value is None:
        value = config.getini(f"fakekube_{name}")
    return None if value in ("", []) else value


def _settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of the marker, else the command line, else the ini file. Raises UsageError for positional ones."""
    if _PROBLEM in request.node.stash:
        raise pytest.UsageError(request.node.stash[_PROBLEM])
    found: dict[str, Any] = {}
    levels = _levels(request.config)
    for name, _, _ in _OPTIONS:
        if name == "detect":
            continue
        value = _option(request.config, name)
        if value is not None:
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
        found["seed"] = request.node.nodeid or "session"
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


def _set_golden(cluster: FakeKube, request: pytest.FixtureRequest) -> None:
    """Golden files are relative to the test's file."""
    if cluster.access.backend != "fakekube":
        return
    golden = engine_of(cluster).golden
    golden.folder = request.path.parent
    golden.update = request.config.getoption("--fakekube-update-golden")


@pytest.fixture
def fakekube(request: pytest.FixtureRequest) -> Iterator[FakeKube]:
    """A new Kubernetes cluster under virtual time (`fakekube.FakeKube`)."""
    settings = _settings(request)
    configure = settings.pop("configure", False)
    plan = request.node.stash.get(PLAN, None)
    if plan is not None:
        settings |= {"seed": plan.seed, "detect": {"all": "off"}}  # the oracles judge
    cluster = _cluster(request, settings)
    request.node.stash[_CLUSTER] = cluster
    _set_golden(cluster, request)
    if plan is not None:
        from fakekube.simulation.protocol import attach

        attach(request.node, cluster)
    with cluster:
        _configure(cluster, configure)
        yield cluster


def _configure(cluster: FakeKube, configure: bool | str) -> None:
    """Let clients that load their own configuration find the cluster: as a service account, or its administrator."""
    if configure:
        cluster.access.configure(service_account="" if configure is True else configure)


def _cluster(request: pytest.FixtureRequest, settings: dict[str, Any]) -> FakeKube:
    """A new cluster, which is not open. Raises UsageError for settings that it does not have."""
    from fakekube.harness.cluster import FakeKube

    backend = _option(request.config, "backend") or "fakekube"
    if backend != "fakekube":
        real: FakeKube = _real_cluster(request, settings)
        return real
    known = set(inspect.signature(FakeKube).parameters)
    if unknown := sorted(settings.keys() - known):
        accepted = ", ".join(sorted([*known, "configure"]))
        raise pytest.UsageError(f"@pytest.mark.fakekube has no argument {', '.join(unknown)} (it has {accepted})")
    _refuse_survivors(request.node)
    try:
        cluster = FakeKube(**settings)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"@pytest.mark.fakekube: {error}") from None
    engine = engine_of(cluster)
    engine.is_explored = request.node.stash.get(PLAN, None) is not None
    engine.findings_at_exit = False  # they are checked when the test has been called
    return cluster


# --- real clusters ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def _fakekube_connection(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The backend of the run: binaries that run until its end, or an existing cluster."""
    from fakekube.harness.backends import selection

    try:
        with selection.connected(_option(request.config, "backend"), _option(request.config, "context")) as connection:
            yield connection
    except selection.NoBackend as problem:
        raise pytest.UsageError(str(problem)) from None


def _real_cluster(request: pytest.FixtureRequest, settings: dict[str, Any]) -> Any:
    """A cluster of the backend, with a namespace of its own. Skips a test with settings that it does not have."""
    from fakekube.harness.backends import selection

    connection = request.getfixturevalue("_fakekube_connection")
    options = {name: _option(request.config, name) for name in ("keep_crds", "quiet")}
    return selection.cluster_of(connection, settings, request.node.nodeid or "session", options)


# --- clusters of several tests ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fakekube_module(request: pytest.FixtureRequest) -> Iterator[FakeKube]:
    """A cluster for a module: fixtures of the module prepare it, and each test begins with what they have made."""
    yield from _shared(request)


@pytest.fixture(scope="session")
def fakekube_session(request: pytest.FixtureRequest) -> Iterator[FakeKube]:
    """A cluster for all tests: fixtures of the session prepare it, and each test begins with what they have made."""
    yield from _shared(request)


def _shared(request: pytest.FixtureRequest) -> Iterator[Any]:
    from fakekube.harness.sharing import ClusterProxy, SharedCluster

    settings = _settings(request)
    settings.pop("configure", None)
    if (_option(request.config, "backend") or "fakekube") != "fakekube":
        with _real_cluster(request, settings) as real:
            yield real
        return
    shared = SharedCluster(lambda: _cluster(request, settings))
    every = request.config.stash.setdefault(_SHARED, {})
    every[str(request.fixturename)] = shared
    yield ClusterProxy(shared)
    del every[str(request.fixturename)]
    shared.close()


@pytest.fixture
def _fakekube_of_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Opens and closes the cluster of a test that uses a shared one, before its other fixtures of function scope."""
    used = [name for name in (*_SHARED_NAMES, "fakekube") if name in request.fixturenames]
    if len(used) > 1:
        raise pytest.UsageError(f"{request.node.nodeid} uses {' and '.join(used)}: a test has one cluster")
    shared = request.config.stash.get(_SHARED, {}).get(used[0])
    if shared is None:
        real = request.node.stash[_CLUSTER] = request.getfixturevalue(used[0])
        with real.test():
            yield
        return
    settings = _settings(request)
    configure = settings.pop("configure", False)
    try:
        cluster: Any = shared.begin(lambda: _cluster(request, settings))
    except ValueError as error:
        raise pytest.UsageError(f"{request.node.nodeid}: {error}") from None
    request.node.stash[_CLUSTER] = cluster
    _set_golden(cluster, request)
    _configure(cluster, configure)
    yield
    shared.end()


@pytest.fixture
def fakekube_namespace(request: pytest.FixtureRequest) -> str:
    """A namespace of the test's cluster, with a name of its own: the same in each run."""
    from fakekube.harness.sharing import namespace_for

    used = next((name for name in _SHARED_NAMES if name in request.fixturenames), "fakekube")
    cluster = request.getfixturevalue(used)
    name = namespace_for(request.node.nodeid, "" if cluster.access.backend == "fakekube" else cluster.namespace)
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def _open_for_test(item: pytest.Item) -> None:
    """Opens the cluster of a test that uses a shared one after the fixtures of wider scope, before all others."""
    names: list[str] = getattr(item, "fixturenames", [])
    if isinstance(item, pytest.Function) and any(name in names for name in _SHARED_NAMES) and _OF_TEST not in names:
        definitions = item._fixtureinfo.name2fixturedefs
        scopes = [definitions[name][-1].scope if name in definitions else "" for name in names]
        names.insert(scopes.index("function") if "function" in scopes else len(names), _OF_TEST)


def _keep_shared(item: pytest.Item) -> None:
    """Closes clusters of wider fixtures that a failed set-up has left open."""
    for shared in list(item.config.stash.get(_SHARED, {}).values()):
        shared.keep()


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


# --- async tests and fixtures


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Runs async fixtures of tests that have a cluster on its event loop, before another plugin sees that they are."""
    function = fixturedef.func
    used = next((name for name in ("fakekube", *_SHARED_NAMES) if name in request.fixturenames), "")
    if request.scope != "function" or not used or not _is_async(function):
        result = yield
        _claim(request.node)
        return result
    bound, bubble = _bound(function, request.instance), driven(request.getfixturevalue(used)).bubble

    def on_loop(**arguments: Any) -> Any:
        from fakekube.harness.driving import asynctests

        return asynctests.set_up(bubble, bound, arguments, request.addfinalizer)

    fixturedef.func = on_loop  # type: ignore[misc]
    try:
        return (yield)
    finally:
        fixturedef.func = function  # type: ignore[misc]


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _bound(function: Any, instance: object) -> Any:
    """The function of a fixture, as a method of the instance that the test belongs to."""
    if instance is not None and inspect.ismethod(function) and isinstance(instance, type(function.__self__)):
        return types.MethodType(function.__func__, instance)
    return function


# --- exploration -----------------------------------------------------------------------------------------------------


def _is_explored(item: pytest.Item) -> bool:
    """Whether a test runs again and again under faults, or under those of one plan."""
    if "fakekube" not in getattr(item, "fixturenames", ()):
        return False
    options = item.config.option
    chosen = options.fakekube_explore or options.fakekube_plan
    return bool(chosen) or item.get_closest_marker("fakekube_explore") is not None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Divides the plans of an explored test among the workers of pytest-xdist."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    config = metafunc.config
    marked = metafunc.definition.get_closest_marker("fakekube_explore") is not None
    if workers > 1 and "fakekube" in metafunc.fixturenames and (marked or config.option.fakekube_explore):
        metafunc.fixturenames.append(SHARD)
        shards = [(number, workers) for number in range(workers)]
        ids = [f"shard {number + 1} of {workers}" for number in range(workers)]
        metafunc.parametrize(SHARD, shards, ids=ids, indirect=True)


@pytest.fixture
def _fakekube_shard(request: pytest.FixtureRequest) -> tuple[int, int]:
    """Which of how many shards of an exploration this is."""
    found: tuple[int, int] = request.param
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Explores a test that is marked for it."""
    if not _is_explored(item):
        return None
    from fakekube.simulation.protocol import runs_protocol, settings_for

    try:
        settings_for(item)
    except pytest.UsageError as problem:
        item.stash[_PROBLEM] = str(problem)  # an error of this test, not of the run
        return None
    return runs_protocol(item, nextitem, partial(_page_of, item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    _open_for_test(item)
    if _CLUSTER in item.stash:  # that of the run before, if the test is run again
        del item.stash[_CLUSTER]
    yield
    if _CLUSTER in item.stash and _backend(item) not in (None, "asyncio"):
        pytest.fail(
            f"the anyio backend of this test is {_backend(item)!r}, and the event loop of a cluster is asyncio's: "
            "define a fixture `anyio_backend` that returns 'asyncio', or parametrize the test with it",
            pytrace=False,
        )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Seeds `random` for each run of an explored test: pytest-randomly has given it the same seed in all runs."""
    if pyfuncitem.stash.get(PLAN, None) is not None and _CLUSTER in pyfuncitem.stash:
        from fakekube.virtualtime.patches.randomness import seed_functions

        seed_functions(driven(pyfuncitem.stash[_CLUSTER]).bubble.seed)


def _backend(item: pytest.Item) -> object:
    found = getattr(item, "funcargs", {}).get("anyio_backend")
    return found[0] if isinstance(found, tuple) else found


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Runs async tests that have a cluster on its event loop, whatever plugin they are marked for."""
    cluster = item.stash.get(_CLUSTER, None)
    if cluster is None or not isinstance(item, pytest.Function):
        result = yield
        _claim(item)
        if cluster is None and _CLUSTER not in item.stash:
            _warn_of_marker(item)
        return result
    from fakekube.harness.driving import asynctests

    with asynctests.on_loop(item, driven(cluster).bubble):
        if type(item) is not pytest.Function:  # pytest-asyncio's own would run it on another loop
            item.runtest = types.MethodType(pytest.Function.runtest, item)  # type: ignore[method-assign]
        try:
            result = yield
        except BaseException as error:
            _note_problems(cluster, error)
            _observe(item, error)
            raise
        finally:
            vars(item).pop("runtest", None)
    _observe(item, None)
    try:
        driven(cluster).finish()
        driven(cluster).check_findings(warn=partial(_warn, item))
    except AssertionError as found:
        text = str(found)
    except Exception as problem:
        text = f"{type(problem).__name__}: {problem}"
    else:
        return result
    pytest.fail(text, pytrace=False)


def _observe(item: pytest.Item, error: BaseException | None) -> None:
    """Ends the run of a plan."""
    if item.stash.get(PLAN, None) is not None and isinstance(error, Exception | None):
        from fakekube.simulation.protocol import observe

        observe(item, error)


def _note_problems(cluster: FakeKube, error: BaseException) -> None:
    """Adds to the error of a test what it did not await, and completes the findings that its report shows."""
    try:
        driven(cluster).finish()
    except Exception as problem:
        if str(problem) != str(error):
            error.add_note(f"{type(problem).__name__}: {problem}")
    driven(cluster).check_findings(raising=False)


def _warn_of_marker(item: pytest.Item) -> None:
    """Warn of a marker of this test, not of its module or class, that has no effect: it has no cluster."""
    for marker in item.own_markers:
        if marker.name in ("fakekube", "fakekube_explore"):
            text = f"@pytest.mark.{marker.name} has no effect: the test does not use the fixture `fakekube`"
            _warn(item, pytest.PytestWarning(text))


def _warn(item: pytest.Item, warning: Warning) -> None:
    """Issue a warning at the test's function."""
    path, line, _ = item.reportinfo()
    warnings.warn_explicit(warning, None, str(path), (line or 0) + 1)


# --- no cluster survives the test, or the module, that it was opened in


def _claim(node: pytest.Item | pytest.Collector) -> None:
    """Note for which node the open cluster was opened."""
    for bubble in _open_bubbles():
        if bubble.opened_by is None:
            bubble.opened_by = node


def _open_bubbles() -> list[Bubble]:
    module = sys.modules.get("fakekube.virtualtime.bubble")
    return module.opened() if module is not None else []


def _refuse_survivors(item: pytest.Item) -> None:
    """Close clusters of other nodes than those of this test. Raises RuntimeError naming them."""
    chain = item.listchain()
    left = [bubble for bubble in _open_bubbles() if bubble.opened_by is not None and bubble.opened_by not in chain]
    names = [getattr(bubble.opened_by, "nodeid", "") for bubble in left]
    for bubble in left:
        with suppress(Exception):
            bubble.abandon()
    if left:
        raise RuntimeError(
            f"the cluster of {', '.join(names)} was still open, and was closed now: use the fixture `fakekube`, or "
            "`with FakeKube() as fakekube`"
        )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Runs all finalizers: pytest stops at the first that raises neither an Exception nor an outcome.

    asyncio.CancelledError is such one. The fixtures that are set up earlier would leak into the next test.
    """
    stack = item.session._setupstate.stack
    finalizers = [entry[0] for node, entry in stack.items() if nextitem is None or node not in nextitem.listchain()]
    try:
        yield
    except BaseException as error:
        for remaining in reversed(finalizers):
            _run_all(remaining, error)
        _keep_shared(item)
        _close_survivors(item)
        _restore_environment()
        raise
    _keep_shared(item)
    left = _close_survivors(item)
    _restore_environment()
    if left:
        pytest.fail(left, pytrace=False)


def _restore_environment() -> None:
    """Restore variables that `monkeypatch`, or another tool, has set back to the values that the cluster has hidden."""
    module = sys.modules.get("fakekube.harness.connecting.outside")
    if module is not None:
        module.restore_leftover()


def _run_all(finalizers: list[Callable[[], object]], because: BaseException) -> None:
    while finalizers:
        try:
            finalizers.pop()()
        except BaseException as error:
            because.add_note(f"a finalizer that ran after this raised {error!r}")


def _close_survivors(item: pytest.Item) -> str:
    """Close the cluster that this test has opened and not closed; returns what to say of it."""
    left = [bubble for bubble in _open_bubbles() if bubble.opened_by is item]
    for bubble in left:
        with suppress(Exception):
            bubble.abandon()
    if not left:
        return ""
    return (
        f"{item.nodeid} left its cluster open, and it was closed now: use the fixture `fakekube`, or "
        "`with FakeKube() as fakekube`"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the timeline of the cluster to the report of a failing test, and leaves out frames of this package."""
    if call.excinfo is not None and not item.config.option.fulltrace and "fakekube.harness" in sys.modules:
        from fakekube.harness import tracebacks

        error = call.excinfo.value
        error.__traceback__ = tracebacks.without_own_frames(error)
        call.excinfo = pytest.ExceptionInfo.from_exception(error)
    if call.excinfo is None:
        report = yield
    else:
        with _without_collection():
            report = yield
    cluster = item.stash.get(_CLUSTER, None)
    if cluster is None:
        return report
    page = _write_page(item, cluster, report)
    if report.failed:
        text = cluster.timeline.render(TIMELINE_LINES)
        if page is not None:
            text += f"\n\nthe whole timeline: {page}"
        report.sections.append((f"fakekube timeline (seed {driven(cluster).seed!r})", text))
        if findings := cluster.findings:
            report.sections.append(("fakekube findings", "\n".join(map(str, findings))))
    if report.when == "teardown":
        del item.stash[_CLUSTER]  # the session keeps its items
        item.stash[_FAILURES] = []
        if cluster.access.backend == "fakekube" and driven(cluster).bubble.loop.processes.left_clients:
            _free_clients()
    return report


def _free_clients() -> None:
    """Free what killed operators have left now: a later test has other filters of the warnings that this causes."""
    from fakekube.virtualtime.processcontrol import ignore_unclosed

    with warnings.catch_warnings():
        ignore_unclosed()
        warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        gc.collect()


@contextmanager
def _without_collection() -> Iterator[None]:
    """Runs no finalizers of garbage.

    That of a task whose exception nothing has retrieved logs a traceback, which parses source code. Within another
    parse, of pytest's own traceback, that is a SystemError: "AST constructor recursion depth mismatch" (CPython
    issue 106905; fixed in 3.11.8 and 3.12.2).
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _write_page(item: pytest.Item, cluster: FakeKube, report: pytest.TestReport) -> Path | None:
    """Write the page of a test that has been called, or failed. Returns its path, or None if it was not written."""
    plan = item.stash.get(PLAN, None)
    if plan is not None and (plan.atoms or not (report.failed or item.stash[PAGED])):
        return None  # one of many runs of an exploration, which writes its page itself
    path = _page_of(item, report.failed) if report.failed or report.when == "call" else None
    if path is None:
        return None
    from fakekube.harness.records.testfailure import failure_text

    failures = item.stash.setdefault(_FAILURES, [])
    if report.failed:
        failures.append(failure_text(report.longrepr, item.config.rootpath))
    return cluster.timeline.html(path, title=f"{item.nodeid} {report.outcome}", failure="\n\n".join(failures))


def _page_of(item: pytest.Item, failed: bool) -> Path | None:
    """The path of a test's page; None if none is wanted."""
    directory = _option(item.config, "timeline")
    if directory is None or not (failed or _option(item.config, "timeline_for") != "failed"):
        return None
    found: Path = item.config.invocation_params.dir / directory / page_name(item.nodeid)
    return found


def page_name(nodeid: str) -> str:
    """The name of a test's page: readable, safe in every file system, and unique."""
    import hashlib

    readable = re.sub(r"[^\w.-]+", "-", nodeid, flags=re.ASCII).strip("-.")[-120:]
    return f"{readable}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}.html"
