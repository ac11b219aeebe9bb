"""N4: runs with a pytest that lacks a private name which the plugin uses."""

import ast
import sys
from pathlib import Path

import pytest

from fakekube import pytest_plugin
from fakekube.pytest_plugin import internals
from tests import hiding
from tests.innerruns import LEAN

NAMES = [pytest.param(name, id=name.name) for name in internals.NAMES]


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs tests in a process of its own, with a pytest that lacks `name` (None: lacks nothing)."""

    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)  # of this run, if it has workers

    def run(name, source, *options):
        pytester.makepyfile(test_it=source, hiding="" if name is None else _hiding(name))
        return pytester.run(sys.executable, "-m", "pytest", "-p", "hiding", *LEAN, *options)

    return run


def _hiding(name):
    return f"{Path(hiding.__file__).read_text()}\nhide({name.where!r}, {name.name!r})"


WITHOUT = """
import sys
import pytest

@pytest.fixture
def broken():
    yield
    raise ValueError("torn down")

@pytest.fixture(scope="module")
def prepared():
    return 3

@pytest.mark.parametrize("number", [1, 2])
def test_passes(prepared, number, tmp_path):
    assert number < prepared

def test_fails(prepared):
    assert prepared == 4

def test_error_of_a_fixture(broken):
    pass

@pytest.mark.xfail
def test_xfail():
    assert False

def test_only_the_door_is_loaded():
    assert [name for name in sys.modules if name.startswith("fakekube.pytest_plugin")] == ["fakekube.pytest_plugin"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, *NAMES])
def test_n4_a_project_without_clusters_runs_unharmed(run, name):
    """N4: nothing of the plugin but its door runs, whatever pytest lacks."""
    result = run(name, WITHOUT, "-Werror")
    result.assert_outcomes(passed=4, failed=1, errors=1, xfailed=1)
    result.stdout.no_fnmatch_line("*fakekube was tested*")
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


WITH = """
import pytest

@pytest.fixture
async def made(fakekube):
    await fakekube.advance(5)
    return fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

def test_sync(fakekube):
    fakekube.advance(90)
    assert fakekube.clock.monotonic() == 90

async def test_async(fakekube, made):
    assert fakekube.clock.monotonic() == 5

def test_fails(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    assert False

def test_of_a_module(fakekube_module):
    fakekube_module.advance(5)

@pytest.mark.fakekube_explore(runs=3)
def test_explored(fakekube):
    def build(manager):
        async def reconcile(request):
            return None
        manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

    fakekube.start(build)
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    fakekube.advance(5)
"""

#: The tests of WITH that cannot run without a name. The others pass.
REFUSED = {
    internals.SETUP_STATE: ["test_explored"],
    internals.TEAR_DOWN: ["test_explored"],
    internals.RUN_PROTOCOL: ["test_explored"],
    internals.FIXTURE_INFO: ["test_of_a_module"],
    internals.DEFINITIONS: ["test_of_a_module"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_n4_a_project_with_clusters_gets_one_line(run, name):
    """N4: the line names what is missing, what does not work, and the tested versions; other tests run as always."""
    refused = REFUSED.get(name, [])
    result = run(name, WITH, "-Werror")
    warned = [line.strip() for line in result.outlines if "CompatibilityWarning" in line]
    assert warned == [f"fakekube:1: CompatibilityWarning: {name}"]
    for test in refused:
        result.stdout.fnmatch_lines([f"*ERROR at setup of {test}*", str(name)])
    result.assert_outcomes(passed=4 - len(refused), failed=1, errors=len(refused), warnings=1)


@pytest.mark.slow
def test_n4_nothing_is_reported_if_nothing_is_missing(run):
    """N4: no line with the pytest of this machine."""
    result = run(None, WITH)
    result.stdout.no_fnmatch_line("*CompatibilityWarning*")


def test_n4_the_door_uses_no_private_name_without_a_default():
    """N4: what runs in every project."""
    tree = ast.parse(Path(pytest_plugin.__file__).read_text())
    private = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
    assert private == []
