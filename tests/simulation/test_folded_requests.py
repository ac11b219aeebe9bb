"""A new cluster that is given the last spec at once: which requests of the test become another one, and which stay."""

import pytest

from fakekube.apiserver.resource import Resource
from fakekube.simulation.lastspec import Intent, Intents
from fakekube.simulation.running.foldedrequests import FoldedRequests

STORES = Resource("example.com", "v1", "stores", "store", "Store", "StoreList", True, frozenset(), "stores.example.com")
ZONES = Resource("", "v1", "zones", "zone", "Zone", "ZoneList", False, frozenset(), "zones")

COLLECTIONS = {("example.com", "v1", "stores"): "stores.example.com", ("", "v1", "zones"): "zones"}


class Kinds:
    def name(self, collection):
        return {"stores.example.com": "store", "zones": "zone"}.get(collection, collection)

    def resource(self, name):
        return {"store": STORES, "zone": ZONES}.get(name)


def content(size, name="a"):
    return {"metadata": {"name": name}, "spec": {"size": size}}


CHANGED = Intent("store", "default", "a", content(1), content(2), changed=True)
DELETED = Intent("store", "prod", "gone", content(1, "gone"), None, changed=True)
SAME = Intent("store", "default", "same", content(1, "same"), content(1, "same"))
WIDE = Intent("zone", "", "z", content(1, "z"), content(3, "z"), changed=True)

PATH = "/apis/example.com/v1/namespaces/default/stores"
PROD = "/apis/example.com/v1/namespaces/prod/stores"


class Server:
    """Answers with these codes in turn, and notes what it was asked."""

    def __init__(self, *codes):
        self.log, self._codes = [], list(codes)

    def send(self, method, path, **more):
        self.log.append((method, path, more.get("body")))
        code = self._codes.pop(0) if self._codes else 200
        return code, {}, {"answer": len(self.log)}


def folded(*codes):
    server = Server(*codes)
    found = FoldedRequests(
        server.send, Intents((CHANGED, DELETED, SAME, WIDE)), Kinds(), lambda *names: COLLECTIONS.get(names, "")
    )
    return found, server


def store(size, name="a"):
    return {"apiVersion": "example.com/v1", "kind": "Store", **content(size, name)}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"{PATH}/a", None),
        ("GET", PATH, None),
        ("PATCH", f"{PATH}/a/status", {"status": {}}),
        ("PUT", f"{PATH}/other", content(7, "other")),
        ("POST", PATH, content(7, "other")),
        ("POST", PROD, content(7)),  # in another namespace
        ("POST", PATH, content(1, "same")),
        ("DELETE", f"{PATH}/same", None),
        ("POST", "/api/v1/namespaces/default/configmaps", content(1)),
        ("POST", PATH, b"no mapping"),
        ("POST", PATH, {"metadata": None}),
    ],
)
def test_what_the_test_asks_of_others_than_its_own_objects_goes_through(method, path, body):
    found, server = folded(418)
    assert found(method, path, body=body, headers={"x": "y"}) == (418, {}, {"answer": 1})
    assert server.log == [(method, path, body)]


def test_an_object_is_created_as_it_is_at_the_end():
    found, server = folded(201)
    assert found("POST", PATH, body=store(1)) == (201, {}, {"answer": 1})
    assert server.log == [("POST", PATH, store(2))]
    found, server = folded(201)
    found("POST", "/api/v1/zones", body=content(1, "z"))
    assert server.log == [("POST", "/api/v1/zones", {"apiVersion": "v1", "kind": "Zone", **content(3, "z")})]


def test_one_that_exists_already_is_as_it_is():
    found, server = folded(409, 200)
    assert found("POST", PATH, body=store(1)) == (200, {}, {"answer": 2})
    assert server.log == [("POST", PATH, store(2)), ("GET", f"{PATH}/a", None)]
    found, _ = folded(422)
    assert found("POST", PATH, body=store(1)) == (422, {}, {"answer": 1}), "a refusal is one"


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
@pytest.mark.parametrize(
    ("code", "answer"), [(200, {"answer": 1}), (399, {"answer": 1}), (400, store(2)), (404, store(2))]
)
def test_a_change_changes_nothing_and_gets_the_object(method, code, answer):
    found, server = folded(code)
    code, _, body = found(method, f"{PATH}/a", body={"spec": {"size": 2}})
    assert (code in (200, 399), body) == (True, answer)
    assert server.log == [("GET", f"{PATH}/a", None)]


def test_what_is_changed_and_changed_back_stays_as_it_was_created():
    server = Server(201)
    back = Intent("store", "default", "a", content(1), content(1), changed=True)
    found = FoldedRequests(server.send, Intents((back,)), Kinds(), lambda *names: COLLECTIONS.get(names, ""))
    found("POST", PATH, body=store(1))
    for size in (2, 1):
        found("PATCH", f"{PATH}/a", body={"spec": {"size": size}})
    assert server.log == [("POST", PATH, store(1)), *[("GET", f"{PATH}/a", None)] * 2]


def test_what_the_test_deletes_in_the_end_is_never_there():
    found, server = folded()
    body = store(1, "gone")
    assert found("POST", PROD, body=body) == (201, {}, body)
    assert found("DELETE", f"{PROD}/gone")[::2] == (
        200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    )  # fmt: skip
    assert server.log == []
    found, server = folded(404)
    assert found("PATCH", f"{PROD}/gone", body={})[::2] == (200, store(1, "gone"))


def test_what_is_deleted_on_the_way_is_not_deleted():
    found, server = folded()
    assert found("DELETE", f"{PATH}/a")[0] == 200
    assert server.log == []


def test_what_the_test_has_not_come_to_is_created_at_the_end():
    found, server = folded()
    found.complete()
    assert server.log == [
        ("POST", PATH, store(2)),
        ("POST", PATH, store(1, "same")),
        ("POST", "/api/v1/zones", {"apiVersion": "v1", "kind": "Zone", **content(3, "z")}),
    ]
