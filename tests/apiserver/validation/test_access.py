"""Roles and bindings, events: what is said of them.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest

from fakekube.apiserver.registry.builtin import STRATEGIES
from tests.apiserver.api import Api
from tests.apiserver.validation.support import check_new, check_update, complete

GROUP = "rbac.authorization.k8s.io"
HERE = {"name": "x", "namespace": "default"}
ROLE = {"metadata": HERE, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
BINDING = {
    "metadata": HERE,
    "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"},
    "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}, {"kind": "User", "name": "u"}],
}

NEW = [
    ("Role", ROLE, []),
    ("Role", {"metadata": HERE, "rules": [{"apiGroups": [""], "resources": ["pods"]}]},
     ["rules[0].verbs: Required value: verbs must contain at least one value"]),
    ("Role", {"metadata": HERE, "rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]},
     ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs']),
    ("ClusterRole", {"rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]}, []),
    ("ClusterRole", {"rules": [{"nonResourceURLs": ["/x"], "resources": ["pods"], "verbs": ["get"]}]},
     ['rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs']),
    ("Role", {"metadata": HERE, "rules": [{"resources": ["pods"], "verbs": ["get"]}]},
     ["rules[0].apiGroups: Required value: resource rules must supply at least one api group"]),
    ("RoleBinding", BINDING, []),
    ("RoleBinding", {"metadata": HERE, "roleRef": {"apiGroup": "x", "kind": "Group", "name": ""}}, [
        f'roleRef.apiGroup: Unsupported value: "x": supported values: "{GROUP}"',
        'roleRef.kind: Unsupported value: "Group": supported values: "Role", "ClusterRole"',
        "roleRef.name: Required value",
    ]),
    ("RoleBinding", {**BINDING, "subjects": [{"kind": "ServiceAccount", "name": "s"}]}, []),
    ("ClusterRoleBinding", {"metadata": {"name": "x"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
                            "subjects": [{"kind": "ServiceAccount", "name": "s"}]},
     ["subjects[0].namespace: Required value"]),
    ("RoleBinding", {**BINDING, "subjects": [{"kind": "Robot", "name": "r"}]},
     ['subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"']),
    ("ClusterRoleBinding", {**BINDING, "metadata": {"name": "x"}}, ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"']),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "obj", "expected"), NEW)
def test_new(kind, obj, expected):
    check_new(kind, obj, expected)


def test_a_binding_keeps_its_role():
    change = {"roleRef": {"name": "other"}}
    check_update("RoleBinding", BINDING, change, [
        'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}: cannot change roleRef',
    ])  # fmt: skip


def test_groups_of_a_binding_are_filled_in():
    bound = complete(
        "RoleBinding", {"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]}
    )
    assert bound["roleRef"]["apiGroup"] == GROUP
    assert bound["subjects"][0]["apiGroup"] == GROUP


CORE, NEWER = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
EVENT = {
    "metadata": {"name": "e"},
    "eventTime": "2026-01-01T00:00:00.000001Z",
    "action": "Bind",
    "reason": "Tested",
    "reportingController": "example.com/c",
    "reportingInstance": "c-1",
    "type": "Normal",
    "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    "note": "text",
}


def test_an_event_is_one_object_in_two_versions():
    api = Api()
    made = api.ok("POST", NEWER, EVENT)
    seen = api.ok("GET", f"{CORE}/e")
    assert made["metadata"]["uid"] == seen["metadata"]["uid"]
    assert (seen["message"], seen["involvedObject"]["name"]) == ("text", "p")
    assert (seen["reportingComponent"], seen["reportingInstance"]) == ("example.com/c", "c-1")
    assert "note" not in seen and "regarding" not in seen  # noqa: PT018
    back = api.ok("GET", f"{NEWER}/e")
    assert {key: back[key] for key in EVENT if key != "metadata"} == {k: v for k, v in EVENT.items() if k != "metadata"}
    api.ok("DELETE", f"{CORE}/e")
    assert api.refused("GET", f"{NEWER}/e")[0] == 404


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"eventTime": None}, "eventTime"),
        ({"action": None}, "action"),
        ({"reason": None}, "reason"),
        ({"reportingController": None}, "reportingController"),
        ({"reportingInstance": None}, "reportingInstance"),
        ({"type": "Bad"}, "type"),
    ],
)
def test_the_newer_version_of_an_event_is_checked(change, field):
    event = {key: value for key, value in {**EVENT, **change}.items() if value is not None}
    code, reason, message = Api().refused("POST", NEWER, event)
    assert (code, reason) == (422, "Invalid")
    assert f"{field}: " in message


def test_the_newer_version_of_an_event_keeps_what_it_says():
    api = Api()
    made = api.ok("POST", NEWER, EVENT)
    code, _, message = api.refused("PUT", f"{NEWER}/e", {**made, "note": "other"})
    assert (code, "message: Invalid value" in message) == (422, True)
    series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}
    assert api.ok("PUT", f"{NEWER}/e", {**made, "series": series})["series"] == series


def test_the_newer_version_of_an_event_keeps_its_object():
    api = Api()
    made = api.ok("POST", NEWER, EVENT)
    code, _, message = api.refused("PUT", f"{NEWER}/e", {**made, "regarding": {**EVENT["regarding"], "name": "q"}})
    shown = (
        '{"Kind":"Pod","Namespace":"default","Name":"q","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}'
    )
    assert (code, f"involvedObject: Invalid value: {shown}: field is immutable" in message) == (422, True)
    assert "source: Invalid value" in api.refused("POST", NEWER, {**EVENT, "deprecatedSource": {"host": "h"}})[2]


SERIES = {"count": 1}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"metadata": {"namespace": "x"}, "involvedObject": {"namespace": "y"}}, ['involvedObject.namespace: Invalid value: "y": does not match event.namespace']),
        ({"metadata": {"namespace": "x"}, "involvedObject": {}}, ['involvedObject.namespace: Invalid value: "": does not match event.namespace']),
        ({"metadata": {"namespace": "default"}, "involvedObject": {}}, []),
        (
            {"metadata": {"namespace": "default"}, "involvedObject": {}, "eventTime": "2026-01-01T00:00:00.000000Z", "reportingComponent": "a",
             "reportingInstance": "i", "action": "x" * 129, "reason": "r"},
            ['action: Invalid value: "": can have at most 128 characters'],
        ),
    ],
)  # fmt: skip
def test_an_event_of_core(event, expected):
    assert [str(error) for error in STRATEGIES["events"].validate(event)] == expected


def test_a_series_has_two_events_at_least():
    event = {"metadata": {"name": "e", "namespace": "default"}, "regarding": {}, "type": "Normal", "series": SERIES}
    found = [str(error) for error in STRATEGIES["events.events.k8s.io"].validate(event)]
    assert found[:2] == [
        'series.count: Invalid value: "": should be at least 2',
        "series.lastObservedTime: Required value",
    ]


LATER = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}


@pytest.mark.parametrize(
    ("stored", "sent", "errors"),
    [
        (None, LATER, []),
        (LATER, None, []),
        (LATER, {**LATER, "count": 3}, []),
        (LATER, {**LATER, "count": 1}, ["series.count"]),
        (LATER, {"count": 2}, ["series.lastObservedTime"]),
        (None, {"count": 1}, ["series.count", "series.lastObservedTime"]),
        ({"count": 1}, {"count": 1}, []),
        ({"count": 1}, {"count": 0}, ["series.count", "series.lastObservedTime"]),
    ],
)
def test_only_a_series_that_changes_is_validated(stored, sent, errors):
    """`ValidateEventUpdate` of `pkg/apis/core/validation/events.go`."""
    event = {key: value for key, value in EVENT.items() if key != "metadata"}
    meta = {"name": "e", "namespace": "default", "resourceVersion": "1"}
    old, new = ({**event, "metadata": meta, **({"series": one} if one else {})} for one in (stored, sent))
    found = STRATEGIES["events.events.k8s.io"].validate_update(new, old)
    assert [str(error).partition(":")[0] for error in found] == errors


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"regarding": {**EVENT["regarding"], "name": "other"}}, "involvedObject"),
        ({"reason": "Other"}, "reason"),
        ({"note": "other"}, "message"),
        ({"deprecatedSource": {"component": "c"}}, "source"),
        ({"deprecatedFirstTimestamp": "2026-01-01T00:00:00Z"}, "firstTimestamp"),
        ({"deprecatedLastTimestamp": "2026-01-01T00:00:00Z"}, "lastTimestamp"),
        ({"deprecatedCount": 3}, "count"),
        ({"type": "Warning"}, "type"),
        ({"eventTime": "2027-01-01T00:00:00.000000Z"}, "eventTime"),
        ({"action": "Other"}, "action"),
        ({"related": {"kind": "Pod", "name": "r"}}, "related"),
        ({"reportingController": "example.com/other"}, "reportingController"),
        ({"reportingInstance": "other"}, "reportingInstance"),
    ],
)
def test_no_other_field_of_the_newer_version_changes(change, field):
    meta = {"name": "e", "namespace": "default", "resourceVersion": "1"}
    old = {**EVENT, "metadata": meta}
    found = [str(error) for error in STRATEGIES["events.events.k8s.io"].validate_update({**old, **change}, old)]
    assert {error.partition(":")[0] for error in found if error.endswith("field is immutable")} == {field}
    assert (
        STRATEGIES["events.events.k8s.io"].validate_update({**old, "metadata": {**meta, "labels": {"a": "b"}}}, old)
        == []
    )
