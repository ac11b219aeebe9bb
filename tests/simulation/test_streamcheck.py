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


def checked(changes=CHANGES, since=4, initial=()):
    """A check that has seen changes, and a watch; `initial`: what its client is sent first."""
    selection = Selection("default", parse_labels(""), parse_fields(""), lambda obj, field: "")
    watch = Watch(Store(), "configmaps", selection, VIEW, since, timeout=60, bookmarks=False, empty={})
    watch.initial = list(initial)
    check = StreamCheck()
    for one in changes:
        check.committed(one)
    check.opened(watch)
    return check, watch


def test_what_a_streamed_list_sends_first_is_not_compared():
    """It has the revisions of the objects, in the order of their names."""
    check, watch = checked(CHANGES[3:], since=7, initial=[THIRD, FIRST])
    for type_, sent in (("ADDED", THIRD), ("ADDED", FIRST), ("DELETED", entry(8))):
        check.delivered(watch, WatchEvent(type_, sent, VIEW))
    assert check.found == []
    check.delivered(watch, WatchEvent("ADDED", FIRST, VIEW))
    assert check.found == ["the watch of configmaps sends revision 5 after 8"]


def test_a_watch_that_was_opened_before_the_check_is_not_compared():
    check, watch = checked()
    other = checked()[1]
    check.delivered(other, WatchEvent("DELETED", FIRST, VIEW))
    assert check.found == []
    check.delivered(watch, WatchEvent(*EVENTS[0], VIEW))
    assert check.found == []


def test_each_watch_has_a_cursor_of_its_own():
    check, first = checked()
    selection = Selection("default", parse_labels(""), parse_fields(""), lambda obj, field: "")
    second = Watch(Store(), "configmaps", selection, VIEW, 6, timeout=60, bookmarks=False, empty={})
    check.opened(second)
    for type_, sent in EVENTS:
        check.delivered(first, WatchEvent(type_, sent, VIEW))
    check.delivered(second, WatchEvent(*EVENTS[3], VIEW))
    assert check.found == ["the watch of configmaps leaves out revision 7, MODIFIED default/a"]


def test_a_bookmark_may_come_at_a_revision_of_another_collection():
    check, watch = checked()
    for type_, sent in (*EVENTS, ("BOOKMARK", entry(12)), ("BOOKMARK", entry(12))):
        check.delivered(watch, WatchEvent(type_, sent, VIEW))
    assert check.found == []
    check.committed(change(12, None, FIRST))
    check.committed(change(13, FIRST, None))
    check.delivered(watch, WatchEvent("DELETED", entry(13), VIEW))
    assert check.found == [], "what is stored at the revision of a bookmark was covered by it"
