"""A plugin of pytest: writes each test's outcome and seconds to the file that FAKEKUBE_MUTATION_DURATIONS names."""

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

#: Where the durations are written, as JSON: {test: [passed, seconds]}.
VARIABLE = "FAKEKUBE_MUTATION_DURATIONS"

_seconds: defaultdict[str, float] = defaultdict(float)
_unsuccessful: set[str] = set()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] += report.duration
    if not report.passed:
        _unsuccessful.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):  # the controller of xdist gets the reports of all workers
        rows = {test: [test not in _unsuccessful, round(seconds, 4)] for test, seconds in _seconds.items()}
        Path(os.environ[VARIABLE]).write_text(json.dumps(rows))
