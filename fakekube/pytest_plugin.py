"""The pytest plugin: fixtures, marker, options, and the timeline in a failing test's report.

Every pytest run on the machine imports it, so it imports nothing but pytest until a fixture is used.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.harness.state.sharing import SharedCluster
    from fakekube.virtualtime import VirtualClock

_SHARED: pytest.StashKey[dict[str, SharedCluster]] = pytest.StashKey()

_SHARED_NAMES = ("fakekube_module", "fakekube_session")

_OF_TEST = "_fakekube_of_test"

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

#: The same, for the choice of the server that tests run against.
_BACKEND_OPTIONS = (
    ("backend", "string", "the API server: fakekube (default), envtest (binaries) or cluster (an existing one)"),
    ("context", "string", "context of the kubeconfig, for --fakekube-backend=cluster"),
    ("keep_crds", "bool", "leave the CustomResourceDefinitions that tests have created in a real cluster"),
    ("quiet", "string", "seconds without activity after which operators at a real cluster are settled (0.3)"),
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
    for name, kind, text in _OPTIONS + _BACKEND_OPTIONS:
        parser.addini(f"fakekube_{name}", text, type=kind, default=None)  # type: ignore[arg-type]
        action = {"action": "store_true", "default": None} if kind == "bool" else {}
        if kind == "args":
            action = {"action": "append", "metavar": "NAME"}
        group.addoption(f"--fakekube-{name.replace('_', '-')}", dest=f"fakekube_{name}", help=text, **action)
    group.addoption("--fakekube-update-golden", action="store_true", help="write the files of assert_state()")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def _settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of the marker, else the command line, else the ini file. Raises UsageError for positional ones."""
    found: dict[str, Any] = {}
    for name, _, _ in _OPTIONS:
        value = _option(request.config, name)
        if value not in (None, "", []):
            number = name in ("seed", "nodes") and str(value).lstrip("-").isdigit()
            found[name] = int(value) if number else value
    for marker in reversed(list(request.node.iter_markers("fakekube"))):
        if marker.args:
            raise pytest.UsageError(f"{request.node.nodeid}: @pytest.mark.fakekube takes keyword arguments only")
        found.update(marker.kwargs)
    if found.get("seed") is None:
        found["seed"] = request.node.nodeid or "session"
    return found


def _option(config: pytest.Config, name: str) -> Any:
    """The value of the command line, else that of the ini file, else None."""
    value = config.getoption(f"fakekube_{name}", None)
    return config.getini(f"fakekube_{name}") if value is None else value


def _set_golden(cluster: FakeKube, request: pytest.FixtureRequest) -> None:
    """Golden files are relative to the test's file."""
    if cluster.backend != "fakekube":
        return
    cluster.golden.folder = request.path.parent
    cluster.golden.update = request.config.getoption("--fakekube-update-golden")


@pytest.fixture
def fakekube(request: pytest.FixtureRequest) -> Iterator[FakeKube]:
    """A new Kubernetes cluster under virtual time (`fakekube.FakeKube`)."""
    cluster = _cluster(request, _settings(request))
    request.node.stash[_CLUSTER] = cluster
    _set_golden(cluster, request)
    with cluster:
        yield cluster


def _cluster(request: pytest.FixtureRequest, settings: dict[str, Any]) -> FakeKube:
    """A new cluster, which is not open. Raises UsageError for settings that it does not have."""
    from fakekube.harness.cluster import FakeKube

    backend = _option(request.config, "backend") or "fakekube"
    if backend != "fakekube":
        real: FakeKube = _real_cluster(request, settings)
        return real
    known = set(inspect.signature(FakeKube).parameters)
    if unknown := sorted(settings.keys() - known):
        raise pytest.UsageError(
            f"@pytest.mark.fakekube has no argument {', '.join(unknown)} (it has {', '.join(sorted(known))})"
        )
    try:
        return FakeKube(**settings)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"@pytest.mark.fakekube: {error}") from None


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
    from fakekube.harness.state.sharing import ClusterProxy, SharedCluster

    settings = _settings(request)
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
    try:
        cluster: Any = shared.begin(lambda: _cluster(request, settings))
    except ValueError as error:
        raise pytest.UsageError(f"{request.node.nodeid}: {error}") from None
    request.node.stash[_CLUSTER] = cluster
    _set_golden(cluster, request)
    yield
    shared.end()


@pytest.fixture
def fakekube_namespace(request: pytest.FixtureRequest) -> str:
    """A namespace of the test's cluster, with a name of its own: the same in each run."""
    from fakekube.harness.state.sharing import namespace_for

    used = next((name for name in _SHARED_NAMES if name in request.fixturenames), "fakekube")
    cluster = request.getfixturevalue(used)
    name = namespace_for(request.node.nodeid, "" if cluster.backend == "fakekube" else cluster.namespace)
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Opens the cluster of a test that uses a shared one after the fixtures of wider scope, before all others."""
    names: list[str] = getattr(item, "fixturenames", [])
    if isinstance(item, pytest.Function) and any(name in names for name in _SHARED_NAMES) and _OF_TEST not in names:
        definitions = item._fixtureinfo.name2fixturedefs
        scopes = [definitions[name][-1].scope if name in definitions else "" for name in names]
        names.insert(scopes.index("function") if "function" in scopes else len(names), _OF_TEST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Closes clusters of wider fixtures that a failed set-up has left open."""
    yield
    for shared in list(item.config.stash.get(_SHARED, {}).values()):
        shared.keep()


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
    run: Any = cluster.bubble.run if cluster.backend == "fakekube" else getattr(cluster, "run_test")  # noqa: B009
    run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


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
    return report
