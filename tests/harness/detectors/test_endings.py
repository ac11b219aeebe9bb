"""What detectors find when operators have been ended after the test."""

import asyncio

import pytest

from fakekube import FakeKube, FindingError
from tests.harness.detectors.scenes import operator
from tests.harness.planted import CRD, database


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


@pytest.mark.parametrize("begin", [as_runnable, as_task])
def test_r9_a_task_that_swallows_its_cancellation_at_the_end(begin):
    with pytest.raises(FindingError) as caught:
        run_to_the_end(begin, Cleaner(goes_on=True))
    (finding,) = caught.value.findings
    assert finding.detector == "swallowed-cancellation"
    assert "in Cleaner.run (test_endings.py:" in finding.text
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


def test_r9_what_the_end_finds_does_not_hide_the_error_of_the_test():
    def begin(kube, cleaner):
        as_task(kube, cleaner)
        kube.advance(1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_to_the_end(begin, Cleaner(goes_on=True))


def test_r9_what_is_allowed_at_the_end():
    with FakeKube() as kube:
        kube.allow("swallowed-cancellation", reason="the test is about something else", match="Cleaner")
        as_task(kube, Cleaner(goes_on=True))
        kube.advance(90)
    assert kube.findings == []
