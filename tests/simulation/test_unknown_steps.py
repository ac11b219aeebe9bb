"""A plan that leaves out a step which the test does not have is refused: it would replay another scenario."""

import pytest

from fakekube import FakeKube
from tests.innerruns import LEAN

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

TEST = """
import pytest

async def quiet(request, client):
    await client.patch(await client.get("v1", "ConfigMap", request.name, request.namespace), {"data": {"seen": "yes"}})

def build(manager):
    manager.controller("quiet").for_("v1", "ConfigMap").complete(quiet)

def config_map(name):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}

@pytest.mark.fakekube_explore(ARGUMENTS)
def test_it(fakekube):
    fakekube.start(build)
    fakekube.create(config_map("a"))
    with fakekube.exploration.step("a second map"):
        fakekube.create(config_map("b"))
    fakekube.settle()
    assert fakekube.exists("v1", "ConfigMap", "b"), "fails without the step"
    with fakekube.exploration.step("later"):
        fakekube.create(config_map("c"))
    fakekube.settle()
"""

CRASH = "crash@update ConfigMap/a{data.seen}"
UNKNOWN = "skip: the test has no step 'scond'; its steps are 'a second map', 'later'"


@pytest.fixture(scope="module", autouse=True)
def _imported():
    """What is imported lazily is imported once: pytester forgets what an inner run imports."""
    import fakekube.simulation.protocol  # noqa: F401

    with FakeKube() as kube:
        kube.settle()


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs the test with arguments of its marker and options."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)

    def runs(arguments, *options):
        file = pytester.makepyfile(TEST.replace("ARGUMENTS", arguments))
        return pytester.runpytest_inprocess(*LEAN, str(file), *options, "-rP")

    return runs


def test_the_plan_of_the_command_line(run):
    result = run("", f"--fakekube-plan=FK1 seed=0 skip=scond {CRASH}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"--fakekube-plan: {UNKNOWN}"])


def test_a_plan_of_the_marker(run):
    result = run(f"runs=3, plans=['FK1 seed=0 skip=scond {CRASH}']")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"plans: *: {UNKNOWN}"])


@pytest.mark.parametrize("skip", ["later", "a%20second%20map,later"], ids=["reached", "not-reached-without-the-first"])
def test_a_step_that_the_test_has_is_accepted_also_if_it_is_not_reached(run, skip):
    result = run("", f"--fakekube-plan=FK1 seed=0 skip={skip} {CRASH}")
    result.stdout.no_fnmatch_line("*has no step*")
    result.stdout.fnmatch_lines([f"plan: FK1 seed=0 skip={skip} crash@update cm/a{{data.seen}}#1"])
