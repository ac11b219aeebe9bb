"""Mistakes in markers concern one test."""

import pytest

import fakekube.harness.cluster  # noqa: F401 - before pytester, which takes away what a run imports
from tests.innerruns import LEAN


@pytest.mark.slow
@pytest.mark.parametrize("marker", ["fakekube", "fakekube_explore"])
@pytest.mark.parametrize("arguments", ["colour='red'", "'red'"])
def test_an_unknown_argument_is_an_error_of_its_test(pytester, monkeypatch, marker, arguments):
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)  # a worker would divide the exploration
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.{marker}({arguments})
        def test_wrong(fakekube):
            pass

        def test_right(fakekube):
            pass
        """
    )
    result = pytester.runpytest_inprocess(*LEAN)
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines([f"*@pytest.mark.{marker} *"])


@pytest.mark.parametrize("marker", ["fakekube(nodes=1)", "fakekube_explore"])
def test_a_marker_without_the_fixture_is_warned_of(pytester, marker):
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.{marker}
        def test_without():
            pass
        """
    )
    result = pytester.runpytest_inprocess(*LEAN, "-Wdefault")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*has no effect: the test does not use the fixture `fakekube`"])


@pytest.mark.slow
def test_a_marker_of_a_module_concerns_the_tests_with_a_cluster(pytester):
    pytester.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.fakekube(nodes=1)

        def test_without():
            pass

        def test_with(fakekube):
            assert fakekube.nodes["node-1"]

        @pytest.mark.fakekube(nodes=2)
        def test_later(request):
            assert request.getfixturevalue("fakekube").nodes["node-2"]
        """
    )
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(passed=3, warnings=0)
