"""Failures of explorations as annotations of GitHub Actions."""

import re
from pathlib import Path

import pytest

from fakekube.simulation.results.annotations import annotation
from tests.simulation.test_explore import MARKED, OPERATOR, PLUGINS

pytest_plugins = ["pytester"]

ACTIONS = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "/home/me/repo"}


@pytest.mark.parametrize(
    ("path", "environment", "found"),
    [
        ("/home/me/repo/tests/test_a.py", ACTIONS, "::error file=tests/test_a.py,line=7,title=T::O2"),
        ("/elsewhere/test_a.py", ACTIONS, "::error file=/elsewhere/test_a.py,line=7,title=T::O2"),
        ("/repo/test_a.py", {"GITHUB_ACTIONS": "true"}, "::error file=repo/test_a.py,line=7,title=T::O2"),
        ("/home/me/repo/tests/test_a.py", {}, ""),
        ("/home/me/repo/tests/test_a.py", {"GITHUB_ACTIONS": "false"}, ""),
    ],
)
def test_an_annotation_names_the_file_in_the_workspace(path, environment, found):
    assert annotation(Path(path), 7, "T", "O2", environment) == found


def test_what_would_end_a_command_is_escaped():
    found = annotation(Path("/a,b:c.py"), 1, "x,y: 100%", "50%: a,b\nreplay\r", {"GITHUB_ACTIONS": "true"})
    head, _, message = found.removeprefix("::").partition("::")
    assert head == "error file=a%2Cb%3Ac.py,line=1,title=x%2Cy%3A 100%25"
    assert message == "50%25: a,b%0Areplay%0D"


@pytest.mark.slow
@pytest.mark.parametrize("actions", ["true", ""])
def test_a_failing_exploration_annotates_each_bug(pytester, monkeypatch, actions):
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    monkeypatch.setenv("GITHUB_ACTIONS", actions)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path))
    pytester.makepyfile(test_vault=OPERATOR + MARKED)
    result = pytester.runpytest_inprocess(*PLUGINS)
    result.assert_outcomes(failed=1)
    found = [line for line in result.outlines if line.startswith("::error ")]
    assert len(found) == bool(actions)
    line = next(
        number for number, one in enumerate((OPERATOR + MARKED).strip().splitlines(), 1) if "fakekube_explore" in one
    )
    for one in found:
        at = re.match(r"::error file=test_vault\.py,line=(\d+),title=exploration of test_vault::O2", one)
        assert int(at[1]) in (line, line + 1)
        assert "%0Areplay: pytest test_vault.py::test_vault --fakekube-plan=" in one
