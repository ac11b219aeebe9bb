"""However a published operator ends, nothing of it is left: no thread, no patch, no request to the next cluster."""

import signal
import threading
import time

import pytest

from fakekube import FakeKube
from tests.operators import scenario

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("name", scenario.OPERATORS),
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),
    pytest.mark.filterwarnings("ignore:datetime.datetime.utcnow:DeprecationWarning"),
    # the official client leaves sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


#: Operators that end when a request fails.
GIVE_UP = ("luigi",)

#: User agents of the cluster's own controllers, which go on.
CLUSTER = ("kube", "controllerlib", "external-provisioner")


@pytest.fixture(autouse=True)
def _virtual_time_ends():
    threads, sleep = set(threading.enumerate()), time.sleep
    yield
    assert set(threading.enumerate()) - threads == set()
    assert time.sleep is sleep
    with FakeKube(detect={"all": "off"}) as kube:
        kube.access.configure()
        kube.advance(hours=1)
        assert kube.requests() == []


def started(kube, name):
    """Starts the operator; returns its tasks and threads."""
    kube.access.configure()
    found = scenario.function(name, "start")(kube)
    scenario.give_work(name, kube)
    if isinstance(found, tuple):
        _, found = found
    return [getattr(each, "thread", each) for each in (found if isinstance(found, list) else [found])]


def is_running(each):
    return each.is_alive() if hasattr(each, "is_alive") else not each.done()


def outcome(call):
    """The exception that `call` raises, if any."""
    try:
        return call()
    except Exception as error:
        return error


def test_left_running(name):
    with scenario.cluster(name) as kube:
        started(kube, name)
        kube.advance(minutes=30)
        assert len(kube.requests()) > 0


def test_a_test_that_fails(name):
    def failing():
        with scenario.cluster(name) as kube:
            started(kube, name)
            kube.advance(minutes=10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()


def test_every_other_request_fails(name):
    with scenario.cluster(name) as kube:
        running = started(kube, name)
        kube.advance(minutes=5)
        with kube.fault(error=500, share=1 / 2):
            # what an operator fails with is raised by the next step
            failed = isinstance(outcome(lambda: kube.advance(minutes=15)), Exception)
        assert failed == (name in GIVE_UP)
        if failed:
            assert not any(is_running(each) for each in running)


def test_cancelled(name):
    """Tasks are cancelled; threads get SIGTERM."""
    with scenario.cluster(name) as kube:
        running = started(kube, name)
        kube.advance(minutes=10)
        for each in running:
            if hasattr(each, "cancel"):
                each.cancel()
            else:
                kube.faults.signal(each, signal.SIGTERM)
        kube.advance(seconds=30)
        before = len(kube.requests())
        kube.advance(minutes=30)
        assert [r for r in kube.requests()[before:] if not r.user_agent.startswith(CLUSTER)] == []
        assert not any(is_running(each) for each in running)
