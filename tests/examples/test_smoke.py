"""Smoke tests in CI: a fresh server for one command."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


@pytest.mark.parametrize("program", ["curl", "kubectl"])
def test_smoke(program):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    command = ["-m", "fakekube", "run", "--manifests", str(HERE / "crds"), "--", str(HERE / f"smoke_{program}.sh")]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(f"{program}: ok\n")
