"""What images and workflows run: the entry point of the image, and the steps of the GitHub action."""

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import FUSE, environment

ROOT = Path(__file__).parents[2]
ENTRYPOINT = ROOT / ".container" / "entrypoint"
CONTAINERFILE = (ROOT / ".container" / "Containerfile").read_text()
ACTION = yaml.safe_load((ROOT / ".github/actions/fakekube/action.yml").read_text())

CONFIGMAP = "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {0}}}}}"


def test_the_image_runs_as_a_user_without_rights_and_is_checked():
    assert re.search(r"^USER 65532:65532$", CONTAINERFILE, re.M)
    assert "HEALTHCHECK" in CONTAINERFILE
    for copied in re.findall(r"^COPY (?!--from)(?:--chmod=\d+ )?(.*) \S+$", CONTAINERFILE, re.M):
        for path in copied.split():
            assert path == "." or (ROOT / path).exists()


def test_inputs_reach_the_scripts_of_the_action_by_the_environment_only():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]  # an input there would be code


@pytest.fixture
def env(tmp_path):
    """An environment in which `fakekube` is the command of this interpreter."""
    (tmp_path / "bin").mkdir()
    for name, command in (("fakekube", "-m fakekube"), ("python3", "")):
        (tmp_path / "bin" / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command} "$@"\n')
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "init.d").mkdir()
    found = environment(tmp_path)
    return {
        **found, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{found['PATH']}", "FAKEKUBE_INIT": str(tmp_path / "init.d"),
        "FAKEKUBE_RUN": str(tmp_path / "run"), "FAKEKUBE_ADDRESS": "127.0.0.1", "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ENV": str(tmp_path / "env"), "GITHUB_OUTPUT": str(tmp_path / "output"),
    }  # fmt: skip


def exists(url, name):
    try:
        with urllib.request.urlopen(f"{url}/api/v1/namespaces/default/configmaps/{name}", timeout=FUSE):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return False


@pytest.mark.slow
class TestTheEntryPoint:
    def healthy(self, env):
        done = subprocess.run([ENTRYPOINT, "--healthy"], env=env, timeout=FUSE, check=False, capture_output=True)
        return done.returncode == 0

    def test_it_loads_manifests_runs_scripts_and_ends_with_a_signal(self, env, tmp_path):
        init = tmp_path / "init.d"
        (init / "1.yaml").write_text(CONFIGMAP.format("a"))
        (init / "2.sh").write_text(
            f"""{sys.executable} -c "import os, urllib.request
urllib.request.urlopen(urllib.request.Request(os.environ['FAKEKUBE_URL'] + '/api/v1/namespaces/default/configmaps',
  b'{{\\"metadata\\": {{\\"name\\": \\"b\\"}}}}', {{'Content-Type': 'application/json'}}))"
"""
        )
        assert not self.healthy(env)
        with subprocess.Popen(
            [ENTRYPOINT, "--port", "0"], env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as started:
            try:
                lines = iter(started.stdout.readline, "")
                assert next(line for line in lines if line.startswith("running ")) == f"running {init / '2.sh'}\n"
                ready = tmp_path / "run" / "ready"
                while not ready.exists():
                    with suppress(subprocess.TimeoutExpired):
                        pytest.fail(f"it has ended with status {started.wait(0.05)}")
                url = (tmp_path / "run" / "url").read_text().strip()
                assert self.healthy(env)
                assert [exists(url, name) for name in "abc"] == [True, True, False]
                started.send_signal(signal.SIGTERM)
                assert started.wait(FUSE) == 0
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(started.pid, signal.SIGKILL)  # with the server

    def test_a_script_that_fails_ends_it(self, env, tmp_path):
        (tmp_path / "init.d" / "1.sh").write_text("false\n")
        done = subprocess.run(
            [ENTRYPOINT, "--port", "0"], env=env, timeout=FUSE, check=False, capture_output=True, text=True
        )
        assert (done.returncode, "1.sh: status 1" in done.stderr) == (1, True)

    def test_a_manifest_that_is_wrong_ends_it(self, env, tmp_path):
        (tmp_path / "init.d" / "1.yaml").write_text("{apiVersion: v1, kind: Sight, metadata: {name: a}}")
        done = subprocess.run(
            [ENTRYPOINT, "--port", "0"], env=env, timeout=FUSE, check=False, capture_output=True, text=True
        )
        assert (done.returncode, "1.yaml:1: " in done.stderr) == (1, True)


@pytest.mark.slow
class TestTheAction:
    def started(self, env, **inputs):
        (step,) = [one for one in ACTION["runs"]["steps"] if one.get("id") == "start"]
        given = {
            name.upper(): inputs.get(name, ACTION["inputs"][name]["default"]) for name in ("arguments", "manifests")
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], env={**env, **given}, timeout=FUSE,
            check=False, capture_output=True, text=True,
        )  # fmt: skip

    def test_the_following_steps_have_a_server(self, env, tmp_path):
        (tmp_path / "a.yaml").write_text(CONFIGMAP.format("a"))
        done = self.started(env, arguments="--user 'alice=dev,ops' -v", manifests=str(tmp_path / "a.yaml"))
        assert done.returncode == 0, done.stdout + done.stderr
        found = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines())
        try:
            assert exists(found["FAKEKUBE_URL"], "a")
            assert "alice" in Path(found["KUBECONFIG"]).read_text()
            outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
            assert outputs == {"kubeconfig": found["KUBECONFIG"], "url": found["FAKEKUBE_URL"]}
        finally:
            with suppress(ProcessLookupError):
                os.kill(int(found["FAKEKUBE_PID"]), signal.SIGTERM)

    def test_what_is_wrong_fails_the_step_and_is_shown(self, env):
        done = self.started(env, arguments="--kubernetes-version 9.99")
        assert (done.returncode, "9.99" in done.stdout) == (1, True)
