"""Logs and commands of simulated containers."""

from fakekube.apiserver.kubelet import ExecRequest, result_of
from fakekube.controllers.kubelet.podanswers import PodAnswers
from fakekube.controllers.kubelet.stage import PodSelector

POD = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"containers": [{"name": "main"}]}}

COPY = ExecRequest(POD, "main", ("tar", "-xmf", "-", "-C", "/tmp"))


def test_a_container_has_no_tar_so_that_kubectl_cp_fails():
    result = result_of(PodAnswers().exec(COPY))
    assert result.exit_code == 126
    assert 'exec: "tar": executable file not found in $PATH' in str(result.stderr)


def test_other_commands_succeed():
    assert result_of(PodAnswers().exec(ExecRequest(POD, "main", ("ls",)))).exit_code == 0


def test_a_script_can_have_tar():
    answers = PodAnswers()
    answers.script_exec(PodSelector(), "", lambda request: b"archive")
    assert result_of(answers.exec(COPY)).stdout == b"archive"
