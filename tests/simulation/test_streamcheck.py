"""O13: what is wrong with a watch stream is named, and a correct stream has no finding."""

import pytest

from fakekube.apiserver.storage.store import Change, Entry, Store
from fakekube.apiserver.storage.watch import Selection, View, Watch, WatchEvent
from fakekube.apiserver.wire.selectors import parse_fields, parse_labels
from fakekube.simulation.running.streamcheck import StreamCheck

VIEW = View("v1", "ConfigMap")


def entry(revision, name="a", **labels):
    return Entry(revision, {"metadata": {"name": name, "namespace": "default", "labels": labels}})


def change(revision, before, after):
    return Change(revision, "configmaps", "default/a", before, after)


FIRST, SECOND, THIRD = entry(5), entry(6), entry(7)
CHANGES = [change(5, None, FIRST), change(6, FIRST, SECOND), change(7, SECOND, THIRD), change(8, THIRD, None)]
EVENTS = [("ADDED", FIRST), ("MODIFIED", SECOND), ("MODIFIED", THIRD), ("DELETED", entry(8))]


def found(events, *, since=4, labels="", namespace="default"):
    selection = Selection(namespace, parse_labels(labels), parse_fields(""), lambda obj, field: "")
    watch = Watch(Store(), "configmaps", selection, VIEW, since, timeout=60, bookmarks=False, empty={})
    check = StreamCheck()
    for one in CHANGES:
        check.committed(one)
    check.opened(watch)
    for type_, sent in events:
        check.delivered(watch, WatchEvent(type_, sent, VIEW))
    return check.found


def test_a_correct_stream():
    assert found(EVENTS) == []


def test_a_stream_is_resumed_after_a_revision():
    assert found(EVENTS[2:], since=6) == []


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([EVENTS[0], EVENTS[2]], "the watch of configmaps leaves out revision 6, MODIFIED default/a"),
        ([EVENTS[0], EVENTS[1], EVENTS[1]], "the watch of configmaps sends revision 6 after 6"),
        ([EVENTS[0], EVENTS[2], EVENTS[1]], "the watch of configmaps sends revision 6 after 7"),
        ([("MODIFIED", FIRST)], "the watch of configmaps sends MODIFIED at revision 5, where ADDED is due"),
        ([EVENTS[0], ("BOOKMARK", entry(7))], "the watch of configmaps leaves out revision 6, MODIFIED default/a"),
    ],
    ids=["incomplete", "repeated", "out of order", "another type", "a bookmark ahead"],
)
def test_a_stream_with_a_fault(events, text):
    assert text in found(events)


def test_what_a_watch_does_not_select_may_be_left_out():
    assert found([], labels="app=web") == []
    assert found([EVENTS[0]], labels="app=web") == [
        "the watch of configmaps sends ADDED at revision 5, where nothing is due"
    ]
    assert found([], namespace="other") == []


def test_of_many_faults_the_first_are_kept():
    assert len(found([EVENTS[0], *[EVENTS[0]] * 30])) == 20
