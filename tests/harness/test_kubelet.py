"""Logs and commands of pods, answered by the test instead of a kubelet."""

import pytest
from kubernetes import client as official
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import stream

from fakekube.apiserver.kubelet import ExecResult

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


@pytest.fixture
def pods(fakekube, fakekube_client):
    fakekube.create(POD)
    return official.CoreV1Api(fakekube_client)


def test_a_log(fakekube, pods):
    @fakekube.pods.on_logs
    def logs(request):
        return f"{request.pod['metadata']['name']}/{request.container} says hello\nand more\n"

    assert pods.read_namespaced_pod_log("a", "default") == "a/c says hello\nand more\n"
    assert pods.read_namespaced_pod_log("a", "default", tail_lines=1) == "and more\n"


def test_a_command(fakekube, pods):
    @fakekube.pods.on_exec
    def run(request):
        return ExecResult(" ".join(request.command), exit_code=3 if "fail" in request.command else 0)

    def answer(*command):
        found = stream(
            pods.connect_get_namespaced_pod_exec, "a", "default", command=list(command),
            stdout=True, stderr=True, stdin=False, _preload_content=False,
        )  # fmt: skip
        found.run_forever(timeout=10)
        code, output = found.returncode, found.read_all()  # read_all forgets the status
        found.sock.shutdown()  # the client leaves the socket open after the close frame
        return output, code

    assert answer("ls", "-l") == ("ls -l", 0)
    assert answer("fail") == ("fail", 3)


def test_without_a_handler(pods):
    with pytest.raises(ApiException, match="pod a does not have a host assigned"):
        stream(pods.connect_get_namespaced_pod_exec, "a", "default", command=["ls"], stdout=True)
