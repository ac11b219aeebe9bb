"""Which logged errors are findings: a table of when they are logged, without an operator."""

import logging
from types import SimpleNamespace

import pytest

from fakekube.harness.detectors.known.remaining.loggederrors import LoggedErrors


class Scene:
    """What the detector asks."""

    def __init__(self):
        self.now, self.found, self.faults, self.hits, self.followed = 0.0, [], [], 0, set()
        self.runner = SimpleNamespace(clock=SimpleNamespace(monotonic=lambda: self.now), is_down=False)
        self.follow = lambda finished: self.followed.add(finished)

    def fault_hits_of(self, program):
        return self.hits

    def report(self, detector, text, *, who, key):
        self.found.append((detector, text, who))


def error(kind=ValueError):
    try:
        raise kind("no")
    except kind as found:
        return found


def record(text="it failed", *, name="operator", kind=ValueError, level=logging.ERROR, args=()):
    found = error(kind) if kind is not None else None
    return logging.LogRecord(
        name, level, "x.py", 1, text, args, None if found is None else (type(found), found, found.__traceback__)
    )


def judged(times, *, end, text="it failed", **options):
    """What is found of an error that is logged at these times, when the test ends."""
    scene = Scene()
    detector = LoggedErrors(scene)
    for scene.now in times:
        detector.logged(record(text, **options), "program")
    scene.now = end
    detector.finish()
    detector.retire()
    return [text.partition(")")[2] for _, text, _ in scene.found]


@pytest.mark.parametrize(
    ("times", "end", "found"),
    [
        ([1, 2], 3, []), ([1, 2, 3], 3, [" 3 times within 2 s and goes on"]), ([1, 2, 2], 3, []),
        ([1, 2, 3], 63, [" 3 times within 2 s and goes on"]), ([1, 2, 3], 63.5, []),
        ([0, 100, 200], 400, [" 3 times within 200 s and goes on"]), ([0, 100, 200], 401, []), ([0, 20, 40], 100, [" 3 times within 40 s and goes on"]),
    ],
)  # fmt: skip
def test_an_error_that_is_logged_again_and_again_goes_on(times, end, found):
    assert [text.partition(":")[0] for text in judged(times, end=end)] == found


@pytest.mark.parametrize(
    ("end", "found"), [(30, [", and has not succeeded since"]), (31, [", and has not succeeded since"]), (31.5, [])]
)
def test_an_error_that_is_tried_again_has_not_succeeded_until_then(end, found):
    assert judged([1], end=end, text="it failed, will try again in 30.0 seconds", name="kopf.objects") == found
    assert judged([1], end=1, text="it failed") == []


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"kind": AttributeError}, [", which is a bug"]), ({"kind": TypeError}, [", which is a bug"]), ({"kind": ValueError}, []),
        ({"kind": AttributeError, "level": logging.WARNING}, []), ({"kind": AttributeError, "level": logging.CRITICAL}, [", which is a bug"]),
        ({"kind": None}, []), ({"kind": AttributeError, "name": "asyncio"}, []), ({"kind": AttributeError, "name": "controllerlib.x"}, []),
        ({"kind": AttributeError, "name": "fakekube"}, []), ({"kind": AttributeError, "name": "fakekubes"}, [", which is a bug"]),
    ],
)  # fmt: skip
def test_which_records_are_judged(options, found):
    assert judged([1], end=2, **options) == found


def test_a_finding_has_the_message_the_error_and_the_place():
    scene = Scene()
    detector = LoggedErrors(scene)
    detector.logged(record("a %s" + "x" * 300 + "\nmore", kind=AttributeError, args=("b",)), "program")
    detector.logged(record("%s %s", kind=AttributeError, args=(1,), name="other"), "program")
    detector.finish()
    (name, text, who), (_, mismatch, _) = scene.found
    assert mismatch.startswith("other logged '%s %s' with the traceback of AttributeError (")
    assert (name, who) == ("logged-error", "program")
    assert text.startswith(
        "operator logged 'a b" + "x" * 197 + "' with the traceback of AttributeError (test_logged_error_rules.py:"
    )
    assert text.endswith("), which is a bug")


def test_what_a_fault_or_a_stopped_server_has_caused_is_not_judged():
    for excuse in ("down", "hits"):
        scene = Scene()
        detector, bug = LoggedErrors(scene), record(kind=AttributeError)
        if excuse == "down":
            scene.runner.is_down = True
        else:
            scene.faults, scene.hits = ["a fault"], 1
        detector.logged(bug, "program")
        detector.finish()
        assert scene.found == []
        scene.runner.is_down = False
        detector.logged(bug, "program")
        detector.finish()
        assert len(scene.found) == 1


@pytest.mark.parametrize("fails", [False, True])
def test_what_a_reconcile_logs_counts_unless_it_fails_itself(fails):
    scene = Scene()
    detector, doing = LoggedErrors(scene), object()
    detector.open(SimpleNamespace(doing=lambda: doing))
    for _ in range(2):
        detector.logged(record(kind=AttributeError), "program")
    (finished,) = scene.followed
    detector.finish()
    assert scene.found == []
    finished(doing, SimpleNamespace(error=ValueError() if fails else None))
    finished(doing, SimpleNamespace(error=None))
    detector.finish()
    assert len(scene.found) == (0 if fails else 1)
