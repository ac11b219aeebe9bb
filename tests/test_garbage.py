"""Collections of garbage while clusters are set up, and what they leave out."""

import gc

import pytest

from fakekube import FakeKube
from fakekube.garbage import no_collections


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


def test_a_test_with_a_cluster_leaves_out_what_was_loaded(fakekube):
    assert gc.get_freeze_count() > 10_000
