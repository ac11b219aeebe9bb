"""A line of a file of kept plans that cannot be read is an error: a plan that is left out would look like one that passes."""

import pytest

from fakekube import FakeKube
from fakekube.pytest_plugin.reports import page_name
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.results.planstore import PlanStore
from tests.innerruns import LEAN

pytest_plugins = ["pytester"]

CRASH = "FK1 seed=0 crash@create cm/a#1"

#: A line, and what is wrong with it.
UNREADABLE = [
    ("FK1 seed=0 crsh@create cm/a#1", "atom 'crsh@create cm/a#1': expected one of crash, down"),
    ("FK1 seed=x crash@create cm/a#1", "the seed 'x' is no number"),
    ("FK1 seed=0 crash@crate cm/a#1", "the verb is one of create, update, delete"),
    ("FK9 seed=0 crash@create cm/a#1", "expected a text that starts with 'FK1'"),
    ("<<<<<<< HEAD", "expected a text that starts with 'FK1'"),
]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "test_it.txt"


@pytest.mark.parametrize(("line", "reason"), UNREADABLE)
@pytest.mark.parametrize("before", [[], [CRASH], ["# a comment", "", f"{CRASH}  # passed 1: O2: cm/a"]])
def test_the_error_names_the_file_the_line_and_the_reason(file, before, line, reason):
    file.write_text("".join(f"{one}\n" for one in [*before, f"{line}  # passed 0: O2: cm/a", CRASH]))
    with pytest.raises(ValueError, match=r"test_it.txt: line") as caught:
        PlanStore(file).plans()
    assert str(caught.value).startswith(f"{file}: line {len(before) + 1}: ")
    assert reason in str(caught.value)


def test_a_file_that_is_no_text_is_named(file):
    file.write_bytes(b"FK1 \xff")
    with pytest.raises(ValueError, match=r"test_it\.txt: .*utf-8"):
        PlanStore(file).plans()


def test_a_file_that_has_become_unreadable_is_not_overwritten(file):
    file.write_text(f"{CRASH}\ncrsh\n")
    PlanStore(file).update(failed=[(parse_plan("FK1 seed=0 dup"), "O4")], passed=[parse_plan(CRASH)])
    assert file.read_text() == f"{CRASH}\ncrsh\n"


TEST = """
import pytest

async def quiet(request, client):
    pass

def build(manager):
    manager.controller("quiet").for_("v1", "ConfigMap").complete(quiet)

@pytest.mark.fakekube_explore(runs=3, plans="kept")
def test_it(fakekube):
    fakekube.start(build)
    fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    fakekube.settle()
"""


@pytest.fixture
def _imported():
    """What is imported lazily is imported once: pytester forgets what an inner run imports."""
    import fakekube.simulation.protocol  # noqa: F401

    with FakeKube() as kube:
        kube.settle()


@pytest.mark.slow
@pytest.mark.usefixtures("_imported")
@pytest.mark.parametrize("options", [(), ("--fakekube-plan=FK1 seed=0 crash@create cm/a#1",)], ids=["explored", "plan"])
def test_the_test_fails_with_one_line_unless_one_plan_is_run(pytester, monkeypatch, options):
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    test = pytester.makepyfile(test_kept=TEST)
    (pytester.path / "kept").mkdir()
    kept = pytester.path / "kept" / page_name("test_kept.py::test_it").replace(".html", ".txt")
    kept.write_text("FK1 seed=0 crsh@create cm/a#1\n")
    result = pytester.runpytest_inprocess(*LEAN, str(test), *options)
    error = f"*kept/{kept.name}: line 1: atom 'crsh@create cm/a#1': expected one of crash*"
    if options:
        result.assert_outcomes(passed=1)
        result.stdout.no_fnmatch_line(error)
    else:
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines([error])
