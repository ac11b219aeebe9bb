"""The pure rules of assertions, timelines, versions and masks; no cluster is needed."""

import itertools
import re
from datetime import UTC, datetime, timedelta
from functools import partial

import orjson
import pytest

from controllerlib import Result
from controllerlib.workqueue import Cause
from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.storage.store import Change, Entry
from fakekube.harness.assertions.recorded import check_reconciled, check_requests, check_written, field_of, recent
from fakekube.harness.records.entry import ObjectKey, Summary
from fakekube.harness.records.kept import Bounded, Records
from fakekube.harness.records.objectversions import Versions
from fakekube.harness.records.reconciles import Reconcile, Write
from fakekube.harness.sharing import namespace_for
from fakekube.harness.state.masking import MASKS, masked
from fakekube.harness.state.versionhistory import FieldChange, VersionHistory, field_changes, shown, value_at
from fakekube.harness.timeline import Timeline, note_row

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def after(seconds):
    return EPOCH + timedelta(seconds=seconds)


def raised(check, *args, **options):
    with pytest.raises(AssertionError) as error:
        check(*args, **options)
    return str(error.value)


# --- reconciles


def reconcile(number, cause="added", label="success", error=None, writes=()):
    causes = (Cause(cause, "v1", "Pod", "d", "a", "7"),)
    return Reconcile(
        "op",
        1,
        "c",
        "d/a",
        number,
        1,
        causes,
        after(number),
        timedelta(),
        timedelta(),
        label,
        Result(),
        error,
        0,
        None,
        writes,
        number,
        0,
    )


def reconciles(*causes):
    return [reconcile(number, cause) for number, cause in enumerate(causes, 1)]


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        (["added"], {}), (["added", "updated"], {}), ([], {"times": 0}), (["added"], {"times": 1}), (["added"], {"causes": ["added"]}),
        (["added", "updated"], {"causes": ["a*", "up?ated"]}), (["added"], {"results": ["success"]}), ([], {"causes": []}), ([], {"results": []}),
    ],
)  # fmt: skip
def test_reconciles_that_are_as_expected(causes, expected):
    check_reconciled("d/a", reconciles(*causes), EPOCH, **expected)


@pytest.mark.parametrize(
    ("causes", "expected", "first"),
    [
        ([], {}, "d/a was reconciled never: at least once expected"),
        (["added"], {"times": 2}, "d/a was reconciled once: 2 times expected"),
        (["added", "updated"], {"times": 1}, "d/a was reconciled 2 times: once expected"),
        (["added"], {"times": 0}, "d/a was reconciled once: never expected"),
        (["added"], {"causes": ["updated"]}, "d/a was reconciled once: other causes expected"),
        (["added"], {"causes": []}, "d/a was reconciled once: other causes expected"),
        (["added"], {"results": ["error"], "times": 3}, "d/a was reconciled once: 3 times expected, results ['error'] expected, not ['success']"),
    ],
)  # fmt: skip
def test_reconciles_that_are_not(causes, expected, first):
    assert raised(check_reconciled, "d/a", reconciles(*causes), EPOCH, **expected).splitlines()[0] == first


def test_the_story_of_reconciles_marks_what_was_not_expected():
    history = reconciles("added", "resync", "updated")
    text = raised(check_reconciled, "d/a", history, EPOCH, causes=["added", "updated", "deleted"])
    assert [line[:11].rstrip() for line in text.splitlines()[1:]] == [
        "  #1 +00:00",
        "+ #2 +00:00",
        "  #3 +00:00",
        "- [deleted]",
    ]
    assert text.endswith("- [deleted] expected")
    failed = reconcile(
        1, label="error", error=ValueError("no"), writes=(Write("update", "/x", 409), Write("create", "/y", 201))
    )
    text = raised(check_reconciled, "d/a", [failed], EPOCH, times=2)
    assert (
        text.splitlines()[1]
        == "  #1 +00:00:01 [added] ValueError: no; update /x -> 409; create /y -> 201 (because: added Pod d/a@7)"
    )
    many = raised(check_reconciled, "d/a", reconciles(*["added"] * 60), EPOCH, times=2).splitlines()[1:]
    assert (len(many), many[0].split()[0], many[-1].split()[0]) == (40, "#21", "#60")


def test_recent_reconciles_have_started_within_a_time():
    history = reconciles("added", "added", "added")
    assert recent(history, after(4), None) == history
    assert [one.number for one in recent(history, after(4), timedelta(seconds=2))] == [3]
    assert [one.number for one in recent(history, after(4), timedelta(seconds=2, microseconds=1))] == [2, 3]


# --- requests


def request(verb="get", name="a", code=200, at=1.5, agent="op"):
    return RequestRecord(at, verb, "pods", "", "d", name, "", "bob", agent, code, "", f"/{name}", 1)


def test_requests_that_are_as_expected():
    check_requests([request()], [], {}, None)
    check_requests([request()] * 2, [], {}, 2)
    check_requests([], [], {}, 0)


def test_requests_that_are_not_show_the_most_similar_ones():
    every = [request("get", "a"), request("update", "a"), request("update", "b", 409, agent="")]
    text = raised(check_requests, [], every, {"verb": "update", "name": "c*"}, None)
    assert text.splitlines() == [
        "at least one request(s) expected with verb='update', name='c*', but there were 0; the most similar ones are:",
        "  at 1.5 s  op  update pods d/a -> 200", "  at 1.5 s  bob  update pods d/b -> 409",
    ]  # fmt: skip
    assert (
        raised(check_requests, [], [], {}, 2)
        == "2 request(s) expected with any, but there were 0; there was no request"
    )
    text = raised(check_requests, every, every, {"code": 200}, 2)
    assert text.splitlines()[0] == "2 request(s) expected with code=200, but there were 3; they are:"
    assert len(text.splitlines()) == 4
    assert len(raised(check_requests, [], [request()] * 50, {"verb": "g*"}, None).splitlines()) == 11
    assert len(raised(check_requests, [request()] * 50, [], {}, 1).splitlines()) == 41


# --- written fields

OBJECT = {
    "metadata": {"resourceVersion": "5", "labels": {"a.b/c": "d"}},
    "spec": {"items": [{"n": 1}, {"n": 2}], "x": None},
    "status": {
        "conditions": [{"type": "Ready", "n": 3}, {"type": "example.com/Full", "n": 4}],
        "ports": [{"name": "web", "n": 5}, {"name": "7", "type": "Ready", "n": 6}],
        "tolerations": [{"key": "gpu", "n": 7}, "text"],
    },
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.items[0].n", 1), ("spec.items[-1].n", 2), ("spec.items[2].n", None), ("spec.items[-3]", None), ("spec.items[1]", {"n": 2}),
        ("metadata.labels.a\\.b/c", "d"), ("spec.no.such", None), ("spec.x", None), ("spec.x.y", None), ("spec.items.n", None),
        ("status.conditions[Ready].n", 3), ("status.conditions[example.com/Full].n", 4), ("status.conditions[Ready]", {"type": "Ready", "n": 3}),
        ("status.conditions[Lost].n", None), ("status.ports[web].n", 5), ("status.ports[Ready].n", 6), ("status.ports[7].n", None),
        ("status.tolerations[gpu].n", 7), ("status.tolerations[text]", None), ("metadata.labels[a.b/c]", "d"), ("status.conditions.Ready", None),
    ],
)  # fmt: skip
def test_the_value_at_a_path(path, value):
    assert field_of(OBJECT, path) == value


@pytest.mark.parametrize("path", ["spec[", "spec[0", "spec]", "spec[]", "spec.items[0]]", "spec[[0]]", "spec."])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match=rf"{re.escape(repr(path))} is no path: write 'spec\.replicas'"):
        check_written("x", [], {}, {path: 1}, "*", EPOCH)


def test_a_version_that_was_written_as_expected():
    versions = [(after(1), OBJECT), (after(2), None)]
    for fields, by in (
        ({"spec.items[0].n": 1}, "op"), ({"spec.items[0].n": lambda n: n > 0, "spec.x": None}, "o*"), ({}, "*"),
    ):  # fmt: skip
        check_written("Pod d/a", versions, {"5": "op"}, fields, by, EPOCH)
    check_written("Pod d/a", versions, {}, {}, "the cluster", EPOCH)


def test_a_version_that_was_not_written_shows_all():
    versions = [(after(1), OBJECT), (after(2), None)]

    def is_long(text):
        return len(text) > 100

    text = raised(
        check_written, "Pod d/a", versions, {"5": "op"}, {"spec.x": is_long, "spec.items[0].n": 1}, "me", EPOCH
    )
    assert text.splitlines() == [
        "no version of Pod d/a was written by me with spec.x=is_long, spec.items[0].n=1; its versions:",
        "  +00:00:01 rv 5 by op: spec.x=None (not as wanted), spec.items[0].n=1",
        "  +00:00:02 deleted",
    ]
    assert (
        raised(check_written, "x", [], {}, {"a": 1}, "*", EPOCH)
        == "no version of x was written with a=1: it was never stored"
    )
    assert "by op: spec.x=None\n" in raised(check_written, "x", versions, {"5": "op"}, {"spec.x": None}, "other", EPOCH)
    assert len(raised(check_written, "x", [(after(1), None)] * 60, {}, {}, "*", EPOCH).splitlines()) == 41


# --- the timeline


def timeline(limit=100):
    return Timeline(
        EPOCH,
        itertools.count(1),
        lambda version, kind, namespace, name: ObjectKey("", f"{kind.lower()}s", namespace, name),
        limit,
    )


def test_entries_are_in_the_order_of_their_serials():
    found = timeline()
    found.add(after(2), Summary, "b", "second", "7", "why", serial=9)
    found.add(after(1), Summary, "a", "first")
    found.add(after(3), partial(Summary, "a", "third", object=ObjectKey("", "pods", "default", "x")), serial=20)
    assert [(entry.serial, entry.what) for entry in found] == [(1, "first"), (9, "second"), (20, "third")]
    assert (len(found), found.dropped, found.epoch) == (3, 0, EPOCH)
    assert str(found).splitlines() == [
        "time       actor  what    rv  cause", "+00:00:01  a      first", "+00:00:02  b      second  7   why", "+00:00:03  a      third",
    ]  # fmt: skip
    assert found.render(1).splitlines()[0] == "(2 earlier entries left out)"
    assert len(found.render(9).splitlines()) == 4
    assert len(found.render(0).splitlines()) == 2
    assert [entry.what for entry in found.of("v1", "Pod", "x")] == ["third"]
    assert [entry.what for entry in found.by("a")] == ["first", "third"]
    assert list(found.objects()) == [ObjectKey("", "pods", "default", "x")]
    with pytest.raises(LookupError, match=r"no actor 'c' \(actors: a, b\)"):
        found.by("c")
    with pytest.raises(LookupError, match=r"\(actors: none\)"):
        timeline().by("c")
    note_row(found, lambda: after(4), "me", "wrong")
    assert [(row.entry.what, row.summary.failed) for row in found.joined().rows.values()][-1] == ("third", False)
    assert sorted(found.joined().rows) == [1, 2, 9, 20]
    assert found.joined().rows[2].summary.failed


def test_of_entries_of_one_serial_the_last_counts():
    found = timeline()
    for seconds, what in ((3, "first"), (1, "second"), (1, "third")):
        found.add(after(seconds), Summary, "a", what, serial=5)
    assert [entry.what for entry in found] == ["third"]


class Rows:
    dropped = 5

    def __len__(self):
        return 1

    def rows(self):
        yield 4, after(1), partial(Summary, "source", "row")


def test_sources_and_listeners_are_asked_when_it_is_read():
    found, calls = timeline(8), []
    remove = found.on_read(lambda: calls.append(1))
    found.attach(Rows())
    for number in range(20):
        found.add(after(number), Summary, "a", f"row {number}", serial=number + 10)
    assert len(found) == 9 + (len(found) - 9)
    assert found.dropped == 5 + 20 - (len(found) - 1)
    assert next(iter(found)).actor == "source"
    before = len(calls)
    assert before >= 3
    remove()
    remove()
    assert str(found)
    assert len(calls) == before


def test_it_is_saved_by_the_suffix_of_the_name(tmp_path):
    found = timeline()
    found.add(after(1), Summary, "a", "first")
    assert found.save(tmp_path / "x" / "a.txt").read_text() == f"{found}\n"
    assert orjson.loads(found.save(str(tmp_path / "a.json")).read_bytes())["entries"][0]["what"] == "first"
    assert "<html" in found.save(tmp_path / "a.html").read_text()
    with pytest.raises(ValueError, match=r"must end with \.json, \.html or \.txt"):
        found.save(tmp_path / "a.csv")


# --- kept records


@pytest.mark.parametrize(("limit", "added", "kept"), [(8, 9, 9), (8, 10, 8), (16, 18, 18), (16, 19, 16), (4, 5, 4)])
def test_a_bounded_list_has_at_most_an_eighth_more(limit, added, kept):
    one, many = Bounded(limit), Bounded(limit)
    for number in range(added):
        one.append(number)
    many.extend(range(added))
    for found in (one, many):
        assert (found.items, found.dropped) == (list(range(added - kept, added)), added - kept)


def test_records_say_what_is_missing():
    found = Records([1, 2, 3], 4)
    assert (found[0], found[1:], len(found), list(found), found.dropped) == (1, [2, 3], 3, [1, 2, 3], 4)
    assert found == [1, 2, 3] == Records([1, 2, 3])
    assert found != (1, 2, 3)
    assert repr(found) == "<4 older records are no longer kept, then [1, 2, 3]>"
    assert repr(Records([1])) == "[1]"


# --- versions


def test_changes_of_fields():
    before, later = (
        {"a": 1, "m": {"x": "1", "l": [1, 2]}},
        {"m": {"x": "2", "l": [1, 3, 4]}, "metadata": {"resourceVersion": "5"}},
    )
    assert sorted(map(str, field_changes(before, later))) == [
        "+ m.l[2]: 4",
        "- a: 1",
        "~ m.l[1]: 2 -> 3",
        "~ m.x: 1 -> 2",
    ]
    assert field_changes(None, None) == []
    assert field_changes(None, {"a": 1}) == [FieldChange("a", None, 1)]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("a", "l[1]"), 2), (("a", "l[2]"), None), (("a", "l[x]"), None), (("a", "[k.k]"), 7), (("b", "c"), None), (("a", "[l][0]"), 1), ((), {"l": 0}),
    ],
)  # fmt: skip
def test_the_value_at_a_path_of_differences(path, value):
    obj = {"a": {"l": [1, 2], "k.k": 7}, "b": 3}
    assert value_at(obj, path) == (value if path else obj)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        ("", '""'),
        (None, "null"),
        ({"a": 1}, '{"a":1}'),
        ("y" * 120, "y" * 120),
        ("y" * 121, "y" * 117 + "..."),
        ([1], "[1]"),
    ],
)
def test_values_are_shown_as_json(value, text):
    assert shown(value) == text


def version(number, created="2026-01-01T00:00:00Z", **fields):
    return {"metadata": {"resourceVersion": str(number), "creationTimestamp": created}, **fields}


def test_the_history_of_an_object():
    versions = [
        (after(0), version(1)),
        (after(5), version(2, x=1)),
        (after(5), version(3, x=1)),
        (after(6), None),
        (after(7), version(4)),
    ]
    history = VersionHistory("Pod a", versions, EPOCH, 3)
    assert str(history).splitlines() == [
        "Pod a: 5 versions", "+00:00:00 created resourceVersion 1", "+00:00:05 changed resourceVersion 2", "  + x: 1",
        "+00:00:05 changed resourceVersion 3", "  (no field but resourceVersion and managedFields)", "+00:00:06 deleted",
        "+00:00:07 created resourceVersion 4",
    ]  # fmt: skip
    assert (history.dropped, len(history), history[3][1], repr(history)) == (
        3,
        5,
        None,
        "<VersionHistory Pod a versions=5>",
    )
    assert [list(history.changes(index)) for index in (1, 2, -4)] == [[("x", None, 1)], [], [("x", None, 1)]]
    assert (
        str(VersionHistory("Pod a", versions[1:], EPOCH)).splitlines()[1]
        == "+00:00:05 first recorded version resourceVersion 2"
    )
    assert history == versions
    assert history == VersionHistory("other", versions, EPOCH)
    assert history != versions[1:]
    assert history != 5


def stored(number, collection="pods", path="d/a", size=10):
    entry = Entry(number, {"metadata": {"name": "a"}, "data": f"{number}" * size}, "v1")
    return Change(number, collection, path, entry, entry)


def test_versions_of_collections_are_read_in_order():
    versions = Versions()
    for number in range(1, 3001):
        renewal = number % 3 == 0
        versions.extend([(number, number * 10, 0, stored(number, "leases" if renewal else "pods"), renewal)])
    every = list(versions.read())
    assert [one.serial for one in every] == list(range(1, 3001))
    assert (every[0].at, every[0].collection, every[2].collection, every[0].created) == (10, "pods", "leases", False)
    assert [one.serial for one in versions.read("leases")] == list(range(3, 3001, 3))
    assert [one.serial for one in versions.read("pods")][:4] == [1, 2, 4, 5]
    assert (versions.dropped("pods", "d/a"), versions.dropped("leases", "d/a")) == (0, 0)
    assert every[5].entry().object["data"] == "6" * 10


@pytest.mark.slow
def test_the_oldest_versions_are_dropped_beyond_the_limit_of_bytes():
    versions = Versions(limit=2000)
    for number in range(1, 2001):
        versions.extend([(number, 0, 0, stored(number, "pods" if number % 2 else "nodes"), False)])
    kept = [one.serial for one in versions.read()]
    assert kept == list(range(2001 - len(kept), 2001))
    wider = Versions(limit=4000)
    for number in range(1, 2001):
        wider.extend([(number, 0, 0, stored(number), False)])
    assert sum(1 for _ in wider.read()) > len(kept) + 64  # not only the last block
    assert versions.dropped("pods", "x") == versions.dropped("nodes", "y") == 2000 - len(kept) > 0
    assert versions.dropped("secrets", "x") == 0


def blocks(limit):
    versions = Versions(limit=limit)
    for number in range(1, 2001):
        versions.extend([(number, 0, 0, stored(number), False)])
    return versions


def test_versions_of_exactly_the_limit_are_kept():
    every = blocks(10_000_000)
    assert blocks(every._size).dropped("pods", "x") == 0
    assert blocks(every._size - 1).dropped("pods", "x") == every._blocks[0].size


def test_the_last_2000_renewals_are_kept():
    versions = Versions()
    count = 3100  # of which the last 1,024 or so are not encoded yet
    for number in range(1, count + 1):
        versions.extend([(number, 0, 0, stored(number, "leases"), True)])
    kept = [one.serial for one in versions.read("leases")]
    assert kept == list(range(count + 1 - len(kept), count + 1))
    assert len(versions._renewals) == 2000
    assert versions.dropped("leases", "d/a") == count - len(kept) > 0
    assert versions.dropped("leases", "d/b") == 0


# --- masks and names


def test_what_differs_from_run_to_run_is_masked():
    uid, other = "12345678-1234-1234-1234-123456789abc", "aaaaaaaa-1234-1234-1234-123456789abc"
    pods = [
        {"kind": "Pod", "metadata": {"name": f"web-{end}", "generateName": "web-", "uid": one, "resourceVersion": "5", "creationTimestamp": "t",
                                     "managedFields": [], "namespace": "d"}, "spec": {"n": n, "at": "2026-01-01T00:00:00Z", "refs": [f"uid {uid}", "web-b"]}}
        for end, one, n in (("b", uid, 1), ("a", other, 2))
    ]  # fmt: skip
    namespace = {"kind": "Namespace", "metadata": {"name": "d"}}
    first, *rest = masked([*pods, namespace], [], MASKS)
    assert first == namespace
    assert [one["metadata"] for one in rest] == [
        {"name": f"web-<{number}>", "generateName": "web-", "namespace": "d"} for number in (1, 2)
    ]
    assert rest[0]["spec"] == {"n": 1, "at": "<time>", "refs": ["uid <uid of Pod web-<1>>", "web-<1>"]}
    assert masked(pods, [], []) == pods
    assert masked(pods, [], ["uids"])[1]["metadata"]["resourceVersion"] == "5"
    assert "uid" not in masked(pods, [], ["uids"])[1]["metadata"]
    assert masked(pods, [], ["times"])[0]["spec"]["at"] == "<time>"
    assert masked([{"kind": "X", "metadata": {"name": "x"}, "of": uid}], [], ["uids"])[0]["of"] == "<uid>"
    ignored = masked(pods, ["spec.refs[1]", "metadata.uid"], [])[0]
    assert (ignored["spec"]["refs"], "uid" in ignored["metadata"]) == ([f"uid {uid}"], False)


@pytest.mark.parametrize(
    ("test", "short"),
    [
        ("a/b.py::test_Works[x y]", "test-works-x-y"),
        ("session", "session"),
        ("a::---", "test"),
        ("x::" + "y" * 100, "y" * 54),
        ("", "test"),
    ],
)
def test_the_namespace_of_a_test_follows_from_its_name(test, short):
    name = namespace_for(test)
    assert name.rpartition("-")[0] == short
    assert len(name.rpartition("-")[2]) == 8
    assert len(name) <= 63
    assert namespace_for(test) == name != namespace_for(test, "other run")
