"""What leaves a debugger, or ends the run, in a reconcile ends the test: it is no error of the reconcile."""

import bdb
import subprocess
import sys

import pytest

from fakekube import FakeKube
from tests.harness.operators import build, config_map
from tests.innerruns import LEAN

TEST = """
def build(manager):
    async def reconcile(request):
        breakpoint()
    manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

def test_it(fakekube):
    fakekube.start(build)
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    fakekube.advance(60)

def test_after():
    pass
"""


@pytest.mark.slow
def test_q_at_a_breakpoint_in_a_reconcile_ends_the_run(tmp_path):
    (tmp_path / "test_one.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", *LEAN, "-Wignore", "test_one.py"]
    ran = subprocess.run(command, cwd=tmp_path, input="q\n", capture_output=True, text=True, timeout=60)
    assert "Exit: Quitting debugger" in ran.stdout
    assert "reconcile-error" not in ran.stdout
    assert "passed" not in ran.stdout


def test_bdbquit_of_another_debugger_is_raised_by_the_step():
    async def reconcile(request):
        raise bdb.BdbQuit

    with FakeKube() as kube:
        kube.start(build(reconcile))["minder"]
        kube.create(config_map("a"))
        with pytest.raises(bdb.BdbQuit):
            kube.settle()
        kube.ledger.inspect_errors("minder/minder")
