"""What the hooks of a test do once clusters are used: async tests and fixtures, verdicts, what a test leaves open."""

from __future__ import annotations

import inspect
import sys
import types
import warnings
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import pytest

from fakekube.pytest_plugin import clusterport, internals
from fakekube.pytest_plugin.explorations import end_run
from fakekube.pytest_plugin.itemkeys import CLUSTER, PROBLEM, RAISED, SHARED, SHARED_FIXTURES, TURN_FIXTURE
from fakekube.pytest_plugin.survivors import claim, close_survivors


def fixture_setup(fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Generator[None, Any, Any]:
    """Runs an async fixture of a test that has a cluster on its event loop."""
    function = fixturedef.func
    used = next((name for name in ("fakekube", *SHARED_FIXTURES) if name in request.fixturenames), "")
    if request.scope != "function" or not used or not _is_async(function):
        try:
            return (yield)
        finally:
            claim(request.node)
    bound, bubble = _bound(function, request.instance), clusterport.bubble_of(request.getfixturevalue(used))

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


def runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Opens shared clusters at the right moment. Fails a test whose anyio backend has another event loop."""
    internals.report_missing(item)
    _open_for_test(item)
    if CLUSTER in item.stash:  # that of the run before, if the test is run again
        del item.stash[CLUSTER]
    yield
    if CLUSTER in item.stash and (backend := _anyio_backend(item)) not in (None, "asyncio"):
        pytest.fail(
            f"the anyio backend of this test is {backend!r}, and the event loop of a cluster is asyncio's: "
            "define a fixture `anyio_backend` that returns 'asyncio', or parametrize the test with it",
            pytrace=False,
        )


def _open_for_test(item: pytest.Item) -> None:
    """Opens the cluster of a test that uses a shared one after the fixtures of wider scope, before all others."""
    names: list[str] = getattr(item, "fixturenames", None) or []
    if not isinstance(item, pytest.Function) or TURN_FIXTURE in names or not set(names) & set(SHARED_FIXTURES):
        return
    if problem := internals.problem_of_shared(item):
        item.stash[PROBLEM] = problem
        names.insert(0, TURN_FIXTURE)  # which fails with it
        return
    scopes = internals.scopes_of_fixtures(item)
    names.insert(scopes.index("function") if "function" in scopes else len(names), TURN_FIXTURE)


def _anyio_backend(item: pytest.Item) -> object:
    found = getattr(item, "funcargs", {}).get("anyio_backend")
    return found[0] if isinstance(found, tuple) else found


def runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Runs an async test that has a cluster on its event loop, and judges the cluster of a test that has passed."""
    cluster = item.stash.get(CLUSTER, None)
    if cluster is None or not isinstance(item, pytest.Function):
        try:
            result = yield
        finally:
            claim(item)
        if cluster is None and CLUSTER not in item.stash:
            _warn_of_marker(item)
        return result
    from fakekube.harness.driving import asynctests

    with asynctests.on_loop(item, clusterport.bubble_of(cluster)):
        if type(item) is not pytest.Function:  # pytest-asyncio's own would run it on another loop
            item.runtest = types.MethodType(pytest.Function.runtest, item)  # type: ignore[method-assign]
        try:
            result = yield
        except BaseException as error:
            clusterport.note_problems(cluster, error)
            end_run(item, error)
            raise
        finally:
            vars(item).pop("runtest", None)
    end_run(item, None)
    problem, item.stash[RAISED] = clusterport.judge(cluster, warn=partial(_warn, item))
    if problem:
        pytest.fail(problem, pytrace=False)
    return result


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


def runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Runs all finalizers: pytest stops at the first that raises neither an Exception nor an outcome.

    asyncio.CancelledError is such one. The fixtures that are set up earlier would leak into the next test.
    """
    finalizers = internals.finalizers(item, nextitem)
    try:
        yield
    except BaseException as error:
        for remaining in reversed(finalizers):
            _run_all(remaining, error)
        _after_teardown(item)
        raise
    if left := _after_teardown(item):
        pytest.fail(left, pytrace=False)


def _after_teardown(item: pytest.Item) -> str:
    """Close what the test has left open. Returns what to say of it."""
    for shared in list(item.config.stash.get(SHARED, {}).values()):
        shared.keep()  # closes clusters of wider fixtures that a failed set-up has left open
    left = close_survivors(item)
    # `monkeypatch`, or another tool, may have set variables back to the values that the cluster has hidden
    module = sys.modules.get("fakekube.harness.connecting.outside")
    if module is not None:
        module.restore_leftover()
    return left


def _run_all(finalizers: list[Callable[[], object]], because: BaseException) -> None:
    while finalizers:
        try:
            finalizers.pop()()
        except BaseException as error:
            because.add_note(f"a finalizer that ran after this raised {error!r}")
