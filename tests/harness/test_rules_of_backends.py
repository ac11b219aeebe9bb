"""Backends that are real: what they share with FakeKube, without a cluster; kubeconfig files, kustomizations."""

import asyncio
import inspect
from types import SimpleNamespace

import pytest
import yaml

from fakekube.apiserver.user import User
from fakekube.harness.backends.connection import Connection, NoBackend, existing
from fakekube.harness.backends.reaching import Reaching
from fakekube.harness.backends.realcluster import RealCluster
from fakekube.harness.backends.realloop import RealLoop
from fakekube.harness.face import Cluster
from fakekube.harness.members import members_of
from fakekube.harness.state import loading
from fakekube.server.manifests import ManifestError
from fakekube.virtualtime.simulatedprocess import SimulatedProcess

# --- what a backend does not define


@pytest.mark.parametrize("name", members_of(Cluster))
def test_a_member_of_the_face_does_nothing_by_itself(name):
    member = inspect.getattr_static(Cluster, name)
    function = member.fget if isinstance(member, property) else member
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    given = [None for one in needed if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    named = {one.name: None for one in needed if one.kind is one.KEYWORD_ONLY}
    with pytest.raises(NotImplementedError):
        function(*given, **named)


# --- a real cluster without a connection


def real(**more):
    return SimpleNamespace(_failures=[], _tasks=[], **more)


def test_what_a_task_of_a_real_cluster_fails_with_is_kept():
    async def fails():
        raise ValueError("failed")

    async def main():
        cluster = real(_loop=asyncio.get_running_loop())
        cluster._guarded = lambda work: RealCluster._guarded(cluster, work)
        made = [RealCluster.task(cluster, work, name=name) for work, name in ((fails(), "one"), (fails, ""))]
        waiting = RealCluster.task(cluster, asyncio.sleep(3600), name="waiting")
        await asyncio.wait(made)
        waiting.cancel()
        await asyncio.wait([waiting])
        return cluster, made, waiting

    cluster, made, waiting = asyncio.run(main())
    assert cluster._tasks == [*made, waiting]
    assert [one.get_name() for one in cluster._tasks[::2]] == ["one", "waiting"]
    assert [str(error) for error in cluster._failures] == ["failed", "failed"]
    assert (waiting.cancelled(), [one.cancelled() for one in made]) == (True, [False, False])


@pytest.mark.parametrize("wrong", [3, lambda: 3, "text"])
def test_what_is_no_task_of_a_real_cluster(wrong):
    with pytest.raises(
        TypeError, match=r"^task\(\) takes a coroutine: call the async function, task\(work\(\)\), not "
    ):
        RealCluster.task(real(), wrong)


def test_what_is_no_operator_of_a_real_cluster():
    with pytest.raises(TypeError, match=r"^stop\(\) takes an operator as start\(\) returns it, not 'x'$"):
        RealCluster.stop(real(), "x")


class Stored:
    """The objects of a cluster, which note what they are asked."""

    def __getattr__(self, name):
        return lambda *asked: (name, *asked)


def test_objects_of_a_real_cluster_are_in_the_namespace_of_the_test():
    cluster = real(_objects=Stored(), _namespace="mine")
    assert RealCluster.get(cluster, "v1", "Pod", "a") == ("get", "v1", "Pod", "a", "")
    assert RealCluster.exists(cluster, "v1", "Pod", "a", "b") == ("exists", "v1", "Pod", "a", "b")
    assert RealCluster.list(cluster, "v1", "Pod") == ("list", "v1", "Pod", "mine", "", "")
    assert RealCluster.list(cluster, "v1", "Pod", None, label_selector="x") == ("list", "v1", "Pod", None, "x", "")
    assert RealCluster.list(cluster, "v1", "Pod", "b", field_selector="y") == ("list", "v1", "Pod", "b", "", "y")
    assert RealCluster.create(cluster, {}) == ("create", {})
    assert RealCluster.apply(cluster, {}, "x") == ("apply", {}, "x")
    assert RealCluster.update(cluster, {}, subresource="status") == ("update", {}, "status")
    assert RealCluster.patch(cluster, "v1", "Pod", "a", {}, "b") == ("patch", "v1", "Pod", "a", {}, "b", "")
    assert RealCluster.delete(cluster, "v1", "Pod", "a", propagationPolicy="Orphan") == (
        "delete", "v1", "Pod", "a", "", {"propagationPolicy": "Orphan"},
    )  # fmt: skip


def test_the_namespaces_of_a_test_are_those_that_it_has_created():
    created = [("/api/v1/namespaces", {"metadata": {"name": name}}) for name in ("a", "b")]
    created.insert(1, ("/api/v1/nodes", {"metadata": {"name": "n"}}))
    cluster = real(_activity=SimpleNamespace(created=created))
    assert RealCluster._own_namespaces(cluster) == ("a", "b")


def test_a_real_loop_runs_tests_and_operators_and_has_no_clock():
    inner = asyncio.new_event_loop()
    loop = RealLoop(inner, "envtest")
    try:

        async def returns(value):
            return value, asyncio.current_task().get_name()

        assert loop.loop is loop.tasks is loop
        assert (loop.has_work(), loop.own(None)) == (False, None)
        assert loop.run(returns(1))[0] == 1
        named = loop.create_task(returns(2), name="mine")
        assert inner.run_until_complete(named) == (2, "mine")
        process = SimulatedProcess("operator")
        tasks = [loop.start_process(returns(3), process), loop.start_process(returns(4), process, "other")]
        assert inner.run_until_complete(asyncio.gather(*tasks)) == [(3, "operator"), (4, "other")]
        assert loop.create_future().get_loop() is inner
        with pytest.raises(
            pytest.skip.Exception, match=r"^needs the clock: bubble.advance is not available on backend envtest$"
        ):
            loop.advance(3)
        with pytest.raises(AttributeError, match=r"^_private$"):
            loop._private  # noqa: B018
    finally:
        inner.close()


# --- kubeconfig files


def kubeconfig(folder, **user):
    path = folder / "config"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1", "kind": "Config", "current-context": "one",
                "contexts": [
                    {"name": name, "context": {"cluster": name, "user": "me"}} for name in ("one", "two")
                ],
                "clusters": [
                    {"name": name, "cluster": {"server": f"http://{name}:1"}} for name in ("one", "two")
                ],
                "users": [{"name": "me", "user": {"token": "secret", **user}}],
            }
        )
    )  # fmt: skip
    return path


def test_the_first_kubeconfig_file_that_exists_is_used(tmp_path, monkeypatch):
    path = kubeconfig(tmp_path)
    none = tmp_path / "none"
    assert existing(str(path)) == Connection("cluster", path, None)
    monkeypatch.setenv("KUBECONFIG", f"{none}:{path}")
    assert existing() == existing("") == Connection("cluster", path, None)
    assert existing("", "two") == Connection("cluster", path, "two")
    assert existing("", "two").transport().url == "http://two:1"
    with pytest.raises(NoBackend, match=f"^backend cluster: there is no kubeconfig file {none}; set KUBECONFIG$"):
        existing(str(none))
    with pytest.raises(NoBackend, match=f"^backend cluster: {path} cannot be used with context three: "):
        existing(str(path), "three")


@pytest.mark.parametrize(
    ("user", "headers"),
    [
        (None, {}),
        (User("ann"), {"Impersonate-User": "ann"}),
        (User("ann", groups=("dev", "system:authenticated")), {"Impersonate-User": "ann", "Impersonate-Group": "dev"}),
    ],
)
def test_an_official_client_of_a_real_cluster(tmp_path, user, headers):
    reaching = Reaching(Connection("cluster", kubeconfig(tmp_path), "two"))
    made = reaching.api_client(user)
    assert made.configuration.host == "http://two:1"
    assert {name: value for name, value in made.default_headers.items() if name.startswith("Imp")} == headers
    reaching.close()


def test_a_command_has_the_kubeconfig_of_the_cluster(tmp_path):
    path = kubeconfig(tmp_path)
    reaching = Reaching(Connection("cluster", path))
    done = reaching.run(["/bin/sh", "-c", "echo $KUBECONFIG $X; exit 3"], {"env": {"X": "1"}}, in_coroutine=False)
    assert (done.stdout, done.returncode) == (f"{path} 1\n", 3)
    with pytest.raises(TypeError, match=r"^run_process\('a b'\): pass a list, \['a', 'b'\]$"):
        reaching.run("a b", {}, in_coroutine=False)
    with pytest.raises(ValueError, match=r"^run_process\(\[\]\): the list names a program"):
        reaching.run([], {}, in_coroutine=False)


# --- kustomizations


@pytest.fixture
def kustomization(tmp_path, monkeypatch):
    """A directory with a kustomization, and a function that puts a program in the path, which runs a script."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    folder = tmp_path / "deploy"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text("resources: []\n")

    def install(name, script):
        path = programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return folder, install


#: Writes a ConfigMap with the name of the directory.
SCRIPT = 'test "$1" = %s || exit 9\necho "{apiVersion: v1, kind: ConfigMap, metadata: {name: ${2##*/}}}"'


@pytest.mark.parametrize(("name", "argument"), [("kustomize", "build"), ("kubectl", "kustomize")])
@pytest.mark.parametrize("as_file", [True, False])
def test_a_kustomization_is_built(kustomization, name, argument, as_file):
    folder, install = kustomization
    install(name, SCRIPT % argument)
    path = folder / "kustomization.yaml" if as_file else str(folder)
    assert [one["metadata"]["name"] for one in loading.read([path])] == ["deploy"]


def test_kustomize_comes_before_kubectl(kustomization):
    folder, install = kustomization
    for name in ("kubectl", "kustomize"):
        install(name, f"echo 'kind: {name}'\necho 'apiVersion: v1'\necho 'metadata: {{name: a}}'")
    assert [one["kind"] for one in loading.read([folder])] == ["kustomize"]


def test_a_kustomization_that_cannot_be_built(kustomization, monkeypatch):
    folder, install = kustomization
    with pytest.raises(ManifestError, match="neither kustomize nor kubectl is installed"):
        loading.read([folder])
    install("kustomize", "echo wrong >&2; exit 4")
    with pytest.raises(ManifestError, match=f"^`kustomize build {folder}` failed with status 4: wrong$"):
        loading.read([folder])
    install("kustomize", "while true; do :; done")
    monkeypatch.setattr(loading, "_SECONDS", 0.02)
    with pytest.raises(ManifestError, match=f"^`kustomize build {folder}` has not ended after 0.02 s$"):
        loading.read([folder])
