"""Admission webhooks: what they are sent, which answers are accepted, and what the request is answered then."""

import base64
import json

import pytest

from fakekube.apiserver.admission.webhooks import refusal
from fakekube.apiserver.needs import Posts, Reply
from tests.apiserver.api import CONFIGMAPS, PODS, Api
from tests.apiserver.validation.test_pods import POD

BASE = "/apis/admissionregistration.k8s.io/v1"
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://hook.example.com/x"},
    "rules": [
        {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps", "pods/exec"]}
    ],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
OBJECT = {"metadata": {"name": "a"}, "data": {"x": "1"}}
CALLING = 'Internal error occurred: failed calling webhook "a.example.com": '
INVALID = f"{CALLING}received invalid webhook response: "


def hooked(kind, *changes):
    api = Api()
    name, plural = f"{kind.capitalize()}WebhookConfiguration", f"{kind}webhookconfigurations"
    hooks = [{**HOOK, **change} for change in changes or ({},)]
    api.ok("POST", f"{BASE}/{plural}", {"kind": name, "metadata": {"name": "h"}, "webhooks": hooks})
    return api


def answered(**response):
    """Replies with this response, the uid of the request, and the apiVersion and kind of the review."""

    def reply(need):
        if not isinstance(need, Posts):
            return None
        return tuple(
            Reply({**{key: post.body[key] for key in ("apiVersion", "kind")}, "response": {"uid": post.body["request"]["uid"], "allowed": True, **response}})
            for post in need.posts
        )  # fmt: skip

    return reply


def document(found):
    return lambda need: tuple(Reply(found) for _ in need.posts)


def patch(*operations):
    return {"patch": base64.b64encode(json.dumps(operations).encode()).decode(), "patchType": "JSONPatch"}


ADD = patch({"op": "add", "path": "/data/y", "value": "2"})

#: Kind, response, code and message.
ANSWERS = [
    ("validating", {"uid": "other"}, 500, INVALID + 'expected response.uid="uid-1-of-admission/a.example.com/configmaps/default/", got "other"'),
    ("validating", {"uid": None}, 500, INVALID + 'expected response.uid="uid-1-of-admission/a.example.com/configmaps/default/", got ""'),
    ("validating", ADD, 500, INVALID + "validating webhook may not return response.patch"),
    ("validating", {"patchType": "JSONPatch"}, 500, INVALID + "validating webhook may not return response.patchType"),
    ("mutating", {"patch": ADD["patch"]}, 500, INVALID + "webhook returned response.patch but not response.patchType"),
    ("mutating", {"patchType": "JSONPatch"}, 500, INVALID + "webhook returned response.patchType but not response.patch"),
    ("mutating", {**ADD, "patchType": ""}, 500, INVALID + 'webhook returned invalid response.patchType of ""'),
    ("mutating", {**ADD, "patchType": "Merge"}, 500, CALLING + 'unsupported patch type "Merge"'),
    ("mutating", patch({"op": "add", "path": "/data/y", "value": 2}), 500, "Internal error occurred: …"),
    ("mutating", patch({"op": "remove", "path": "/data/z"}), 500, "Internal error occurred: …"),
    ("mutating", patch({"op": "move", "path": "/data/z"}), 500, "Internal error occurred: …"),
    ("mutating", {"patch": "AAAA", "patchType": "JSONPatch"}, 500, CALLING + "received undecodable patch in webhook response: …"),
    ("mutating", {"patch": "AAA", "patchType": "JSONPatch"}, 500, CALLING + "…"),
    ("validating", {"allowed": "no"}, 500, CALLING + "failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool"),
    ("validating", {"allowed": False}, 400, 'admission webhook "a.example.com" denied the request without explanation'),
    ("mutating", {"allowed": False, "status": {"message": "no", "code": 403}}, 403, 'admission webhook "a.example.com" denied the request: no'),
    ("validating", {"allowed": False, "status": {"reason": "Bad"}}, 400, 'admission webhook "a.example.com" denied the request: Bad'),
]  # fmt: skip


def same(found, expected):
    begin, dots, _ = expected.partition("…")
    return found.startswith(begin) if dots else found == expected


@pytest.mark.parametrize(("kind", "response", "code", "message"), ANSWERS)
def test_answers_that_refuse_a_request(kind, response, code, message):
    found = hooked(kind).refused("POST", CONFIGMAPS, OBJECT, reply=answered(**response))
    assert found[0] == code
    assert same(found[2], message), found[2]


@pytest.mark.parametrize("kind", ["mutating", "validating"])
@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}, INVALID + "webhook response was absent"),
        ({"response": {"uid": "uid-1-of-admission/a.example.com/configmaps/default/", "allowed": True}}, INVALID + "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="),
    ],
)  # fmt: skip
def test_documents_that_are_no_answers(kind, found, message):
    assert hooked(kind).refused("POST", CONFIGMAPS, OBJECT, reply=document(found))[2] == message
    ignoring = hooked(kind, {"failurePolicy": "Ignore"})
    assert ignoring.ok("POST", CONFIGMAPS, OBJECT, reply=document(found))["data"] == {"x": "1"}


@pytest.mark.parametrize("kind", ["mutating", "validating"])
def test_a_call_that_fails(kind):
    def reply(need):
        return tuple(Reply(problem="no route") for _ in need.posts)

    assert hooked(kind).refused("POST", CONFIGMAPS, OBJECT, reply=reply)[2] == f"{CALLING}no route"
    assert hooked(kind, {"failurePolicy": "Ignore"}).ok("POST", CONFIGMAPS, OBJECT, reply=reply)["data"] == {"x": "1"}


def test_the_answers_of_v1beta1_are_not_checked():
    api = hooked("mutating", {"admissionReviewVersions": ["v9", "v1beta1", "v1"]})
    assert api.ok("POST", CONFIGMAPS, OBJECT, reply=answered(uid="other", **ADD))["data"] == {"x": "1", "y": "2"}
    assert api.needs[0].posts[0].body["apiVersion"] == "admission.k8s.io/v1beta1"


@pytest.mark.parametrize("response", [{}, {"patch": ""}, patch()])
def test_an_answer_without_a_patch_changes_nothing(response):
    response = response if response.get("patch") else {}
    assert hooked("mutating").ok("POST", CONFIGMAPS, OBJECT, reply=answered(**response))["data"] == {"x": "1"}


@pytest.mark.parametrize(
    ("patched", "problem"),
    [
        ({"op": "add"}, "object into Go value of type jsonpatch.Patch"),
        ({}, "object into Go value of type jsonpatch.Patch"),
        ("x", "string into Go value of type jsonpatch.Patch"),
        (["x"], "string into Go value of type jsonpatch.Operation"),
    ],
)
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_a_patch_that_is_no_list_of_operations_is_a_failed_call(policy, patched, problem):
    api = hooked("mutating", {"failurePolicy": policy})
    sent = base64.b64encode(json.dumps(patched).encode()).decode()
    reply = answered(allowed=True, patch=sent, patchType="JSONPatch")
    code, shown = api.call("POST", CONFIGMAPS, OBJECT, reply=reply)
    assert code == (201 if policy == "Ignore" else 500)
    if policy == "Fail":
        why = f"received undecodable patch in webhook response: json: cannot unmarshal {problem}"
        assert shown["message"] == f"{CALLING}{why}"


@pytest.mark.parametrize("patch_type", [{}, {"patchType": "Other"}, {"patchType": ""}])
def test_the_type_of_a_patch_is_not_read_in_v1beta1(patch_type):
    api = hooked("mutating", {"admissionReviewVersions": ["v1beta1"]})
    sent = base64.b64encode(json.dumps([{"op": "add", "path": "/data/y", "value": "2"}]).encode()).decode()
    made = api.ok("POST", CONFIGMAPS, OBJECT, reply=answered(allowed=True, patch=sent, **patch_type))
    assert made["data"] == {"x": "1", "y": "2"}


def test_webhooks_that_mutate_are_called_in_their_order():
    api = hooked("mutating", {}, {"name": "b.example.com"})
    seen = []

    def reply(need):
        obj = need.posts[0].body["request"]["object"]
        seen.append(obj["data"])
        return answered(**patch({"op": "add", "path": f"/data/n{len(seen)}", "value": "x"}))(need)

    made = api.ok("POST", CONFIGMAPS, OBJECT, reply=reply)
    assert seen == [{"x": "1"}, {"x": "1", "n1": "x"}]
    assert made["data"] == {"x": "1", "n1": "x", "n2": "x"}
    assert [len(need.posts) for need in api.needs] == [1, 1]


def test_webhooks_that_validate_are_called_together_and_the_first_refusal_counts():
    api = hooked("validating", {}, {"name": "b.example.com"}, {"name": "c.example.com", "timeoutSeconds": 3})

    def reply(need):
        return tuple(
            Reply({**post.body, "response": {"uid": post.body["request"]["uid"], "allowed": number == 0, "warnings": [f"w{number}"]}})
            for number, post in enumerate(need.posts)
        )  # fmt: skip

    assert api.refused("POST", CONFIGMAPS, OBJECT, reply=reply)[2].startswith(
        'admission webhook "b.example.com" denied'
    )
    assert [[post.timeout for post in need.posts] for need in api.needs] == [[10.0, 10.0, 3.0]]


def test_warnings_of_webhooks_are_returned():
    response = hooked("validating").answer("POST", CONFIGMAPS, OBJECT, reply=answered(warnings=["careful", "now"]))
    assert response.status == 201
    assert list(response.warnings) == ["careful", "now"]


@pytest.mark.parametrize(
    ("effects", "accepted"), [("None", True), ("NoneOnDryRun", True), ("Some", False), ("Unknown", False)]
)
@pytest.mark.parametrize("kind", ["mutating", "validating"])
def test_dry_runs_call_only_webhooks_without_side_effects(kind, effects, accepted):
    api = hooked(kind)
    store = api.apiserver.store
    collection = f"{kind}webhookconfigurations.admissionregistration.k8s.io"
    entry = store.get(collection, "h")
    store.update(
        collection, "h", entry, {**entry.object, "webhooks": [{**entry.object["webhooks"][0], "sideEffects": effects}]}
    )
    code, shown = api.call("POST", f"{CONFIGMAPS}?dryRun=All", OBJECT, reply=answered())
    assert code == (201 if accepted else 400)
    if not accepted:
        assert shown["message"] == 'admission webhook "a.example.com" does not support dry run'
    assert api.ok("POST", CONFIGMAPS, OBJECT, reply=answered())["data"] == {"x": "1"}


def test_a_connection_cannot_be_changed():
    api = hooked("mutating")
    api.ok("POST", PODS, {"metadata": {"name": "p"}, **POD})
    code, _, message = api.refused("POST", f"{PODS}/p/exec?command=ls&stdout=true", reply=answered(**ADD))
    assert code == 500
    assert "attempted to modify the object, which is not supported for this operation" in message


def test_a_deletion_cannot_be_changed():
    api = hooked("mutating")
    api.ok("POST", CONFIGMAPS, OBJECT, reply=answered())
    code, _, message = api.refused("DELETE", f"{CONFIGMAPS}/a", reply=answered(**ADD))
    assert code == 500
    assert "attempted to modify the object, which is not supported for this operation" in message


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        ({}, 400, "denied the request without explanation"),
        ({"code": 399}, 400, "denied the request without explanation"),
        ({"code": 401, "message": "m", "reason": "r"}, 401, "denied the request: m"),
        ({"reason": "r"}, 400, "denied the request: r"),
    ],
)
def test_the_status_of_a_refusal(status, code, text):
    found = refusal("a", {**status, "details": {"name": "x"}})
    assert (found.code, found.message, found.reason) == (
        code,
        f'admission webhook "a" {text}',
        status.get("reason") or "",
    )
    assert found.details == {"name": "x"}


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {}),
        ("?dryRun=All", {"dryRun": ["All"]}),
        ("?fieldManager=me", {"fieldManager": "me"}),
        ("?fieldValidation=Warn", {"fieldValidation": "Warn"}),
    ],
)
def test_the_options_of_the_request_are_sent(query, options):
    api = hooked("validating")
    api.ok("POST", f"{CONFIGMAPS}{query}", OBJECT, reply=answered())
    sent = api.needs[0].posts[0].body["request"]
    assert sent["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", **options}
    assert (sent["operation"], sent["dryRun"], sent["name"]) == ("CREATE", "dryRun" in query, "a")
    assert (sent["object"]["data"], sent["oldObject"]) == ({"x": "1"}, None)
    if "dryRun" in query:
        return
    api.ok("PUT", f"{CONFIGMAPS}/a{query}", {**OBJECT, "data": {"x": "2"}}, reply=answered())
    sent = api.needs[1].posts[0].body["request"]
    assert sent["options"] == {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", **options}
    assert (sent["operation"], sent["object"]["data"], sent["oldObject"]["data"]) == ("UPDATE", {"x": "2"}, {"x": "1"})


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {}),
        ("?gracePeriodSeconds=0", {"gracePeriodSeconds": 0}),
        ("?propagationPolicy=Orphan", {"propagationPolicy": "Orphan"}),
    ],
)
def test_the_options_of_a_deletion_are_sent(query, options):
    api = hooked("validating")
    api.ok("POST", CONFIGMAPS, OBJECT, reply=answered())
    api.ok("DELETE", f"{CONFIGMAPS}/a{query}", reply=answered())
    sent = api.needs[1].posts[0].body["request"]
    assert {key: sent["options"].get(key) for key in options} == options
    assert sent["options"]["kind"] == "DeleteOptions"
    assert (sent["operation"], sent["object"], sent["oldObject"]["data"]) == ("DELETE", None, {"x": "1"})
