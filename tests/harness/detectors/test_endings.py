"""What detectors find when operators have been ended after the test."""

import asyncio
import threading
from functools import partial

import pytest

from controllerlib import ApiError
from fakekube import FakeKube, FindingError, NotQuiescent
from tests.harness.detectors.scenes import operator, read, resize
from tests.harness.planted import API, CRD, database


class Cleaner:
    """A runnable that cleans up for some seconds when it is cancelled, and may go on then."""

    def __init__(self, *, goes_on, seconds=1):
        self.goes_on, self.seconds = goes_on, seconds

    async def run(self):
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(self.seconds)
                if not self.goes_on:
                    raise


def run_to_the_end(begin, *args):
    with FakeKube() as kube:
        begin(kube, *args)
        kube.advance(90)
    return kube


def as_runnable(kube, cleaner):
    kube.start(lambda manager: manager.add(cleaner))


def as_task(kube, cleaner):
    kube.task(cleaner.run(), name="cleaner")


def as_task_of_a_task(kube, cleaner):
    async def work():
        task = asyncio.create_task(cleaner.run())
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.sleep(1e6)

    kube.task(work(), name="work")


@pytest.mark.parametrize(
    ("begin", "title"),
    [(as_runnable, "the runnable Cleaner"), (as_task, "the task cleaner"), (as_task_of_a_task, "a task")],
)
def test_r9_a_task_that_swallows_its_cancellation_at_the_end(begin, title):
    with pytest.raises(FindingError) as caught:
        run_to_the_end(begin, Cleaner(goes_on=True))
    (finding,) = caught.value.findings
    assert finding.detector == "swallowed-cancellation"
    assert finding.text.startswith(f"{title}, in Cleaner.run (test_endings.py:")
    assert finding.times == 1
    assert "still runs 30 s after it was cancelled at the end of the test" in finding.text


@pytest.mark.parametrize("begin", [as_runnable, as_task])
@pytest.mark.parametrize("seconds", [0, 1, 20])
def test_r9_a_clean_up_that_awaits(begin, seconds):
    assert run_to_the_end(begin, Cleaner(goes_on=False, seconds=seconds)).findings == []


def test_r9_a_reconcile_in_progress_is_cancelled_at_once():
    cancelled = []

    def begin(kube):
        async def reconcile(request):
            try:
                await asyncio.sleep(100)
            except asyncio.CancelledError:
                cancelled.append(kube.clock.monotonic())
                raise

        kube.apply(CRD, database())
        kube.start(operator(reconcile))

    kube = run_to_the_end(begin)
    assert kube.findings == []
    assert cancelled == [90]


def test_r9_a_task_that_swallows_its_cancellation_and_ends():
    async def work():
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            await asyncio.sleep(1)

    with FakeKube() as kube:
        kube.task(work())
        kube.advance(90)
    assert kube.findings == []


def test_a_runnable_that_catches_every_cancellation_is_named():
    class Poller:
        async def start(self):
            while True:
                try:
                    await asyncio.sleep(20)
                except asyncio.CancelledError:
                    """Go on."""

    with pytest.raises(
        NotQuiescent, match=r"^tasks do not end: runnable Poller \(RunnableGroup._run\) at test_endings"
    ):
        run_to_the_end(lambda kube: kube.start(lambda manager: manager.add(Poller())))


def test_r9_what_the_end_finds_does_not_hide_the_error_of_the_test():
    def begin(kube, cleaner):
        as_task(kube, cleaner)
        kube.advance(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_to_the_end(begin, Cleaner(goes_on=True))


def test_r9_what_is_allowed_at_the_end():
    with FakeKube() as kube:
        kube.findings.allow("swallowed-cancellation", reason="the test is about something else", match="Cleaner")
        as_task(kube, Cleaner(goes_on=True))
        kube.advance(90)
    assert kube.findings == []


# --- threads: their waits are in real time ---


class Sampler:
    """A runnable with a thread, which it ends when it is cancelled."""

    def __init__(self, stop, *, ends, joins=False, daemon=True):
        self.stop, self.ends, self.joins, self.daemon = stop, ends, joins, daemon

    async def run(self):
        thread = threading.Thread(target=self.sample, daemon=self.daemon, name="sampler")
        thread.start()
        try:
            await asyncio.Event().wait()
        finally:
            if self.ends:
                self.stop.set()
            if self.joins:
                await asyncio.to_thread(thread.join)

    def sample(self):
        self.stop.wait()


@pytest.fixture
def stop():
    """Ends the threads that a test leaves behind."""
    before = set(threading.enumerate())
    stop = threading.Event()
    yield stop
    stop.set()
    for thread in set(threading.enumerate()) - before:
        thread.join()


@pytest.mark.parametrize(
    ("ends", "joins", "daemon"),
    [(True, False, True), (True, True, True), (True, False, False), (True, True, False), (False, False, True)],
)
def test_f1_a_thread_that_ends_with_its_operator_or_its_process(stop, ends, joins, daemon):
    assert run_to_the_end(as_runnable, Sampler(stop, ends=ends, joins=joins, daemon=daemon)).findings == []


@pytest.mark.slow
def test_f1_a_thread_that_does_not_end_with_its_operator(stop):
    with pytest.raises(
        FindingError, match=r"the thread sampler of Sampler\.sample still runs when its operator has ended"
    ):
        run_to_the_end(as_runnable, Sampler(stop, ends=False, daemon=False))


@pytest.mark.slow
def test_f1_a_daemon_thread_of_an_operator_that_was_stopped(stop):
    def begin(kube):
        kube.stop(kube.start(lambda manager: manager.add(Sampler(stop, ends=False))))

    with pytest.raises(FindingError, match=r"sampler .* still runs although its operator was stopped"):
        run_to_the_end(begin)


def polling(stop, threads, *, ends, keeps=True):
    """Begins an operator that starts a thread for each object."""

    async def reconcile(request, client):
        try:
            await read(client, request)
        except ApiError:
            if ends:
                stop.set()
            return
        if request not in threads:
            thread = threading.Thread(target=lambda: stop.wait(), daemon=True, name="poller")
            threads[request] = thread if keeps else None
            thread.start()

    def begin(kube, *, deletes):
        kube.apply(CRD, database())
        kube.start(operator(reconcile))
        if deletes:
            kube.delete(API, "Database", "a")

    return begin


@pytest.mark.parametrize("deletes", [False, True])
def test_f1_a_thread_of_an_object_that_ends_with_it(stop, deletes):
    begin = partial(polling(stop, {}, ends=True), deletes=deletes)
    assert run_to_the_end(begin).findings == []


@pytest.mark.slow
def test_f1_a_thread_that_outlives_its_object(stop):
    begin = partial(polling(stop, {}, ends=False), deletes=True)
    with pytest.raises(FindingError, match=r"the thread poller .* still runs although default/a has been deleted"):
        run_to_the_end(begin)


@pytest.mark.slow
def test_f1_a_thread_of_a_reconcile_that_nothing_keeps(stop):
    begin = partial(polling(stop, {}, ends=False, keeps=False), deletes=False)
    with pytest.raises(
        FindingError, match=r"that c reconciling default/a \[added\] started still runs, and nothing keeps"
    ):
        run_to_the_end(begin)


@pytest.mark.slow
def test_f1_a_thread_of_each_reconcile(stop):
    threads = []

    async def reconcile(request):
        threads.append(threading.Thread(target=lambda: stop.wait(), daemon=True))
        threads[-1].start()

    def begin(kube):
        kube.apply(CRD, database())
        kube.start(operator(reconcile))
        for size in (2, 3):
            resize(kube, size)
            kube.settle()

    with pytest.raises(FindingError, match="is one of several that reconciles of default/a started and that still run"):
        run_to_the_end(begin)
