"""Logs and commands of simulated containers."""

import json

import pytest

from fakekube.apiserver.kubelet import ExecRequest, Kubelet, LogRequest, result_of
from fakekube.apiserver.wire.channels import ExecSession
from fakekube.apiserver.wire.status import StatusError
from fakekube.controllers.kubelet.podanswers import PodAnswers
from fakekube.controllers.kubelet.stage import PodSelector


def pod(state):
    status = {"containerStatuses": [{"name": "main", "state": {state: {}}}]}
    meta = {"name": "a", "namespace": "default"}
    return {"metadata": meta, "spec": {"containers": [{"name": "main"}]}, "status": status}


POD = pod("running")

COPY = ExecRequest(POD, "main", ("tar", "-xmf", "-", "-C", "/tmp"))


def test_a_container_has_no_tar_so_that_kubectl_cp_fails():
    result = result_of(PodAnswers().exec(COPY))
    assert result.exit_code == 126
    assert 'exec: "tar": executable file not found in $PATH' in str(result.stderr)


def test_other_commands_succeed():
    result = result_of(PodAnswers().exec(ExecRequest(POD, "main", ("ls",))))
    assert (result.exit_code, result.stdout) == (0, b"")
    assert "the command was not run" in str(result.stderr)


def test_a_script_can_have_tar():
    answers = PodAnswers()
    answers.script_exec(PodSelector(), "", lambda request: b"archive")
    assert result_of(answers.exec(COPY)).stdout == b"archive"


@pytest.mark.parametrize("state", ["waiting", "terminated"])
@pytest.mark.parametrize("scripted", [True, False], ids=["script", "none"])
def test_a_command_needs_a_container_that_runs(state, scripted):
    answers = PodAnswers()
    if scripted:
        answers.script_exec(PodSelector(), "", lambda request: b"")
    session = ExecSession(
        lambda data: result_of(answers.exec(ExecRequest(pod(state), "main", ("ls",), data))),
        ("ls",),
        stdin=False,
    )
    (message,) = session.opened()
    status = json.loads(message[1:])
    assert (message[0], status["code"], status["reason"]) == (3, 500, "InternalError")
    assert status["message"] == 'Internal error occurred: unable to upgrade connection: container not found ("main")'


WAITS = 'container "main" in pod "a" is waiting to start: '
ENDED = {"terminated": {"exitCode": 0}}


@pytest.mark.parametrize(
    ("state", "last", "previous", "problem"),
    [
        ({"running": {}}, {}, False, ""),
        ({"running": {}}, {}, True, 'previous terminated container "main" in pod "a" not found'),
        ({"running": {}}, ENDED, True, ""),
        (ENDED, {}, False, ""),
        ({"waiting": {"reason": "PodInitializing"}}, {}, False, f"{WAITS}PodInitializing"),
        ({"waiting": {}}, {}, False, f"{WAITS}ContainerCreating"),
        ({"waiting": {"reason": "ErrImagePull"}}, {}, False, f"{WAITS}trying and failing to pull image"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, {}, False, f"{WAITS}trying and failing to pull image"),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, ENDED, False, ""),
    ],
)
@pytest.mark.parametrize("field", ["containerStatuses", "initContainerStatuses"])
def test_a_log_needs_a_container_that_has_started(state, last, previous, problem, field):
    """`kubelet_pods.go`: validateContainerLogStatus."""
    other = {"name": "other", "state": {"waiting": {}}}
    status = {field: [other, {"name": "main", "state": state, "lastState": last}]}
    request = LogRequest({**POD, "status": status}, "main", previous=previous)
    if problem:
        with pytest.raises(StatusError) as raised:
            PodAnswers().logs(request)
        assert (raised.value.code, raised.value.message) == (400, problem)
    else:
        assert PodAnswers().logs(request) == b""


def test_handlers_that_a_server_has_are_used_without_a_script():
    server = Kubelet(lambda request: b"log", lambda request: b"done")
    answers = PodAnswers()
    answers.install(server)
    assert (server.logs, server.exec) == (answers.logs, answers.exec)
    request = LogRequest(pod("waiting"), "main")
    assert (server.logs(request), server.exec(ExecRequest(POD, "main", ("ls",)))) == (b"log", b"done")
    answers.script_logs(PodSelector(), "main", lambda request: b"scripted")
    answers.script_exec(PodSelector(), "main", lambda request: b"scripted")
    assert (server.logs(request), server.exec(ExecRequest(POD, "main", ("ls",)))) == (b"scripted", b"scripted")
