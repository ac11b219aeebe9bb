"""`fakekube run`: a server for one command."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios

import pytest

from tests.cli.commands import FAKEKUBE, FUSE, environment, fakekube, started

pytestmark = pytest.mark.slow

#: Prints how a command sees its server.
LOOK = """
import json, os, stat, urllib.request, yaml
path = os.environ["KUBECONFIG"]
server = yaml.safe_load(open(path))["clusters"][0]["cluster"]["server"]
with urllib.request.urlopen(server + "/api/v1/namespaces/default/configmaps") as answer:
    names = [item["metadata"]["name"] for item in json.load(answer)["items"]]
print(json.dumps([path, oct(os.stat(path).st_mode)[-3:], server, os.environ["FAKEKUBE_URL"], names]))
"""


@pytest.fixture
def folder(tmp_path):
    """The working directory of a command, and of its temporary files."""
    made = tmp_path / "work"
    made.mkdir()
    return made


def python(code):
    return (sys.executable, "-c", code)


def test_the_command_finds_its_server(folder, tmp_path):
    manifest = tmp_path / "a.yaml"
    manifest.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
    done = fakekube("run", "--manifests", manifest, "--", *python(LOOK), folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    path, mode, server, url, names = json.loads(done.stdout)
    assert (mode, server, names) == ("600", url, ["a"])
    assert not os.path.exists(path)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 3"], 3),
        (["sh", "-c", "kill -TERM $$"], 128 + signal.SIGTERM),
        (["sh", "-c", "test -z \"$1\"", "sh", "--option"], 1),
    ],
)  # fmt: skip
def test_it_returns_the_status_of_the_command(folder, command, status):
    done = fakekube("run", "--", *command, folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    assert list(folder.iterdir()) == []


def test_options_of_the_command_are_passed_on(folder):
    done = fakekube("run", "--", "echo", "--tls", "-h", folder=folder)
    assert (done.returncode, done.stdout) == (0, "--tls -h\n")


@pytest.mark.parametrize(
    ("mode", "text", "status", "message"),
    [
        (None, "", 127, "command not found"),
        (0o644, "", 126, "permission denied"),
        (0o755, "\0\1\2", 126, "exec format error"),
    ],
)
def test_a_command_that_cannot_be_run(folder, tmp_path, mode, text, status, message):
    command = tmp_path / "command"
    if mode is not None:
        command.write_text(text)
        command.chmod(mode)
    done = fakekube("run", "--", command, folder=folder)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr == f"fakekube run: {command}: {message}\n"
    assert list(folder.iterdir()) == []


#: A command that prints the signals that it gets.
LISTENING = """
import signal, sys
signals = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
print(signal.Signals(signal.sigwait(signals)).name)
sys.exit(7)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_go_to_the_command(folder, number):
    with started("run", "--", *python(LISTENING), folder=folder) as command:
        assert command.line() == "ready"
        assert command.end(number) == (7, [number.name])
    assert list(folder.iterdir()) == []


def test_without_a_server_the_command_does_not_run(folder):
    done = fakekube("run", "--manifests", "nowhere", "--", "echo", "ran", folder=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: --manifests nowhere: no such file or directory\n"


def test_https_with_a_token(folder, tmp_path):
    (tmp_path / "tokens.csv").write_text('secret,admin,1,"system:masters"\n')
    code = """
from kubernetes import client, config
config.load_kube_config()
print(len(client.CoreV1Api().list_namespace().items) > 0, client.Configuration.get_default_copy().host[:8])
"""
    options = ("--tls", "--authorization-mode", "RBAC", "--token-auth-file", tmp_path / "tokens.csv")
    done = fakekube("run", *options, "--", *python(code), folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True https://\n", "")


def test_a_terminals_interrupt_reaches_the_command_once(folder):
    """Ctrl-C at a terminal goes to both processes, so it is not forwarded."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*FAKEKUBE, "run", "--", *python(COUNTING)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(folder),
        cwd=folder,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # it is their terminal
    ) as process:
        os.close(theirs)
        said = b""
        while b"ready" not in said:
            said += os.read(ours, 1024)
        os.write(ours, b"\x03")
        while b"interrupts" not in said:
            said += os.read(ours, 1024)
        assert process.wait(FUSE) == 5
    os.close(ours)
    assert b"1 interrupts" in said
    assert list(folder.iterdir()) == []


#: A command that counts the signals of half a second.
COUNTING = """
import signal, sys
signals = {signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
signal.sigwait(signals)
seen = 1 + (signal.sigtimedwait(signals, 0.5) is not None)
print(seen, "interrupts", flush=True)
sys.exit(5)
"""


#: Waits until the pod runs, and prints its node.
WAIT = """
import json, os, time, urllib.request
url = os.environ["FAKEKUBE_URL"] + "/api/v1/namespaces/default/pods/web"
while True:
    with urllib.request.urlopen(url) as answer:
        pod = json.load(answer)
    if pod["status"]["phase"] == "Running":
        break
    time.sleep(0.05)
print(pod["spec"]["nodeName"])
"""


def test_simulated_nodes_run_pods(folder, tmp_path):
    manifest = tmp_path / "pod.yaml"
    container = "{name: c, image: nginx}"
    manifest.write_text(f"{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{containers: [{container}]}}}}")
    done = fakekube("run", "--nodes", "1", "--manifests", manifest, "--", *python(WAIT), folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "node-1\n", "")


STAGES = """
kind: Stage
metadata: {name: certificates}
spec:
  at: running
  selector: {name: web}
  next:
    apply:
      objects: [{apiVersion: v1, kind: Secret, metadata: {name: certificate}, stringData: {key: made}}]
      code: 3
"""

#: Waits until the pod has ended, and prints its phase and whether the Secret exists.
WAIT_FOR_EFFECT = """
import json, os, time, urllib.request
def get(path):
    with urllib.request.urlopen(os.environ["FAKEKUBE_URL"] + "/api/v1/namespaces/default/" + path) as answer:
        return json.load(answer)
while (phase := get("pods/web")["status"]["phase"]) in ("Pending", "Running"):
    time.sleep(0.05)
print(phase, get("secrets/certificate")["data"]["key"])
"""


def test_stages_of_a_file_decide_what_containers_do(folder, tmp_path):
    """Issue 23: simulated containers have effects, also in `serve` and `run`."""
    manifest, stages = tmp_path / "pod.yaml", tmp_path / "stages.yaml"
    spec = "{restartPolicy: Never, containers: [{name: c, image: nginx}]}"
    manifest.write_text(f"{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {spec}}}")
    stages.write_text(STAGES)
    command = python(WAIT_FOR_EFFECT)
    done = fakekube("run", "--nodes", "1", "--stages", stages, "--manifests", manifest, "--", *command, folder=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Failed bWFkZQ==\n", "")


def test_stages_that_are_none_are_reported_before_the_start(folder, tmp_path):
    stages = tmp_path / "stages.yaml"
    stages.write_text("kind: Pod\n")
    done = fakekube("run", "--stages", stages, "--", "true", folder=folder)
    assert done.returncode == 2
    assert "expected documents of kind Stage" in done.stderr
    done = fakekube("run", "--stages", tmp_path / "none.yaml", "--", "true", folder=folder)
    assert (done.returncode, "none.yaml" in done.stderr) == (2, True)


def test_faults_of_a_file_are_armed_before_the_command(folder, tmp_path):
    faults = tmp_path / "faults.yaml"
    faults.write_text("- {verb: list, resource: configmaps, error: 503, times: 1}\n")
    code = """
import os, urllib.error, urllib.request
for _ in range(2):
    try:
        with urllib.request.urlopen(os.environ["FAKEKUBE_URL"] + "/api/v1/configmaps") as answer:
            print(answer.status)
    except urllib.error.HTTPError as error:
        print(error.code)
"""
    for more in ((), ("--control", "off")):
        done = fakekube("run", "--findings", "off", "--faults", faults, *more, "--", *python(code), folder=folder)
        assert (done.stdout, done.returncode) == ("503\n200\n", 0), done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file or directory"),
        ("{verb: list}", "expected a list of faults, each a map"),
        ("- {verb: list, eror: 503}", "eror"),
        ("- {verb: fetch, error: 503}", "verb='fetch' matches no verb of the API"),
    ],
)
def test_a_file_of_faults_that_is_wrong_is_named(folder, tmp_path, text, message):
    faults = tmp_path / "faults.yaml"
    if text is not None:
        faults.write_text(text)
    done = fakekube("run", "--faults", faults, "--", "true", folder=folder)
    assert done.returncode == 1
    assert f"--faults {faults}: " in done.stderr
    assert message in done.stderr
