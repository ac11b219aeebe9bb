"""Watches: their events, the order of events, and expiry."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.storage.store import Entry, Store
from fakekube.apiserver.storage.watch import Selection, View, Watch, WatchEvent, error_line, partial_view
from fakekube.apiserver.wire.selectors import EVERYTHING, NO_FIELDS, parse_fields, parse_labels
from fakekube.apiserver.wire.status import StatusError

VIEW = View("v1", "Pod")


def pod(name="x", **labels):
    return {"metadata": {"name": name, "labels": labels}}


def read_name(obj, field):
    return obj["metadata"].get(field.removeprefix("metadata."), "")


def watch(store, *, labels="", fields="", namespace="", revision=1, **more):
    selection = Selection(namespace, parse_labels(labels), parse_fields(fields), read_name)
    options = {"timeout": 60.0, "bookmarks": False, "empty": {}, **more}
    return Watch(store, "pods", selection, VIEW, revision, **options)


def seen(events):
    return [(event.type, event.entry.object["metadata"]["name"], event.entry.revision) for event in events]


def put(store, path, obj):
    before = store.get("pods", path)
    return store.create("pods", path, obj) if before is None else store.update("pods", path, before, obj)


@pytest.mark.parametrize(
    ("before", "after", "event_type"),
    [
        pytest.param(None, pod(app="web"), "ADDED", id="created-in"),
        pytest.param(None, pod(app="db"), None, id="created-outside"),
        pytest.param(pod(app="web"), pod(app="web", x="1"), "MODIFIED", id="updated-within"),
        pytest.param(pod(app="db"), pod(app="web"), "ADDED", id="updated-into-it"),
        pytest.param(pod(app="web"), pod(app="db"), "DELETED", id="updated-out-of-it"),
        pytest.param(pod(app="db"), pod(app="cache"), None, id="updated-outside"),
        pytest.param(pod(app="web"), None, "DELETED", id="deleted-within"),
        pytest.param(pod(app="db"), None, None, id="deleted-outside"),
    ],
)
def test_the_events_of_a_watch_with_a_label_selector(before, after, event_type):
    store = Store()
    if before is not None:
        put(store, "a/x", before)
    watcher = watch(store, labels="app=web", revision=store.revision)
    if after is not None:
        put(store, "a/x", after)
    else:
        store.delete("pods", "a/x", store.get("pods", "a/x"))
    assert [event.type for event in watcher.read()] == ([event_type] if event_type else [])
    assert watcher.read() == []


def test_a_deleted_event_contains_the_old_object_with_the_new_revision():
    store = Store()
    put(store, "a/x", pod(app="web"))
    watcher = watch(store, labels="app=web", revision=store.revision)
    put(store, "a/x", pod(app="db"))
    (event,) = watcher.read()
    assert event.to_object() == {
        "type": "DELETED",
        "object": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x", "labels": {"app": "web"}, "resourceVersion": "3"},
        },
    }


@pytest.mark.parametrize(
    ("how", "names"),
    [
        pytest.param({}, ["x", "y", "z"], id="all"),
        pytest.param({"namespace": "a"}, ["x"], id="one-namespace-not-its-longer-namesake"),
        pytest.param({"fields": "metadata.name=y"}, ["y"], id="one-name"),
        pytest.param({"fields": "metadata.name!=y"}, ["x", "z"], id="all-names-but-one"),
        pytest.param({"namespace": "b", "labels": "app"}, ["z"], id="namespace-and-label"),
    ],
)
def test_the_objects_of_a_selection(how, names):
    store = Store()
    watcher = watch(store, **how)
    for path, obj in [("a/x", pod("x")), ("a-b/y", pod("y")), ("b/z", pod("z", app="1"))]:
        put(store, path, obj)
    assert [name for _, name, _ in seen(watcher.read())] == names


def test_the_watch_of_an_idle_collection_does_not_expire():
    store = Store(window=4)
    watcher = watch(store)
    for i in range(50):
        store.create("configmaps", f"a/{i}", pod(str(i)))
    put(store, "a/x", pod())
    assert seen(watcher.read()) == [("ADDED", "x", 52)]


def test_a_watch_that_is_too_slow_expires():
    store = Store()
    watcher = watch(store)
    put(store, "a/x", pod())
    store.compact()
    with pytest.raises(StatusError) as refused:
        watcher.read()
    assert (refused.value.code, refused.value.reason) == (410, "Expired")


def test_a_watch_from_a_future_revision_starts_there():
    store = Store()
    watcher = watch(store, revision=3)
    for name in ("x", "y", "z"):
        put(store, f"a/{name}", pod(name))
    assert seen(watcher.read()) == [("ADDED", "z", 4)]


def test_a_bookmark_contains_the_revision_of_the_watch():
    store = Store()
    watcher = watch(store, empty={"spec": {"containers": None}})
    assert watcher.moved
    assert watcher.bookmark().to_object() == {
        "type": "BOOKMARK",
        "object": {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"resourceVersion": "1"},
            "spec": {"containers": None},
        },
    }
    assert not watcher.moved
    store.create("configmaps", "a/x", pod())
    assert watcher.moved
    assert watcher.read() == []
    assert watcher.bookmark().entry.revision == 2


def test_the_bookmark_after_the_initial_events_is_annotated():
    metadata = watch(Store()).bookmark(initial_events_end=True).to_object()["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_write_is_encoded_once_for_each_view():
    store = Store()
    watchers = [watch(store) for _ in range(100)]
    partial = [
        Watch(store, "pods", w.selection, partial_view("v1"), 1, timeout=1.0, bookmarks=False, empty={})
        for w in watchers[:3]
    ]
    change = put(store, "a/x", pod(app="web"))
    lines = [event.line for watcher in watchers for event in watcher.read()]
    assert len(lines) == 100
    assert all(line is lines[0] for line in lines)
    shapes = [event.line for watcher in partial for event in watcher.read()]
    assert all(line is shapes[0] for line in shapes)
    assert sorted(change.lines.values()) == sorted([lines[0], shapes[0]])
    assert orjson.loads(shapes[0])["object"] == {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": {"name": "x", "labels": {"app": "web"}, "resourceVersion": "2"},
    }


@pytest.mark.parametrize("view", [VIEW, partial_view("v1")], ids=["whole", "metadata"])
@pytest.mark.parametrize("obj", [{}, {"metadata": {"name": "x"}, "spec": {"a": [1]}}], ids=["empty", "full"])
def test_the_encoding_of_a_view_equals_its_object(view, obj):
    entry = Entry(1, obj if obj or view is VIEW else {"metadata": {}})
    assert orjson.loads(view.encode(entry)) == view.to_object(entry)
    assert orjson.loads(view.encode_item(entry)) == view.item(entry)


def test_an_event_without_a_change_is_encoded_on_use():
    event = WatchEvent("ADDED", Entry(7, pod()), VIEW)
    assert orjson.loads(event.line) == event.to_object()
    assert repr(event) == "<WatchEvent ADDED x 7>"
    assert repr(watch(Store(), namespace="a")) == "<Watch pods in a rev=1>"


def test_an_error_as_the_last_line_of_a_stream():
    line = orjson.loads(error_line(StatusError(410, "Expired", "too old")))
    assert (line["type"], line["object"]["code"]) == ("ERROR", 410)


NAMES = st.sampled_from(["a/x", "a/y", "b/x"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), NAMES, st.sampled_from(["web", "db"])),
        st.tuples(st.just("delete"), NAMES, st.just("")),
        st.tuples(st.just("read"), st.integers(0, 3), st.just("")),
        st.tuples(st.just("compact"), st.integers(0, 6), st.just("")),
    ),
    max_size=60,
)


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_watches_follow_the_state_in_any_order_of_writes_reads_and_compactions(steps):
    """Each watcher maintains objects from its events: after reading they equal those of the store."""
    store = Store()
    selectors = ["", "app=web", "app!=web", "app=db"]
    watchers = [watch(store, labels=text) for text in selectors]
    seen: list[dict[str, object]] = [{} for _ in watchers]
    read_to = [1 for _ in watchers]
    alive = [True for _ in watchers]

    def catch_up(i):
        lost = store.collection("pods").lost
        try:
            events = watchers[i].read()
        except StatusError:
            assert read_to[i] < lost, "expired although no change was lost"
            alive[i] = False
            return
        assert read_to[i] >= lost, "a change was lost without expiry"
        for event in events:
            revision, name = event.entry.revision, event.entry.object["metadata"]["name"]
            assert read_to[i] < revision, "twice, or out of order"
            read_to[i] = revision
            assert event.entry.object["metadata"]["resourceVersion"] == str(revision)
            assert (event.type == "ADDED") is (name not in seen[i])
            if event.type == "DELETED":
                del seen[i][name]
            else:
                seen[i][name] = event.entry.object
        read_to[i] = max(read_to[i], store.revision)

    for what, where, label in steps:
        if what == "put":
            put(store, where, pod(where, app=label))
        elif what == "delete":
            if (before := store.get("pods", where)) is not None:
                store.delete("pods", where, before)
        elif what == "compact":
            store.compact(store.revision - where)
        elif alive[where]:
            catch_up(where)
    for i, text in enumerate(selectors):
        if alive[i]:
            catch_up(i)
        if alive[i]:
            taken = parse_labels(text)
            present = {p: e.object for p, e in store.collection("pods").scan("", "", None)}
            assert seen[i] == {p: o for p, o in present.items() if taken.matches(o["metadata"]["labels"])}


def test_a_selection_without_terms_reads_no_field():
    selection = Selection("", EVERYTHING, NO_FIELDS, lambda obj, field: pytest.fail("asked for a field"))
    assert selection.takes("a/x", Entry(1, pod()))


@pytest.mark.parametrize(
    ("path", "spec", "annotations"),
    [
        ("/apis/apps/v1/namespaces/default/deployments", {"replicas": 0}, {}),
        ("/apis/apps/v1/namespaces/default/statefulsets", {"replicas": 0}, {}),
        ("/apis/apps/v1/namespaces/default/replicasets", {"replicas": 0}, {}),
        (
            "/apis/apps/v1/namespaces/default/daemonsets",
            {},
            {"deprecated.daemonset.template.generation": "0"},
        ),
        ("/api/v1/namespaces/default/replicationcontrollers", {}, {}),
    ],
)
def test_the_object_of_a_bookmark_has_what_the_conversion_of_an_empty_one_has(api, path, spec, annotations):
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    opened = api.answer("GET", f"{path}?{query}").watch
    bookmark = opened.initial[-1]
    shown = bookmark.to_object()["object"]
    assert {key: value for key, value in shown["spec"].items() if key == "replicas"} == spec
    assert shown["metadata"]["annotations"] == {**annotations, "k8s.io/initial-events-end": "true"}


@pytest.mark.parametrize(
    ("limits", "behind", "delivered", "revision", "later"),
    [
        ([], True, [2, 3, 4], 4, False),
        ([4], True, [2, 3, 4], 4, False),
        ([3], True, [2, 3], 3, False),
        ([9, 3], True, [2, 3], 3, False),
        ([2], True, [2], 2, False),
        ([1], False, [], 1, False),
        ([0], False, [], 1, False),
    ],
)
def test_a_watch_delivers_up_to_its_limits(limits, behind, delivered, revision, later):
    """Its limits are revisions at which delivery is held."""
    store = Store()
    for name in "xyz":
        put(store, f"a/{name}", pod(name))
    watcher = watch(store)
    watcher.limits = limits
    assert watcher.is_behind is behind
    assert [event.entry.revision for event in watcher.read()] == delivered
    assert watcher.revision == revision
    assert watcher.is_behind is later
    watcher.limits = []
    assert [event.entry.revision for event in watcher.read()] == [n for n in (2, 3, 4) if n > revision]


@pytest.mark.parametrize(
    ("limits", "initial", "waits"),
    [([], True, False), ([4], True, False), ([3], True, True), ([9, 3], True, True), ([3], False, False)],
)
def test_initial_events_wait_until_they_can_be_delivered(limits, initial, waits):
    store = Store()
    for name in "xyz":
        put(store, f"a/{name}", pod(name))
    watcher = watch(store, revision=store.revision)
    watcher.limits = limits
    watcher.initial = [WatchEvent("ADDED", store.get("pods", "a/x"), VIEW)] if initial else []
    assert watcher.waits is waits


def test_a_watch_has_moved_when_something_was_written_since_its_bookmark():
    store = Store()
    watcher = watch(store)
    assert watcher.bookmark().entry.object["metadata"] == {"resourceVersion": "1"}
    assert not watcher.moved
    put(store, "a/x", pod())
    assert watcher.moved
    watcher.read()
    assert watcher.moved
    watcher.bookmark()
    assert not watcher.moved


@pytest.mark.parametrize("query", ["sendInitialEvents=true", "sendInitialEvents=false"])
def test_a_watch_with_send_initial_events_of_a_future_revision_is_refused(api, query):
    asked = api.revision + 5
    opened = api.answer(
        "GET", f"/api/v1/pods?watch=1&{query}&resourceVersionMatch=NotOlderThan&resourceVersion={asked}"
    ).watch
    assert opened.refused.message.endswith(f"Too large resource version: {asked}, current: {api.revision}")
