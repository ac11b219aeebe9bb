"""`fakekube explore`: a planted defect of a process is found, its script repeats it, and the correct twin is clean."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import FAKEKUBE, environment

pytestmark = pytest.mark.slow

OPERATOR = Path(__file__).with_name("site_operator.py")

SITE = "{apiVersion: v1, kind: ConfigMap, metadata: {name: shop, labels: {app: site}}}"

#: Real seconds for all runs of one exploration.
FUSE = 300


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "after").mkdir()
    (tmp_path / "after" / "1.yaml").write_text(SITE)
    return tmp_path


def explored(folder, start, *arguments):
    command = [
        *FAKEKUBE,
        "explore",
        "--after",
        "after",
        "--quiet",
        "700ms",
        "--patience",
        "1500ms",
    ]
    return subprocess.run(
        [*command, "--start", start, *arguments], capture_output=True, text=True, timeout=FUSE, check=False,
        env=environment(folder), cwd=folder,
    )  # fmt: skip


def start_of(*arguments):
    return " ".join(["exec", sys.executable, str(OPERATOR), *arguments])


def test_a_crash_that_loses_a_child_is_found_and_repeated_by_its_script(folder):
    done = explored(folder, start_of(), "--atoms", "crash", "--stop-at-first")
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "reference: 3 committed writes, 6 plans",
        "  crash@create cm/shop-a#1: O2: cm/shop-b is absent at the end (the reference has it)",
    ]
    script = folder / ".fakekube-explore" / "failure-1.sh"
    here = folder / "bin"  # the command of this interpreter
    here.mkdir()
    (here / "fakekube").write_text(f'#!/bin/sh\nexec {sys.executable} -m fakekube "$@"\n')
    (here / "fakekube").chmod(0o755)
    path = os.pathsep.join([str(here), os.environ["PATH"]])
    env = {**environment(folder), "PATH": path}
    again = subprocess.run(
        ["sh", script], capture_output=True, text=True, timeout=FUSE, check=False, env=env, cwd=folder
    )
    assert (again.returncode, again.stdout) == (1, "repeated\n"), again.stderr
    script.write_text(script.read_text().replace(start_of(), start_of("--correct")))
    mended = subprocess.run(
        ["sh", script], capture_output=True, text=True, timeout=FUSE, check=False, env=env, cwd=folder
    )
    assert (mended.returncode, mended.stdout) == (0, "not repeated\n"), mended.stderr


def test_the_correct_twin_is_clean(folder):
    done = explored(folder, start_of("--correct"), "--atoms", "crash,503,cut")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "12 runs, 12 reached their fault, 0 defects, 0 not tried"


@pytest.mark.parametrize(
    ("start", "status", "message"),
    [
        (
            "echo no; exit 7",
            1,
            "the run without faults fails: the process ends with status 7: its output ends with\nno",
        ),
        ("true", 1, "the process ends with status 0, without output"),
    ],
)
def test_a_process_that_does_not_work_is_an_error(folder, start, status, message):
    done = explored(folder, start)
    assert (done.returncode, message in done.stderr) == (status, True), done.stderr


def test_of_several_clients_one_is_chosen(folder):
    other = OPERATOR.read_text().replace("site-operator/1", "other/1")
    (folder / "other.py").write_text(other)
    done = explored(folder, f"{sys.executable} {folder}/other.py --correct & {start_of('--correct')}")
    assert done.returncode == 1
    assert "several clients make requests; choose one with --agent: 'other/1', 'site-operator/1'" in done.stderr


def test_a_process_that_writes_nothing_is_an_error(folder):
    (folder / "after" / "1.yaml").write_text(SITE.replace("site", "other"))
    done = explored(folder, start_of())
    assert done.returncode == 1
    assert "the process has written nothing: change what it reconciles with --setup or --after" in done.stderr


def test_a_file_of_changes_that_is_wrong_is_named(folder):
    (folder / "after" / "1.yaml").write_text("{apiVersion: v1, kind: Sight, metadata: {name: a}}")
    done = explored(folder, "true")
    assert done.returncode == 1
    assert "--after after/1.yaml:1: the cluster has no kind 'Sight' in 'v1'" in done.stderr


@pytest.fixture(scope="module")
def node_operator(tmp_path_factory):
    """The operator for Node beside its packages."""
    if None in map(shutil.which, ("node", "npm")):
        pytest.skip("Node is not installed")
    folder = tmp_path_factory.mktemp("node")
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "@kubernetes/client-node@1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=60)
    except subprocess.TimeoutExpired:
        pytest.skip("the npm registry does not answer")
    if done.returncode:
        pytest.skip(f"@kubernetes/client-node cannot be installed: {done.stderr[-300:]}")
    return shutil.copy(OPERATOR.with_suffix(".mjs"), folder)


def test_a_crash_of_an_operator_for_node_is_found(folder, node_operator):
    done = explored(folder, f"exec node {node_operator}", "--atoms", "crash", "--stop-at-first")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("reference: 3 committed writes, 6 plans\n")
    failed = "  crash@update cm/shop{data.done}#1: O2: cm/shop-b is absent at the end (the reference has it)\n"
    assert failed in done.stdout


def test_the_correct_operator_for_node_is_clean(folder, node_operator):
    done = explored(folder, f"exec node {node_operator} --correct", "--atoms", "crash")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "6 runs, 6 reached their fault, 0 defects, 0 not tried"
