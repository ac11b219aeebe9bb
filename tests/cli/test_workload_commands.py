"""kubectl's commands for workloads against `fakekube serve --controllers '*' --nodes 2`, in real time."""

import os
import shutil
import subprocess

import pytest

from tests.cli.commands import FUSE, READY, started

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory):
    """Runs kubectl; returns its output, standard error included, and checks its status."""
    folder = tmp_path_factory.mktemp("workloads")
    config = folder / "kubeconfig"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(config)}

    def run(line, *, status=0):
        done = subprocess.run(
            ["kubectl", *line.split()],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=FUSE, check=False, env=environment,
        )  # fmt: skip
        assert done.returncode == status, done.stdout
        return done.stdout

    options = ("--tls", "--authorization-mode", "RBAC", "--controllers", "*", "--nodes", "2")
    with started("serve", "--port", "0", *options, "--kubeconfig", str(config), folder=folder) as server:
        server.lines_to(READY)
        yield run


def test_a_rollout_is_followed_undone_paused_and_scaled(kubectl):
    kubectl("create deployment web --image=nginx:1 --replicas=2")
    assert 'deployment "web" successfully rolled out' in kubectl("rollout status deployment/web")
    kubectl("set image deployment/web nginx=nginx:2")
    kubectl("rollout status deployment/web")
    assert kubectl("rollout history deployment/web").split()[-4:] == ["1", "<none>", "2", "<none>"]
    assert kubectl("rollout undo deployment/web") == "deployment.apps/web rolled back\n"
    kubectl("rollout pause deployment/web")
    assert "cannot rollback a paused deployment" in kubectl("rollout undo deployment/web", status=1)
    kubectl("rollout resume deployment/web")
    kubectl("scale deployment/web --replicas=3")
    kubectl("rollout status deployment/web")
    kubectl("expose deployment/web --port=80")
    kubectl("wait endpointslice -l kubernetes.io/service-name=web --for=jsonpath={.endpoints[2].conditions.ready}=true")
    assert "using pod/web-" in kubectl("logs deployment/web")  # one that ends may still be counted


def test_the_usage_of_nodes_and_pods_is_shown(kubectl):
    kubectl("create deployment top --image=nginx --replicas=2")
    kubectl("set resources deployment/top --requests=cpu=200m,memory=128Mi")
    kubectl("rollout status deployment/top")
    rows = [line.split() for line in kubectl("top pods -l app=top --sort-by=cpu").splitlines()]
    assert rows[0] == ["NAME", "CPU(cores)", "MEMORY(bytes)"]
    assert [row[1:] for row in rows[1:3]] == [["100m", "64Mi"]] * 2
    nodes = [line.split()[0] for line in kubectl("top nodes --no-headers").splitlines()]
    assert sorted(nodes) == ["node-1", "node-2"]
    assert "node-1" in kubectl("top node node-1 --no-headers")


def test_an_orphan_stays_and_other_dependents_are_deleted(kubectl):
    for cascade, left in (("foreground", []), ("orphan", ["replicaset", "pod"])):
        name = f"d-{cascade}"
        kubectl(f"create deployment {name} --image=nginx")
        kubectl(f"rollout status deployment/{name}")
        kubectl(f"delete deployment {name} --cascade={cascade}")
        found = kubectl(f"get rs,pods -l app={name} -o name").splitlines()
        assert [one.partition("/")[0].partition(".")[0] for one in found] == left


def test_a_drained_node_is_empty(kubectl):
    kubectl("create deployment moved --image=nginx --replicas=2")
    kubectl("rollout status deployment/moved")
    assert "node/node-1 drained" in kubectl("drain node-1 --ignore-daemonsets --force")
    assert kubectl("get pods -A -o name --field-selector=spec.nodeName=node-1") == ""
    assert kubectl("uncordon node-1") == "node/node-1 uncordoned\n"


def test_a_job_of_a_cron_job_completes(kubectl):
    kubectl("create cronjob hello --image=busybox --schedule=@yearly -- echo")
    kubectl("create job once --from=cronjob/hello")
    assert kubectl("wait --for=condition=complete job/once --timeout=30s") == "job.batch/once condition met\n"


def test_nothing_is_copied_into_a_container(kubectl):
    kubectl("run store --image=busybox")
    kubectl("wait --for=condition=Ready pod/store --timeout=30s")
    assert '"tar": executable file not found' in kubectl(f"cp {__file__} store:/tmp/x", status=126)


def test_a_namespace_ends_with_its_pods(kubectl):
    kubectl("create namespace shop")
    kubectl("create deployment web --image=nginx -n shop")
    kubectl("rollout status deployment/web -n shop")
    kubectl("delete namespace shop --timeout=30s")
    assert kubectl("get namespace shop --ignore-not-found") == ""
