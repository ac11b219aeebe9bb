"""Rules that the controllers of pods share: states, taints, selectors, requests, expectations, back-off."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllerlib import ApiError, Request
from fakekube.controllers.lister import StaleCache
from fakekube.controllers.workload import podstate
from fakekube.controllers.workload.backoff import KeyBackoff
from fakekube.controllers.workload.batches import slow_start
from fakekube.controllers.workload.consistency import ConsistencyStore
from fakekube.controllers.workload.expectations import TIMEOUT, Expectations
from fakekube.controllers.workload.intorpercent import integer, scaled_value
from fakekube.controllers.workload.nodefit import matches_node, matches_term, tolerates, untolerated_taint
from fakekube.controllers.workload.objectfinalizers import is_deletion_candidate, with_finalizers
from fakekube.controllers.workload.podcontrol import pod_from_template, pods_prefix
from fakekube.controllers.workload.podrequests import DEFAULT_CPU, DEFAULT_MEMORY, amount, pod_requests
from fakekube.controllers.workload.podstatuspatch import disruption_target, patch_pod_status
from fakekube.controllers.workload.retries import limited, rate_limiter
from fakekube.controllers.workload.selectortext import selector_query, selector_text
from fakekube.controllers.workload.semantic import is_equal
from fakekube.controllers.workload.statusconditions import with_status_condition
from fakekube.controllers.workload.workloadconditions import new_condition, with_condition, without_condition

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(phase="Running", ready=None, since=None, deleted=False):
    """A pod; `ready`: the status of its condition, `since`: for how many seconds it has it."""
    found = {"type": "Ready", "status": ready}
    if since is not None:
        found["lastTransitionTime"] = podstate.timestamp((NOW - timedelta(seconds=since)).replace(tzinfo=None))
    conditions = [{"type": "Initialized", "status": "True"}, *([found] if ready else [])]
    meta = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    return {"metadata": meta, "status": {"phase": phase, "conditions": conditions}}


class HeldClock:
    """A clock that a test moves by hand."""

    def __init__(self):
        self.time = 0.0

    def monotonic(self):
        return self.time


# --- what a controller has written


class HeldKind:
    """A kind whose informer is at a version that a test sets."""

    def __init__(self, kind="Pod", resource_version=""):
        self.kind, self.resource_version = kind, resource_version


def versioned(version, uid="u", name="web"):
    return {"metadata": {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": version}}


@pytest.mark.parametrize(
    ("written", "read", "stale"),
    [
        (["9"], "8", True),
        (["9"], "9", False),
        (["9"], "10", False),
        (["9", "10"], "9", True),
        (["10", "9"], "9", True),
        (["9"], "", False),
        ([], "8", False),
        ([None], "8", False),
    ],
)
def test_a_cache_is_stale_while_it_is_older_than_the_latest_write(written, read, stale):
    store, pods = ConsistencyStore(), HeldKind(resource_version=read)
    for version in written:
        store.wrote(versioned("1"), pods, versioned(version))
    store.check(Request("ns", "other"))
    if stale:
        text = f"read version: {read} is not as new as written version: {max(map(int, written))} for Pod objects"
        with pytest.raises(StaleCache, match=text):
            store.check(Request("ns", "web"))
    else:
        store.check(Request("ns", "web"))


def test_each_kind_that_was_written_must_be_seen():
    store, pods, jobs = ConsistencyStore(), HeldKind(resource_version="9"), HeldKind("Job", "8")
    store.wrote(versioned("1"), pods, versioned("9"))
    store.wrote(versioned("1"), jobs, versioned("9"))
    with pytest.raises(StaleCache, match="for Job objects"):
        store.check(Request("ns", "web"))
    jobs.resource_version = "9"
    store.check(Request("ns", "web"))
    jobs.resource_version = "8"
    store.check(Request("ns", "web"))  # what was seen once is forgotten


@pytest.mark.parametrize("by", ["another uid", "the deletion"])
def test_what_was_written_of_an_object_is_forgotten_with_it(by):
    store, pods = ConsistencyStore(), HeldKind(resource_version="5")
    store.wrote(versioned("1"), pods, versioned("9"))
    if by == "the deletion":
        store.forget(Request("ns", "web"))
    else:
        store.wrote(versioned("1", uid="v"), pods, versioned("5"))
    store.check(Request("ns", "web"))
    store.forget(Request("ns", "web"))


# --- the state of a pod


@pytest.mark.parametrize(
    ("phase", "deleted", "terminal", "active", "terminating"),
    [
        ("Pending", False, False, True, False),
        ("Running", False, False, True, False),
        ("Running", True, False, False, True),
        ("Succeeded", False, True, False, False),
        ("Failed", True, True, False, False),
    ],
)
def test_states_of_pods(phase, deleted, terminal, active, terminating):
    one = pod(phase, deleted=deleted)
    assert (podstate.is_terminal(one), podstate.is_active(one), podstate.is_terminating(one)) == (
        terminal,
        active,
        terminating,
    )


@pytest.mark.parametrize(
    ("ready", "since", "minimum", "available"),
    [
        (None, None, 0, False),
        ("False", 100, 0, False),
        ("True", None, 0, True),
        ("True", None, 1, False),
        ("True", 9, 10, False),
        ("True", 10, 10, True),
        ("True", 0, 1, False),
    ],
)
def test_availability(ready, since, minimum, available):
    assert podstate.is_available(pod(ready=ready, since=since), minimum, NOW) is available


def test_the_next_check_of_availability_is_that_of_the_pod_that_gets_available_first():
    pods = [
        pod(ready="True", since=3),
        pod(ready="True", since=7),
        pod(ready="True", since=10),
        pod(ready="False", since=9),
    ]
    assert podstate.next_availability_check(pods, 10, NOW) == 3.0
    assert podstate.next_availability_check(pods[2:], 10, NOW) is None
    assert podstate.next_availability_check(pods, 0, NOW) is None
    assert podstate.next_availability_check(pods[:1], 1, NOW) is None
    assert podstate.next_availability_check([pod(ready="True", since=0)], 1, NOW) == 1.0


# --- taints and labels of nodes

TAINT = {"key": "k", "value": "5", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({}, False),  # key and value of an empty toleration: the values differ
        ({"operator": "Exists"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "k", "value": "5"}, True),
        ({"key": "k", "operator": "Equal", "value": "5"}, True),
        ({"key": "k", "operator": "", "value": "5"}, True),
        ({"key": "k", "operator": "Equal", "value": "6"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, True),
        ({"key": "k", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "k", "operator": "Exists", "effect": ""}, True),
        ({"key": "k", "operator": "Lt", "value": "4"}, False),  # the value of the taint is compared with it
        ({"key": "k", "operator": "Lt", "value": "5"}, False),
        ({"key": "k", "operator": "Lt", "value": "6"}, True),
        ({"key": "k", "operator": "Gt", "value": "4"}, True),
        ({"key": "k", "operator": "Gt", "value": "5"}, False),
        ({"key": "k", "operator": "Gt", "value": "6"}, False),
        ({"key": "k", "operator": "Gt", "value": "x"}, False),
        ({"key": "k", "operator": "Other", "value": "5"}, False),
    ],
)
def test_tolerations(toleration, expected):
    assert tolerates(toleration, TAINT) is expected


def test_the_taint_of_another_effect_is_not_looked_at_and_the_first_untolerated_one_is_found():
    taints = [TAINT, {"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]
    assert untolerated_taint(taints, [], ("NoSchedule",))["key"] == "a"
    assert untolerated_taint(taints, [{"key": "a", "operator": "Exists"}], ("NoSchedule",))["key"] == "b"
    assert untolerated_taint(taints, [{"key": "k", "operator": "Exists"}], ("NoExecute",)) is None
    assert untolerated_taint(taints, [], ("PreferNoSchedule",)) is None


def node(name="n", **labels):
    return {"metadata": {"name": name, "labels": labels}}


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ({"operator": "In", "values": ["1", "2"]}, "2", True),
        ({"operator": "In", "values": ["1"]}, "2", False),
        ({"operator": "In", "values": ["1"]}, None, False),
        ({"operator": "NotIn", "values": ["1"]}, "1", False),
        ({"operator": "NotIn", "values": ["1"]}, "2", True),
        ({"operator": "NotIn", "values": ["1"]}, None, True),
        ({"operator": "Exists"}, "1", True),
        ({"operator": "Exists"}, None, False),
        ({"operator": "DoesNotExist"}, None, True),
        ({"operator": "DoesNotExist"}, "1", False),
        ({"operator": "Gt", "values": ["1"]}, "2", True),
        ({"operator": "Gt", "values": ["2"]}, "2", False),
        ({"operator": "Lt", "values": ["2"]}, "1", True),
        ({"operator": "Lt", "values": ["2"]}, "2", False),
        ({"operator": "Gt", "values": ["1"]}, "x", False),
        ({"operator": "Lt", "values": ["x"]}, "1", False),
        ({"operator": "Lt", "values": ["1"]}, None, False),
    ],
)
def test_expressions_of_node_selectors(expression, value, expected):
    labels = {} if value is None else {"l": value}
    assert matches_term({"matchExpressions": [{"key": "l", **expression}]}, node(**labels)) is expected


def test_terms_of_node_selectors():
    by_name = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    by_label = {"key": "l", "operator": "Exists"}
    assert matches_term({"matchFields": [by_name]}, node())
    assert not matches_term({"matchFields": [by_name]}, node("other"))
    assert not matches_term({"matchFields": [by_name | {"key": "metadata.uid"}]}, node())
    assert not matches_term({}, node())
    assert matches_term({"matchFields": [by_name], "matchExpressions": [by_label]}, node(l="1"))
    assert not matches_term({"matchFields": [by_name], "matchExpressions": [by_label]}, node())
    assert not matches_term({"matchFields": [by_name], "matchExpressions": [by_label]}, node("other", l="1"))
    two = [by_label, {"key": "m", "operator": "Exists"}]
    assert not matches_term({"matchExpressions": two}, node(l="1"))


def test_a_node_suits_by_its_labels_and_by_one_of_the_terms():
    def required(*terms):
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
        return {"nodeSelector": {"zone": "1"}, "affinity": {"nodeAffinity": rule}}

    a, b = ({"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in "ab")
    assert matches_node({}, node())
    assert matches_node({"nodeSelector": {"zone": "1"}}, node(zone="1"))
    assert not matches_node({"nodeSelector": {"zone": "1"}}, node(zone="2"))
    assert not matches_node({"nodeSelector": {"zone": "1", "x": "1"}}, node(zone="1"))
    assert matches_node(required(a, b), node(zone="1", b="1"))
    assert not matches_node(required(a, b), node(zone="1"))
    assert not matches_node(required(a), node(a="1"))
    assert not matches_node(required(), node(zone="1"))


# --- requests


def container(cpu=None, memory=None, name="c", **more):
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    return {"name": name, "resources": {"requests": requests}, **more}


def test_amounts_are_thousandths_of_cpus_and_units_of_all_else_rounded_up():
    assert amount("cpu", "1500m") == 1500
    assert amount("cpu", "1.0001") == 1001
    assert amount("memory", "1Ki") == 1024
    assert amount("example.com/gpu", "2500m") == 3


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("initial", "mains", "cpu"),
    [
        ([], ["1", "2"], 3000),
        ([container("5")], ["1", "2"], 5000),
        ([container("2"), container("2")], ["1", "2"], 3000),  # one after the other
        ([container("1", **SIDECAR)], ["1", "2"], 4000),
        ([container("1", **SIDECAR), container("4")], ["1", "2"], 5000),  # beside the sidecar before it
        ([container("4"), container("1", **SIDECAR)], ["1", "2"], 4000),  # the sidecar begins after it
        ([container("1", **SIDECAR), container("1", **SIDECAR), container("4")], ["1"], 6000),
    ],
)
def test_requests_of_containers_that_run_at_the_same_time(initial, mains, cpu):
    spec = {"containers": [container(one) for one in mains], "initContainers": initial}
    assert pod_requests({"spec": spec}) == {"cpu": cpu}


def test_requests_of_the_pod_replace_the_sum_and_the_overhead_is_added():
    spec = {"containers": [container("1", "1Ki")], "resources": {"requests": {"cpu": "3"}}, "overhead": {"cpu": "500m"}}
    assert pod_requests({"spec": spec}) == {"cpu": 3500, "memory": 1024}


def test_containers_without_requests_count_with_defaults_in_scores():
    spec = {"containers": [container("1"), container(None, "1Ki")]}
    expected = {"cpu": 1000 + DEFAULT_CPU, "memory": 1024 + DEFAULT_MEMORY}
    assert pod_requests({"spec": spec}, defaults=True) == expected
    assert (DEFAULT_CPU, DEFAULT_MEMORY) == (100, 200 * 1024 * 1024)


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [(3, 10, 3, 3), ("25%", 10, 3, 2), ("50%", 10, 5, 5), ("0%", 10, 0, 0), ("100%", 7, 7, 7), ("1%", 1, 1, 0)],
)
def test_percentages(value, total, up, down):
    assert (scaled_value(value, total), scaled_value(value, total, round_up=False)) == (up, down)


def test_a_text_that_is_not_a_percentage_is_rejected():
    with pytest.raises(ValueError, match="string is not a percentage"):
        scaled_value("5", 10)
    assert (integer("5"), integer("x"), integer(None)) == (5, None, None)


# --- texts, equality, conditions

ROWS = [{"key": "e", "operator": "Exists"}, {"key": "n", "operator": "DoesNotExist"}]
ROWS += [{"key": "i", "operator": "In", "values": ["b", "a"]}, {"key": "x", "operator": "NotIn", "values": ["c"]}]


def test_selectors_as_go_prints_them():
    assert selector_text(None) == "nil"
    start = "&LabelSelector{MatchLabels:map[string]string{"
    assert selector_text({}) == start + "},MatchExpressions:[]LabelSelectorRequirement{},}"
    assert selector_text({"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": ROWS[2:]}) == (
        f"{start}a: 1,b: 2,}},MatchExpressions:[]LabelSelectorRequirement{{"
        "LabelSelectorRequirement{Key:i,Operator:In,Values:[b a],},"
        "LabelSelectorRequirement{Key:x,Operator:NotIn,Values:[c],},},}"
    )


def test_selectors_as_parameters():
    assert selector_query({"matchLabels": {"z": "1"}, "matchExpressions": ROWS}) == "e,i in (a,b),!n,x notin (c),z=1"
    assert selector_query(None) == ""
    twice = [{"key": "k", "operator": operator, "values": [value]} for operator, value in (("NotIn", "z"), ("In", "a"))]
    assert selector_query({"matchExpressions": twice}) == "k notin (z),k in (a)"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({"a": None}, {}, True),
        ({"a": {}}, {"a": []}, True),
        ({"a": 0}, {}, False),
        ({"a": ""}, {}, False),
        ({"a": [1, {"b": None}]}, {"a": [1, {}]}, True),
        ([1], [1, 2], False),
        ([1, 2], [2, 1], False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
    ],
)
def test_equality_of_objects(one, other, equal):
    assert is_equal(one, other) is equal


def test_status_conditions_keep_their_time_while_their_status_stays():
    before = [{"type": "A", "status": "True", "lastTransitionTime": "t1"}, {"type": "B", "status": "True"}]
    same = with_status_condition(before, {"type": "A", "status": "True", "reason": "R"}, "t2")
    assert same[0] == {"type": "A", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "t1"}
    assert same[1] == before[1]
    changed = with_status_condition(before, {"type": "A", "status": "False"}, "t2")
    assert [one.get("lastTransitionTime") for one in changed] == ["t2", None]
    added = with_status_condition(before, {"type": "C", "status": "False"}, "t2")
    assert [one["type"] for one in added] == ["A", "B", "C"]


def test_workload_conditions_go_to_the_end_unless_nothing_changes():
    before = [new_condition("A", "True", "R", "m", "t1"), new_condition("B", "True", "R", "m", "t1")]
    assert with_condition(before, new_condition("A", "True", "R", "other", "t2")) is before
    reason = with_condition(before, new_condition("A", "True", "S", "m", "t2"))
    assert [(one["type"], one["reason"], one["lastTransitionTime"]) for one in reason] == [
        ("B", "R", "t1"),
        ("A", "S", "t1"),
    ]
    status = with_condition(before, new_condition("A", "False", "R", "m", "t2"))
    assert [(one["type"], one["lastTransitionTime"]) for one in status] == [("B", "t1"), ("A", "t2")]
    assert [one["type"] for one in without_condition(before, "A")] == ["B"]


def test_the_condition_of_a_disruption_keeps_its_time():
    present = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": "t1"}
    one = {"metadata": {"generation": 3}, "status": {"conditions": [present]}}
    expected = {"type": "DisruptionTarget", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "t1"}
    assert disruption_target(one, "R", "m", "t2") == expected | {"observedGeneration": 3}
    present["status"] = "False"
    assert disruption_target(one, "R", "m", "t2")["lastTransitionTime"] == "t2"
    assert "observedGeneration" not in disruption_target({"metadata": {}}, "R", "m", "t2")


def test_finalizers():
    one = {"metadata": {"name": "x", "finalizers": ["a"]}}
    assert not is_deletion_candidate(one, "a")
    deleted = {"metadata": {**one["metadata"], "deletionTimestamp": "t"}}
    assert is_deletion_candidate(deleted, "a")
    assert not is_deletion_candidate(deleted, "b")
    assert with_finalizers(one, []) == {"metadata": {"name": "x"}}
    assert with_finalizers(one, ["b"]) == {"metadata": {"name": "x", "finalizers": ["b"]}}


def test_the_pod_of_a_template():
    owner = {"metadata": {"name": "web", "namespace": "ns"}}
    meta = {"labels": {"a": "1"}, "annotations": {"b": "2"}, "finalizers": ["f"], "name": "ignored"}
    found = pod_from_template(owner, {"uid": "u"}, {"metadata": meta, "spec": {"containers": []}})
    assert found["metadata"] == {
        "generateName": "web-",
        "namespace": "ns",
        "labels": {"a": "1"},
        "annotations": {"b": "2"},
        "ownerReferences": [{"uid": "u"}],
        "finalizers": ["f"],
    }
    assert found["spec"] == {"containers": []}
    assert pods_prefix("Not.Valid") == "Not.Valid"


# --- expectations and back-off


def test_expectations_are_met_one_by_one_or_expire():
    clock = HeldClock()
    expected = Expectations(clock)
    assert expected.satisfied("k")
    expected.expect_creations("k", 2)
    expected.creation_observed("k")
    expected.creation_observed("other")
    assert not expected.satisfied("k")
    expected.creation_observed("k")
    assert expected.satisfied("k")
    expected.expect_creations("k", 3)
    expected.creation_observed("k", 3)
    assert expected.satisfied("k")
    expected.expect_creations("k", 1)
    clock.time = TIMEOUT
    assert not expected.satisfied("k")
    clock.time = TIMEOUT + 0.001
    assert expected.satisfied("k")
    assert TIMEOUT == 300


def test_expected_deletions_are_counted_by_name_once():
    expected = Expectations(HeldClock())
    expected.expect_deletions("k", ["a", "b", "a"])
    expected.deletion_observed("k", "a")
    expected.deletion_observed("k", "a")
    expected.deletion_observed("k", "c")
    expected.deletion_observed("unknown", "a")
    assert not expected.satisfied("k")
    expected.deletion_observed("k", "b")
    assert expected.satisfied("k")
    expected.expect("k", creations=1, deletions=2)
    for _ in range(2):
        expected.deletion_observed("k", "any")
    assert not expected.satisfied("k")
    expected.creation_observed("k")
    assert expected.satisfied("k")
    expected.expect("k", creations=0, deletions=1)
    assert not expected.satisfied("k")
    expected.forget("k")
    assert expected.satisfied("k")


def test_the_back_off_of_a_key_doubles_up_to_a_limit_and_is_forgotten():
    clock = HeldClock()
    backoff = KeyBackoff(clock, 1.0, 5.0)
    assert (backoff.delay("k"), backoff.is_waiting("k")) == (0.0, False)
    delays = []
    for _ in range(5):
        backoff.failed("k")
        delays.append(backoff.delay("k"))
    assert delays == [1, 2, 4, 5, 5]
    clock.time = 4.9
    assert backoff.is_waiting("k")
    clock.time = 5.0
    assert not backoff.is_waiting("k")
    clock.time = 10.0
    backoff.failed("k")
    assert backoff.delay("k") == 5.0
    clock.time = 20.1
    assert not backoff.is_waiting("k")
    backoff.failed("k")
    assert backoff.delay("k") == 1.0
    assert not backoff.is_waiting("other")


@given(st.integers(0, 40), st.integers(0, 40))
def test_batches_double_until_one_fails(number, failing):
    calls = []

    async def work(index):
        calls.append(index)
        if index == failing:
            raise ApiError(403, "Forbidden", "no")

    coroutine = slow_start(number, work)
    succeeded, problem = _run(coroutine)
    if failing >= number:
        assert (succeeded, problem, sorted(calls)) == (number, None, list(range(number)))
        return
    assert problem.reason == "Forbidden"
    end, size = 0, 1
    while end <= failing:  # the batches [0], [1, 2], [3, ..., 6], ...
        end, size = min(end + size, number), 2 * size
    assert (sorted(calls), succeeded) == (list(range(end)), end - 1)


def _run(coroutine):
    with asyncio.Runner() as runner:
        return runner.run(coroutine)


@pytest.mark.parametrize("cause", ["NamespaceTerminating", "Other"])
def test_errors_of_a_terminating_namespace_are_dropped(cause):
    status = {"details": {"causes": [{"reason": cause}]}}

    async def reconcile(request):
        raise ApiError(403, "Forbidden", "no", status)

    reconciled = limited(reconcile, 3)
    if cause == "Other":
        with pytest.raises(ApiError):
            _run(reconciled("key"))
    else:
        assert _run(reconciled("key")) is None


def test_retries_are_delayed_by_failures_of_their_key():
    limiter = rate_limiter(0.2, 1.0)
    assert [limiter.when("a", 0.0) for _ in range(4)] == [0.2, 0.4, 0.8, 1.0]


class Patches:
    """A client that records the patches instead of sending them."""

    def __init__(self):
        self.sent = []

    async def patch(self, obj, patch, *, type, subresource):
        assert (type, subresource) == ("strategic", "status")
        self.sent.append(patch)


HELD = {"type": "Ready", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "t1"}


@pytest.mark.parametrize(
    ("wanted", "fields", "status"),
    [
        pytest.param(None, {}, None, id="nothing"),
        pytest.param(None, {"phase": "Running"}, None, id="the-same-phase"),
        pytest.param(None, {"phase": "Failed"}, {"phase": "Failed"}, id="another-phase"),
        pytest.param(None, {"phase": "Running", "reason": "x"}, {"reason": "x"}, id="one-of-two-fields"),
        pytest.param(HELD, {}, None, id="the-same-condition"),
        pytest.param(HELD | {"lastTransitionTime": "t2"}, {}, None, id="another-time"),
        pytest.param(HELD | {"status": "False"}, {}, {"conditions": [HELD | {"status": "False"}]}, id="another-status"),
        pytest.param(HELD | {"reason": "S"}, {}, {"conditions": [HELD | {"reason": "S"}]}, id="another-reason"),
        pytest.param(HELD | {"message": "n"}, {}, {"conditions": [HELD | {"message": "n"}]}, id="another-message"),
        pytest.param(HELD | {"type": "Other"}, {}, {"conditions": [HELD | {"type": "Other"}]}, id="a-new-condition"),
        pytest.param(
            HELD | {"status": "False"},
            {"phase": "Failed"},
            {"phase": "Failed", "conditions": [HELD | {"status": "False"}]},
            id="both",
        ),
    ],
)
def test_a_patch_of_a_pods_status_has_what_differs(wanted, fields, status):
    """`pkg/util/pod`: PatchPodStatus sends no patch without a change, and the uid with each."""
    client = Patches()
    pod = {"metadata": {"uid": "u"}, "status": {"phase": "Running", "conditions": [HELD]}}
    asyncio.run(patch_pod_status(client, pod, condition=wanted, **fields))
    assert client.sent == ([] if status is None else [{"metadata": {"uid": "u"}, "status": status}])
