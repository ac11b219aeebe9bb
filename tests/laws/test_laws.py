"""The laws that hold for every kind and every verb on a real server, with random objects and writes."""

import itertools
import json
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.model import Schema
from tests.apiserver.api import CRDS, Api
from tests.apiserver.bodies import body_of
from tests.apiserver.crd.test_custom import version, widgets
from tests.laws.generator import changed

Object = dict[str, Any]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LAW = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
JSON_PATCH, STRATEGIC = "application/json-patch+json", "application/strategic-merge-patch+json"

#: Kinds whose objects the server changes after it has stored them.
RECONCILED = frozenset({"customresourcedefinitions", "apiservices"})

FIELDS = {
    "size": {"type": "integer", "minimum": 0},
    "mode": {"type": "string", "default": "slow", "enum": ["slow", "fast"]},
    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "ports": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}},
    },
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}  # fmt: skip
CUSTOM = {"type": "object", "properties": {"spec": {"type": "object", "properties": FIELDS}}}
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": {"size": 1}}


def new_api() -> Api:
    api = Api()
    numbers = itertools.count(1)
    api.context.uid = lambda key: str(UUID(int=next(numbers)))  # Jobs have it in their labels
    api.ok("POST", CRDS, widgets(version("v1", CUSTOM), version("v2", CUSTOM, storage=False)))
    return api


def stored_resources() -> list[Resource]:
    """Every resource whose objects can be created, read and changed."""
    wanted = {"create", "get", "update", "patch", "watch"}
    return [one for one in new_api().apiserver.catalog.resources() if wanted <= one.verbs and one.version != "v2"]


RESOURCES = sorted(stored_resources(), key=lambda one: (one.group, one.version, one.plural))


def path_of(resource: Resource, name: str = "") -> str:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    place = "/namespaces/default" if resource.namespaced else ""
    return f"{root}{place}/{resource.plural}" + (f"/{name}" if name else "")


def schema_of(api: Api, resource: Resource) -> Schema:
    registration = api.apiserver.registration(resource)
    return registration.schema or registration.apply_schema


@st.composite
def cases(draw: st.DrawFn) -> tuple[Api, Resource, Object]:
    """A new server, a resource, and a body for it that may be invalid."""
    api, resource = new_api(), draw(st.sampled_from(RESOURCES))
    body = WIDGET if resource.group == "example.com" else body_of(resource)
    return api, resource, draw(changed(body, schema_of(api, resource)))


def comparable(answer: Any) -> Any:
    """An answer without what differs from request to request: uids, revisions, times and allocated numbers."""
    if not isinstance(answer, dict):
        return answer
    text = json.dumps(answer, sort_keys=True)
    uid = (answer.get("metadata") or {}).get("uid")
    if uid:
        text = text.replace(uid, "<uid>")
    made: Object = json.loads(text)
    (made.get("metadata") or {}).pop("resourceVersion", None)
    spec = made.get("spec")
    if isinstance(spec, dict):
        for field in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
            spec.pop(field, None)
        for port in spec.get("ports") or ():
            if isinstance(port, dict):
                port.pop("nodePort", None)
    return made


def without_owners(obj: Object) -> Object:
    meta = {key: value for key, value in obj["metadata"].items() if key not in ("managedFields", "resourceVersion")}
    return {**obj, "metadata": meta}


def warnings_of(api: Api, method: str, target: str, body: Any, **headers: str) -> tuple[int, Any, list[str]]:
    response = api.answer(method, target, body, **headers)
    assert response.body is not None
    return response.status, response.body.to_object(), list(response.warnings)


@LAW
@given(cases())
def test_a_read_returns_what_the_write_returned(case):
    api, resource, body = case
    code, made = api.call("POST", path_of(resource), orjson.dumps(body))
    if code != 201 or resource.plural in RECONCILED:
        return
    name = made["metadata"]["name"]
    assert api.ok("GET", path_of(resource, name)) == made
    (listed,) = [one for one in api.ok("GET", path_of(resource))["items"] if one["metadata"]["name"] == name]
    assert {"apiVersion": made["apiVersion"], "kind": made["kind"], **listed} == made


@LAW
@given(cases(), st.data())
def test_a_dry_run_changes_nothing_and_answers_as_the_real_run(case, data):
    api, resource, body = case
    writes = [("POST", path_of(resource), orjson.dumps(body), {})]
    name = body["metadata"]["name"]
    again = data.draw(changed(body, schema_of(api, resource)))
    writes += [
        ("PUT", path_of(resource, name), orjson.dumps(again), {}),
        ("PATCH", path_of(resource, name), orjson.dumps(again), {"content_type": MERGE}),
        ("PATCH", path_of(resource, name) + "?fieldManager=m", orjson.dumps(again), {"content_type": APPLY}),
        ("DELETE", path_of(resource, name), b"", {}),
    ]
    for method, path, sent, headers in writes:
        revision = api.revision
        dry = api.call(method, path + ("&" if "?" in path else "?") + "dryRun=All", sent, **headers)
        assert api.revision == revision
        real = api.call(method, path, sent, **headers)
        assert dry[0] == real[0], (method, dry, real)
        if resource.plural not in RECONCILED:
            assert comparable(dry[1]) == comparable(real[1]), method


@LAW
@given(cases())
def test_applying_again_writes_nothing(case):
    api, resource, body = case
    path = path_of(resource, body["metadata"]["name"]) + "?fieldManager=m&force=true"
    code, _ = api.call("PATCH", path, orjson.dumps(body), content_type=APPLY)
    if code not in (200, 201):
        return
    settled = api.ok("PATCH", path, orjson.dumps(body), content_type=APPLY)
    revision = api.revision
    assert api.ok("PATCH", path, orjson.dumps(body), content_type=APPLY) == settled
    assert api.revision == revision


@LAW
@given(cases())
def test_what_strict_validation_accepts_the_others_accept(case):
    api, resource, body = case
    answers = {}
    for level in ("Strict", "Warn", "Ignore"):
        path = f"{path_of(resource)}?dryRun=All&fieldValidation={level}"
        answers[level] = warnings_of(api, "POST", path, orjson.dumps(body))
    codes = {level: code for level, (code, _, _) in answers.items()}
    assert codes["Warn"] == codes["Ignore"]
    assert comparable(answers["Warn"][1]) == comparable(answers["Ignore"][1])
    about_fields = [one for one in answers["Warn"][2] if "unknown field" in one or "duplicate field" in one]
    if codes["Strict"] == 201:
        assert codes["Warn"] == 201
        assert not about_fields
        assert comparable(answers["Strict"][1]) == comparable(answers["Warn"][1])
    elif codes["Warn"] == 201:
        assert about_fields
        assert all(one in answers["Strict"][1]["message"] for one in about_fields)


@LAW
@given(cases())
def test_a_write_of_the_present_state_writes_nothing(case):
    api, resource, body = case
    code, made = api.call("POST", path_of(resource), orjson.dumps(body))
    if code != 201:
        return
    path, custom = path_of(resource, made["metadata"]["name"]), resource.custom
    made = api.ok("GET", path)
    if resource.plural in ("persistentvolumeclaims", "jobs"):  # as stored, they lack defaults that each read sets
        made = api.ok("PUT", path, orjson.dumps(made))
    revision = api.revision
    spec = {"spec": made["spec"]} if "spec" in made else {}
    replace = [{"op": "replace", "path": "/spec", "value": made["spec"]}] if spec else []
    for content_type, patch in (
        (MERGE, {}),
        (MERGE, {"metadata": {"labels": made["metadata"].get("labels") or {}}}),
        (JSON_PATCH, replace),
        *([] if custom else [(STRATEGIC, {}), (STRATEGIC, spec)]),
    ):
        found = api.ok("PATCH", path, orjson.dumps(patch), content_type=content_type)
        assert (found, api.revision) == (made, revision), (content_type, patch)
    assert api.ok("PUT", path, orjson.dumps(made)) == made
    assert api.revision == revision


@LAW
@given(st.data())
def test_a_watch_replayed_equals_the_list(data):
    api = new_api()
    resources = [one for one in RESOURCES if one.plural in ("configmaps", "widgets", "services", "deployments")]
    resource = data.draw(st.sampled_from(resources))
    before = api.ok("GET", path_of(resource))
    start = before["metadata"]["resourceVersion"]
    selector = data.draw(st.sampled_from(["", "&labelSelector=a%3Db"]))
    watch = api.answer("GET", f"{path_of(resource)}?watch=true&resourceVersion={start}{selector}").watch
    body = WIDGET if resource.group == "example.com" else body_of(resource)
    header = {"apiVersion": resource.api_version, "kind": resource.kind}
    state = {one["metadata"]["name"]: {**header, **one} for one in before["items"] if not selector}
    for _ in range(data.draw(st.integers(1, 12))):
        name = data.draw(st.sampled_from(["a", "b", "c"]))
        labels = data.draw(st.sampled_from([{}, {"a": "b"}, {"a": "c"}]))
        method = data.draw(st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]))
        obj = {**body, "metadata": {"name": name, "labels": labels}}
        if method == "POST":
            api.call("POST", path_of(resource), orjson.dumps(obj))
        elif method == "DELETE":
            api.call("DELETE", path_of(resource, name))
        else:
            patch = {"metadata": {"labels": {"a": None, **labels}}}
            sent = patch if method == "PATCH" else obj
            content_type = MERGE if method == "PATCH" else "application/json"
            api.call(method, path_of(resource, name), orjson.dumps(sent), content_type=content_type)
        if data.draw(st.booleans()):
            _replay(watch.read(), state)
    _replay(watch.read(), state)
    listed = api.ok("GET", f"{path_of(resource)}?x=1{selector}")["items"]
    assert state == {one["metadata"]["name"]: {**header, **one} for one in listed}


def _replay(events: list[Any], state: dict[str, Object]) -> None:
    for event in events:
        seen = orjson.loads(event.line)
        name = seen["object"]["metadata"]["name"]
        assert seen["type"] == ("MODIFIED" if name in state else "ADDED") or seen["type"] == "DELETED"
        if seen["type"] == "DELETED":
            assert state.pop(name)
        else:
            state[name] = seen["object"]


#: Pairs of paths under which the same objects are served in two forms.
TWO_FORMS = [
    ("/apis/autoscaling/v1", "/apis/autoscaling/v2", "horizontalpodautoscalers"),
    ("/api/v1", "/apis/events.k8s.io/v1", "events"),
    ("/apis/example.com/v1", "/apis/example.com/v2", "widgets"),
]


@LAW
@given(st.sampled_from(TWO_FORMS), st.booleans(), st.data())
def test_a_conversion_there_and_back_changes_nothing(forms, forward, data):
    api = new_api()
    one, other, plural = forms
    first, second = (one, other) if forward else (other, one)
    (resource,) = [r for r in api.apiserver.catalog.resources() if r.plural == plural and path_of(r).startswith(first)]
    body = {**WIDGET, "apiVersion": resource.api_version} if plural == "widgets" else body_of(resource)
    sent = data.draw(changed(body, schema_of(api, resource)))
    if plural == "horizontalpodautoscalers":
        sent["spec"] = body["spec"]  # autoscaling/v1 has one number for the utilization of the CPU, and loses others
    code, made = api.call("POST", f"{first}/namespaces/default/{plural}", orjson.dumps(sent))
    if code != 201:
        return
    there = f"{second}/namespaces/default/{plural}/{made['metadata']['name']}"
    revision = api.revision
    found = api.ok("GET", there)
    code, back = api.call("PUT", there, orjson.dumps(found))
    again = api.ok("GET", f"{first}/namespaces/default/{plural}/{made['metadata']['name']}")
    if plural == "events":  # a write through the other group drops managedFields, as on the real server
        assert without_owners(back if code == 200 else found) == without_owners(found)
        assert without_owners(again) == without_owners(made)
    else:
        assert again == made
        assert code != 200 or (back == found and api.revision == revision)
