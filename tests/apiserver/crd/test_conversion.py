"""Conversion webhooks: requests, responses and invalid responses."""

import copy
from collections.abc import Callable, Generator
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest

from fakekube.apiserver.crd.conversionwebhook import ConversionWebhook
from fakekube.apiserver.needs import Need, Posts, Reply
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.watch import Watch, WatchEvent
from fakekube.apiserver.wire.request import Request, parse
from fakekube.apiserver.wire.status import StatusError
from tests.apiserver.api import CRDS, Api
from tests.apiserver.crd.test_custom import version, widget, widgets

Object = dict[str, Any]
Webhook = Callable[[Object], Any]

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = "/apis/example.com/v2/namespaces/default/widgets"


def spec(**properties: Object) -> Object:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


TEXT = {"type": "string"}
FULL = spec(full={"type": "string"}, extra={"type": "string", "default": "x"})
PARTS = spec(first=TEXT, last=TEXT)


def definition(**more: Any) -> Object:
    """v1 has a full name and is stored, v2 has its parts."""
    client = {"service": {"namespace": "default", "name": "converter", "path": "/convert"}}
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}
    made = widgets(version("v1", FULL, subresources={}), version("v2", PARTS, storage=False, subresources={}))
    return {**made, "spec": {**made["spec"], "conversion": conversion, **more}}


def converted(obj: Object, desired: str) -> Object:
    given = obj.get("spec", {})
    if desired.endswith("v2"):
        first, _, last = given.get("full", "").partition(" ")
        new = {"first": first, "last": last}
    else:
        new = {"full": f"{given.get('first', '')} {given.get('last', '')}".strip()}
    labels = {**obj["metadata"].get("labels", {}), "converted": desired.rpartition("/")[2]}
    return {**obj, "apiVersion": desired, "spec": new, "metadata": {**obj["metadata"], "labels": labels, "foo": 1}}


def right(review: Object) -> Object:
    asked = review["request"]
    made = [converted(obj, asked["desiredAPIVersion"]) for obj in asked["objects"]]
    response = {"uid": asked["uid"], "result": {"status": "Success"}, "convertedObjects": made}
    return {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}


class Cluster:
    """A server whose webhook is a function; the reviews are recorded."""

    def __init__(self, api: Api) -> None:
        self.api, self.webhook = api, right
        self.asked: list[Object] = []
        self.posts: list[Any] = []
        api.ok("POST", CRDS, definition())

    def answer(self, method: str, target: str, body: Any = b"", **headers: str) -> Response:
        path, _, query = target.partition("?")
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method, path, parse_qs(query, keep_blank_values=True), sent, body)
        request = (
            request._replace(user=self.api.apiserver.user_of(None, self.api.context))
            if request.user is None
            else request
        )
        found: Response = self._completed(
            self.api.apiserver.answer(request, parse(request), request.user, self.api.context)
        )
        return found

    def read(self, watch: Watch) -> list[WatchEvent]:
        """The next events of a watch, converted."""
        found: list[WatchEvent] = self._completed(watch.read_converted())
        return found

    def _completed(self, step: Generator[Need, Any, Any]) -> Any:
        try:
            need = next(step)
            while True:
                assert isinstance(need, Posts)
                need = step.send([self._reply(post) for post in need.posts])
        except StopIteration as end:
            return end.value

    def _reply(self, post: Any) -> Reply:
        self.posts.append(post)
        self.asked.append(post.body)
        made = self.webhook(post.body)
        return Reply(problem=made) if isinstance(made, str) else Reply(document=made)

    def call(self, method: str, target: str, body: Any = b"", **headers: str) -> tuple[int, Any]:
        response = self.answer(method, target, body, **headers)
        assert response.body is not None
        shown = response.body.to_object()
        assert orjson.loads(response.body.encode()) == shown
        return response.status, shown

    def ok(self, method: str, target: str, body: Any = b"", **headers: str) -> Any:
        code, shown = self.call(method, target, body, **headers)
        assert code < 400, shown
        return shown


@pytest.fixture
def cluster(api: Api) -> Cluster:
    return Cluster(api)


def person(name: str, full: str) -> Object:
    return widget(name, {"full": full})


def test_an_object_is_read_in_the_other_version(cluster: Cluster) -> None:
    made = cluster.ok("POST", V1, person("a", "Ada Lovelace"))
    found = cluster.ok("GET", f"{V2}/a")
    assert found["apiVersion"] == "example.com/v2"
    assert found["spec"] == {"first": "Ada", "last": "Lovelace"}
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert found["metadata"]["labels"] == {"converted": "v2"}
    assert "foo" not in found["metadata"]


def test_an_object_is_written_in_the_other_version(cluster: Cluster) -> None:
    body = {**widget("a", {"first": "Ada", "last": "Lovelace"}), "apiVersion": "example.com/v2"}
    made = cluster.ok("POST", V2, body)
    assert made["spec"] == {"first": "Ada", "last": "Lovelace"}
    stored = cluster.ok("GET", f"{V1}/a")
    assert stored["spec"] == {"full": "Ada Lovelace", "extra": "x"}
    merge = {"content_type": "application/merge-patch+json"}
    found = cluster.ok("PATCH", f"{V2}/a", {"spec": {"first": "Augusta"}}, **merge)
    assert found["spec"] == {"first": "Augusta", "last": "Lovelace"}
    assert cluster.ok("GET", f"{V1}/a")["spec"]["full"] == "Augusta Lovelace"


def test_the_review_has_the_stored_object_with_its_defaults(cluster: Cluster) -> None:
    cluster.ok("POST", V1, person("a", "Ada Lovelace"))
    assert cluster.posts == []
    cluster.ok("GET", f"{V2}/a")
    (post,) = cluster.posts
    assert post.url == "https://converter.default.svc:443/convert?timeout=30s"
    review = post.body
    assert (review["apiVersion"], review["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    assert review["request"]["desiredAPIVersion"] == "example.com/v2"
    (obj,) = review["request"]["objects"]
    assert (obj["apiVersion"], obj["kind"]) == ("example.com/v1", "Widget")
    assert obj["spec"] == {"full": "Ada Lovelace", "extra": "x"}


def test_b10_each_read_calls_the_webhook_once(cluster: Cluster) -> None:
    cluster.ok("POST", V1, person("a", "Ada Lovelace"))
    for _ in range(3):
        cluster.ok("GET", f"{V2}/a")
    assert len(cluster.asked) == 3
    cluster.ok("GET", V2)
    assert len(cluster.asked) == 4
    cluster.ok("GET", f"{V1}/a")
    assert len(cluster.asked) == 4, "the stored version needs no conversion"


def test_a_list_is_converted_in_one_review(cluster: Cluster) -> None:
    cluster.webhook = lambda _: "failed to call webhook: no"
    for i in range(5):
        cluster.ok("POST", V1, person(f"p{i}", f"Ada {i}"))
    cluster.webhook = right
    cluster.asked.clear()
    found = cluster.ok("GET", V2)
    assert [one["spec"]["last"] for one in found["items"]] == ["0", "1", "2", "3", "4"]
    assert len(cluster.asked) == 1
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert len(cluster.ok("GET", V2, accept=accept)["rows"]) == 5


def test_a_watch_delivers_the_version_of_its_path(cluster: Cluster) -> None:
    cluster.ok("POST", V1, person("a", "Ada Lovelace"))
    watch = cluster.answer("GET", f"{V2}?watch=true&allowWatchBookmarks=true").watch
    assert watch is not None
    assert [event.to_object()["object"]["spec"] for event in watch.initial if event.type == "ADDED"] == [
        {"first": "Ada", "last": "Lovelace"}
    ]
    cluster.ok("POST", V1, person("b", "Grace Hopper"))
    cluster.ok("DELETE", f"{V1}/a")
    events = [orjson.loads(event.line) for event in cluster.read(watch)]
    assert [(one["type"], one["object"]["spec"]["first"]) for one in events] == [("ADDED", "Grace"), ("DELETED", "Ada")]
    assert {one["object"]["apiVersion"] for one in events} == {"example.com/v2"}
    assert orjson.loads(watch.bookmark().line)["object"]["apiVersion"] == "example.com/v2"


def test_a_watch_ends_if_the_webhook_fails(cluster: Cluster) -> None:
    watch = cluster.answer("GET", f"{V2}?watch=true").watch
    assert watch is not None
    cluster.webhook = lambda _: "failed to call webhook: no"
    cluster.ok("POST", V1, person("a", "Ada Lovelace"))
    with pytest.raises(StatusError, match="Kind=Widget failed: no"):
        cluster.read(watch)


@pytest.mark.parametrize(
    ("accepted", "used"),
    [
        (["v1"], "v1"),
        (["v1beta1"], "v1beta1"),
        (["v1beta1", "v1"], "v1beta1"),
        (["v1", "v1beta1"], "v1"),
        (["v2", "v1beta1", "v1"], "v1beta1"),
        (["v2"], "v1"),
        ([], "v1"),
    ],
)
def test_the_first_supported_version_of_a_review_is_used(accepted: list[str], used: str) -> None:
    config = {"conversionReviewVersions": accepted, "clientConfig": {"url": "https://a"}}
    webhook = ConversionWebhook({"spec": {"conversion": {"webhook": config}}})
    assert webhook.config == {"url": "https://a"}
    assert webhook.review([{"kind": "Widget"}], "example.com/v2", "u") == {
        "kind": "ConversionReview",
        "apiVersion": f"apiextensions.k8s.io/{used}",
        "request": {"uid": "u", "desiredAPIVersion": "example.com/v2", "objects": [{"kind": "Widget"}]},
    }


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"response": {"uid": "other", "result": {"status": "Success"}, "convertedObjects": [1]}}, ""),
        ({}, "no response provided"),
        ([], "no response provided"),
        ({"response": {"result": {}}}, "response.result.status was '', not 'Success'"),
        ({"response": {"result": {"status": "Failure"}}}, "response.result.status was 'Failure', not 'Success'"),
        ({"response": {"result": {"status": "Failure", "message": "no!"}}}, "no!"),
    ],
)
def test_a_response_of_v1beta1_needs_no_uid_and_no_kind(document: Any, why: str) -> None:
    config = {"conversionReviewVersions": ["v1beta1"], "clientConfig": {}}
    webhook = ConversionWebhook({"spec": {"conversion": {"webhook": config}}})
    if why:
        with pytest.raises(StatusError) as refused:
            webhook._answers(document, "u", "failed: ")
        assert (refused.value.code, refused.value.message) == (500, f"failed: {why}")
    else:
        assert webhook._answers(document, "u", "failed: ") == [1]


def changed(review: Object, change: Callable[[Object], Object]) -> Object:
    answer = right(review)
    response = answer["response"]
    return {
        **answer,
        "response": {**response, "convertedObjects": [change(one) for one in response["convertedObjects"]]},
    }


def with_metadata(**fields: Any) -> Webhook:
    return lambda review: changed(review, lambda one: {**one, "metadata": {**one["metadata"], **fields}})


WRONG: list[Any] = [
    (lambda _: "failed to call webhook: Post \"https://x\": EOF", ' failed: Post "https://x": EOF'),
    (lambda _: {"kind": "X"}, " failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=X"),
    (lambda review: {**right(review), "response": None}, " failed: no response provided"),
    (
        lambda review: {**right(review), "response": {"uid": "other"}},
        ' failed: expected response.uid="uid-1-of-conversion/widgets.example.com/example.com/v2", got "other"',
    ),
    (
        lambda review: {**right(review), "response": {"uid": review["request"]["uid"], "result": {"status": "Failure", "message": "no!"}}},
        " failed: no!",
    ),
    (
        lambda review: {**right(review), "response": {"uid": review["request"]["uid"]}},
        " failed: response.result.status was '', not 'Success'",
    ),
    (
        lambda review: {**right(review), "response": {**right(review)["response"], "convertedObjects": []}},
        " returned 0 objects, expected 1",
    ),
    (
        lambda review: changed(review, lambda one: {**one, "apiVersion": "example.com/v9"}),
        " returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v9)",
    ),
    (
        lambda review: changed(review, lambda one: {**one, "kind": "X"}),
        " returned invalid object at index 0: invalid kind (expected Widget, received X)",
    ),
    (with_metadata(name="b"), " returned invalid object: must have the same name: a != b"),
    (with_metadata(uid="b"), " returned invalid object: must have the same UID: uid-1-of-widgets.example.com/default/a != b"),
    (with_metadata(labels={"a": 1}), " returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object"),
    (with_metadata(labels=[]), " returned invalid metadata: invalid metadata.labels of type []interface {} in converted object"),
]  # fmt: skip


@pytest.mark.parametrize(("webhook", "message"), WRONG, ids=range(len(WRONG)))
def test_an_invalid_response_is_an_internal_error(cluster: Cluster, webhook: Webhook, message: str) -> None:
    cluster.webhook = webhook
    made = cluster.ok("POST", V1, person("a", "Ada Lovelace"))
    code, status = cluster.call("GET", f"{V2}/a")
    assert (code, status.get("reason")) == (500, None)
    assert status["message"] == f"conversion webhook for example.com/v1, Kind=Widget{message}"
    assert cluster.ok("GET", f"{V1}/a") == made
    cluster.webhook = right
    assert cluster.ok("GET", f"{V2}/a")["spec"] == {"first": "Ada", "last": "Lovelace"}


def test_a_write_waits_only_for_its_own_version(cluster: Cluster) -> None:
    cluster.webhook = lambda _: "failed to call webhook: no"
    body = {**widget("a", {"first": "Ada", "last": "Lovelace"}), "apiVersion": "example.com/v2"}
    revision = cluster.api.revision
    code, status = cluster.call("POST", V2, body)
    assert (code, status["message"]) == (500, "conversion webhook for example.com/v2, Kind=Widget failed: no")
    assert cluster.api.revision == revision


# --- a changed storage version (A1), selectors in the requested version (A2) -----------------------------------------


def store_in(api: Api, name: str) -> None:
    """Make `name` the storage version of the definition."""
    found = copy.deepcopy(api.ok("GET", f"{CRDS}/widgets.example.com"))
    for one in found["spec"]["versions"]:
        one["storage"] = one["name"] == name
    api.ok("PUT", f"{CRDS}/widgets.example.com", found)


def two_versions(**more: Any) -> Object:
    """v1 has `old` and `both`, v2 has `new` and `both`; nothing converts."""
    fields = {"both": TEXT}
    return widgets(
        version("v1", spec(old=TEXT, **fields), subresources={}, **more),
        version("v2", spec(new=TEXT, **fields), storage=False, subresources={}, **more),
    )


def test_a1_objects_keep_the_fields_of_the_version_they_are_stored_in(api: Api) -> None:
    api.ok("POST", CRDS, two_versions())
    api.ok("POST", V1, widget("a", {"old": "1", "both": "2"}))
    store_in(api, "v2")
    assert api.ok("GET", f"{V1}/a")["spec"] == {"old": "1", "both": "2"}
    assert api.ok("GET", f"{V2}/a")["spec"] == {"both": "2"}
    assert [one["spec"] for one in api.ok("GET", V1)["items"]] == [{"old": "1", "both": "2"}]


def test_a1_a_write_of_the_same_object_stores_it_in_the_new_version(api: Api) -> None:
    api.ok("POST", CRDS, two_versions())
    api.ok("POST", V1, widget("a", {"old": "1", "both": "2"}))
    store_in(api, "v2")
    before = api.ok("GET", f"{V1}/a")
    written = api.ok("PUT", f"{V1}/a", before)
    assert written["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    assert written["spec"] == {"both": "2"}
    again = api.ok("PUT", f"{V1}/a", written)
    assert again["metadata"]["resourceVersion"] == written["metadata"]["resourceVersion"]


def test_a1_a_webhook_converts_from_the_version_an_object_is_stored_in(cluster: Cluster) -> None:
    cluster.ok("POST", V1, person("a", "Ada Lovelace"))
    store_in(cluster.api, "v2")
    cluster.ok("POST", V1, person("b", "Grace Hopper"))
    cluster.asked.clear()
    listed = cluster.ok("GET", V1)["items"]
    assert [one["spec"]["full"] for one in listed] == ["Ada Lovelace", "Grace Hopper"]
    assert [[one["apiVersion"] for one in asked["request"]["objects"]] for asked in cluster.asked] == [
        ["example.com/v2"]
    ]
    cluster.asked.clear()
    listed = cluster.ok("GET", V2)["items"]
    assert [one["spec"] for one in listed] == [
        {"first": "Ada", "last": "Lovelace"},
        {"first": "Grace", "last": "Hopper"},
    ]
    assert [[one["apiVersion"] for one in asked["request"]["objects"]] for asked in cluster.asked] == [
        ["example.com/v1"]
    ]


def test_a2_field_selectors_are_evaluated_on_the_requested_version(api: Api) -> None:
    made = two_versions()
    for one, field in zip(made["spec"]["versions"], ("old", "new"), strict=True):
        one["selectableFields"] = [{"jsonPath": f".spec.{field}"}]
    api.ok("POST", CRDS, made)
    api.ok("POST", V1, widget("a", {"old": "1"}))
    api.ok("POST", V1, widget("b", {"old": "2"}))
    api.ok("POST", V2, {**widget("c", {"new": "1"}), "apiVersion": "example.com/v2"})
    assert [one["metadata"]["name"] for one in api.ok("GET", f"{V1}?fieldSelector=spec.old=1")["items"]] == ["a"]
    assert api.ok("GET", f"{V2}?fieldSelector=spec.new=1")["items"] == []
    store_in(api, "v2")
    api.ok("POST", V2, {**widget("d", {"new": "1"}), "apiVersion": "example.com/v2"})
    assert [one["metadata"]["name"] for one in api.ok("GET", f"{V1}?fieldSelector=spec.old=1")["items"]] == ["a"]
    assert [one["metadata"]["name"] for one in api.ok("GET", f"{V2}?fieldSelector=spec.new=1")["items"]] == ["d"]


def test_a2_a_webhook_converts_before_fields_are_selected(cluster: Cluster) -> None:
    found = copy.deepcopy(cluster.ok("GET", f"{CRDS}/widgets.example.com"))
    found["spec"]["versions"][1]["selectableFields"] = [{"jsonPath": ".spec.first"}]
    cluster.ok("PUT", f"{CRDS}/widgets.example.com", found)
    cluster.ok("POST", V1, person("a", "Ada Lovelace"))
    cluster.ok("POST", V1, person("b", "Grace Hopper"))
    selected = cluster.ok("GET", f"{V2}?fieldSelector=spec.first=Grace")["items"]
    assert [one["metadata"]["name"] for one in selected] == ["b"]
    watch = cluster.answer("GET", f"{V2}?watch=true&fieldSelector=spec.first=Grace").watch
    assert watch is not None
    assert [event.entry.object["metadata"]["name"] for event in watch.initial] == ["b"]
    changed_name = copy.deepcopy(cluster.ok("GET", f"{V1}/b"))
    changed_name["spec"]["full"] = "Jean Bartik"
    cluster.ok("PUT", f"{V1}/b", changed_name)
    assert [event.type for event in cluster.read(watch)] == ["DELETED"]


def test_a_watch_ends_when_its_definition_serves_something_else(api: Api) -> None:
    api.ok("POST", CRDS, two_versions())
    watch = api.answer("GET", f"{V1}?watch=true").watch
    assert watch is not None
    path = f"{CRDS}/widgets.example.com"
    api.ok("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, content_type="application/merge-patch+json")
    assert not watch.over()
    store_in(api, "v2")
    assert watch.over()
    again = api.answer("GET", f"{V1}?watch=true").watch
    assert again is not None
    assert not again.over()
    api.ok("DELETE", path)
    assert again.over()


# --- field ownership -------------------------------------------------------------------------------------------------

APPLY = {"content_type": "application/apply-patch+yaml"}


def in_v2(name: str, **spec: str) -> Object:
    return {**widget(name, spec), "apiVersion": "example.com/v2"}


def owners(obj: Object) -> dict[str, Any]:
    """The fields of the spec that each manager owns."""
    return {one["manager"]: one["fieldsV1"].get("f:spec", {}) for one in obj["metadata"]["managedFields"]}


def test_a3_an_apply_conflicts_with_what_a_manager_owns_in_another_version(cluster: Cluster) -> None:
    cluster.ok("POST", f"{V1}?fieldManager=creator", person("a", "Ada Lovelace"))
    changed = in_v2("a", first="Augusta", last="Lovelace")
    code, refused = cluster.call("PATCH", f"{V2}/a?fieldManager=other", changed, **APPLY)
    assert (code, refused["message"]) == (
        409,
        'Apply failed with 1 conflict: conflict with "creator" using example.com/v1: .spec.full',
    )
    found = cluster.ok("PATCH", f"{V2}/a?fieldManager=other&force=true", changed, **APPLY)
    assert "f:full" not in owners(found)["creator"]
    assert owners(found)["other"] == {"f:first": {}, "f:last": {}}
    assert found["spec"] == {"first": "Augusta", "last": "Lovelace"}


def test_a3_an_apply_of_the_same_value_in_another_version_shares_it(cluster: Cluster) -> None:
    cluster.ok("POST", f"{V1}?fieldManager=creator", person("a", "Ada Lovelace"))
    found = cluster.ok("PATCH", f"{V2}/a?fieldManager=other", in_v2("a", first="Ada", last="Lovelace"), **APPLY)
    assert owners(found)["creator"]["f:full"] == {}
    assert owners(found)["other"] == {"f:first": {}, "f:last": {}}


def test_a3_an_apply_removes_what_its_manager_applied_in_another_version(cluster: Cluster) -> None:
    applied = {**person("a", "Ada Lovelace"), "apiVersion": "example.com/v1"}
    cluster.ok("PATCH", f"{V1}/a?fieldManager=one", applied, **APPLY)
    found = cluster.ok("PATCH", f"{V2}/a?fieldManager=one", in_v2("a", first="Ada"), **APPLY)
    assert owners(found)["one"] == {"f:first": {}}
    assert [one["apiVersion"] for one in found["metadata"]["managedFields"] if one["manager"] == "one"] == [
        "example.com/v2"
    ]


def test_a3_an_apply_fails_if_the_conversion_of_what_others_own_fails(cluster: Cluster) -> None:
    cluster.ok("POST", f"{V1}?fieldManager=creator", person("a", "Ada Lovelace"))
    reads = len(cluster.asked) + 1  # the stored object is read in v2 first
    cluster.webhook = lambda review: right(review) if len(cluster.asked) <= reads else "refused"
    changed = in_v2("a", first="Augusta", last="Lovelace")
    code, refused = cluster.call("PATCH", f"{V2}/a?fieldManager=other", changed, **APPLY)
    assert code == 500
    assert "conversion webhook for example.com/v2, Kind=Widget failed" in refused["message"]


def test_a3_an_update_takes_fields_that_a_manager_owns_in_another_version(cluster: Cluster) -> None:
    cluster.ok("POST", f"{V1}?fieldManager=creator", person("a", "Ada Lovelace"))
    merge = {"content_type": "application/merge-patch+json"}
    found = cluster.ok("PATCH", f"{V2}/a?fieldManager=other", {"spec": {"first": "Augusta"}}, **merge)
    assert owners(found)["other"] == {"f:first": {}}
    assert "f:full" not in owners(found)["creator"]


def test_the_scale_of_an_object_is_that_of_the_requested_version(cluster: Cluster) -> None:
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    made = copy.deepcopy(cluster.api.ok("GET", f"{CRDS}/widgets.example.com"))
    for one in made["spec"]["versions"]:
        one["schema"] = {"openAPIV3Schema": spec(replicas={"type": "integer"})}
        one["subresources"] = {"scale": paths}
    cluster.api.ok("PUT", f"{CRDS}/widgets.example.com", made)
    cluster.ok("POST", V1, widget("a", {"replicas": 2}))

    def doubled(one: Object) -> Object:
        v2 = one["apiVersion"].endswith("v2")
        replicas = one["spec"]["replicas"] * 2 if v2 else one["spec"]["replicas"] // 2
        return {**one, "spec": {"replicas": replicas}}

    def webhook(review: Object) -> Object:
        asked = review["request"]
        objects = [doubled({**one, "apiVersion": asked["desiredAPIVersion"]}) for one in asked["objects"]]
        answer = right({**review, "request": {**asked, "objects": []}})
        return {**answer, "response": {**answer["response"], "convertedObjects": objects}}

    cluster.webhook = webhook
    assert cluster.ok("GET", f"{V1}/a/scale")["spec"] == {"replicas": 2}
    found = cluster.ok("GET", f"{V2}/a/scale")
    assert found["spec"] == {"replicas": 4}
    cluster.ok("PUT", f"{V2}/a/scale", {**found, "spec": {"replicas": 6}})
    assert cluster.ok("GET", f"{V1}/a")["spec"] == {"replicas": 3}
