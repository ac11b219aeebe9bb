"""The pytest plugin, in separate test runs."""

import os
import subprocess
import sys

import pytest

import fakekube.harness.cluster  # noqa: F401 - before pytester, which takes away what a run imports
from tests.innerruns import LEAN

HEAVY = (
    "aiohttp",
    "kubernetes",
    "freezegun",
    "orjson",
    "yaml",
    "click",
    "trustme",
    "asyncio",
    "fakekube.harness.cluster",
)


@pytest.fixture
def run(pytester):
    """Runs tests with the installed plugin: takes their source, then pytest's options."""

    def run(source, *options):
        pytester.makepyfile(source)
        return pytester.runpytest_inprocess(*LEAN, *options)

    return run


@pytest.fixture
def run_apart(pytester):
    """The same in a separate process."""

    def run(source, *options):
        pytester.makepyfile(source)
        return pytester.runpytest_subprocess(*LEAN, *options)

    return run


@pytest.mark.slow
def test_a_test_gets_a_cluster_and_a_failing_one_its_timeline(run):
    result = run(
        """
        import asyncio

        def test_sync(fakekube):
            fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
            fakekube.advance(90)
            fakekube.delete("v1", "ConfigMap", "a")
            assert False

        async def test_async(fakekube):
            await asyncio.sleep(60)
            assert fakekube.clock.monotonic() == 60

        async def test_async_that_fails(fakekube, fakekube_clock):
            await fakekube.advance(5)
            fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}})
            assert fakekube_clock.monotonic() == 6
        """
    )
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*- fakekube timeline (seed 'test_*.py::test_sync') -*",
            "time *actor *what *rv *cause",
            "+00:00:00 *test *create configmaps * -> 201 *",
            "+00:01:30 *test *delete configmaps default/a -> 200 *",
            "*- fakekube timeline (seed 'test_*.py::test_async_that_fails') -*",
            "+00:00:05 *test *create configmaps * -> 201 *",
        ]
    )


@pytest.mark.slow
def test_markers_options_and_ini_values_in_this_order(run, pytester):
    pytester.makeini("[pytest]\nfakekube_seed = 3\nfakekube_rbac = true\naddopts = --strict-markers\n")
    source = """
        import pytest

        def test_of_the_run(fakekube):
            assert fakekube._engine.seed == {}
            assert fakekube.exists("rbac.authorization.k8s.io/v1", "ClusterRole", "cluster-admin")

        @pytest.mark.fakekube(seed=9, rbac=False)
        class TestOfTheMarker:
            def test_class(self, fakekube):
                assert fakekube._engine.seed == 9
                assert not fakekube.exists("rbac.authorization.k8s.io/v1", "ClusterRole", "cluster-admin")

            @pytest.mark.fakekube(seed="mine")
            def test_function(self, fakekube):
                assert fakekube._engine.seed == "mine"
        """
    run(source.replace("{}", "3")).assert_outcomes(passed=3)
    run(source.replace("{}", "5"), "--fakekube-seed", "5").assert_outcomes(passed=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("colour='red'", "*has no argument colour (it has *seed*"),
        ("transport='pigeon'", "*@pytest.mark.fakekube: transport='pigeon'*"),
        ("history_window=0", "*@pytest.mark.fakekube: history_window=0*"),
        ("version='1.2'", "*@pytest.mark.fakekube: Kubernetes version '1.2' is not supported*"),
        ("7", "*takes keyword arguments only*"),
        ("rbak=True", "*has no argument rbak: did you mean 'rbac'?*"),
        ("configure='db'", "*@pytest.mark.fakekube: configure='db': pass True for the administrator, or the*"),
    ],
)
def test_an_invalid_marker_is_one_line(run, marker, said):
    result = run(
        f"""
        import pytest

        @pytest.mark.fakekube({marker})
        def test_it(fakekube):
            pass
        """
    )
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ERROR at setup of test_it*", said, "[=-]*"], consecutive=True)


def test_help_and_markers_are_documented(run):
    run("", "--markers").stdout.fnmatch_lines(["@pytest.mark.fakekube(seed=None*"])
    run("", "--help").stdout.fnmatch_lines(["*--fakekube-seed*", "*--fakekube-controllers*"])


@pytest.mark.slow
def test_an_unraised_failure_fails_the_test(run):
    result = run(
        """
        import asyncio

        def test_it(fakekube):
            async def broken():
                raise LookupError("it broke")

            fakekube.task(broken())
            fakekube._engine.bubble.settle()
        """
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*LookupError: it broke*"])


@pytest.mark.slow
def test_a_failing_test_leaves_the_next_one_a_fresh_cluster(run):
    run(
        """
        def test_one(fakekube):
            fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
            raise KeyError

        def test_two(fakekube):
            assert fakekube.list("v1", "ConfigMap", None) == []
            assert fakekube.clock.monotonic() == 0
        """
    ).assert_outcomes(passed=1, failed=1)


@pytest.mark.slow
def test_the_durations_are_real(run_apart):
    result = run_apart("def test_it(fakekube):\n    fakekube.advance(days=300)", "--durations=3", "-vv")
    result.assert_outcomes(passed=1)
    (seconds,) = [line.split("s call")[0] for line in result.outlines if "s call" in line]
    assert float(seconds) < 60


DIGEST = """
    import hashlib, json, pathlib
    import pytest
    from controllerlib import Result

    @pytest.mark.parametrize("number", range(12))
    def test_it(fakekube, number):
        def build(manager):
            async def reconcile(request):
                return Result(requeue_after=60)
            manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

        for name in "abc":
            meta = {"generateName": name, "namespace": "default"}
            fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
        fakekube.start(build)
        fakekube.advance(hours=1)
        digest = hashlib.sha256(fakekube.log().encode()).hexdigest()
        pathlib.Path(DIRECTORY, f"{number}").write_text(digest)
"""


@pytest.mark.slow
def test_workers_of_xdist_give_the_same_logs(run_apart, tmp_path):
    logs = []
    for options in (("-n0",), ("-n2",)):
        folder = tmp_path / options[0]
        folder.mkdir()
        run_apart(DIGEST.replace("DIRECTORY", repr(str(folder))), *options).assert_outcomes(passed=12)
        logs.append({path.name: path.read_text() for path in folder.iterdir()})
    assert len(logs[0]) == 12
    assert len(set(logs[0].values())) == 12  # each test its own seed
    assert logs[0] == logs[1]


@pytest.mark.slow
@pytest.mark.parametrize("module", HEAVY)
def test_importing_the_plugin_imports_nothing_heavy(module):
    code = f"import sys, pytest; before = set(sys.modules); import fakekube.pytest_plugin; sys.exit({module!r} in set(sys.modules) - before)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ).returncode == 0


@pytest.mark.slow
def test_a_run_that_does_not_use_it_imports_nothing_heavy(run_apart):
    run_apart(
        f"""
        import sys

        def test_it():
            assert "fakekube.pytest_plugin" in sys.modules
            assert not {{*{HEAVY[:-2]!r}, "fakekube.harness.cluster"}} & set(sys.modules)
        """,
        "-pno:xdist",
    ).assert_outcomes(passed=1)


@pytest.mark.slow
def test_a_closed_cluster_is_freed_before_the_session_ends(pytester):
    pytester.makepyfile(
        """
        import gc, weakref
        import pytest

        clusters = []

        def test_first(fakekube):
            clusters.append(weakref.ref(fakekube))

        @pytest.mark.parametrize("number", [1, 2])
        def test_failing(fakekube, number):
            clusters.append(weakref.ref(fakekube))
            assert False

        def test_all_but_the_last_failure_are_freed():  # Python keeps that one in `sys.last_value`
            gc.collect()
            assert [one() for one in clusters[:2]] == [None, None]
        """
    )
    # in a process of its own: pytester records the failures of a run that is not
    pytester.runpytest_subprocess(*LEAN).assert_outcomes(passed=2, failed=2)


@pytest.mark.slow
def test_finalizers_of_garbage_do_not_disturb_the_report_of_a_failing_test(run_apart):
    result = run_apart(
        """
        import ast
        import gc

        class Parses:
            def __init__(self):
                self.itself = self

            def __del__(self):
                ast.parse("x = [1, 2, 3]")
                Parses()

        def test_it(fakekube):
            gc.set_threshold(50, 1, 1)
            Parses()
            assert 0
        """
    )
    result.assert_outcomes(failed=1)


@pytest.mark.slow
def test_n4_a_cluster_that_is_opened_where_fakekube_is_first_imported_is_closed_with_its_test(run_apart):
    """N4: the hooks of the plugin do nothing until then."""
    result = run_apart(
        """
        import pytest

        @pytest.fixture(scope="module")
        def made():
            from fakekube import FakeKube
            with FakeKube() as kube:
                yield kube

        def test_before():
            pass

        @pytest.mark.parametrize("number", [1, 2])
        def test_of_a_module(made, number):
            made.advance(5)
            assert made.clock.monotonic() == 5 * number
        """
    )
    result.assert_outcomes(passed=3)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["pass", "raise ValueError('broken')"])
def test_n4_a_first_cluster_that_a_test_leaves_open_is_reported_at_that_test(run_apart, end):
    """N4: also if the test fails."""
    result = run_apart(
        f"""
        def test_leaves():
            from fakekube import FakeKube
            FakeKube().__enter__()
            {end}

        def test_next(fakekube):
            fakekube.advance(5)
        """
    )
    failed = end != "pass"
    result.assert_outcomes(passed=2 - failed, failed=int(failed), errors=1)
    result.stdout.fnmatch_lines(["*::test_leaves left its cluster open, and it was closed now*"])
