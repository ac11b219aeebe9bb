"""Collections of garbage while clusters are set up, and what they leave out."""

import gc

import pytest

from fakekube import FakeKube, pythongarbage
from fakekube.pythongarbage import SELDOM, no_collections


@pytest.mark.parametrize("enabled", [True, False])
def test_none_runs_meanwhile_and_afterwards_they_are_as_before(enabled):
    if not enabled:
        gc.disable()
    try:
        with no_collections():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
        with pytest.raises(KeyError), no_collections():
            raise KeyError
        assert gc.isenabled() == enabled
    finally:
        gc.enable()


def test_none_runs_while_a_cluster_is_opened():
    """What is made is kept: looking at it took a quarter of the time."""
    ran = []

    def note(phase, info):
        ran.append(phase)

    cluster = FakeKube(controllers=["deployment", "replicaset"])
    gc.callbacks.append(note)
    try:
        gc.collect(0)
        assert ran == ["start", "stop"]
        with cluster:
            assert ran == ["start", "stop"]
            assert gc.isenabled()
    finally:
        gc.callbacks.remove(note)


@pytest.mark.parametrize(
    ("before", "during"), [((700, 10, 10), SELDOM), ((9_000, 5, 200), (9_000, 20, 200)), ((0, 10, 10), (0, 10, 10))]
)
def test_they_are_rare_while_a_cluster_is_open(before, during):
    usual = gc.get_threshold()
    gc.set_threshold(*before)
    try:
        with FakeKube():
            assert gc.get_threshold() == during
        assert gc.get_threshold() == before
    finally:
        gc.set_threshold(*usual)


def test_thresholds_that_a_test_sets_stay():
    usual = gc.get_threshold()
    try:
        with FakeKube():
            gc.set_threshold(50, 1, 1)
        assert gc.get_threshold() == (50, 1, 1)
    finally:
        gc.set_threshold(*usual)


def test_the_first_test_with_a_cluster_leaves_out_what_was_loaded(request, monkeypatch):
    monkeypatch.setattr(pythongarbage, "_left_out", [])
    gc.unfreeze()
    request.getfixturevalue("fakekube")
    first = gc.get_freeze_count()
    pythongarbage.leave_out_what_is_loaded()
    assert gc.get_freeze_count() == first > 10_000
