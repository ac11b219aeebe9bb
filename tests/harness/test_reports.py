"""A failing test's report shows the test and the operator, and not the source of the harness."""

import _thread

import pytest

import fakekube.harness.cluster  # noqa: F401 - before pytester, which takes away what a run imports
from fakekube import FakeKube
from fakekube.virtualtime import NotQuiescent
from tests.innerruns import LEAN


def report(pytester, body, *options):
    pytester.makepyfile(f"import pytest\n\n{body}")
    return pytester.runpytest_inprocess(*LEAN, *options).stdout.str()


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        'assert_requests(3, verb="create", resource="pods")',
        'eventually(lambda cluster: False, "never", within="1m")',
        'get("v1", "ConfigMap", "a")',
        'advance("1 fortnight")',
    ],
)
def test_the_frames_of_the_package_are_not_shown(pytester, call):
    body = f"def test_it(fakekube):\n    fakekube.{call}\n"
    assert "def test_it(fakekube)" in report(pytester, body)
    shown = report(pytester, body)
    assert "cluster.py" not in shown
    assert "recorded.py" not in shown
    assert "cluster.py" in report(pytester, body, "--full-trace")


@pytest.mark.slow
def test_the_code_of_the_operator_is_shown(pytester):
    body = """
def operator():
    raise LookupError("in the operator")

def test_it(fakekube):
    fakekube.thread(operator)
    fakekube.settle()
"""
    shown = report(pytester, body)
    assert 'raise LookupError("in the operator")' in shown
    assert "background.py" not in shown


def test_eventually_shows_the_timeline_once(pytester):
    body = """
def test_it(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    fakekube.eventually(lambda cluster: False, "never", within="1m")
"""
    assert report(pytester, body).count("create configmaps default/a") == 1


@pytest.mark.slow
def test_the_error_of_a_stuck_thread_shows_the_innermost_frames():
    lock = _thread.allocate_lock()
    lock.acquire()
    with FakeKube(patience=0.2) as kube:
        kube.thread(lock.acquire, name="stuck")
        with pytest.raises(NotQuiescent, match="thread stuck neither parked nor ended") as caught:
            kube.settle()
        lock.release()
    lines = str(caught.value).splitlines()
    assert "  ..." in lines
    assert len(lines) < 60
