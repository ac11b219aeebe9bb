"""Pure rules of Jobs: back-off, failure and success policies, indexes, counts, the pods to delete, the end."""

import itertools
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.controllers.batch.job import completionindexes as indexes
from fakekube.controllers.batch.job.jobpods import (
    creatable,
    indexed_name,
    indexed_template,
    later_failure,
    pod_template,
    surplus,
)
from fakekube.controllers.batch.job.jobspec import TRACKING, ensured, finished_type, has_failed, true_condition
from fakekube.controllers.batch.job.jobsync import begin, conclude
from fakekube.controllers.batch.job.podbackoff import NO_BACKOFF, Backoff, finished_at, remaining
from fakekube.controllers.batch.job.podfailurepolicy import match
from fakekube.controllers.batch.job.podtracking import (
    FinalizerExpectations,
    count_untracked,
    set_count,
    still_tracked,
    with_uncounted,
)
from fakekube.controllers.batch.job.successpolicy import met_rule
from tests.controllers.workloads import NOW, stamp


def ended(seconds, **more):
    return {"name": "c", "state": {"terminated": {"exitCode": 1, "finishedAt": stamp(seconds)}}, **more}


def pod(name="p", phase="Running", *, index=None, tracked=True, deleted=False, failures=None, ignored=None, **status):
    annotations = {} if index is None else {indexes.COMPLETION_INDEX: str(index)}
    counts = ((indexes.FAILURE_COUNT, failures), (indexes.IGNORED_FAILURE_COUNT, ignored))
    annotations |= {key: str(value) for key, value in counts if value is not None}
    meta = {"name": name, "namespace": "ns", "uid": name, "annotations": annotations, "creationTimestamp": stamp(500)}
    meta["finalizers"] = [TRACKING] if tracked else []
    if deleted:
        meta |= {"deletionTimestamp": stamp(20), "deletionGracePeriodSeconds": 30}
    return {"metadata": meta, "spec": {"containers": []}, "status": {"phase": phase, **status}}


def failed(name="p", seconds=0, **more):
    return pod(name, "Failed", containerStatuses=[ended(seconds)], **more)


def succeeded(name="p", seconds=0, **more):
    return pod(name, "Succeeded", containerStatuses=[ended(seconds)], **more)


def job(*, status=None, restart="Never", **spec):
    template = {"spec": {"restartPolicy": restart, "containers": [{"name": "c"}]}}
    spec = {"backoffLimit": 6, "parallelism": 2, "completions": 3, "template": template, **spec}
    return {"metadata": {"name": "j", "namespace": "ns", "uid": "j"}, "spec": spec, "status": status or {}}


# --- back-off


def model_of_backoff(ends):
    """The failures after the last success, and the time of the last one, of pods in the order of their ends."""
    failures = []
    for seconds, outcome in sorted(ends, key=lambda row: (-row[0], row[1] == "ok")):
        failures = [] if outcome == "ok" else [*failures, seconds]
    return len(failures), NOW - timedelta(seconds=failures[-1]) if failures else None


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["ok", "bad"])), max_size=6))
def test_only_failures_after_the_last_success_count(ends):
    good = [succeeded(seconds=seconds) for seconds, outcome in ends if outcome == "ok"]
    bad = [failed(seconds=seconds) for seconds, outcome in ends if outcome == "bad"]
    found = NO_BACKOFF.after(good, bad)
    assert (found.failures, found.last_failure) == model_of_backoff(ends)


def test_failures_add_up_until_a_success():
    before = Backoff(2, NOW - timedelta(seconds=60))
    assert before.after([], []) is before
    assert before.after([], [failed(seconds=9), failed(seconds=5)]) == Backoff(4, NOW - timedelta(seconds=5))
    assert before.after([succeeded(seconds=7)], []) == Backoff(0, None)
    mixed = before.after([succeeded(seconds=7), succeeded(seconds=8)], [failed(seconds=7), failed(seconds=6)])
    assert mixed == Backoff(1, NOW - timedelta(seconds=6))


@pytest.mark.parametrize(
    ("failures", "seconds", "expected"),
    [
        (0, 0, 0),
        (1, 0, 10),
        (1, 4, 6),
        (1, 10, 0),
        (1, 11, 0),
        (2, 0, 20),
        (3, 0, 40),
        (6, 0, 320),
        (7, 0, 600),
        (2000, 100, 500),
    ],
)
def test_the_back_off_doubles_from_10_s_to_10_min(failures, seconds, expected):
    last = NOW - timedelta(seconds=seconds)
    assert remaining(failures, last, NOW) == expected
    assert Backoff(failures, last).remaining(NOW) == expected
    assert remaining(failures, None, NOW) == 0


SIDECAR = {"name": "s", "restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("status", "initial", "deleted", "seconds"),
    [
        ({"containerStatuses": [ended(9), ended(5), ended(7)]}, [], False, 5),
        ({"containerStatuses": [ended(9), {"name": "d", "state": {"running": {}}}]}, [], False, 500),
        ({"containerStatuses": [ended(9)], "initContainerStatuses": [ended(5, name="s")]}, [SIDECAR], False, 5),
        ({"containerStatuses": [ended(9)], "initContainerStatuses": [ended(5, name="i")]}, [{"name": "i"}], False, 9),
        ({"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": stamp(4)}]}, [], False, 4),
        ({"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp(4)}]}, [], False, 500),
        ({"conditions": [{"type": "Ready", "status": "False"}]}, [], False, 500),
        ({}, [], True, 50),  # the deletion began before its time of 20 s ago, by the grace period
        ({"containerStatuses": [ended(9)]}, [], True, 9),
        ({}, [], False, 500),
    ],
)
def test_when_a_pod_ended(status, initial, deleted, seconds):
    one = pod(deleted=deleted, **status)
    one["spec"]["initContainers"] = initial
    assert finished_at(one) == NOW - timedelta(seconds=seconds)


# --- failure policies


def container(name, code, **state):
    return {"name": name, "state": state or {"terminated": {"exitCode": code}}}


def codes(operator, *values, **more):
    return {"onExitCodes": {"operator": operator, "values": list(values), **more}}


@pytest.mark.parametrize(
    ("rule", "status", "matches"),
    [
        (
            codes("In", 3, 5),
            {"containerStatuses": [container("a", 5)]},
            "Container a for pod ns/p failed with exit code 5",
        ),
        (codes("In", 3), {"containerStatuses": [container("a", 5)]}, ""),
        (
            codes("NotIn", 3),
            {"containerStatuses": [container("a", 5)]},
            "Container a for pod ns/p failed with exit code 5",
        ),
        (codes("NotIn", 5), {"containerStatuses": [container("a", 5)]}, ""),
        (codes("NotIn", 5), {"containerStatuses": [container("a", 0)]}, ""),  # 0 is not a failure
        (codes("In", 0), {"containerStatuses": [container("a", 0)]}, ""),
        (codes("In", 5, containerName="b"), {"containerStatuses": [container("a", 5)]}, ""),
        (
            codes("In", 5, containerName="b"),
            {"containerStatuses": [container("a", 5), container("b", 5)]},
            "Container b for pod ns/p failed with exit code 5",
        ),
        (codes("NotIn", 3), {"containerStatuses": [container("a", 0, running={})]}, ""),
        (
            codes("In", 7),
            {"containerStatuses": [container("a", 1)], "initContainerStatuses": [container("i", 7)]},
            "Container i for pod ns/p failed with exit code 7",
        ),
        (
            codes("In", 7),
            {"containerStatuses": [container("a", 7)], "initContainerStatuses": [container("i", 7)]},
            "Container a for pod ns/p failed with exit code 7",
        ),
        (
            {"onPodConditions": [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]},
            {"conditions": [{"type": "A", "status": "False"}, {"type": "B", "status": "True"}]},
            "Pod ns/p has condition B",
        ),
        (
            {"onPodConditions": [{"type": "A", "status": "True"}]},
            {"conditions": [{"type": "A", "status": "False"}]},
            "",
        ),
    ],
)
def test_what_a_rule_of_a_pod_failure_policy_matches(rule, status, matches):
    found = match({"rules": [{**rule, "action": "FailJob"}]}, pod(**status))
    assert found.message == (f"{matches} matching FailJob rule at index 0" if matches else "")


@pytest.mark.parametrize(
    ("actions", "action", "counts", "message"),
    [
        (["Ignore", "FailJob"], "Ignore", False, ""),
        (["Count", "FailJob"], "Count", True, ""),
        (["FailIndex", "Ignore"], "FailIndex", True, ""),
        (
            ["Unknown", "FailJob"],
            "FailJob",
            True,
            "Container a for pod ns/p failed with exit code 5 matching FailJob rule at index 1",
        ),
        (["Unknown"], "", True, ""),
    ],
)
def test_the_first_rule_that_matches_decides(actions, action, counts, message):
    rules = [{**codes("In", 5), "action": one} for one in actions]
    found = match({"rules": rules}, pod(containerStatuses=[container("a", 5)]))
    assert (found.action, found.counts, found.message) == (action, counts, message)
    assert match(None, pod()).counts


# --- success policies


@pytest.mark.parametrize(
    ("rules", "done", "met"),
    [
        ([{"succeededCount": 2}], "0", ""),
        ([{"succeededCount": 2}], "0,3", "0"),
        ([{"succeededIndexes": "1-3"}], "1-2", ""),
        ([{"succeededIndexes": "1-3"}], "0-3", "0"),
        ([{"succeededIndexes": "1-3", "succeededCount": 2}], "0-1", ""),
        ([{"succeededIndexes": "1-3", "succeededCount": 2}], "0-2", "0"),
        ([{"succeededIndexes": "1-3", "succeededCount": 1}], "4", ""),
        ([{"succeededIndexes": "7-9"}], "0-4", ""),  # beyond the completions
        ([{"succeededCount": 9}, {"succeededIndexes": "0"}], "0", "1"),
        ([{}], "0-4", ""),
        ([{"succeededCount": 0}], "", ""),  # nothing has succeeded
    ],
)
def test_success_policies(rules, done, met):
    one = job(completions=5, completionMode="Indexed", successPolicy={"rules": rules})
    expected = f"Matched rules at index {met}" if met else ""
    assert met_rule(one, indexes.parse(done, 5)) == expected
    assert met_rule(job(completions=5), indexes.parse("0-4", 5)) == ""


# --- intervals, beside sets

SETS = st.sets(st.integers(0, 12))


def intervals(numbers):
    return indexes.merged((), indexes.singles(numbers))


@settings(max_examples=200)
@given(SETS, SETS, st.integers(0, 13), st.integers(0, 5))
def test_intervals_are_sets(left, right, completions, count):
    one, other = intervals(left), intervals(right)
    assert {n for first, last in one for n in range(first, last + 1)} == left
    assert all(after[0] > before[1] + 1 for before, after in itertools.pairwise(one))
    assert list(indexes.merged(one, other)) == list(intervals(left | right))
    assert indexes.total(one) == len(left)
    assert indexes.overlap(one, other) == len(left & right)
    assert [n for n in range(14) if indexes.has(one, n)] == sorted(left)
    assert list(indexes.gaps(one, count, completions)) == [n for n in range(completions) if n not in left][:count]
    assert list(indexes.parse(indexes.text_of(one), 13)) == list(one)
    assert list(indexes.parse(indexes.text_of(one), completions)) == list(intervals(n for n in left if n < completions))


@pytest.mark.parametrize(
    ("text", "completions", "found"),
    [
        ("", 10, []),
        ("1,3-5,7", 10, [(1, 1), (3, 5), (7, 7)]),
        ("1,2,3", 10, [(1, 3)]),
        ("1-2,3-4", 10, [(1, 4)]),
        ("0-9", 5, [(0, 4)]),
        ("0,5", 5, [(0, 0)]),
        ("x,3", 10, [(3, 3)]),
        ("1-x,3", 10, [(3, 3)]),
    ],
)
def test_texts_of_intervals(text, completions, found):
    assert list(indexes.parse(text, completions)) == found


@pytest.mark.parametrize(
    ("found", "text"), [([(1, 1)], "1"), ([(1, 2)], "1,2"), ([(1, 3)], "1-3"), ([(0, 0), (2, 5)], "0,2-5"), ([], "")]
)
def test_intervals_as_texts(found, text):
    assert indexes.text_of(found) == text


@pytest.mark.parametrize(
    ("text", "index", "valid"),
    [("0", 0, 0), ("2", 2, 2), ("3", 3, None), ("-1", None, None), ("x", None, None), ("", None, None), ("+1", 1, 1)],
)
def test_indexes_of_pods(text, index, valid):
    one = pod(index=text)
    assert (indexes.completion_index(one), indexes.valid_index(one, job())) == (index, valid)


IGNORE = {"rules": [{**codes("In", 42), "action": "Ignore"}, {**codes("In", 43), "action": "FailIndex"}]}


@pytest.mark.parametrize(
    ("code", "failures", "is_failed"), [(1, 0, False), (1, 1, False), (1, 2, True), (42, 9, False), (43, 0, True)]
)
def test_when_an_index_has_failed(code, failures, is_failed):
    one = job(completionMode="Indexed", backoffLimitPerIndex=2, podFailurePolicy=IGNORE)
    ended_pod = pod(phase="Failed", index=0, failures=failures, containerStatuses=[container("c", code)])
    assert indexes.is_index_failed(one, ended_pod) is is_failed
    assert indexes.is_index_failed(one, pod(index=0, failures=9)) is False
    assert (list(indexes.failed_indexes(one, [ended_pod])) == [(0, 0)]) is is_failed
    assert (
        list(indexes.failed_indexes(one, [{**ended_pod, "metadata": {**ended_pod["metadata"], "finalizers": []}}]))
        == []
    )


@pytest.mark.parametrize(
    ("code", "counts"), [(1, (3, 5)), (42, (2, 6)), (43, (3, 5))]
)  # fmt: skip
def test_the_failures_that_a_new_pod_of_an_index_notes(code, counts):
    one = job(backoffLimitPerIndex=2, podFailurePolicy=IGNORE, completionMode="Indexed")
    before = pod(index=1, failures=2, ignored=5, containerStatuses=[container("c", code)])
    assert indexes.new_failure_counts(one, before) == counts
    assert indexes.new_failure_counts(one, None) == (0, 0)
    first = indexed_template(one, pod_template(one), 1, None)["metadata"]["annotations"]
    assert first == {indexes.COMPLETION_INDEX: "1", indexes.FAILURE_COUNT: "0"}
    assert (indexes.failure_count(before), indexes.absolute_failure_count(before)) == (2, 7)
    made = indexed_template(one, pod_template(one), 1, before)
    assert made["metadata"]["annotations"] == {
        indexes.COMPLETION_INDEX: "1",
        indexes.FAILURE_COUNT: str(counts[0]),
        indexes.IGNORED_FAILURE_COUNT: str(counts[1]),
    }


@pytest.mark.parametrize(
    ("text", "count"), [("3", 3), ("-1", 0), ("x", 0), ("2147483648", 0), ("2147483647", 2147483647)]
)
def test_counts_in_annotations(text, count):
    assert indexes.failure_count(pod(failures=text)) == count


def test_succeeded_indexes_are_those_of_the_status_and_of_tracked_pods():
    one = job(completions=5, completionMode="Indexed", status={"completedIndexes": "0,7"})
    pods = [
        succeeded("a", index=2),
        succeeded("b", index=3, tracked=False),
        succeeded("c", index=5),
        failed("d", index=1),
    ]
    before, now = indexes.succeeded_indexes(one, pods)
    assert (list(before), list(now)) == ([(0, 0)], [(0, 0), (2, 2)])


# --- pods


def test_the_template_of_the_pods_of_a_job():
    template = {"metadata": {"finalizers": ["x"]}, "spec": {"containers": [{"name": "c", "env": [{"name": "A"}]}]}}
    plain = pod_template(job(template=template))
    assert plain["metadata"]["finalizers"] == ["x", TRACKING]
    assert plain["spec"] == template["spec"]
    indexed = pod_template(job(template=template, completionMode="Indexed"))
    assert [one["name"] for one in indexed["spec"]["containers"][0]["env"]] == ["A", "JOB_COMPLETION_INDEX"]
    own = {"spec": {"containers": [{"name": "c", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "1"}]}]}}
    assert pod_template(job(template=own, completionMode="Indexed"))["spec"] == own["spec"]
    twice = pod_template(job(template={"metadata": {"finalizers": [TRACKING]}, "spec": {}}))
    assert twice["metadata"]["finalizers"] == [TRACKING]


def test_the_template_of_an_index():
    one = job(completionMode="Indexed")
    made = indexed_template(one, {"metadata": {"labels": {"a": "1"}}, "spec": {}}, 2, None)
    assert made["metadata"] == {
        "labels": {"a": "1", indexes.COMPLETION_INDEX: "2"},
        "annotations": {indexes.COMPLETION_INDEX: "2"},
    }
    assert made["spec"] == {"hostname": "j-2"}
    long = {**one, "metadata": {"name": "x" * 63}}
    assert indexed_name(long, 12) == f"{'x' * 54}-12-"
    assert indexed_name(one, 2) == "j-2-"


def ready(name, seconds, **more):
    since = {"type": "Ready", "status": "True", "lastTransitionTime": stamp(seconds)}
    one = pod(name, conditions=[since], **more)
    return {**one, "spec": {**one["spec"], "nodeName": "n"}}


def test_surplus_pods_of_an_indexed_job():
    """First those without a valid index, then all but the longest ready one of an index, then the rest as needed."""
    one = job(completionMode="Indexed", completions=2)
    active = [
        ready("old0", 90, index=0),
        ready("new0", 10, index=0),
        ready("one", 50, index=1),
        ready("two", 99, index=2),
    ]
    active.append(ready("none", 99))

    def names(least):
        return [found["metadata"]["name"] for found in surplus(one, active, least)]

    assert names(0) == ["none", "new0", "two"]
    assert names(3) == ["none", "new0", "two"]
    assert names(4) == ["none", "new0", "two", "one"]
    assert names(5) == ["none", "new0", "two", "one", "old0"]


def test_surplus_pods_of_another_job():
    active = [ready("a", 90), ready("b", 10), pod("c", "Pending")]
    assert [one["metadata"]["name"] for one in surplus(job(), active, 2)] == ["c", "b"]
    assert list(surplus(job(), active, 0)) == []


@pytest.mark.parametrize(
    ("one", "other", "later"),
    [
        (failed(seconds=9, failures=1), failed(seconds=5, failures=1), True),
        (failed(seconds=5, failures=1), failed(seconds=9, failures=1), False),
        (failed(seconds=5, failures=1), failed(seconds=5, failures=1), True),
        (failed(seconds=9, failures=2), failed(seconds=5, failures=1), False),
        (failed(seconds=9, failures=1, ignored=1), failed(seconds=5, failures=1), False),
    ],
)
def test_the_later_failure_of_an_index(one, other, later):
    assert later_failure(one, other) is later


def test_indexes_whose_back_off_has_ended():
    last = {1: failed(seconds=4, failures=0), 2: failed(seconds=4, failures=1), 3: failed(seconds=10, failures=0)}
    assert creatable([0, 1, 2, 3], last, NOW) == ([0, 3], 0.0)
    assert creatable([1, 2], last, NOW) == ([], 6.0)
    assert creatable([2], last, NOW) == ([], 16.0)
    assert creatable([], last, NOW) == ([], 0.0)


@pytest.mark.parametrize(
    ("phase", "deleted", "spec", "expected"),
    [
        ("Failed", False, {}, True),
        ("Running", False, {}, False),
        ("Running", True, {}, True),
        ("Succeeded", True, {}, False),
        ("Running", True, {"podReplacementPolicy": "Failed"}, False),
        ("Running", True, {"podReplacementPolicy": "TerminatingOrFailed"}, True),
        ("Running", True, {"podFailurePolicy": {}}, False),
        ("Failed", True, {"podReplacementPolicy": "Failed"}, True),
    ],
)
def test_which_pods_have_failed(phase, deleted, spec, expected):
    assert has_failed(pod(phase=phase, deleted=deleted), job(**spec)) is expected


# --- counting


def test_uncounted_pods_are_counted_when_their_finalizer_is_gone():
    status = {"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["a", "b"], "failed": ["c"]}}
    assert count_untracked(status, {"b"})
    assert status == {"succeeded": 2, "failed": 1, "uncountedTerminatedPods": {"succeeded": ["b"]}}
    assert not count_untracked(status, {"b"})
    with_uncounted(status, "succeeded", [])
    set_count(status, "failed", 0)
    set_count(status, "active", 3)
    assert status == {"succeeded": 2, "active": 3, "uncountedTerminatedPods": {}}


def test_pods_whose_finalizer_is_being_removed_are_not_tracked():
    expected = FinalizerExpectations()
    expected.expect("k", ["a", "b"])
    expected.observed("k", "a")
    expected.observed("other", "b")
    pods = [pod("a"), pod("b"), pod("c"), pod("d", tracked=False)]
    assert still_tracked(pods, expected.expected("k")) == {"a", "c"}
    expected.forget("k")
    assert still_tracked(pods, expected.expected("k")) == {"a", "b", "c"}


def synced(pods=(), expected=(), **options):
    sync = begin("ns/j", job(**options), pods, frozenset(expected), NOW)
    conclude(sync)
    return sync


def test_the_counts_of_a_job():
    status = {"succeeded": 1, "failed": 2, "uncountedTerminatedPods": {"succeeded": ["s1"], "failed": ["f1"]}}
    pods = [succeeded("s1"), succeeded("s2"), succeeded("s3", tracked=False), failed("f1"), failed("f2"), failed("f3")]
    pods += [pod("r", conditions=[{"type": "Ready", "status": "True"}]), pod("q"), pod("t", deleted=True)]
    sync = synced(pods, ["f3"], status=status)
    assert [len(sync.active), sync.ready, sync.terminating] == [2, 1, 1]
    assert [one["metadata"]["name"] for one in sync.new_succeeded] == ["s2"]
    assert [one["metadata"]["name"] for one in sync.new_failed] == ["f2", "t"]
    assert (sync.succeeded, sync.failed) == (3, 5)
    assert sync.uncounted_before == {"succeeded": {"s1"}, "failed": {"f1"}}
    assert sync.status["startTime"] == stamp(0)
    assert "startTime" not in synced(suspend=True).status
    assert synced(status={"startTime": stamp(5)}).status["startTime"] == stamp(5)


def test_pods_without_a_valid_index_do_not_count():
    sync = synced([failed("a", index=1), failed("b", index=9), failed("c")], completionMode="Indexed")
    assert ([one["metadata"]["name"] for one in sync.new_failed], sync.failed) == (["a"], 1)


def test_ignored_failures_do_not_count():
    pods = [pod("i", "Failed", containerStatuses=[container("c", 42)])]
    pods.append(pod("c", "Failed", containerStatuses=[container("c", 1)]))
    assert synced(pods, podFailurePolicy=IGNORE).failed == 1


def outcome(*pods, **options):
    finished = synced(pods, **options).finished
    return None if finished is None else (finished["type"], finished["reason"])


TOO_MANY = ("FailureTarget", "BackoffLimitExceeded")


@pytest.mark.parametrize(
    ("pods", "options", "expected"),
    [
        ([failed("a")], {"backoffLimit": 1}, None),
        ([failed("a"), failed("b")], {"backoffLimit": 1}, TOO_MANY),
        ([failed("a")], {"backoffLimit": 0}, TOO_MANY),
        ([], {"backoffLimit": 2, "status": {"failed": 3}}, TOO_MANY),
        # restarts of containers
        ([pod("a", containerStatuses=[{"restartCount": 2}])], {"backoffLimit": 2, "restart": "OnFailure"}, TOO_MANY),
        ([pod("a", containerStatuses=[{"restartCount": 1}])], {"backoffLimit": 2, "restart": "OnFailure"}, None),
        ([pod("a", containerStatuses=[{"restartCount": 2}])], {"backoffLimit": 2}, None),
        (
            [pod("a", "Pending", initContainerStatuses=[{"restartCount": 1}]), pod("b", containerStatuses=[{"restartCount": 1}])],
            {"backoffLimit": 2, "restart": "OnFailure"},
            TOO_MANY,
        ),
        ([succeeded("a")], {"backoffLimit": 0, "restart": "OnFailure"}, None),
        ([pod("a", containerStatuses=[{"restartCount": 1}])], {"backoffLimit": 0, "restart": "OnFailure"}, TOO_MANY),
        ([pod("a", containerStatuses=[{}])], {"backoffLimit": 1, "restart": "OnFailure"}, None),
        # the deadline
        ([], {"activeDeadlineSeconds": 10, "status": {"startTime": stamp(9)}}, None),
        ([], {"activeDeadlineSeconds": 10, "status": {"startTime": stamp(10)}}, ("FailureTarget", "DeadlineExceeded")),
        ([], {"activeDeadlineSeconds": 10, "suspend": True, "status": {"startTime": stamp(10)}}, None),
        # what was decided before
        ([], {"status": {"conditions": [{"type": "FailureTarget", "status": "True", "reason": "R"}]}}, ("Failed", "R")),
        (
            [],
            {"status": {"conditions": [{"type": t, "status": "True", "reason": t} for t in ("FailureTarget", "SuccessCriteriaMet")]}},
            ("SuccessCriteriaMet", "SuccessCriteriaMet"),
        ),
    ],
)  # fmt: skip
def test_how_a_job_ends(pods, options, expected):
    assert outcome(*pods, **options) == expected


def test_a_job_is_reconciled_again_at_its_deadline():
    assert synced(activeDeadlineSeconds=10, status={"startTime": stamp(4)}).again == [6.0]


def test_a_rule_of_the_failure_policy_ends_a_job():
    policy = {"rules": [{**codes("In", 5), "action": "FailJob"}]}
    bad = pod("a", "Failed", containerStatuses=[container("c", 5)])
    running = pod("b", containerStatuses=[container("c", 5)])
    assert outcome(running, bad, podFailurePolicy=policy) == ("FailureTarget", "PodFailurePolicy")
    assert outcome(running, podFailurePolicy=policy) is None


INDEXED = {"completionMode": "Indexed", "completions": 4, "backoffLimitPerIndex": 0, "backoffLimit": 99}


@pytest.mark.parametrize(
    ("pods", "most", "expected"),
    [
        ([failed("a", index=0)], None, None),
        ([failed("a", index=0)], 0, ("FailureTarget", "MaxFailedIndexesExceeded")),
        ([failed("a", index=0)], 1, None),
        ([failed("a", index=0), failed("b", index=1)], 1, ("FailureTarget", "MaxFailedIndexesExceeded")),
        (
            [failed("a", index=0), *(succeeded(str(n), index=n) for n in (1, 2, 3))],
            None,
            ("FailureTarget", "FailedIndexes"),
        ),
        ([succeeded(str(n), index=n) for n in range(4)], None, None),
    ],
)
def test_how_failed_indexes_end_a_job(pods, most, expected):
    assert outcome(*pods, **INDEXED, maxFailedIndexes=most) == expected


def test_the_last_failure_of_an_index_waits_for_its_replacement():
    options = {**INDEXED, "backoffLimitPerIndex": 3}
    pods = [failed("a0", 50, index=0, failures=0), failed("b0", 10, index=0, failures=1)]
    pods += [failed("a1", index=1), pod("b1", index=1), failed("a2", index=2), succeeded("b2", index=2)]
    pods += [failed("a3", index=3, failures=3), failed("x", index=9), failed("y", index=0, failures=0, tracked=False)]
    sync = synced(pods, **options)
    assert {index: one["metadata"]["name"] for index, one in sync.delayed.items()} == {0: "b0"}
    assert list(sync.failed_indexes) == [(3, 3)]


def test_a_success_policy_ends_a_job():
    policy = {"successPolicy": {"rules": [{"succeededCount": 1}]}, "completionMode": "Indexed", "completions": 4}
    assert outcome(succeeded("a", index=1), **policy) == ("SuccessCriteriaMet", "SuccessPolicy")
    assert outcome(failed("a", index=1), **policy) is None
    assert outcome(succeeded("a", index=1), failed("b", index=2), backoffLimit=0, **policy) == TOO_MANY


# --- conditions


def test_conditions_of_jobs():
    present = [{"type": "A", "status": "True", "reason": "R"}, {"type": "B", "status": "False"}]
    assert ensured(present, {"type": "A", "status": "True", "reason": "R"}) is present
    assert ensured(present, {"type": "C", "status": "False"}) is present
    assert [one["type"] for one in ensured(present, {"type": "C", "status": "True"})] == ["A", "B", "C"]
    assert ensured(present, {"type": "A", "status": "False"}) == [{"type": "A", "status": "False"}, present[1]]
    assert ensured(present, {"type": "B", "status": "True", "message": "m"})[1]["message"] == "m"
    assert true_condition({"conditions": present}, "A") == present[0]
    assert true_condition({"conditions": present}, "B") is None
    assert true_condition({}, "A") is None
    for kind, status, expected in (
        ("Complete", "True", "Complete"),
        ("Failed", "False", ""),
        ("Suspended", "True", ""),
    ):
        assert finished_type({"status": {"conditions": [{"type": kind, "status": status}]}}) == expected
