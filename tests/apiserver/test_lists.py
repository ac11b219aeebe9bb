"""Lists and watches of a collection: pages, versions, and how a watch begins (`etcd3.store.GetList`, `cacher`)."""

import pytest

from fakekube.apiserver.endpoints.list import continue_token
from tests.apiserver.api import CONFIGMAPS, Api, configmap

EVENTS = "/api/v1/namespaces/default/events"
NAMES = ["a", "b", "c", "d"]


def event(name):
    return {
        "metadata": {"name": name, "labels": {"x": "y"}},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
    }


@pytest.fixture
def filled():
    """A server with four ConfigMaps and four Events, whose ConfigMap `e` is gone."""
    api = Api()
    for name in [*NAMES, "e"]:
        api.ok("POST", CONFIGMAPS, configmap(name, metadata={"labels": {"x": "y"}}))
        if name in NAMES:
            api.ok("POST", EVENTS, event(name))
    api.ok("DELETE", f"{CONFIGMAPS}/e")
    return api


def names(listing):
    return [one["metadata"]["name"] for one in listing["items"]]


@pytest.mark.parametrize(
    ("query", "found", "remaining"),
    [
        ("", NAMES, None),
        ("limit=0", NAMES, None),
        ("limit=1", ["a"], 3),
        ("limit=3", ["a", "b", "c"], 1),
        ("limit=4", NAMES, None),
        ("limit=5", NAMES, None),
        ("limit=2&labelSelector=x%3Dy", ["a", "b"], "unknown"),
        ("limit=2&fieldSelector=metadata.name!%3Da", ["b", "c"], "unknown"),
        ("limit=1&fieldSelector=metadata.name%3Db", ["b"], None),
        ("limit=1&resourceVersion=0", NAMES, None),
        ("limit=1&labelSelector=x%3Dz", [], None),
    ],
)
def test_the_first_page(filled, query, found, remaining):
    listing = filled.ok("GET", f"{CONFIGMAPS}?{query}")
    assert names(listing) == found
    meta = listing["metadata"]
    assert ("continue" in meta) is (remaining is not None)
    assert meta.get("remainingItemCount") == (None if remaining == "unknown" else remaining)


def test_the_pages_of_a_list_without_a_watch_cache_are_limited_at_any_version(filled):
    assert names(filled.ok("GET", f"{EVENTS}?limit=1&resourceVersion=0")) == ["a"]


def test_pages_show_the_state_of_the_first_one(filled):
    first = filled.ok("GET", f"{CONFIGMAPS}?limit=2")["metadata"]
    filled.ok("DELETE", f"{CONFIGMAPS}/c")
    filled.ok("POST", CONFIGMAPS, configmap("f"))
    second = filled.ok("GET", f"{CONFIGMAPS}?limit=1&continue={first['continue']}")
    assert (names(second), second["metadata"]["remainingItemCount"]) == (["c"], 1)
    last = filled.ok("GET", f"{CONFIGMAPS}?limit=1&continue={second['metadata']['continue']}")
    assert (names(last), "continue" in last["metadata"]) == (["d"], False)
    assert {one["metadata"]["resourceVersion"] for one in (second, last)} == {first["resourceVersion"]}
    assert names(filled.ok("GET", f"{CONFIGMAPS}?continue={first['continue']}&resourceVersion=0")) == ["c", "d"]


def test_a_token_of_any_revision_continues_with_the_present_state(filled):
    token = continue_token("default/b\0", "default/", -1)
    filled.ok("DELETE", f"{CONFIGMAPS}/c")
    found = filled.ok("GET", f"{CONFIGMAPS}?continue={token}")
    assert (names(found), found["metadata"]["resourceVersion"]) == (["d"], str(filled.revision))


@pytest.mark.parametrize(
    ("revision", "query", "code", "why"),
    [
        (0, "&resourceVersion=5", 400, "specifying resource version is not allowed when using continue"),
        (7, "", 504, "Too large resource version"),
    ],
)
def test_continue_tokens_that_are_refused(filled, revision, query, code, why):
    token = continue_token("default/b\0", "default/", filled.revision + revision)
    found = filled.refused("GET", f"{CONFIGMAPS}?continue={token}{query}")
    assert found[0] == code
    assert why in found[2]


def test_an_expired_token_comes_with_one_that_continues_anyway():
    api = Api(history_window=2)
    for name in NAMES:
        api.ok("POST", CONFIGMAPS, configmap(name))
    token = api.ok("GET", f"{CONFIGMAPS}?limit=2")["metadata"]["continue"]
    for _ in range(4):
        api.ok("PATCH", f"{CONFIGMAPS}/a", {"data": {"n": str(_)}}, content_type="application/merge-patch+json")
    api.apiserver.store.compact(api.revision)
    code, found = api.call("GET", f"{CONFIGMAPS}?continue={token}")
    assert (code, found["reason"]) == (410, "Expired")
    assert names(api.ok("GET", f"{CONFIGMAPS}?continue={found['metadata']['continue']}")) == ["c", "d"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("resourceVersion={0}", NAMES),
        ("resourceVersion={0}&resourceVersionMatch=NotOlderThan", NAMES),
        ("resourceVersion={0}&resourceVersionMatch=Exact", [*NAMES, "e"]),
        ("resourceVersion={0}&limit=10", [*NAMES, "e"]),
        ("resourceVersion={0}&limit=10&resourceVersionMatch=NotOlderThan", NAMES),
    ],
)
def test_a_list_at_a_revision(filled, query, found):
    listing = filled.ok("GET", f"{CONFIGMAPS}?{query.format(filled.revision - 1)}")
    assert names(listing) == found
    assert listing["metadata"]["resourceVersion"] == str(filled.revision - (found != NAMES))


@pytest.mark.parametrize(
    ("query", "code", "reason"),
    [
        ("resourceVersion=x", 400, "BadRequest"),
        ("resourceVersion={0}", 504, "Timeout"),
        ("resourceVersion={0}&limit=1", 504, "Timeout"),
        ("resourceVersion={0}&resourceVersionMatch=Exact", 504, "Timeout"),
    ],
)
def test_revisions_that_are_refused(filled, query, code, reason):
    assert filled.refused("GET", f"{CONFIGMAPS}?{query.format(filled.revision + 1)}")[:2] == (code, reason)


# --- watches ---------------------------------------------------------------------------------------------------------

LIST = "resourceVersionMatch=NotOlderThan"


@pytest.mark.parametrize(
    ("query", "types", "from_now"),
    [
        ("", ["ADDED"] * 4, True),
        ("resourceVersion=0", ["ADDED"] * 4, True),
        ("resourceVersion={0}", [], False),
        ("allowWatchBookmarks=true", [*["ADDED"] * 4, "BOOKMARK"], True),
        ("allowWatchBookmarks=true&resourceVersion={0}", [], False),
        (f"sendInitialEvents=true&{LIST}", ["ADDED"] * 4, True),
        (f"sendInitialEvents=true&{LIST}&allowWatchBookmarks=true", [*["ADDED"] * 4, "BOOKMARK"], True),
        (f"sendInitialEvents=true&{LIST}&allowWatchBookmarks=true&labelSelector=x%3Dz", ["BOOKMARK"], True),
        (f"sendInitialEvents=true&{LIST}&resourceVersion={{0}}", ["ADDED"] * 4, True),
        (f"sendInitialEvents=false&{LIST}", [], True),
        ("fieldSelector=metadata.name%3Db", ["ADDED"], True),
    ],
)
def test_how_a_watch_begins(filled, query, types, from_now):
    before = filled.revision - 2
    watch = filled.answer("GET", f"{CONFIGMAPS}?watch=1&{query.format(before)}").watch
    assert watch.refused is None
    assert [one.type for one in watch.initial] == types
    assert watch.revision == (filled.revision if from_now else before)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (f"sendInitialEvents=true&{LIST}&resourceVersion={{0}}", 504),
        (f"sendInitialEvents=false&{LIST}&resourceVersion={{0}}", 504),
    ],
)
def test_a_watch_from_the_future_with_initial_events_ends_with_an_error(filled, query, code):
    watch = filled.answer("GET", f"{CONFIGMAPS}?watch=1&{query.format(filled.revision + 1)}").watch
    assert watch.refused.code == code
    assert filled.answer("GET", f"{CONFIGMAPS}?watch=1&resourceVersion={filled.revision + 1}").watch.refused is None


@pytest.mark.parametrize(("query", "seconds"), [("", 2700.0), ("timeoutSeconds=7", 7.0), ("timeoutSeconds=0", 2700.0)])
def test_a_watch_lasts_as_long_as_asked_for_or_30_to_60_minutes(filled, query, seconds):
    assert filled.answer("GET", f"{CONFIGMAPS}?watch=1&{query}").watch.timeout == seconds


@pytest.mark.parametrize(
    ("path", "query", "found"),
    [
        ("/configmaps", "", NAMES),
        ("/configmaps/b", "", ["b"]),
        ("/configmaps/b", "?fieldSelector=metadata.name%3Db", ["b"]),
        ("/configmaps/b", "?labelSelector=x%3Dz", []),
        ("/configmaps/none", "", []),
        ("/configmaps/b", "?fieldSelector=metadata.name%3Dc", None),
    ],
)
def test_a_deprecated_path_watches_a_collection_or_one_object(filled, path, query, found):
    target = f"/api/v1/watch/namespaces/default{path}{query}"
    if found is None:
        assert filled.refused("GET", target)[::2] == (
            400, "fieldSelector metadata.name doesn't match requested name"
        )  # fmt: skip
        return
    initial = filled.answer("GET", target).watch.initial
    assert [one.entry.object["metadata"]["name"] for one in initial] == found
