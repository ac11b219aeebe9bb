"""The pytest plugin: fixtures, marker, options, and the timeline in a failing test's report.

Every pytest run on the machine imports it, so it imports nothing but pytest until a fixture is used.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import types
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube
    from fakekube.virtualtime import Bubble, VirtualClock

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
    _refuse_survivors(request.node)
    try:
        cluster = FakeKube(**settings)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"@pytest.mark.fakekube: {error}") from None
    # an outcome, for example of pytest-timeout, that is raised in a task of an operator ends the test
    cluster.bubble.loop.fatal_errors = (pytest.fail.Exception, pytest.skip.Exception, pytest.exit.Exception)
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


# --- async tests and fixtures


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Runs async fixtures of tests that have a cluster on its event loop, before another plugin sees that they are."""
    function = fixturedef.func
    if request.scope != "function" or "fakekube" not in request.fixturenames or not _is_async(function):
        result = yield
        _claim(request.node)
        return result
    bound, bubble = _bound(function, request.instance), request.getfixturevalue("fakekube").bubble

    def on_loop(**arguments: Any) -> Any:
        from fakekube.harness import asynctests

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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    if _CLUSTER in item.stash:  # that of the run before, if the test is run again
        del item.stash[_CLUSTER]
    yield
    if _CLUSTER in item.stash and _backend(item) not in (None, "asyncio"):
        pytest.fail(
            f"the anyio backend of this test is {_backend(item)!r}, and the event loop of a cluster is asyncio's: "
            "define a fixture `anyio_backend` that returns 'asyncio', or parametrize the test with it",
            pytrace=False,
        )


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
        return result
    from fakekube.harness import asynctests

    with asynctests.on_loop(item, cluster.bubble):
        if type(item) is not pytest.Function:  # pytest-asyncio's own would run it on another loop
            item.runtest = types.MethodType(pytest.Function.runtest, item)  # type: ignore[method-assign]
        try:
            result = yield
        except BaseException as error:
            _note_unawaited(cluster, error)
            raise
        finally:
            vars(item).pop("runtest", None)
    try:
        cluster.finish()
    except Exception as problem:
        text = f"{type(problem).__name__}: {problem}"
    else:
        return result
    pytest.fail(text, pytrace=False)


def _note_unawaited(cluster: FakeKube, error: BaseException) -> None:
    try:
        cluster.finish()
    except Exception as problem:
        if str(problem) != str(error):
            error.add_note(f"{type(problem).__name__}: {problem}")


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
        _close_survivors(item)
        raise
    left = _close_survivors(item)
    if left:
        pytest.fail(left, pytrace=False)


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
