"""Old revisions become unreadable as time passes; a continue token then reads the rest at the present revision."""

import pytest

from controllerlib import ApiError, Client
from fakekube.apiserver.storage.compaction import INTERVAL, Compactor
from fakekube.apiserver.storage.store import Store
from tests.apiserver.api import Api, configmap

PATH = "/api/v1/namespaces/default/configmaps"


def written(store: Store, number: int) -> int:
    return store.create("pods", f"a/{number}", {"metadata": {}}).revision


@pytest.mark.parametrize(
    ("times", "floor"),
    [
        pytest.param([INTERVAL - 1], 0, id="no interval has passed"),
        pytest.param([INTERVAL], 2, id="the first interval notes the revision at the start"),
        pytest.param([INTERVAL, INTERVAL * 1.5], 2, id="once in an interval"),
        pytest.param([INTERVAL, INTERVAL * 2], 3, id="the revision one interval before"),
        pytest.param([INTERVAL * 2], 3, id="two idle intervals"),
        pytest.param([INTERVAL, INTERVAL * 7], 4, id="many idle intervals"),
        pytest.param([INTERVAL * 2.5, INTERVAL * 2.9], 3, id="the rest of an interval after idle ones"),
        pytest.param([INTERVAL * 2.5, INTERVAL * 3], 3, id="the interval after idle ones"),
        pytest.param([INTERVAL * 2.5, INTERVAL * 3, INTERVAL * 4], 4, id="two intervals after idle ones"),
    ],
)
def test_the_first_readable_revision(times, floor):
    store = Store()
    compactor = Compactor(store, 0.0)
    for number, now in enumerate(times):
        written(store, number)
        compactor.observe(now)
    assert store.floor == floor
    assert store.continues(floor)
    assert not store.continues(floor - 1)
    assert not store.readable(floor - 2)
    assert store.watchable(0)
    assert store.readable(store.revision)


async def test_f10_a_token_expires_also_where_nothing_is_written(fakekube):
    """F10: a token is valid for at most ten minutes, on an idle server, too; the present state can always be read."""
    for name in "abc":
        fakekube.create(configmap(name))
    client = Client(fakekube.access.transport())
    path = "/api/v1/namespaces/default/configmaps"
    token = (await client.raw_get(path, [("limit", "1")]))["metadata"]["continue"]
    await fakekube.advance(290)
    assert (await client.raw_get(path, [("limit", "1"), ("continue", token)]))["items"]
    await fakekube.advance(320)
    with pytest.raises(ApiError, match="The provided continue parameter is too old") as refused:
        await client.raw_get(path, [("limit", "1"), ("continue", token)])
    assert refused.value.code == 410
    again = (await client.raw_get(path, [("limit", "1")]))["metadata"]["continue"]
    assert (await client.raw_get(path, [("limit", "1"), ("continue", again)]))["items"]


def test_a3_the_token_of_an_expired_page_gives_the_rest_at_the_present_revision(api: Api):
    for name in "abc":
        api.ok("POST", PATH, configmap(name))
    first = api.ok("GET", f"{PATH}?limit=1")
    token = first["metadata"]["continue"]
    api.ok("POST", PATH, configmap("d"))
    assert len(api.ok("GET", f"{PATH}?limit=1&continue={token}")["items"]) == 1
    api.apiserver.store.floor = api.revision
    code, expired = api.call("GET", f"{PATH}?limit=1&continue={token}")
    assert (code, expired["reason"]) == (410, "Expired")
    rest = api.ok("GET", f"{PATH}?limit=2&continue={expired['metadata']['continue']}")
    assert [one["metadata"]["name"] for one in rest["items"]] == ["b", "c"]
    assert rest["metadata"]["resourceVersion"] == str(api.revision)
    last = api.ok("GET", f"{PATH}?continue={rest['metadata']['continue']}")
    assert [one["metadata"]["name"] for one in last["items"]] == ["d"]


def test_a_watch_begins_at_a_revision_that_lists_cannot_read(api: Api):
    revision = api.ok("POST", PATH, configmap("a"))["metadata"]["resourceVersion"]
    api.ok("POST", PATH, configmap("b"))
    api.apiserver.store.floor = api.revision
    code, _ = api.call("GET", f"{PATH}?resourceVersion={revision}&resourceVersionMatch=Exact")
    assert code == 410
    watch = api.answer("GET", f"{PATH}?watch=true&resourceVersion={revision}").watch
    assert watch is not None
    assert watch.refused is None
    assert [event.type for event in watch.read()] == ["ADDED"]


def test_after_a_restore_the_first_interval_begins_anew():
    store = Store()
    compactor = Compactor(store, 0.0)
    written(store, 1)
    compactor.begin(100.0)
    compactor.observe(INTERVAL + 99)
    assert store.floor == 0
    compactor.observe(INTERVAL + 100)
    assert store.floor == store.revision + 1
