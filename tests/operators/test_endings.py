"""However a published operator ends, nothing of it is left: no thread, no patch, no request to the next cluster."""

import signal
import threading
import time

import pytest

from fakekube import FakeKube
from tests.operators import scenario

pytestmark = [
    pytest.mark.parametrize("name", scenario.OPERATORS),
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),
    pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _nothing_is_left():
    threads, sleep = set(threading.enumerate()), time.sleep
    yield
    assert set(threading.enumerate()) - threads == set()
    assert time.sleep is sleep
    with FakeKube() as kube:
        kube.configure()
        kube.advance(hours=1)
        assert kube.requests() == []


def started(kube, name):
    """Starts the operator; returns its tasks and threads."""
    kube.configure()
    found = scenario.function(name, "start")(kube)
    return found


def test_left_running(name):
    with scenario.cluster(name) as kube:
        started(kube, name)
        kube.advance(hours=1)
        assert len(kube.requests()) > 0


def test_a_test_that_fails(name):
    with pytest.raises(ZeroDivisionError), scenario.cluster(name) as kube:
        started(kube, name)
        kube.advance(minutes=10)
        raise ZeroDivisionError


def test_every_third_request_fails(name):
    with scenario.cluster(name) as kube, kube.fault(error=500, share=1 / 3):
        try:
            started(kube, name)
            kube.advance(minutes=10)
        except Exception as error:  # the operator itself failed, which the step raises
            assert error.__traceback__ is not None
        assert [r for r in kube.requests() if r.code == 500] != []


def running(kube, name):
    """Starts the operator; returns the functions that cancel its tasks, or end its threads by SIGTERM."""
    before = set(kube.tasks())
    started(kube, name)
