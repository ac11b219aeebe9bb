"""The same scenario gives the same log, byte for byte, in every process."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("transport", ["memory", "tcp"])
def test_a_mixed_scenario_has_one_log(transport):
    """Coroutines, threads with a blocking client, a thread pool, retries and seeded jitter, two virtual hours."""
    logs = {
        subprocess.run(
            [sys.executable, "-m", "tests.virtualtime.scenario", transport],
            cwd=ROOT,
            env={"PYTHONHASHSEED": hashing, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        ).stdout
        for hashing in ("0", "1", "random")
    }
    (log,) = logs
    assert log.count(b"\n") > 500
