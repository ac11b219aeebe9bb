"""Small rules of the plugin: names in errors, shards, places of warnings, the order of finalizers, the collector."""

import gc

import pytest

from fakekube import ClusterSettings, FakeKube
from fakekube.clustersettings import marker_signature
from tests.innerruns import LEAN


@pytest.mark.parametrize("make", [FakeKube, ClusterSettings])
def test_unknown_arguments_are_named_in_their_order(make):
    with pytest.raises(
        TypeError, match=r"zone" if make is ClusterSettings else r"has no argument alpha, zone \(accepted: "
    ):
        make(zone=1, **({} if make is ClusterSettings else {"alpha": 2}))


def test_the_signature_of_the_marker_has_the_defaults_but_for_the_seed():
    text = marker_signature(pages=3)
    assert text.startswith("seed=None, version=None, controllers=()")
    assert text.endswith("pages=3")


EXPLORED = """
import pytest

@pytest.mark.fakekube_explore(runs=3)
def test_it(fakekube):
    pass

def test_other(fakekube):
    pass
"""


def test_explored_tests_have_a_shard_for_each_of_several_workers(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "2")
    pytester.makepyfile(EXPLORED)
    lines = pytester.runpytest_inprocess(*LEAN, "--collect-only", "-q").outlines
    assert [line.partition("::")[2] for line in lines if "::" in line] == [
        "test_it[shard 1 of 2]", "test_it[shard 2 of 2]", "test_other",
    ]  # fmt: skip


def test_a_marker_without_effect_is_warned_of_at_the_test(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.fakekube(seed=3)
        def test_it():
            pass
        """
    )
    lines = pytester.runpytest_inprocess(*LEAN, "-Wdefault").outlines
    assert any(":3: PytestWarning: @pytest.mark.fakekube has no effect" in line for line in lines)


@pytest.mark.slow
def test_after_an_exception_that_pytest_does_not_expect_the_latest_fixture_still_ends_first(pytester):
    pytester.makepyfile(
        """
        import asyncio
        import pytest

        ended = []

        @pytest.fixture(scope="module")
        def of_the_module():
            yield
            ended.append("module")

        @pytest.fixture
        def first(of_the_module):
            yield
            ended.append("first")

        @pytest.fixture
        def second(first):
            yield
            ended.append("second")

        @pytest.fixture
        def cancelled(second):
            yield
            ended.append("cancelled")
            raise asyncio.CancelledError

        def test_it(fakekube, cancelled):
            pass

        def test_order():
            assert ended == ["cancelled", "second", "first"]
        """
    )
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(passed=2, errors=1)


@pytest.mark.slow
@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_of_garbage_is_as_before_after_the_report_of_a_failure(pytester, enabled):
    pytester.makepyfile(
        f"""
        import gc

        def test_fails(fakekube):
            gc.{"enable" if enabled else "disable"}()
            assert False

        def test_after():
            assert gc.isenabled() is {enabled}
        """
    )
    try:
        pytester.runpytest_inprocess(*LEAN).assert_outcomes(failed=1, passed=1)
    finally:
        gc.enable()
