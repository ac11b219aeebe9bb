"""Binaries of kube-apiserver and etcd: how their processes are started, awaited and ended, with small programs."""

import http.server
import os
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from fakekube.harness.backends import controlplane
from fakekube.harness.backends.connection import NoBackend
from fakekube.harness.backends.controlplane import ControlPlane, _answers, _Process
from fakekube.server.systemclock import SystemClock


def shell(command):
    return ["/bin/sh", "-c", command]


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_program_has_a_session_of_its_own_and_ends_with_the_block(tmp_path):
    log = tmp_path / "log"
    with _Process(shell("echo started; echo wrong >&2; exec sleep 100"), log) as process:
        pid = process._process.pid
        assert os.getsid(pid) == pid
        assert process._process.poll() is None
        while log.read_text() != "started\nwrong\n":
            pass
    assert not is_alive(pid)
    assert process._process.returncode == -15
    assert process._output.closed


def test_a_program_that_ignores_its_end_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(controlplane, "_STOP", 0.01)
    log = tmp_path / "log"
    with _Process(shell("trap '' TERM; echo started; while true; do sleep 0.01; done"), log) as process:
        while not log.read_text():
            pass
    assert process._process.returncode == -9
    assert process._output.closed


def test_a_program_that_ends_before_it_is_ready_is_an_error_with_the_end_of_its_log(tmp_path):
    command = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do echo line $n; done; exit 3"
    with _Process(shell(command), tmp_path / "log") as process, pytest.raises(NoBackend) as caught:
        process.wait_until_ready("http://127.0.0.1:1/health", None, SystemClock())
    lines = str(caught.value).splitlines()
    assert lines[0] == "backend envtest: /bin/sh ended with status 3:"
    assert lines[1:] == [f"line {number}" for number in range(2, 22)]


def test_a_program_has_some_time_to_be_ready(tmp_path, monkeypatch):
    monkeypatch.setattr(controlplane, "_START", 0.0)
    with (
        _Process(shell("exec sleep 100"), tmp_path / "log") as process,
        pytest.raises(NoBackend, match=r"backend envtest: /bin/sh was not ready in 0 s:\n\Z"),
    ):
        process.wait_until_ready("http://127.0.0.1:1/health", None, SystemClock())


def test_only_the_status_200_is_ready():
    statuses = iter([200, 201, 503])

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(next(statuses))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.001,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/health"
        found = [_answers(url, None) for _ in range(3)]
        server.shutdown()
        thread.join()
    assert found == [True, False, False]
    assert not _answers(url, None)  # nothing listens any more


@pytest.fixture
def programs(tmp_path):
    """An etcd that shows its arguments and fails, and a kube-apiserver."""
    paths = {}
    for name, variable in controlplane.VARIABLES.items():
        path = tmp_path / name
        path.write_text('#!/bin/sh\nfor one in "$@"; do echo "$one"; done\nexit 1\n')
        path.chmod(0o755)
        paths[variable] = str(path)
    return paths


def test_etcd_is_started_with_data_of_its_own_which_is_removed_if_it_fails(programs):
    plane = ControlPlane(programs)
    with pytest.raises(NoBackend, match="etcd ended with status 1") as caught, plane:
        pass
    flags = dict(line[2:].split("=", 1) for line in str(caught.value).splitlines()[1:])
    folder = Path(flags["data-dir"])
    assert folder.name == "etcd"
    assert folder.parent.name.startswith("fakekube-envtest-")
    assert not folder.parent.exists()
    assert flags["unsafe-no-fsync"] == "true"
    assert flags["listen-client-urls"] == flags["advertise-client-urls"] != flags["listen-peer-urls"]
    assert flags["initial-advertise-peer-urls"] == flags["listen-peer-urls"]
    assert flags["initial-cluster"] == f"default={flags['listen-peer-urls']}"


def test_the_end_of_a_control_plane_ends_what_it_has_started(programs):
    plane, log = ControlPlane(programs), []
    plane._leave.callback(log.append, "ended")
    plane.__exit__(None, None, None)
    assert log == ["ended"]


@pytest.mark.slow  # makes an RSA key
def test_a_kube_apiserver_is_started_with_keys_of_its_own(programs, tmp_path):
    plane = ControlPlane(programs)
    with ExitStack() as undo, pytest.raises(NoBackend, match="kube-apiserver ended with status 1") as caught:
        plane._run_api_server(undo, tmp_path, "http://127.0.0.1:9")
    flags = dict(line[2:].split("=", 1) for line in str(caught.value).splitlines()[1:])
    assert (flags["etcd-servers"], flags["authorization-mode"]) == ("http://127.0.0.1:9", "RBAC")
    assert flags["service-account-issuer"] == f"https://127.0.0.1:{flags['secure-port']}/"
    files = {"tls-cert-file": "tls.crt", "tls-private-key-file": "tls.key", "client-ca-file": "ca.crt",
             "service-account-key-file": "sa.key", "service-account-signing-key-file": "sa.key"}  # fmt: skip
    for flag, name in files.items():
        assert flags[flag] == str(tmp_path / name)
    for name in (*files.values(), "admin.crt", "admin.key"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    kinds = {
        name: (tmp_path / name).read_text().splitlines()[0] for name in ("tls.crt", "admin.crt", "ca.crt", "sa.key")
    }
    assert kinds == {
        "tls.crt": "-----BEGIN CERTIFICATE-----", "admin.crt": "-----BEGIN CERTIFICATE-----",
        "ca.crt": "-----BEGIN CERTIFICATE-----", "sa.key": "-----BEGIN RSA PRIVATE KEY-----",
    }  # fmt: skip
    config = yaml.safe_load((tmp_path / "kubeconfig").read_text())
    assert config["clusters"][0]["cluster"]["server"] == f"https://127.0.0.1:{flags['secure-port']}"
