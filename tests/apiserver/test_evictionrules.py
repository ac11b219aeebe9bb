"""Evictions without a server: which budgets a pod ignores, and why an eviction is refused (`EvictionREST`)."""

from types import SimpleNamespace
from typing import Any

import pytest

from fakekube.apiserver.endpoints.subresources import binding, customscale, eviction
from fakekube.apiserver.wire.request import Request
from fakekube.apiserver.wire.status import StatusError

Object = dict[str, Any]

NOW, BEFORE = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"


def ready(status: str = "True", type: str = "Ready") -> Object:
    return {"status": {"conditions": [{"type": "Other", "status": "True"}, {"type": type, "status": status}]}}


@pytest.mark.parametrize(
    ("phase", "deleted", "ignores"),
    [
        ("Running", False, False), ("Unknown", False, False), (None, False, False), ("Succeeded", False, True),
        ("Failed", False, True), ("Pending", False, True), ("Running", True, True),
    ],
)  # fmt: skip
def test_pods_that_ignore_budgets(phase: str | None, deleted: bool, ignores: bool) -> None:
    meta = {"deletionTimestamp": NOW} if deleted else {}
    assert eviction._ignores_budgets({"metadata": meta, "status": {"phase": phase}}) is ignores


@pytest.mark.parametrize(
    ("pod", "budget", "allowed"),
    [
        (ready(), {"currentHealthy": 3, "desiredHealthy": 3}, False),
        (ready("False"), {"currentHealthy": 3, "desiredHealthy": 3}, True),
        (ready(type="ContainersReady"), {"currentHealthy": 3, "desiredHealthy": 3}, True),
        ({}, {"currentHealthy": 4, "desiredHealthy": 3}, True),
        ({}, {"currentHealthy": 2, "desiredHealthy": 3}, False),
        ({}, {"currentHealthy": 1, "desiredHealthy": 1}, True),
        ({}, {"currentHealthy": 0, "desiredHealthy": 0}, False),
        ({}, {}, False),
    ],
)
def test_an_unready_pod_of_a_healthy_application_is_evicted(pod: Object, budget: Object, allowed: bool) -> None:
    assert eviction._may_evict_unready(pod, {"status": budget}) is allowed
    always = {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, "status": budget}
    assert eviction._may_evict_unready(pod, always) is not eviction._is_ready(pod)


NEEDS = "The disruption budget b needs {} healthy pods and has {} currently"


@pytest.mark.parametrize(
    ("status", "code", "why", "retry"),
    [
        ({"observedGeneration": 2, "disruptionsAllowed": 1}, None, "", None),
        ({"observedGeneration": 3, "disruptionsAllowed": 1}, None, "", None),
        ({"observedGeneration": 1, "disruptionsAllowed": 1}, 429,
         "The disruption budget b is still being processed by the server.", 10),
        ({"disruptionsAllowed": 1}, 429, "The disruption budget b is still being processed by the server.", 10),
        ({"observedGeneration": 2, "disruptionsAllowed": -1}, 403, "pdb disruptions allowed is negative", None),
        ({"observedGeneration": 2, "disruptionsAllowed": 0, "desiredHealthy": 2, "currentHealthy": 1}, 429,
         NEEDS.format(2, 1), None),
        ({"observedGeneration": 2, "desiredHealthy": 2, "currentHealthy": 2}, 429, NEEDS.format(2, 2), None),
        ({"observedGeneration": 2, "desiredHealthy": 2, "currentHealthy": 3}, 429,
         "The disruption budget b does not allow evicting pods currently", None),
        ({"observedGeneration": 2, "desiredHealthy": 2, "currentHealthy": 1,
          "conditions": [{"type": "DisruptionAllowed", "reason": "SyncFailed", "message": "m"}]}, 429,
         "The disruption budget b does not allow evicting pods currently because it failed sync: m", None),
        ({"observedGeneration": 2, "desiredHealthy": 2, "currentHealthy": 1,
          "conditions": [{"type": "DisruptionAllowed", "reason": "InsufficientPods"}, {"type": "X", "reason": "SyncFailed"}]},
         429, NEEDS.format(2, 1), None),
    ],
)  # fmt: skip
def test_what_a_budget_allows(status: Object, code: int | None, why: str, retry: int | None) -> None:
    budget = {"metadata": {"name": "b", "generation": 2}, "status": status}
    if code is None:
        eviction._check_allowed(budget)
        return
    with pytest.raises(StatusError) as refused:
        eviction._check_allowed(budget)
    assert refused.value.code == code
    if code == 403:
        assert refused.value.message.endswith(why)
        return
    details = refused.value.details or {}
    assert details["causes"] == [{"reason": "DisruptionBudget", "message": why}]
    assert details.get("retryAfterSeconds") == retry
    assert dict(refused.value.headers) == ({"Retry-After": str(retry)} if retry else {})


@pytest.mark.parametrize(("count", "refused"), [(eviction.MAX_DISRUPTED, False), (eviction.MAX_DISRUPTED + 1, True)])
def test_the_evictions_that_wait_for_a_confirmation_are_limited(count: int, refused: bool) -> None:
    status = {"disruptionsAllowed": 1, "disruptedPods": {str(number): NOW for number in range(count)}}
    budget = {"metadata": {"name": "b"}, "status": status}
    if refused:
        with pytest.raises(StatusError, match="DisruptedPods map too big"):
            eviction._check_allowed(budget)
    else:
        eviction._check_allowed(budget)


def test_a_budget_counts_an_eviction() -> None:
    budget = {"metadata": {"name": "b"}, "status": {"disruptionsAllowed": 2, "disruptedPods": {"a": BEFORE}}}
    once = eviction._decremented(budget, "p", NOW)["status"]
    assert once == {"disruptionsAllowed": 1, "disruptedPods": {"a": BEFORE, "p": NOW}}
    twice = eviction._decremented({"status": {**once, "observedGeneration": 7}}, "q", NOW)["status"]
    assert twice["disruptionsAllowed"] == 0
    assert twice["conditions"] == [
        {"type": "DisruptionAllowed", "status": "False", "observedGeneration": 7, "lastTransitionTime": NOW,
         "reason": "InsufficientPods", "message": ""}
    ]  # fmt: skip


@pytest.mark.parametrize(("status", "time"), [("True", BEFORE), ("False", NOW)])
def test_a_condition_keeps_its_time_with_its_status(status: str, time: str) -> None:
    other = {"type": "B", "status": "True"}
    given = [{"type": "A", "status": "True", "lastTransitionTime": BEFORE, "reason": "old"}, other]
    made = {"type": "A", "status": status, "lastTransitionTime": NOW}
    assert eviction.with_condition(given, made) == [{**made, "lastTransitionTime": time}, other]
    assert eviction.with_condition([other], made) == [other, made]


@pytest.mark.parametrize(
    ("sent", "dry_run", "body"),
    [
        ({}, False, {}),
        ({"deleteOptions": {"gracePeriodSeconds": 1}}, False, {"gracePeriodSeconds": 1}),
        ({}, True, {"dryRun": ["All"]}),
        ({"deleteOptions": {"dryRun": ["All"]}}, True, {"dryRun": ["All"]}),
        ({"deleteOptions": {"dryRun": ["All"]}}, False, {"dryRun": ["All"]}),
    ],
)
def test_the_options_of_the_deletion(sent: Object, dry_run: bool, body: Object) -> None:
    options = eviction.WriteOptions(dry_run=dry_run, field_manager="", field_validation="", force=False)
    assert eviction._delete_body(sent, options) == body


@pytest.mark.parametrize(("value", "shown"), [(["x", "All"], "x All"), ([], ""), (None, "")])
def test_other_dry_runs_in_the_query_and_in_the_body(value: list[str] | None, shown: str) -> None:
    options = eviction.WriteOptions(dry_run=True, field_manager="", field_validation="", force=False)
    with pytest.raises(StatusError) as refused:
        eviction._delete_body({"deleteOptions": {"dryRun": value}}, options)
    why = f"Non-matching dry-run options in request and content: [All] and [{shown}]"
    assert (refused.value.code, refused.value.message) == (500, why)


# --- bindings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "errors"),
    [
        ({"name": "n"}, []),
        ({"name": "n", "kind": ""}, []),
        ({"name": "n", "kind": "Node"}, []),
        ({"kind": "Node"}, ["target.name: Required value"]),
        (None, ["target.name: Required value"]),
        ({"kind": "Pod"}, [
            'target.kind: Unsupported value: "Pod": supported values: "<empty>", "Node"', "target.name: Required value",
        ]),
    ],
)  # fmt: skip
def test_the_target_of_a_binding(target: Object | None, errors: list[str]) -> None:
    found = [str(error) for error in binding.validate({"target": target})]
    assert [one.partition(": supported")[0] for one in found] == [one.partition(": supported")[0] for one in errors]


def test_a_bound_pod_has_the_annotations_of_the_binding_and_its_labels() -> None:
    pod = {"metadata": {"labels": {"a": "1"}, "annotations": {"x": "1", "y": "1"}}, "spec": {"containers": []}}
    given = {"metadata": {"labels": {"a": "2", "b": "2"}, "annotations": {"x": "2"}}, "target": {"name": "n"}}
    found = binding.bound(pod, given, NOW)
    assert found["metadata"] == {"labels": {"a": "2", "b": "2"}, "annotations": {"x": "2", "y": "1"}}
    assert found["spec"] == {"containers": [], "nodeName": "n"}
    assert found["status"]["conditions"] == [
        {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": NOW}
    ]
    assert binding.bound(pod, {"metadata": {}, "target": {"name": "n"}}, NOW)["metadata"] == pod["metadata"]


# --- scales of custom resources --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("obj", "path", "found"),
    [
        ({}, ["a"], {"a": 1}),
        ({"a": 2, "b": 3}, ["a"], {"a": 1, "b": 3}),
        ({"b": 3}, ["a", "c"], {"a": {"c": 1}, "b": 3}),
        ({"a": {"d": 2}}, ["a", "c"], {"a": {"c": 1, "d": 2}}),
        ({"a": None}, ["a", "c"], {"a": {"c": 1}}),
    ],
)
def test_a_value_at_a_path(obj: Object, path: list[str], found: Object) -> None:
    before = {**obj}
    assert customscale.with_value(obj, path, 1) == found
    assert obj == before


@pytest.mark.parametrize("value", ["x", 0, [], False])
def test_a_path_through_what_is_no_map(value: Any) -> None:
    with pytest.raises(StatusError, match=r"value cannot be set because \.b is not a map\[string\]interface{}"):
        customscale.with_value({"a": {"b": value}}, ["a", "b", "c"], 1)


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("p", {}, 0),
        ("p", {"deleteOptions": {"dryRun": ["All"]}}, 0),
        ("q", {}, 400),
        ("p", {"deleteOptions": {"dryRun": []}}, 500),
    ],
)
def test_an_eviction_is_checked_before_admission(name: str, body: Object, code: int) -> None:
    call: Any = SimpleNamespace(
        info=SimpleNamespace(name="p"), request=Request("POST", "/", query={"dryRun": ["All"]}), resource=None
    )
    sent = {"metadata": {"name": name}, **body}
    if not code:
        eviction._check(call, sent)
        return
    with pytest.raises(StatusError) as refused:
        eviction._check(call, sent)
    assert refused.value.code == code
