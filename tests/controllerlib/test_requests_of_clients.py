"""What each method of a client sends, and what it makes of the answer."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from controllerlib.client.client import Client
from controllerlib.client.errors import ApiError, is_not_found
from controllerlib.client.listoptions import ListOptions
from controllerlib.client.resource import Resource, read_discovery, split_api_version
from controllerlib.client.restmapper import RESTMapper
from controllerlib.client.transport import Response

DISCOVERY: Mapping[str, Any] = {
    "/api/v1": {
        "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": True},
            {"name": "pods/status", "kind": "Pod", "namespaced": True},
            {"name": "pods/eviction", "kind": "Eviction", "namespaced": True},
            {"name": "nodes", "kind": "Node", "namespaced": False},
        ]
    },
    "/apis/apps/v1": {"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": True}]},
}

POD: Mapping[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "name": "b"}}
NODE: Mapping[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}}
DEPLOYMENT: Mapping[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"namespace": "a", "name": "b"},
}
JSON = "application/json"


class Wire:
    """A transport that answers discovery, and everything else with one answer; it keeps what was sent."""

    def __init__(self, answer: Any = None, code: int = 200) -> None:
        self.answer, self.code = answer, code
        self.sent: list[tuple[str, str, Any, Mapping[str, str]]] = []
        self.body: Any = None
        self.closed = False

    async def request(
        self, method: str, path: str, *, query: Any = (), headers: Any = (), body: Any = None
    ) -> Response:
        if path in DISCOVERY:
            return 200, {}, DISCOVERY[path]
        self.sent.append((method, path, list(query), dict(headers)))
        self.body = body
        return self.code, {}, self.answer

    async def open_watch(self, path: str, *, query: Any = (), headers: Any = ()) -> Response:
        self.sent.append(("WATCH", path, list(query), dict(headers)))
        return self.code, {}, self.answer

    async def aclose(self) -> None:
        self.closed = True


Request = Callable[[Client], Awaitable[Any]]
READS: Mapping[str, tuple[Request, str, str, list[tuple[str, str]]]] = {
    "get": (lambda c: c.get("v1", "Pod", "b", "a"), "GET", "/api/v1/namespaces/a/pods/b", []),
    "get in a group": (
        lambda c: c.get("apps/v1", "Deployment", "b", "a"), "GET", "/apis/apps/v1/namespaces/a/deployments/b", [],
    ),
    "get of a cluster": (lambda c: c.get("v1", "Node", "b"), "GET", "/api/v1/nodes/b", []),
    "a namespace of a cluster's kind": (lambda c: c.get("v1", "Node", "b", "a"), "GET", "/api/v1/nodes/b", []),
    "list": (lambda c: c.list("v1", "Pod", "a"), "GET", "/api/v1/namespaces/a/pods", []),
    "list of all namespaces": (lambda c: c.list("v1", "Pod"), "GET", "/api/v1/pods", []),
    "list with options": (
        lambda c: c.list("v1", "Pod", "a", label_selector="x=1", field_selector="y=2", limit=3),
        "GET",
        "/api/v1/namespaces/a/pods",
        [("labelSelector", "x=1"), ("fieldSelector", "y=2"), ("limit", "3")],
    ),
    "page": (
        lambda c: c.list_page("v1", "Pod", None, ListOptions("7", "Exact", limit=1, continue_token="t")),
        "GET",
        "/api/v1/pods",
        [("resourceVersion", "7"), ("resourceVersionMatch", "Exact"), ("limit", "1"), ("continue", "t")],
    ),
    "watch": (lambda c: c.watch("v1", "Pod"), "WATCH", "/api/v1/pods", [("watch", "true")]),
    "watch with options": (
        lambda c: c.watch("v1", "Pod", "a", ListOptions("7", timeout_seconds=0, allow_watch_bookmarks=True)),
        "WATCH",
        "/api/v1/namespaces/a/pods",
        [("watch", "true"), ("resourceVersion", "7"), ("timeoutSeconds", "0"), ("allowWatchBookmarks", "true")],
    ),
    "streamed list": (
        lambda c: c.watch("v1", "Pod", None, ListOptions(send_initial_events=True)),
        "WATCH",
        "/api/v1/pods",
        [("watch", "true"), ("sendInitialEvents", "true")],
    ),
    "no streamed list": (
        lambda c: c.watch("v1", "Pod", None, ListOptions(send_initial_events=False)),
        "WATCH",
        "/api/v1/pods",
        [("watch", "true"), ("sendInitialEvents", "false")],
    ),
    "raw": (lambda c: c.raw_get("/version", [("a", "1")]), "GET", "/version", [("a", "1")]),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
async def test_a_read_sends_its_path_and_its_options(name: str) -> None:
    request, method, path, query = READS[name]
    wire = Wire({"items": []})
    await request(Client(wire, user_agent="me"))
    assert wire.sent == [(method, path, query, {"User-Agent": "me", "Accept": JSON})]
    assert wire.body is None


@pytest.mark.parametrize(
    "request_as",
    [
        lambda c, accept: c.list_page("v1", "Pod", accept=accept),
        lambda c, accept: c.watch("v1", "Pod", accept=accept),
        lambda c, accept: c.raw_get("/version", accept=accept),
    ],
)
@pytest.mark.parametrize("accept", ["", "application/x"])
async def test_a_read_accepts_what_it_is_told(request_as: Any, accept: str) -> None:
    wire = Wire({})
    await request_as(Client(wire), accept)
    assert [headers["Accept"] for *_, headers in wire.sent] == [accept or JSON]


OPTIONS: Mapping[str, Any] = {"field_manager": "me", "dry_run": True}
SENT_OPTIONS = [("fieldManager", "me"), ("dryRun", "All")]
SCALE: Mapping[str, Any] = {"kind": "Scale"}
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"

WRITES: Mapping[str, tuple[Request, str, str, list[tuple[str, str]], str, Any]] = {
    "create": (lambda c: c.create(POD), "POST", "/api/v1/namespaces/a/pods", [], "", POD),
    "create of a cluster": (lambda c: c.create(NODE), "POST", "/api/v1/nodes", [], "", NODE),
    "create with options": (
        lambda c: c.create(POD, **OPTIONS), "POST", "/api/v1/namespaces/a/pods", SENT_OPTIONS, "", POD,
    ),
    "update": (lambda c: c.update(POD), "PUT", "/api/v1/namespaces/a/pods/b", [], "", POD),
    "update with options": (
        lambda c: c.update(DEPLOYMENT, **OPTIONS),
        "PUT", "/apis/apps/v1/namespaces/a/deployments/b", SENT_OPTIONS, "", DEPLOYMENT,
    ),
    "update_status": (lambda c: c.update_status(POD), "PUT", "/api/v1/namespaces/a/pods/b/status", [], "", POD),
    "update_status with options": (
        lambda c: c.update_status(POD, **OPTIONS), "PUT", "/api/v1/namespaces/a/pods/b/status", SENT_OPTIONS, "", POD,
    ),
    "update_subresource": (
        lambda c: c.update_subresource(NODE, "finalize"), "PUT", "/api/v1/nodes/b/finalize", [], "", NODE,
    ),
    "update_subresource of a kind of its own": (
        lambda c: c.update_subresource(DEPLOYMENT, "scale", SCALE),
        "PUT", "/apis/apps/v1/namespaces/a/deployments/b/scale", [], "", SCALE,
    ),
    "create_subresource": (
        lambda c: c.create_subresource(POD, "eviction", SCALE),
        "POST", "/api/v1/namespaces/a/pods/b/eviction", [], "", SCALE,
    ),
    "create_subresource with options": (
        lambda c: c.create_subresource(POD, "eviction", SCALE, **OPTIONS),
        "POST", "/api/v1/namespaces/a/pods/b/eviction", SENT_OPTIONS, "", SCALE,
    ),
    "patch": (lambda c: c.patch(POD, {"x": 1}), "PATCH", "/api/v1/namespaces/a/pods/b", [], MERGE, {"x": 1}),
    "patch with options": (
        lambda c: c.patch(POD, [], type="json", subresource="status", force=True, **OPTIONS),
        "PATCH", "/api/v1/namespaces/a/pods/b/status",
        [*SENT_OPTIONS, ("force", "true")], "application/json-patch+json", [],
    ),
    "a strategic patch": (
        lambda c: c.patch(NODE, {}, type="strategic"),
        "PATCH", "/api/v1/nodes/b", [], "application/strategic-merge-patch+json", {},
    ),
    "a patch by its media type": (
        lambda c: c.patch(NODE, {}, type=APPLY), "PATCH", "/api/v1/nodes/b", [], APPLY, {},
    ),
    "patch_status": (
        lambda c: c.patch_status(POD, {"status": {}}),
        "PATCH", "/api/v1/namespaces/a/pods/b/status", [], MERGE, {"status": {}},
    ),
    "apply": (
        lambda c: c.apply(POD, field_manager="me"),
        "PATCH", "/api/v1/namespaces/a/pods/b", [("fieldManager", "me")], APPLY, POD,
    ),
    "apply with options": (
        lambda c: c.apply(POD, force=True, subresource="status", **OPTIONS),
        "PATCH", "/api/v1/namespaces/a/pods/b/status", [*SENT_OPTIONS, ("force", "true")], APPLY, POD,
    ),
    "delete": (lambda c: c.delete(POD), "DELETE", "/api/v1/namespaces/a/pods/b", [], "", None),
    "delete by name": (
        lambda c: c.delete("v1", "Pod", "b", "a"), "DELETE", "/api/v1/namespaces/a/pods/b", [], "", None,
    ),
    "delete by name of a cluster": (lambda c: c.delete("v1", "Node", "b"), "DELETE", "/api/v1/nodes/b", [], "", None),
    "delete with options": (
        lambda c: c.delete(POD, uid="u", resource_version="7", propagation="Orphan", grace_period=0, dry_run=True),
        "DELETE", "/api/v1/namespaces/a/pods/b", [], "",
        {
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u", "resourceVersion": "7"},
            "propagationPolicy": "Orphan", "gracePeriodSeconds": 0, "dryRun": ["All"],
        },
    ),
    "delete one uid": (
        lambda c: c.delete(NODE, uid="u"), "DELETE", "/api/v1/nodes/b", [], "",
        {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u"}},
    ),
    "delete one version": (
        lambda c: c.delete(NODE, resource_version="7"), "DELETE", "/api/v1/nodes/b", [], "",
        {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"resourceVersion": "7"}},
    ),
    "delete_collection": (
        lambda c: c.delete_collection("v1", "Pod", "a", label_selector="x", field_selector="y"),
        "DELETE", "/api/v1/namespaces/a/pods", [("labelSelector", "x"), ("fieldSelector", "y")], "", None,
    ),
    "delete_collection with options": (
        lambda c: c.delete_collection("v1", "Pod", "a", propagation="Foreground"),
        "DELETE", "/api/v1/namespaces/a/pods", [], "",
        {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
async def test_a_write_sends_its_path_its_options_and_its_body(name: str) -> None:
    request, method, path, query, media_type, body = WRITES[name]
    wire = Wire({"kind": "Answer"})
    assert await request(Client(wire, user_agent="me")) == {"kind": "Answer"}
    headers = {"User-Agent": "me", "Accept": JSON, **({"Content-Type": media_type} if media_type else {})}
    assert wire.sent == [(method, path, query, headers)]
    assert wire.body == body


@pytest.mark.parametrize(
    ("code", "answer", "returned"),
    [
        (200, {"kind": "Pod"}, {"kind": "Pod"}),
        (201, {"kind": "Pod"}, {"kind": "Pod"}),
        (399, {"kind": "Pod"}, {"kind": "Pod"}),
        (200, None, {}),
        (200, "text", {}),
        (400, {"reason": "Invalid"}, (400, "Invalid")),
        (404, "no page", (404, "NotFound")),
    ],
)
async def test_the_answer_is_returned_or_raised(code: int, answer: Any, returned: Any) -> None:
    client = Client(Wire(answer, code))
    if isinstance(returned, dict):
        assert await client.get("v1", "Pod", "b", "a") == returned
        return
    with pytest.raises(ApiError) as caught:
        await client.get("v1", "Pod", "b", "a")
    assert (caught.value.code, caught.value.reason) == returned


@pytest.mark.parametrize("code", [201, 410])
async def test_a_watch_that_is_not_opened_is_an_error(code: int) -> None:
    with pytest.raises(ApiError) as caught:
        await Client(Wire({"message": "no"}, code)).watch("v1", "Pod")
    assert (caught.value.code, caught.value.message) == (code, "no")


@pytest.mark.parametrize(
    ("items", "returned"),
    [
        (None, []),
        ([], []),
        ([{"a": 1}], [{"apiVersion": "v1", "kind": "Pod", "a": 1}]),
        ([{"kind": "X", "a": 1}, {"a": 2}], [{"kind": "X", "a": 1}, {"apiVersion": "v1", "kind": "Pod", "a": 2}]),
    ],
)
async def test_the_items_of_a_list_have_their_kind(items: Any, returned: Any) -> None:
    client = Client(Wire({"metadata": {}, "items": items}))
    assert await client.list("v1", "Pod") == returned
    assert await client.list_page("v1", "Pod") == {"metadata": {}, "items": returned}


NAMELESS: Mapping[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}


@pytest.mark.parametrize(
    ("request_without", "when"),
    [
        (lambda c: c.get("v1", "Pod", "b"), "when a resource name is provided"),
        (lambda c: c.get("v1", "Pod", "b", ""), "when a resource name is provided"),
        (lambda c: c.create(NAMELESS), "during creation"),
        (lambda c: c.create_subresource(NAMELESS, "eviction", SCALE), "during creation"),
        (lambda c: c.update(NAMELESS), "when a resource name is provided"),
        (lambda c: c.patch(NAMELESS, {}), "when a resource name is provided"),
        (lambda c: c.delete(NAMELESS), "when a resource name is provided"),
        (lambda c: c.delete("v1", "Pod", "b"), "when a resource name is provided"),
    ],
)
async def test_one_object_of_a_namespaced_kind_needs_its_namespace(request_without: Request, when: str) -> None:
    wire = Wire({})
    with pytest.raises(ValueError, match=f"^an empty namespace may not be set {when}: Pod is a namespaced kind$"):
        await request_without(Client(wire))
    assert wire.sent == []


@pytest.mark.parametrize(("patch", "allowed"), [
    ({"status": {}}, True), ({"metadata": {}}, True), ({}, True), ([], True), ({"spec": {}, "x": 1}, False),
])  # fmt: skip
async def test_what_may_be_in_the_patch_of_a_status(patch: Any, allowed: bool) -> None:
    wire = Wire({})
    if allowed:
        await Client(wire).patch_status(POD, patch)
        assert wire.body == patch
        return
    with pytest.raises(ValueError, match=r"its keys are spec, x$"):
        await Client(wire).patch_status(POD, patch)
    assert wire.sent == []


async def test_an_unknown_type_of_patch_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"^unknown type of patch 'x': it is one of merge, json, strategic, apply, appl"
    ):
        await Client(Wire()).patch(POD, {}, type="x")  # type: ignore[arg-type]


class Shelf:
    """A reader that keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def get(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return {"from": "shelf"}

    async def list(self, *asked: Any, **options: Any) -> Any:
        self.asked.append((*asked, options))
        return [{"from": "shelf"}]


async def test_a_reader_answers_reads_and_not_writes() -> None:
    wire, shelf = Wire({}), Shelf()
    client = Client(wire, reader=shelf)
    assert await client.get("v1", "Pod", "b", "a") == {"from": "shelf"}
    assert await client.list("v1", "Pod", "a", label_selector="x", field_selector="y", limit=2) == [{"from": "shelf"}]
    assert shelf.asked == [
        ("v1", "Pod", "b", "a"),
        ("v1", "Pod", "a", {"label_selector": "x", "field_selector": "y", "limit": 2}),
    ]
    assert wire.sent == []
    await client.update(POD)
    await client.list_page("v1", "Pod")
    assert [method for method, *_ in wire.sent] == ["PUT", "GET"]


async def test_a_client_with_other_options_keeps_the_rest() -> None:
    wire, shelf, other = Wire({}), Shelf(), Shelf()
    client = Client(wire, user_agent="me", reader=shelf)
    assert client.with_options().transport is wire
    for options, agent, reader in [
        ({}, "me", shelf), ({"user_agent": "you"}, "you", shelf), ({"user_agent": ""}, "", shelf),
        ({"reader": other}, "me", other),
    ]:  # fmt: skip
        made = client.with_options(**options)  # type: ignore[arg-type]
        assert made.mapper is client.mapper
        await made.update(POD)
        assert wire.sent.pop()[3]["User-Agent"] == agent
        before = len(reader.asked)
        await made.get("v1", "Pod", "b", "a")
        assert len(reader.asked) == before + 1
    await client.aclose()
    assert wire.closed


# --- resources -------------------------------------------------------------------------------------------------------


def test_resources_of_discovery_know_their_subresources() -> None:
    pods = Resource("v1", "Pod", "pods", True, ("status", "eviction"))
    assert read_discovery("v1", DISCOVERY["/api/v1"]) == [pods, Resource("v1", "Node", "nodes", False)]
    assert read_discovery("v1", {}) == []


@pytest.mark.parametrize(
    ("api_version", "group", "qualified"), [("v1", "", "pods"), ("apps/v1", "apps", "pods.apps"), ("", "", "pods")]
)
def test_the_group_of_a_resource(api_version: str, group: str, qualified: str) -> None:
    resource = Resource(api_version, "Pod", "pods", True)
    assert (resource.group, resource.qualified) == (group, qualified)
    assert split_api_version(api_version) == (group, api_version.removeprefix(f"{group}/") if group else api_version)


class Documents:
    """Discovery that changes, and what was fetched of it."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.fetched: list[str] = []
        self.error: ApiError | None = None

    async def fetch(self, path: str) -> Mapping[str, Any]:
        self.fetched.append(path)
        if self.error is not None:
            raise self.error
        return {"resources": [{"name": kind.lower(), "kind": kind, "namespaced": True} for kind in self.kinds]}


async def test_discovery_is_fetched_once_and_again_for_a_kind_that_is_missing() -> None:
    documents = Documents()
    mapper = RESTMapper(documents.fetch)
    documents.kinds = ["A", "B"]
    assert mapper.known("x/v1", "A") is None
    for kind in ("A", "B", "A"):
        assert (await mapper.resource("x/v1", kind)).plural == kind.lower()
    assert mapper.known("x/v1", "A") == await mapper.resource("x/v1", "A")
    assert documents.fetched == ["/apis/x/v1"]
    with pytest.raises(ApiError, match='no matches for kind "C" in version "x/v1"'):
        await mapper.resource("x/v1", "C")
    documents.kinds.append("C")
    await mapper.resource("x/v1", "C")
    assert len(documents.fetched) == 3
    mapper.forget()
    assert mapper.known("x/v1", "A") is None
    await mapper.resource("x/v1", "A")
    assert len(documents.fetched) == 4


@pytest.mark.parametrize(("code", "reason", "raised"), [
    (404, "NotFound", "NoKindMatch"), (403, "Forbidden", "Forbidden"), (404, "Other", "Other"),
])  # fmt: skip
async def test_a_group_that_is_not_found_has_no_kinds(code: int, reason: str, raised: str) -> None:
    documents = Documents()
    documents.error = ApiError(code, reason, "x")
    with pytest.raises(ApiError) as caught:
        await RESTMapper(documents.fetch).resource("x/v1", "A")
    assert caught.value.reason == raised
    assert is_not_found(documents.error) is (raised == "NoKindMatch")
