"""Which pods go first when there are too many, beside a model of `ActivePodsWithRanks.Less` and `ActivePods.Less`."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.controllers.workload.podranking import (
    DELETION_COST,
    deletion_cost,
    deletion_order,
    removal_order,
    restarts,
)
from fakekube.controllers.workload.podstate import timestamp

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

#: A pod that every rule would keep.
KEPT = {"node": "a", "phase": "Running", "ready": 4096, "cost": "5", "rank": 1, "restarts": 0, "age": 8192, "uid": "z"}


def at(seconds):
    return None if seconds is None else timestamp((NOW - timedelta(seconds=seconds)).replace(tzinfo=None))


def pod(name, *, node, phase, ready, cost, rank, restarts, age, uid):
    """A pod; `ready`, `age`: for how many seconds it is ready and exists, "" for a condition without a time."""
    meta = {"name": name, "uid": uid, "annotations": {DELETION_COST: cost} if cost else {}}
    if age is not None:
        meta["creationTimestamp"] = at(age)
    conditions = []
    if ready is not None:
        since = {} if ready == "" else {"lastTransitionTime": at(ready)}
        conditions = [{"type": "Ready", "status": "True", **since}]
    counts = [{"name": "c", "restartCount": restarts}, {"name": "d"}]
    status = {"phase": phase, "conditions": conditions, "containerStatuses": counts}
    return {"metadata": meta, "spec": {"nodeName": node, "containers": []}, "status": status}


def order(*rows):
    pods = [pod(str(number), **row) for number, row in enumerate(rows)]
    ordered = deletion_order(pods, [row["rank"] for row in rows], NOW)
    return [int(one["metadata"]["name"]) for one in ordered]


# --- each rule alone, against all later ones

#: In the order of the rules: what makes a pod go before one that is KEPT.
RULES = [
    {"node": ""},
    {"phase": "Pending"},
    {"ready": None},
    {"cost": "4"},
    {"rank": 2},
    {"ready": 1},
    {"restarts": 1},
    {"age": 1},
]


@pytest.mark.parametrize("number", range(len(RULES)))
def test_a_rule_decides_and_beats_all_later_ones(number):
    goes = KEPT | RULES[number]
    stays = dict(KEPT)
    for later in RULES[number + 1 :]:
        if number in (2, 5) and "ready" in later:
            continue  # the same field
        if number != 5 or "ready" not in later:
            stays |= {name: value for name, value in later.items() if name not in RULES[number]}
    assert order(stays, goes) == [1, 0]
    assert order(goes, stays) == [0, 1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"phase": "Pending"}, {"phase": "Unknown"}),
        ({"phase": "Unknown"}, {"phase": "Running"}),
        ({"cost": "-1"}, {"cost": ""}),
        ({"rank": 3}, {"rank": 2}),
        ({"ready": ""}, {"ready": 1}),  # without a time: before any time
        ({"age": None}, {"age": 1}),
        ({"ready": 0}, {"ready": 1}),  # of no duration
        ({"ready": 1, "age": 8192}, {"ready": 4, "age": 1}),
        ({"ready": None, "restarts": 2}, {"ready": None, "restarts": 1}),
        ({"ready": None, "age": 1}, {"ready": None, "age": 4}),
        # times of the same power of two (in nanoseconds) are equal: the uid decides
        ({"ready": 900, "uid": "a"}, {"ready": 600, "uid": "b"}),
        ({"ready": None, "age": 900, "uid": "a"}, {"ready": None, "age": 600, "uid": "b"}),
    ],
)
def test_pairs(first, second):
    first, second = KEPT | first, KEPT | second
    assert order(first, second) == [0, 1]
    assert order(second, first) == [1, 0]


def less(one, other):
    """Go's Less of two rows, as it is written upstream."""
    if one["node"] != other["node"] and not (one["node"] and other["node"]):
        return not one["node"]
    ordinal = {"Pending": 0, "Unknown": 1, "Running": 2}
    if ordinal[one["phase"]] != ordinal[other["phase"]]:
        return ordinal[one["phase"]] < ordinal[other["phase"]]
    if (one["ready"] is None) != (other["ready"] is None):
        return one["ready"] is None
    costs = int(one["cost"] or 0), int(other["cost"] or 0)
    if costs[0] != costs[1]:
        return costs[0] < costs[1]
    if one["rank"] != other["rank"]:
        return one["rank"] > other["rank"]
    if one["ready"] is not None and one["ready"] != other["ready"]:
        return younger(one, other, "ready")
    if one["restarts"] != other["restarts"]:
        return one["restarts"] > other["restarts"]
    return one["age"] != other["age"] and younger(one, other, "age")


def younger(one, other, name):
    if one[name] in (None, "") or other[name] in (None, ""):
        return one[name] in (None, "")
    magnitudes = [int(math.log2(row[name] * 1e9)) if row[name] > 0 else -1 for row in (one, other)]
    return one["uid"] < other["uid"] if magnitudes[0] == magnitudes[1] else magnitudes[0] < magnitudes[1]


ROWS = st.fixed_dictionaries({
    "node": st.sampled_from(["", "a", "b"]),
    "phase": st.sampled_from(["Pending", "Unknown", "Running", "Running"]),
    "ready": st.sampled_from([None, "", 0, 1, 2, 3, 600, 700]),
    "cost": st.sampled_from(["", "", "-1", "7"]),
    "rank": st.sampled_from([1, 1, 2]),
    "restarts": st.sampled_from([0, 0, 3]),
    "age": st.sampled_from([None, 0, 1, 2, 3, 600, 700]),
})  # fmt: skip


@settings(max_examples=150)
@given(ROWS, ROWS, st.booleans())
def test_two_pods_are_ordered_as_the_model_orders_them(one, other, later):
    one, other = one | {"uid": "b" if later else "a"}, other | {"uid": "a" if later else "b"}
    assert order(one, other) == ([1, 0] if less(other, one) else [0, 1])


# --- the annotation and the restarts


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("", 0),
        ("7", 7),
        ("-7", -7),
        ("0", 0),
        ("+7", 0),
        ("07", 0),
        ("x", 0),
        ("2147483647", 2147483647),
        ("2147483648", 0),
        ("-2147483648", -2147483648),
        ("-2147483649", 0),
    ],
)
def test_deletion_costs(text, cost):
    assert deletion_cost({"metadata": {"annotations": {DELETION_COST: text}}}) == cost


def test_restarts_are_those_of_the_worst_container_and_of_the_worst_sidecar():
    status = {
        "containerStatuses": [{"name": "a", "restartCount": 2}, {"name": "b", "restartCount": 5}, {"name": "c"}],
        "initContainerStatuses": [{"name": n, "restartCount": count} for n, count in (("r", 1), ("s", 3), ("i", 9))],
    }
    initial = [{"name": "r", "restartPolicy": "Always"}, {"name": "s", "restartPolicy": "Always"}, {"name": "i"}]
    assert restarts({"spec": {"initContainers": initial}, "status": status}) == (5, 3)
    assert restarts({"spec": {}}) == (0, 0)


# --- controller.ActivePods, which Jobs use: exact times, no costs, no ranks


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"node": "", "phase": "Running"}, {"phase": "Pending"}),
        ({"phase": "Pending"}, {"phase": "Unknown", "ready": None}),
        ({"phase": "Unknown"}, {"ready": None}),
        ({"ready": None}, {"ready": 1, "restarts": 9}),
        ({"ready": ""}, {"ready": 1}),
        ({"ready": 600}, {"ready": 700}),
        ({"ready": 1}, {"ready": 2, "restarts": 3}),
        ({"restarts": 2}, {"restarts": 1, "age": 1}),
        ({"age": 600}, {"age": 700}),
        ({"age": None}, {"age": 0}),
        ({"ready": None, "age": 600}, {"ready": None, "age": 700}),
    ],
)
def test_pods_of_jobs(first, second):
    pods = [pod("first", **KEPT | first), pod("second", **KEPT | second)]
    for given_order in (pods, pods[::-1]):
        assert [one["metadata"]["name"] for one in removal_order(given_order)] == ["first", "second"]
