"""The operator of `production_operator.py`: in a test, and as a process against a server over HTTPS with RBAC."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config, watch

from controllerlib import ApiError, Client
from controllerlib.client import HttpTransport
from tests.examples.production_operator import API, build

HERE = Path(__file__).parent
CRD = HERE / "crds" / "backup.yaml"
TOKENS = """\
admin-token,admin,1,system:masters
operator-token,system:serviceaccount:default:backup-operator,2,"system:serviceaccounts"
"""
SECONDS = 30


def backup(name: str = "nightly") -> dict[str, Any]:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": API, "kind": "Backup", "metadata": meta, "spec": {"every": 3600, "target": "db"}}


def test_the_operator_in_a_test(fakekube):
    fakekube.apply(CRD, backup())
    fakekube.start(build)
    fakekube.advance(minutes=1)
    assert [job["metadata"]["name"] for job in fakekube.list("batch/v1", "Job")] == ["nightly-1"]
    (event,) = fakekube.list("events.k8s.io/v1", "Event")
    assert [event["reason"], event["note"]] == ["BackupStarted", "started nightly-1"]
    assert event["regarding"]["name"] == "nightly"


class Cluster:
    """A server of its own process, and an administrator's client of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.api = config.new_client_from_config(str(folder / "admin"))

    def kubeconfig(self) -> str:
        """The operator's: its own token instead of the administrator's."""
        document = yaml.safe_load((self.folder / "admin").read_text())
        document["users"][0]["user"] = {"token": "operator-token"}
        path = self.folder / "operator"
        path.write_text(yaml.safe_dump(document))
        return str(path)

    def until(self, listing: Callable[..., Any], fact: Callable[[Any], bool], **where: Any) -> Any:
        """The first object for which `fact` holds, now or within half a minute."""
        for event in watch.Watch().stream(listing, timeout_seconds=SECONDS, **where):
            if event["type"] != "DELETED" and fact(event["object"]):
                return event["object"]
        raise AssertionError(f"did not come true within {SECONDS} seconds")

    def lease(self, fact: Callable[[str], bool]) -> str:
        leases = client.CoordinationV1Api(self.api).list_namespaced_lease
        found = self.until(leases, lambda lease: fact(lease.spec.holder_identity or ""), namespace="default")
        holder: str = found.spec.holder_identity
        return holder

    def job(self, name: str) -> Any:
        return self.until(
            client.BatchV1Api(self.api).list_namespaced_job, lambda job: job.metadata.name == name, namespace="default"
        )

    def create(self, obj: dict[str, Any]) -> None:
        client.CustomObjectsApi(self.api).create_namespaced_custom_object(
            "example.com", "v1", "default", "backups", obj
        )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    tmp_path = tmp_path_factory.mktemp("cluster")
    (tmp_path / "tokens.csv").write_text(TOKENS)
    command = [
        *(sys.executable, "-m", "fakekube", "serve", "--port", "0", "--tls", "--authorization-mode", "RBAC"),
        *("--token-auth-file", str(tmp_path / "tokens.csv"), "--kubeconfig", str(tmp_path / "admin")),
        *("--manifests", str(CRD), "--manifests", str(HERE / "rbac")),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline(), "the server did not start"
            found = Cluster(tmp_path)
            with closing(found.api):
                yield found
        finally:
            server.terminate()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Replica:
    """The operator as a process."""

    def __init__(self, process: "subprocess.Popen[str]", metrics: int, health: int) -> None:
        self._process, self._metrics, self._health = process, metrics, health

    def metrics(self) -> str:
        return get(f"http://127.0.0.1:{self._metrics}/metrics")[1]

    def health(self, path: str) -> tuple[int, str]:
        return get(f"http://127.0.0.1:{self._health}{path}")

    def stop(self) -> int:
        """SIGTERM, as a kubelet sends it; the exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(SECONDS)


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@contextmanager
def replica(cluster: Cluster) -> Iterator[Replica]:
    ports = free_port(), free_port()
    command = [
        *(sys.executable, str(HERE / "production_operator.py"), "--leader-elect", "--namespace", "default"),
        *("--metrics-bind-address", f"127.0.0.1:{ports[0]}"),
        *("--health-probe-bind-address", f"127.0.0.1:{ports[1]}"),
    ]
    with subprocess.Popen(command, env={**os.environ, "KUBECONFIG": cluster.kubeconfig()}, text=True) as process:
        try:
            yield Replica(process, *ports)
        finally:
            process.kill()


@pytest.mark.slow
def test_the_operator_as_a_process(cluster: Cluster) -> None:
    with replica(cluster) as operator:
        holder = cluster.lease(bool)
        assert holder.startswith(f"{socket.gethostname()}_")
        cluster.create(backup())
        assert cluster.job("nightly-1").metadata.owner_references[0].name == "nightly"
        event = cluster.until(
            client.CoreV1Api(cluster.api).list_namespaced_event,
            lambda event: event.reason == "BackupStarted",
            namespace="default",
        )
        assert [event.message, event.reporting_component] == ["started nightly-1", "backup-operator"]
        assert operator.health("/healthz") == operator.health("/readyz") == (200, "ok")
        metrics = operator.metrics()
        assert 'leader_election_master_status{name="backup-operator"} 1.0' in metrics
        assert 'controller_runtime_reconcile_errors_total{controller="backup"} 0.0' in metrics
        assert 'rest_client_requests_total{code="201"' in metrics
        assert operator.stop() == 0
        assert cluster.lease(lambda now: now != holder) == ""


@pytest.mark.slow
def test_another_replica_takes_over(cluster: Cluster) -> None:
    with ExitStack() as replicas:
        first = replicas.enter_context(replica(cluster))
        holder = cluster.lease(bool)
        second = replicas.enter_context(replica(cluster))
        assert first.stop() == 0
        assert cluster.lease(lambda now: now not in ("", holder))
        cluster.create(backup("weekly"))
        cluster.job("weekly-1")
        assert second.stop() == 0


def test_the_operator_has_minimal_permissions(cluster: Cluster) -> None:
    async def main() -> None:
        async with HttpTransport.from_kubeconfig(cluster.kubeconfig()) as transport:
            api = Client(transport)
            await api.list(API, "Backup")
            for refused in (
                api.list("v1", "Secret"),
                api.create(backup("own")),
                api.delete(API, "Backup", "own", "default"),
            ):
                with pytest.raises(ApiError) as caught:
                    await refused
                assert caught.value.reason == "Forbidden"
                assert 'User "system:serviceaccount:default:backup-operator" cannot' in caught.value.message

    asyncio.run(main())
