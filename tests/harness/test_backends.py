"""The same tests on fakekube, on an existing cluster (`fakekube serve`), and on kube-apiserver and etcd binaries."""

import asyncio
import json
import threading
from pathlib import Path

import pytest
import yaml

from controllerlib import ApiError, Request, Result
from fakekube.harness.backends import selection
from fakekube.harness.backends.connection import NoBackend, existing
from fakekube.harness.backends.controlplane import ControlPlane, binary
from fakekube.harness.face import DESKS
from fakekube.virtualtime.errors import NotQuiescent
from tests.cli.commands import READY, started
from tests.face import public_names
from tests.harness.operators import build, config_map, counting, definition, nothing
from tests.innerruns import LEAN


def missing_binaries():
    try:
        ControlPlane()
    except NoBackend as problem:
        return str(problem)
    return ""


envtest = pytest.mark.skipif(bool(missing_binaries()), reason=missing_binaries() or "found")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The connection to a fakekube server that runs in a process of its own."""
    folder = tmp_path_factory.mktemp("served")
    path = folder / "kubeconfig"
    with started("serve", "--port", "0", "--kubeconfig", path, folder=folder) as command:
        command.lines_to(READY)
        yield existing(str(path))


@pytest.fixture(scope="module")
def binaries():
    with ControlPlane() as connection:
        yield connection


@pytest.fixture(scope="module", params=["cluster", pytest.param("envtest", marks=[envtest, pytest.mark.slow])])
def connection(request):
    return request.getfixturevalue({"cluster": "served", "envtest": "binaries"}[request.param])


@pytest.fixture
def kube(connection, request):
    with selection.cluster_of(connection, {}, request.node.nodeid, {"quiet": "0.15"}) as kube:
        yield kube


def everything(connection):
    """The names of all namespaces and cluster-scoped objects, with their number of objects."""
    with selection.cluster_of(connection, {}, "everything", {}) as kube:
        kinds = [("v1", "Namespace"), ("rbac.authorization.k8s.io/v1", "ClusterRole")]
        kinds.append(("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
        found = {one["metadata"]["name"] for kind in kinds for one in kube.list(*kind, None)}
        maps = {one["metadata"]["name"] for one in kube.list("v1", "ConfigMap", None)}
        return (found | maps) - {kube.namespace}


ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "made-by-test"}}
BACKUP = {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "nightly"}, "spec": {"size": 1}}


def unplaced(name, **data):
    """A ConfigMap without a namespace."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


# --- objects and operators ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_objects_are_in_the_namespace_of_the_test(kube):
    made = kube.create(unplaced("a", x="1"))
    assert made["metadata"]["namespace"] == kube.namespace != "default"
    assert kube.get("v1", "ConfigMap", "a") == made
    assert kube.exists("v1", "ConfigMap", "a")
    assert not kube.exists("v1", "ConfigMap", "a", "default")
    kube.patch("v1", "ConfigMap", "a", {"data": {"x": "2"}})
    kube.apply(unplaced("a", y="3"), unplaced("b"))
    assert kube.get("v1", "ConfigMap", "a")["data"] == {"y": "3"}
    kube.update({**kube.get("v1", "ConfigMap", "a"), "data": {"z": "4"}})
    names = [
        one["metadata"]["name"] for one in kube.list("v1", "ConfigMap") if one["metadata"]["name"] != "kube-root-ca.crt"
    ]
    assert names == ["a", "b"]
    kube.delete("v1", "ConfigMap", "a")
    with pytest.raises(ApiError, match='configmaps "a" not found'):
        kube.get("v1", "ConfigMap", "a")
    with pytest.raises(LookupError, match="did you mean 'ConfigMap'"):
        kube.list("v1", "Configmap")


@pytest.mark.slow
def test_a_definition_can_be_used_at_once(kube):
    kube.state.load(yaml.safe_dump_all([BACKUP, definition()]))
    assert kube.get("example.com/v1", "Backup", "nightly")["spec"] == {"size": 1}


def copying(manager):
    """Makes a ConfigMap for each Backup, and sets its status."""

    async def reconcile(request: Request, client):
        found = await client.get("example.com/v1", "Backup", request.name, namespace=request.namespace)
        if not found.get("status"):
            meta = {"name": request.name, "namespace": request.namespace}
            await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
            await client.update_status({**found, "status": {"copied": True}})
        return Result()

    manager.controller("copying").for_("example.com/v1", "Backup").complete(reconcile)


@pytest.mark.slow
def test_an_operator_runs_over_http_and_its_reconciles_are_in_the_ledger(kube):
    kube.apply(definition(), BACKUP)
    view = kube.start(copying)["copying"]
    assert kube.get("example.com/v1", "Backup", "nightly")["status"] == {"copied": True}
    assert view.causes(f"{kube.namespace}/nightly") == ["added", "updated"]
    assert kube.exists("v1", "ConfigMap", "nightly")
    kube.create({**BACKUP, "metadata": {"name": "second"}})
    kube.settle()
    assert view.reconciles(f"{kube.namespace}/second") == 2


@pytest.mark.slow
def test_an_operator_can_be_stopped(kube):
    operator = kube.start(build(nothing))
    kube.stop(operator)
    assert not operator.is_running
    kube.create(unplaced("a"))
    kube.settle()
    assert operator["minder"].reconciles(f"{kube.namespace}/a") == 0


@pytest.mark.slow
def test_an_operator_acts_as_a_user(kube):
    kube.apply(ROLE, definition(), BACKUP)
    code, _, body = kube.run(
        kube.access.transport(user="system:serviceaccount:x:y").request(
            "POST",
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            body={"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
        )
    )
    assert (code, body["status"]["userInfo"]["username"]) == (201, "system:serviceaccount:x:y")


@pytest.mark.slow
def test_what_a_task_raises_is_raised_by_the_next_step(kube):
    async def fail():
        raise LookupError("it failed")

    kube.task(fail())
    with pytest.raises(LookupError, match="it failed"):
        kube.settle()


@pytest.mark.slow
def test_an_operator_that_is_never_quiet_is_an_error(connection):
    with selection.cluster_of(connection, {}, "busy", {"quiet": "0.2"}) as kube:
        kube._patience = 0.6
        kube.create(unplaced("a"))
        with pytest.raises(NotQuiescent, match=r"the operators are not quiet for 0.2 s within 0.6 s: "):
            kube.start(build(slowly(counting())))


def slowly(reconcile):
    """Not so often in a second that it is a hot loop."""

    async def slow(request, client):
        await asyncio.sleep(0.01)
        await reconcile(request, client)

    return slow


@pytest.mark.slow
def test_other_clients_reach_the_cluster(kube):
    client = kube.access.api_client()
    from kubernetes.client import CoreV1Api

    kube.create(unplaced("a"))
    assert CoreV1Api(client).read_namespaced_config_map("a", kube.namespace).metadata.name == "a"
    assert kube.access.url.startswith("http")
    done = kube.run_process(["sh", "-c", "cat $KUBECONFIG"])
    assert yaml.safe_load(done.stdout)["clusters"][0]["cluster"]["server"] == kube.access.url


@pytest.mark.slow
def test_tasks_of_a_test_end_with_it(connection):
    ended = []

    async def last():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("last")

    async def main(kube):
        kube.task(last())
        background.add(asyncio.create_task(last()))
        await kube.settle()

    background = set()
    with selection.cluster_of(connection, {}, "tasks", {"quiet": "0.15"}) as kube:
        kube.run(main(kube))
        assert ended == []
    assert ended == ["last", "last"]


# --- what is removed ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_nothing_is_left_of_a_test(connection):
    before = everything(connection)
    with selection.cluster_of(connection, {}, "leaving", {}) as kube:
        kube.apply(definition(), ROLE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other-of-test"}})
        held = {"finalizers": ["example.com/hold"]}
        kube.create({**BACKUP, "metadata": {"name": "held", **held}})
        kube.create({**unplaced("a"), "metadata": {"name": "a", "namespace": "other-of-test", **held}})
        kube.create({**unplaced("b"), "metadata": {"name": "in-default", "namespace": "default"}})
        kube.delete("example.com/v1", "Backup", "held")
        assert everything(connection) > before
    assert everything(connection) == before


def test_what_existed_before_is_left(connection):
    with selection.cluster_of(connection, {}, "first", {}) as first:
        first.apply(ROLE)
        with selection.cluster_of(connection, {}, "second", {}) as second:
            second.apply({**ROLE, "rules": []})
        assert first.exists(ROLE["apiVersion"], "ClusterRole", "made-by-test")


@pytest.mark.slow
def test_what_an_operator_has_created_is_removed(connection):
    def making(manager):
        async def reconcile(request, client):
            await client.create({**ROLE, "metadata": {"name": f"made-for-{request.name}"}})

        manager.controller("making").for_("v1", "ConfigMap").complete(reconcile)

    with selection.cluster_of(connection, {}, "making", {"quiet": "0.15"}) as kube:
        kube.create(unplaced("a"))
        kube.start(making)
        assert kube.exists(ROLE["apiVersion"], "ClusterRole", "made-for-a")
    assert "made-for-a" not in everything(connection)


@pytest.mark.slow
def test_definitions_can_be_left(connection):
    with selection.cluster_of(connection, {}, "keeping", {"keep_crds": True}) as kube:
        kube.apply(definition("Kept"), ROLE)
    left = everything(connection)
    assert "kepts.example.com" in left
    assert "made-by-test" not in left
    with selection.cluster_of(connection, {}, "removing", {}) as kube:
        kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", "kepts.example.com")


@pytest.mark.slow
def test_in_an_existing_cluster_an_operator_acts_in_its_own_namespaces_only(served):
    with selection.cluster_of(served, {}, "own", {"quiet": "0.15"}) as kube:
        kube.create(config_map("elsewhere"))
        kube.create(unplaced("here"))
        view = kube.start(build(nothing))["minder"]
        assert [view.reconciles(f"{kube.namespace}/here"), view.reconciles("default/elsewhere")] == [1, 0]


# --- what a real cluster cannot do -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda kube: kube.advance(60), "needs the clock: advance()"),
        (lambda kube: kube.clock, "needs the clock: clock"),
        (lambda kube: kube.fault(error=500), "needs faults: fault()"),
        (lambda kube: kube.faults.compact(), "needs faults: faults.compact()"),
        (lambda kube: kube.state.snapshot(), "needs the server's store: state.snapshot()"),
        (lambda kube: kube.findings.noop_writes(), "needs the server's store: findings.noop_writes()"),
        (lambda kube: kube.pods("app=web"), "needs the cluster's own controllers and nodes: pods()"),
        (lambda kube: kube.nodes["node-1"], "needs the cluster's own controllers and nodes: nodes"),
        (lambda kube: kube.webhooks.ca_bundle, "needs webhooks in virtual time: webhooks.ca_bundle"),
        (lambda kube: kube.access.configure(), "needs fakekube's own server: access.configure()"),
    ],
)
def test_what_needs_the_clock_or_the_server_skips_the_test(kube, call, text):
    with pytest.raises(pytest.skip.Exception) as skipped:
        call(kube)
    assert str(skipped.value) == f"{text} is not available on backend {kube.access.backend}"


def test_a_member_that_does_not_exist_is_an_error(kube):
    with pytest.raises(AttributeError, match="no attribute 'advanse'"):
        kube.advanse(60)


def test_every_member_is_there_or_skips(kube):
    for face in (kube, *(getattr(kube, name) for name in DESKS)):
        for name in public_names(type(face)):
            try:
                getattr(face, name)
            except pytest.skip.Exception as skipped:
                assert str(skipped).startswith("needs ")


# --- the plugin --------------------------------------------------------------------------------------------------------

TESTS = """
    import pytest

    CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

    def build(manager):
        async def reconcile(request):
            return None
        manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

    def test_sync(fakekube):
        fakekube.create(CONFIG)
        assert fakekube.start(build)["minder"].reconciles(f"{fakekube.namespace}/a") == 1

    async def test_async(fakekube):
        fakekube.create(CONFIG)
        operator = await fakekube.start(build)
        assert operator["minder"].reconciles(f"{fakekube.namespace}/a") == 1

    def test_time(fakekube):
        fakekube.advance(60)

    async def test_time_in_a_coroutine(fakekube):
        await fakekube.advance(60)

    @pytest.mark.fakekube(controllers=["deployment"])
    def test_controllers(fakekube):
        pass

    @pytest.fixture(scope="module")
    def shared(fakekube_module):
        fakekube_module.create(CONFIG)
        return fakekube_module

    @pytest.mark.parametrize("n", [1, 2])
    def test_shared(shared, fakekube_namespace, n):
        assert shared.exists("v1", "ConfigMap", "a")
        shared.create({**CONFIG, "metadata": {"name": "b", "namespace": fakekube_namespace}})
        shared.create({**CONFIG, "metadata": {"name": "more"}})
        assert shared.start(build)["minder"].reconciles(f"{fakekube_namespace}/b") == 1
"""


@pytest.mark.parametrize("backend", ["fakekube", "cluster", pytest.param("envtest", marks=[envtest, pytest.mark.slow])])
def test_the_same_tests_run_on_each_backend(pytester, served, monkeypatch, backend):
    monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig))
    pytester.makepyfile(TESTS)
    before = everything(served)
    result = pytester.runpytest_inprocess(*LEAN, "-rs", f"--fakekube-backend={backend}", "--fakekube-quiet=0.15")
    if backend == "fakekube":
        result.assert_outcomes(passed=7)
    else:
        result.assert_outcomes(passed=4, skipped=3)
        result.stdout.fnmatch_lines(
            [
                f"*needs the clock: advance() is not available on backend {backend}",
                f"*needs fakekube's own server: controllers=[[]'deployment'] is not available on backend {backend}",
            ],
            consecutive=False,
        )
    assert everything(served) == before


@pytest.mark.slow
def test_a_failing_test_on_a_real_cluster_is_reported_and_removed(pytester, served, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig))
    pytester.makepyfile(
        """
        def test_it(fakekube):
            fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "failed"}})
            assert fakekube.access.backend == "fakekube"
        """
    )
    result = pytester.runpytest_inprocess(*LEAN, "--fakekube-backend=cluster")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*AssertionError: assert 'cluster' == 'fakekube'*"])
    assert "failed" not in everything(served)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--fakekube-backend=other"], "*--fakekube-backend=other: choose fakekube, envtest, cluster*"),
        (["--fakekube-backend=envtest"], "*there is no executable /nowhere/etcd; set KUBEBUILDER_ASSETS*"),
        (
            ["--fakekube-backend=cluster"],
            "*backend cluster: there is no kubeconfig file /nowhere/config; set KUBECONFIG*",
        ),
    ],
)
def test_a_backend_that_cannot_be_used_says_what_is_missing(pytester, monkeypatch, options, text):
    monkeypatch.setenv("KUBEBUILDER_ASSETS", "/nowhere")
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    pytester.makepyfile("def test_it(fakekube): pass")
    result = pytester.runpytest_inprocess(*LEAN, *options)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([text])


def test_an_unknown_context_is_named(served):
    with pytest.raises(NoBackend, match="cannot be used with context nowhere: "):
        existing(str(served.kubeconfig), "nowhere")


def test_a_context_is_chosen(served, tmp_path):
    config = yaml.safe_load(Path(served.kubeconfig).read_text())
    name = config["current-context"]
    other = {"name": "other", "context": {"cluster": "other", "user": "other"}}
    config["contexts"] += [other]
    config["clusters"] += [{"name": "other", "cluster": {"server": "http://127.0.0.1:1"}}]
    config["users"] += [{"name": "other", "user": {}}]
    config["current-context"] = "other"
    path = tmp_path / "config"
    path.write_text(json.dumps(config))
    with selection.cluster_of(existing(str(path), name), {}, "context", {}) as kube:
        kube.create(unplaced("a"))
        chosen = yaml.safe_load(kube.access.kubeconfig.read_text())
        assert (chosen["current-context"], oct(kube.access.kubeconfig.stat().st_mode & 0o777)) == (name, "0o600")
    assert not kube.access.kubeconfig.exists() or kube.access.kubeconfig == path


# --- binaries ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def assets(tmp_path):
    for name in ("etcd", "kube-apiserver"):
        (tmp_path / name).write_text("#!/bin/sh\necho $0 cannot run\nexit 3\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_binaries_are_found_as_envtest_finds_them(assets, tmp_path_factory):
    found = binary("etcd", {"KUBEBUILDER_ASSETS": str(assets)})
    assert found == assets / "etcd"
    own = tmp_path_factory.mktemp("own") / "etcd-of-mine"
    own.write_text("")
    own.chmod(0o755)
    assert binary("etcd", {"KUBEBUILDER_ASSETS": str(assets), "TEST_ASSET_ETCD": str(own)}) == own
    if not Path("/usr/local/kubebuilder/bin/etcd").exists():
        with pytest.raises(NoBackend, match="there is no executable /usr/local/kubebuilder/bin/etcd"):
            binary("etcd", {})


def test_a_binary_that_ends_shows_its_log(assets):
    with (
        pytest.raises(NoBackend, match=r"(?s)etcd ended with status 3:.*etcd cannot run"),
        ControlPlane({"KUBEBUILDER_ASSETS": str(assets)}),
    ):
        pass


@envtest
@pytest.mark.slow
def test_the_processes_and_files_of_the_control_plane_are_gone_at_the_end():
    with ControlPlane() as connection:
        folder = connection.kubeconfig.parent
        processes = [process for process in Path("/proc").glob("[0-9]*") if str(folder) in _command(process)]
        assert len(processes) == 2
    assert not folder.exists()
    assert [process for process in processes if str(folder) in _command(process)] == []


def _command(process):
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_no_request_thread_is_left(served):
    before = set(threading.enumerate())
    with selection.cluster_of(served, {}, "threads", {}) as kube:
        kube.create(unplaced("a"))
        assert [one.name for one in set(threading.enumerate()) - before if one.name == "fakekube requests"]
    kube.close()
    assert set(threading.enumerate()) <= before
