"""What the commands of containers do on simulated nodes, where none runs (finding X of the e2e suite)."""

import pytest

from fakekube.controllers.kubelet.commandreading import Outcome, is_loop, outcome_of

RUNS = Outcome(None)

COMMANDS = [
    (["/bin/true"], Outcome(0.0, 0)),
    (["/bin/false"], Outcome(0.0, 1)),
    (["sleep", "5"], Outcome(5.0, 0)),
    (["/bin/sleep", "2m"], Outcome(120.0, 0)),
    (["sleep", "1.5"], Outcome(1.5, 0)),
    (["sleep", "infinity"], RUNS),
    (["sleep"], RUNS),
    (["/pause"], RUNS),
    (["/agnhost", "pause"], RUNS),
    (["/agnhost", "serve-hostname"], RUNS),
    (["/agnhost", "netexec"], RUNS),
    (["tail", "-f", "/dev/null"], RUNS),
    (["echo", "tail"], Outcome(0.0, 0)),
    (["env", "A=1", "program"], Outcome(0.0, 0)),
    (["sh", "-c", "exit 7"], Outcome(0.0, 7)),
    (["/bin/sh", "-ec", "exit 300"], Outcome(0.0, 44)),
    (["bash", "-c", "false; exit"], Outcome(0.0, 1)),
    (["sh", "-c", "sleep 5; exit 3"], Outcome(5.0, 3)),
    (["sh", "-c", "sleep 5 && sleep 6"], Outcome(11.0, 0)),
    (["sh", "-c", "echo a\nsleep 2\nexit 1\nsleep 9"], Outcome(2.0, 1)),
    (["sh", "-c", "false && exit 3"], Outcome(0.0, 1)),
    (["sh", "-c", "false || exit 3"], Outcome(0.0, 3)),
    (["sh", "-c", "true || exit 3; exit 4"], Outcome(0.0, 4)),
    (["sh", "-c", "true && exit 3"], Outcome(0.0, 3)),
    (["sh", "-c", "while true; do echo a; sleep 1; done"], RUNS),
    (["sh", "-c", "while :; do sleep 1; done; exit 3"], Outcome(0.0, 3)),
    (["sh", "-c", "trap exit TERM; tail -f /dev/null & wait"], RUNS),
    (["sh", "-c", "if test -f a; then exit 1; fi; exit 2"], Outcome(0.0, 2)),
    (["sh", "-c", "for i in 1 2; do echo $i; done"], Outcome(0.0, 0)),
    (["sh", "-c", "X=1 sleep 4"], Outcome(4.0, 0)),
    (["sh", "-c", "exec sleep 4"], Outcome(4.0, 0)),
    (["sh", "-c", "sleep $SECONDS_TO_SLEEP"], RUNS),
    (["sh", "-c", "echo 'a"], Outcome(0.0, 0)),
    (["sh", "-c"], Outcome(0.0, 0)),
    (["sh", "/run.sh"], Outcome(0.0, 0)),
    (["sh"], Outcome(0.0, 0)),
]


@pytest.mark.parametrize(("command", "outcome"), COMMANDS, ids=[" ".join(one[0]) for one in COMMANDS])
def test_x_a_command_is_read_as_a_person_would(command, outcome):
    assert outcome_of({"command": command}) == outcome
    assert outcome_of({"command": command[:1], "args": command[1:]}) == outcome


@pytest.mark.parametrize("container", [{}, {"args": ["--serve"]}, {"command": [], "args": ["exit 3"]}])
def test_x_without_a_command_the_image_decides(container):
    assert outcome_of(container) is None


def test_x_arguments_may_be_a_shell():
    assert outcome_of({"args": ["sh", "-c", "exit 3"]}) == Outcome(0.0, 3)


@pytest.mark.parametrize(
    ("script", "loop"),
    [
        ("until nslookup db; do sleep 2; done", True),
        ("while ! nc -z db 80; do sleep 2; done", True),
        ("while true; do sleep 2; done", False),
        ("sleep 2", False),
    ],
)
def test_x_loops_that_wait_for_something(script, loop):
    assert is_loop({"command": ["sh", "-c", script]}) is loop


def pod(command, policy="Never", **spec):
    container = {"name": "c", "image": "busybox", **({"command": command} if command else {})}
    meta = {"name": "p", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"restartPolicy": policy, "containers": [container], **spec},
    }


def phase_after(fakekube, seconds, made):
    fakekube.create(made)
    fakekube.advance(seconds)
    return fakekube.get("v1", "Pod", "p")["status"]["phase"]


CASES = [
    pytest.param(["sh", "-c", "exit 3"], "Never", 3, "Failed", id="exit"),
    pytest.param(["true"], "OnFailure", 3, "Succeeded", id="true"),
    pytest.param(["sleep", "60"], "Never", 50, "Running", id="sleep-before"),
    pytest.param(["sleep", "60"], "Never", 62, "Succeeded", id="sleep-after"),
    pytest.param(["sh", "-c", "exit 3"], "Always", 60, "Running", id="always"),
    pytest.param(None, "Never", 600, "Running", id="no-command"),
    pytest.param(["sh", "-c", "until nslookup db; do sleep 2; done"], "Never", 600, "Running", id="loop"),
]


@pytest.mark.fakekube(nodes=1)
@pytest.mark.parametrize(("command", "policy", "seconds", "phase"), CASES)
def test_x_containers_that_exit(fakekube, command, policy, seconds, phase):
    assert phase_after(fakekube, seconds, pod(command, policy)) == phase


@pytest.mark.fakekube(nodes=1)
@pytest.mark.parametrize(
    ("script", "phase"), [("exit 1", "Failed"), ("until nslookup db; do sleep 2; done", "Running")]
)
def test_x_init_containers_that_exit(fakekube, script, phase):
    init = {"name": "i", "image": "busybox", "command": ["sh", "-c", script]}
    assert phase_after(fakekube, 10, pod(None, initContainers=[init])) == phase


@pytest.mark.fakekube(nodes=1)
def test_x_a_script_of_the_test_overrides_the_command(fakekube):
    fakekube.pods(name="p").always().exit_after(20, exit_code=4)
    fakekube.create(pod(["sh", "-c", "exit 3"]))
    fakekube.advance(15)
    assert fakekube.get("v1", "Pod", "p")["status"]["phase"] == "Running"
    fakekube.advance(10)
    (status,) = fakekube.get("v1", "Pod", "p")["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 4


@pytest.mark.fakekube(controllers=["job"], nodes=1)
@pytest.mark.parametrize(("command", "condition"), [(["false"], "Failed"), (["true"], "Complete"), (None, "Complete")])
def test_x_a_job_ends_as_its_command(fakekube, command, condition):
    template = {"spec": pod(command)["spec"]}
    meta = {"name": "job", "namespace": "default"}
    spec = {"backoffLimit": 0, "template": template}
    fakekube.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})
    fakekube.advance(30)
    conditions = fakekube.get("batch/v1", "Job", "job")["status"]["conditions"]
    assert condition in [one["type"] for one in conditions]
