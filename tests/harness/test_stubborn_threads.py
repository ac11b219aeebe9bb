"""N7: threads that catch the exception that ends them are named, at once, and keep nothing waiting."""

import pytest

from tests.innerruns import LEAN

TESTS = """
import concurrent.futures
import threading
import time


def stubborn(wait=None):
    while True:
        try:
            (wait or time.sleep)(1)
        except BaseException:
            pass


def starts():
    threading.Thread(target=stubborn, daemon=False).start()


def waits_for_events():
    stubborn(lambda seconds: threading.Event().wait(seconds))


def computes():
    while True:
        try:
            time.sleep(1)
        except BaseException:
            sum(range(100))


def uses_a_pool():
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.submit(stubborn)
    time.sleep(100)


def test_it(fakekube):
    fakekube.thread({how})
    fakekube.advance(5)


def test_a_kill_ends_it(fakekube):
    thread = fakekube.thread(stubborn)
    fakekube.advance(5)
    fakekube.kill(thread)
    fakekube.advance(5)
    assert not thread.is_alive()


def test_the_next_one(fakekube):
    fakekube.thread(time.sleep, 5)
    fakekube.advance(5)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "name", "place"),
    [
        ("stubborn", "stubborn", r"test_\w+.py:9 in stubborn"),
        ("starts", r"Thread-\d+ \(stubborn\)", r"test_\w+.py:9 in stubborn"),
        ("waits_for_events", "waits_for_events", r"test_\w+.py:19 in waits_for_events.<locals>.<lambda>"),
        ("computes", "computes", r"test_\w+.py:25 in computes"),
        ("uses_a_pool", r"ThreadPoolExecutor-\d+_0", r"test_\w+.py:9 in stubborn"),
    ],
)
def test_n7_a_thread_that_catches_everything_is_named_and_takes_no_time(pytester, how, name, place):
    pytester.makepyfile(TESTS.replace("{how}", how))
    done = pytester.runpytest_subprocess(*LEAN, timeout=30)  # pytest ends, too
    done.assert_outcomes(passed=3, errors=1)
    done.stdout.re_match_lines([rf"E .*NotQuiescent: threads do not end: {name}, at {place}\. They run Python code"])
    assert done.duration < 10
