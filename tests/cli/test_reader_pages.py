"""The snippets of the pages of docs/server for each reader run as they are written."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.commands import FUSE, environment

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs/server"


def block(page):
    return re.search(r"^```sh\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.M | re.S)[1]


def run(text, folder, **more):
    """Run a script with the commands `fakekube`, and others that succeed; the status and the output."""
    commands = {"fakekube": f'exec {sys.executable} -m fakekube "$@"', **more}
    (folder / "bin").mkdir()
    for name, line in commands.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / "bin" / name).chmod(0o755)
    env = environment(folder)
    with subprocess.Popen(
        ["sh", "-e", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder,
        env={**env, "PATH": f"{folder / 'bin'}{os.pathsep}{env['PATH']}"}, start_new_session=True,
    ) as started:  # fmt: skip
        try:
            output = (folder / "output").open("w+")
            with output:
                for line in started.stdout:
                    output.write(line)
                    if line.startswith("END"):
                        break
            return (folder / "output").read_text()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait(FUSE)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_with_kubectl(tmp_path):
    text = block("with-kubectl").replace("fakekube serve ", "fakekube serve --port 0 ")
    found = run(f"{text}echo END", tmp_path)
    assert found.count("Running") == 3, found
    assert "service/web exposed" in found
    assert found.endswith("END\n")


def test_a_go_operator(tmp_path):
    (tmp_path / "config/crd").mkdir(parents=True)
    (tmp_path / "config/crd/a.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
    found = run(f"{block('test-a-go-operator')}echo END", tmp_path, go='echo "$USE_EXISTING_CLUSTER $KUBECONFIG $*"')
    assert re.match(r"true /\S+ test \./\.\.\.\n", found), found
    assert "<testsuite" in (tmp_path / "fakekube.xml").read_text()


def test_a_node_operator(tmp_path):
    (tmp_path / "deploy/crds").mkdir(parents=True)
    (tmp_path / "deploy/crds/a.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")
    found = run(f"{block('test-a-node-or-java-operator')}echo END", tmp_path, npm='echo "$FAKEKUBE_URL"')
    assert re.fullmatch(r"https://127\.0\.0\.1:\d+\nEND\n", found), found


def test_manifests_in_ci(tmp_path):
    page = (DOCS / "check-manifests-in-ci.md").read_text()
    command = re.search(r"pipx run (fakekube lint .*)", page)[1]
    for folder in ("crds", "policies", "deploy"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.yaml").write_text(f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {folder}}}}}")
    (tmp_path / "deploy/b.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, dta: {}}")
    found = run(f"{command} || echo END $?", tmp_path)
    assert "::error file=deploy/b.yaml,line=1" in found, found
    assert found.endswith("END 1\n")
