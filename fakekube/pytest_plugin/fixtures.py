"""What the fixtures do: the cluster of one test, one that several tests share, and real clusters."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from fakekube.clustersettings import suggestion
from fakekube.pytest_plugin import clusterport
from fakekube.pytest_plugin.itemkeys import CLUSTER, SHARED, SHARED_FIXTURES
from fakekube.pytest_plugin.survivors import refuse_survivors
from fakekube.pytest_plugin.testsettings import backend, check_test, option, settings
from fakekube.pythongarbage import leave_out_what_is_loaded, no_collections
from fakekube.simulation.stash import PLAN
from fakekube.virtualtime.compatibility.privatename import IncompatibleVersion

if TYPE_CHECKING:
    from fakekube.harness.cluster import FakeKube


def cluster_of_test(request: pytest.FixtureRequest) -> Iterator[FakeKube]:
    """`fakekube`: a new cluster, open until the test has ended."""
    plan = request.node.stash.get(PLAN, None)
    with _one_line():
        found = settings(request)
        configure = found.pop("configure", False)
        if plan is not None:
            found |= {"seed": plan.seed, "detect": {"all": "off"}}  # the oracles judge
        with no_collections():  # it imports much, which is no garbage
            cluster = _cluster(request, found)
            leave_out_what_is_loaded()
    request.node.stash[CLUSTER] = cluster
    _set_golden(cluster, request)
    if plan is not None:
        from fakekube.simulation.protocol import attach

        attach(request.node, cluster)
    with ExitStack() as leave:
        with _one_line():
            leave.enter_context(cluster)
            clusterport.configure(cluster, configure)
        yield cluster


def _cluster(request: pytest.FixtureRequest, found: dict[str, Any]) -> FakeKube:
    """A new cluster, which is not open. Raises UsageError for settings that it does not have."""
    if backend(request.config) != "fakekube":
        real: FakeKube = _real_cluster(request, found)
        return real
    from fakekube.harness.cluster import FakeKube

    known = sorted([*inspect.signature(FakeKube).parameters, "configure"])
    if unknown := sorted(found.keys() - set(known)):
        names = f"{', '.join(unknown)}{suggestion(unknown, known)}"
        raise pytest.UsageError(f"@pytest.mark.fakekube has no argument {names} (it has {', '.join(known)})")
    refuse_survivors(request.node)
    try:
        cluster = FakeKube(**found)
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"@pytest.mark.fakekube: {error}") from None
    clusterport.prepare(cluster, is_explored=request.node.stash.get(PLAN, None) is not None)
    return cluster


@contextmanager
def _one_line() -> Iterator[None]:
    """Fail a test with one line, without a traceback, for settings that a cluster does not have.

    Also if Python or a library lacks what every cluster needs.
    """
    try:
        yield
    except (IncompatibleVersion, pytest.UsageError) as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None


def _set_golden(cluster: FakeKube, request: pytest.FixtureRequest) -> None:
    """Golden files are relative to the test's file."""
    update = request.config.getoption("--fakekube-update-golden")
    clusterport.set_golden(cluster, request.path.parent, update=bool(update))


# --- real clusters ---------------------------------------------------------------------------------------------------


def connection(request: pytest.FixtureRequest) -> Iterator[Any]:
    """`_fakekube_connection`: the connection to the backend, until the run ends. UsageError: there is none."""
    from fakekube.harness.backends import selection

    try:
        with selection.connected(option(request.config, "backend"), option(request.config, "context")) as connected:
            yield connected
    except selection.NoBackend as problem:
        raise pytest.UsageError(str(problem)) from None


def _real_cluster(request: pytest.FixtureRequest, found: dict[str, Any]) -> Any:
    """A cluster of the backend, with a namespace of its own. Skips a test with settings that it does not have."""
    from fakekube.harness.backends import selection

    connected = request.getfixturevalue("_fakekube_connection")
    options = {name: option(request.config, name) for name in ("keep_crds", "quiet")}
    return selection.cluster_of(connected, found, request.node.nodeid or "session", options)


# --- clusters of several tests ---------------------------------------------------------------------------------------


def shared_cluster(request: pytest.FixtureRequest) -> Iterator[Any]:
    """`fakekube_module` and `fakekube_session`: a proxy for the cluster of the test that runs."""
    from fakekube.harness.sharing import ClusterProxy, SharedCluster

    with _one_line():
        found = settings(request)
    found.pop("configure", None)
    if backend(request.config) != "fakekube":
        with _real_cluster(request, found) as real:
            yield real
        return
    shared = SharedCluster(lambda: _cluster(request, found))
    every = request.config.stash.setdefault(SHARED, {})
    every[str(request.fixturename)] = shared
    yield ClusterProxy(shared)
    del every[str(request.fixturename)]
    shared.close()


def turn_of_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """`_fakekube_of_test`: the shared cluster, open for one test. Fails a test with two clusters."""
    check_test(request)
    used = [name for name in (*SHARED_FIXTURES, "fakekube") if name in request.fixturenames]
    if len(used) > 1:
        pytest.fail(f"{request.node.nodeid} uses {' and '.join(used)}: a test has one cluster", pytrace=False)
    shared = request.config.stash.get(SHARED, {}).get(used[0])
    if shared is None:
        real = request.node.stash[CLUSTER] = request.getfixturevalue(used[0])
        with real.test():
            yield
        return
    with _one_line():
        found = settings(request)
        configure = found.pop("configure", False)
        try:
            cluster: Any = shared.begin(lambda: _cluster(request, found))
        except ValueError as error:
            raise pytest.UsageError(f"{request.node.nodeid}: {error}") from None
    request.node.stash[CLUSTER] = cluster
    _set_golden(cluster, request)
    with _one_line():
        clusterport.configure(cluster, configure)
    yield
    shared.end()


def namespace(request: pytest.FixtureRequest) -> str:
    """`fakekube_namespace`: the name of a new namespace, which depends on the name of the test only."""
    from fakekube.harness.sharing import namespace_for

    used = next((name for name in SHARED_FIXTURES if name in request.fixturenames), "fakekube")
    cluster = request.getfixturevalue(used)
    name = namespace_for(request.node.nodeid, "" if cluster.access.backend == "fakekube" else cluster.namespace)
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name
