"""A test that hangs ends by its time-out, whatever it waits for and whatever its clock says."""

from textwrap import dedent

import pytest

from tests.innerruns import LEAN

pytestmark = pytest.mark.slow

IMPORTS = """
import threading

import fakekube.harness.cluster  # outside of the time that a test has

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

def started(fakekube, reconcile):
    fakekube.apply(MAP)
    fakekube.start(lambda manager: manager.controller("a").for_("v1", "ConfigMap").complete(reconcile))

"""

#: What a test, or its operator, hangs in.
HANGS = {
    "loop": """
        def test_hangs(fakekube):
            while True:
                pass
        """,
    "lock": """
        def test_hangs():
            threading.Event().wait()
        """,
    "reconciler": """
        def test_hangs(fakekube):
            async def reconcile(request, client):
                while True:
                    pass

            started(fakekube, reconcile)
        """,
    "reconciler in a thread": """
        def test_hangs(fakekube):
            def reconcile(request):
                while True:
                    pass

            started(fakekube, reconcile)
        """,
}


@pytest.fixture
def run(pytester):
    """Runs `source` in a process of its own, with these ini options."""

    def run(source, **options):
        pytester.makepyfile(IMPORTS + dedent(source))
        given = [f"--override-ini={name}={value}" for name, value in options.items()]
        return pytester.runpytest_subprocess(*LEAN, *given, timeout=100)

    return run


@pytest.mark.parametrize("source", [HANGS["loop"], HANGS["lock"]], ids=["loop", "lock"])
def test_a_test_that_hangs_fails_and_the_next_one_runs(run, source):
    result = run(dedent(source) + "\ndef test_next(fakekube):\n    fakekube.advance(hours=1)\n", timeout=1)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*Failed: Timeout (>1.0s) from pytest-timeout*"])


@pytest.mark.parametrize("source", HANGS.values(), ids=HANGS)
def test_a_process_that_does_not_react_ends_with_its_stacks(run, source):
    result = run(source, faulthandler_timeout=1, faulthandler_exit_on_timeout="true")
    assert result.ret == 1
    result.stderr.fnmatch_lines(["Timeout (0:00:01)!", "*test_a_process_that_does_not_react_ends_with_its_stacks.py*"])


def test_virtual_time_does_not_count(run):
    result = run("def test_waits_a_year(fakekube):\n    fakekube.advance(days=365)\n", timeout=30)
    result.assert_outcomes(passed=1)
