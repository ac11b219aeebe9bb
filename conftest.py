"""Configuration of this repository's own test run."""

import asyncio
import faulthandler
import gc
import os
import sys
import threading
import time

import pytest
from _pytest.logging import caplog_records_key
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

# A run passes or fails for what the code is, not for luck nor for the speed of the machine. To look for new cases:
# `--hypothesis-profile search`.
SLOW = [HealthCheck.too_slow]
settings.register_profile("repeatable", derandomize=True, max_examples=60, deadline=None, suppress_health_check=SLOW)
settings.register_profile("search", print_blob=True, deadline=None)
settings.load_profile("repeatable")

# Without bytecode each process compiles all modules anew, and rewrites the asserts of 500 files: 10 s in each worker.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

_DESCRIPTORS = "/proc/self/fd"
_has_descriptors = os.path.isdir(_DESCRIPTORS)
_real_sleep = time.sleep  # noqa: TID251 - compared, not called
_real_time = time.monotonic  # noqa: TID251 - tests freeze the module's

#: Seconds after which a process whose test reacts to nothing prints all stacks and ends. pytest's own option starts a
#: thread for each test, which takes as long as half of the tests.
FUSE, RENEWED = 400, 60
_renewed = [float("-inf")]
#: What pytest captures is not seen when the process ends.
_stderr = os.dup(2)


#: Seconds after which what has been loaded and reported meanwhile is left out of garbage collections, too.
FROZEN_AGAIN = 5
_frozen = [float("-inf")]


gc.disable()  # while tests are collected, nothing is garbage


def pytest_collection_finish():
    gc.set_threshold(5000)  # a cluster makes more than the usual 700 objects
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    now = _real_time()
    if now - _frozen[0] > FROZEN_AGAIN:
        gc.collect()
        gc.freeze()  # tests, modules and reports are not garbage: a collection need not look at them
        _frozen[0] = now
    if now - _renewed[0] > RENEWED:
        _renewed[0] = now
        faulthandler.dump_traceback_later(FUSE, exit=True, file=_stderr)


def pytest_unconfigure():
    faulthandler.cancel_dump_traceback_later()


def pytest_report_to_serializable(report):
    """Leaves out of what workers of pytest-xdist send the keywords of tests, which nothing reads: most of its text."""
    report.keywords = {}


@pytest.fixture(autouse=True)
def _nothing_is_left(request):
    """Fails a test that leaves a thread, task, file, socket, frozen time or open bubble behind."""
    before = _state()
    yield
    for record in request.node.stash[caplog_records_key].get("call", ()):
        # the text is kept without its values and exception, whose frames refer to connections
        record.msg, record.args, record.exc_info = record.getMessage(), None, None
    if left := _left(before):
        gc.collect()  # what only a cycle of references holds is not left
        for thread in _state()["thread"] - before["thread"]:
            thread.join(1)  # one that is about to end is not left
        left = _left(before)
    if left:
        pytest.fail("the test left behind: " + "; ".join(left), pytrace=False)


def _state():
    bubble = sys.modules.get("fakekube.virtualtime.bubble")
    freezer = sys.modules.get("freezegun.api")
    return {
        "thread": {thread for thread in threading.enumerate() if thread.is_alive()},
        "task": {task for task in getattr(asyncio.tasks, "_scheduled_tasks", ()) if not task.done()},
        "open bubble": set(bubble.opened()) if bubble is not None else set(),
        "frozen time": set(map(id, freezer.freeze_factories)) if freezer is not None else set(),
        "time.sleep": set() if vars(time)["sleep"] is _real_sleep else {"patched"},
        "file or socket": _descriptors(),
    }


def _descriptors():
    """The open descriptors, each with what it refers to."""
    return set(os.listdir(_DESCRIPTORS)) if _has_descriptors else set()


def _left(before):
    left = []
    for kind, now in _state().items():
        if kind == "file or socket":
            # a number may be used again, and one is the listing's own
            if len(now) > len(before[kind]):
                left += [f"{kind} {target}" for number in sorted(now - before[kind]) if (target := _target(number))]
        else:
            left += [f"{kind} {one!r}" for one in now - before[kind]]
    return left


def _target(number):
    """What a descriptor refers to; empty if it has been closed meanwhile, as that of the listing."""
    try:
        return os.readlink(f"{_DESCRIPTORS}/{number}")
    except OSError:
        return ""
