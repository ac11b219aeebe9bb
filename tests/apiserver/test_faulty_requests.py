"""Requests that faults affect, in the server itself: what happens before, instead of and after they are processed."""

import pytest

from fakekube.apiserver.damage import Damage
from fakekube.apiserver.faults.fault import Fault
from fakekube.apiserver.faults.rule import FaultRule
from fakekube.apiserver.needs import Delay
from tests.apiserver.api import CONFIGMAPS, Api

OBJECT = {"metadata": {"name": "a"}, "data": {"x": "1"}}


def faulty(**given):
    api = Api()
    rule = FaultRule(**given)
    api.apiserver.faults.arm(rule)
    return api, rule


def names(api):
    return [one["metadata"]["name"] for one in api.ok("GET", CONFIGMAPS)["items"]]


@pytest.mark.parametrize(
    ("given", "code", "stored"),
    [
        ({"error": 503}, 503, False),
        ({"error": 504, "committed": True}, 504, True),
        ({"error": 500}, 500, False),
        ({"error": 502, "committed": True}, 502, True),
        ({"error": 408}, 408, False),
        ({"delay": 3}, 201, True),
    ],
)
def test_errors_before_and_after_a_write(given, code, stored):
    api, rule = faulty(verb="create", **given)
    response = api.answer("POST", CONFIGMAPS, OBJECT)
    assert response.status == code
    assert ("a" in names(api)) is stored
    assert (rule.seen, rule.hits) == (1, 1)
    assert api.needs == ([Delay(3)] if "delay" in given else [])


@pytest.mark.parametrize(("reset", "stored"), [("before", False), ("after", True)])
def test_connections_that_break(reset, stored):
    api, _ = faulty(verb="create", reset=reset)
    response = api.answer("POST", CONFIGMAPS, OBJECT)
    assert response.reset
    assert response.body is None
    assert ("a" in names(api)) is stored


def test_what_is_called_before_the_request_is_processed():
    api = Api()
    api.ok("POST", CONFIGMAPS, OBJECT)
    seen = []
    rule = FaultRule(verb="update", before=lambda: seen.append(names(api)))
    api.apiserver.faults.arm(rule)
    api.ok("PUT", f"{CONFIGMAPS}/a", {**OBJECT, "data": {"x": "2"}})
    assert len(seen) == 1
    rule.disarm()
    api.ok("PUT", f"{CONFIGMAPS}/a", {**OBJECT, "data": {"x": "3"}})
    assert len(seen) == 1


def test_a_body_that_is_damaged():
    api, _ = faulty(verb="list", body="cut", body_delay=2.0)
    assert api.answer("GET", CONFIGMAPS).damage == Damage("cut", 2.0)
    assert api.answer("POST", CONFIGMAPS, OBJECT).damage is None


def test_a_stale_list_and_a_compacted_history():
    api = Api()
    before = api.revision
    api.ok("POST", CONFIGMAPS, OBJECT)
    with FaultRule(verb="list", stale=before) as rule:
        api.apiserver.faults.arm(rule)
        found = api.ok("GET", f"{CONFIGMAPS}?resourceVersion=0")
        assert "a" not in [one["metadata"]["name"] for one in found["items"]]
        assert found["metadata"]["resourceVersion"] == str(before)
    with FaultRule(verb="list", error=410) as rule:
        api.apiserver.faults.arm(rule)
        code, shown = api.call("GET", f"{CONFIGMAPS}?resourceVersion={before}&resourceVersionMatch=Exact")
        assert (code, shown["reason"]) == (410, "Expired")
    assert "a" in names(api)


def test_a_watch_has_the_fault_of_its_rule():
    api, rule = faulty(verb="watch", cut_after=2)
    watch = api.answer("GET", f"{CONFIGMAPS}?watch=true").watch
    assert watch.fault.cut_after == 2
    assert len(rule.on_disarm) == 1
    delayed, rule = faulty(verb="watch", delay=1)
    assert delayed.answer("GET", f"{CONFIGMAPS}?watch=true").watch.fault is None
    assert rule.on_disarm == []


def test_a_chosen_fault_applies_if_no_rule_does():
    api = Api()
    asked = []

    def choose(request, info):
        asked.append(info.verb)
        return Fault(error=500) if info.verb == "create" else None

    api.apiserver.faults.choose = choose
    assert api.call("POST", CONFIGMAPS, OBJECT)[0] == 500
    assert "a" not in names(api)
    rule = FaultRule(error=503)
    api.apiserver.faults.arm(rule)
    assert api.call("POST", CONFIGMAPS, OBJECT)[0] == 503
    assert asked == ["create", "list"]


def test_other_paths_can_be_affected_too():
    api, _ = faulty(verb="get", delay=1)
    assert api.call("GET", "/version")[0] == 200
    assert api.needs == [Delay(1)]


# --- saved states ----------------------------------------------------------------------------------------------------

CRD = {
    "metadata": {"name": "things.x.io"},
    "spec": {
        "group": "x.io",
        "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/x.io/v1/namespaces/default/things"


def test_a_server_returns_to_a_saved_state():
    api = Api()
    api.ok("POST", CONFIGMAPS, OBJECT)
    empty = api.apiserver.save()
    api.ok("POST", CRDS, CRD)
    assert api.call("GET", THINGS)[0] == 200
    full = api.apiserver.save()
    api.ok("DELETE", f"{CONFIGMAPS}/a")
    api.apiserver.restore(empty)
    assert api.call("GET", THINGS)[0] == 404
    assert "a" in names(api)
    api.apiserver.restore(full)
    assert api.call("GET", THINGS)[0] == 200
    api.ok("DELETE", f"{CONFIGMAPS}/a")
    api.apiserver.restore(full)
    assert "a" in names(api)
    assert api.call("GET", THINGS)[0] == 200
