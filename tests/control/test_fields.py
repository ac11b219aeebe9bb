"""The fields of the control API are the arguments of a test in camelCase; this compares the two tables."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.wire.status import StatusError
from fakekube.control import faultdesk, journal, workloaddesk
from fakekube.control.filedesk import FileDesk
from fakekube.control.objectdesk import ObjectDesk
from fakekube.control.operation import operations_of
from fakekube.control.recorddesk import RecordDesk
from fakekube.control.requestfields import arguments, camel, schema_of, snake, spoken
from fakekube.control.statedesk import StateDesk
from fakekube.control.timedesk import TimeDesk
from fakekube.controllers.scalingmetrics import Metrics
from fakekube.harness import keywords
from fakekube.harness.desks import Access, Faults, Findings, Pods
from fakekube.harness.pods.simulatednode import SimulatedNode
from fakekube.harness.pods.simulatedpods import SimulatedPods
from fakekube.virtualtime.durations import Duration
from tests.control.rig import stepped

DESKS = (TimeDesk, faultdesk.FaultDesk, RecordDesk, StateDesk, FileDesk, workloaddesk.WorkloadDesk, ObjectDesk)


def parameters(function, *without):
    return {camel(name) for name in inspect.signature(function).parameters if name not in ("self", *without)}


def options(accepted, *without):
    return {camel(name) for name in accepted.__annotations__.keys() | _inherited(accepted) if name not in without}


def _inherited(accepted):
    return {
        name
        for base in getattr(accepted, "__orig_bases__", ())
        if hasattr(base, "__annotations__")
        for name in base.__annotations__
    }


def fields_of(method, path):
    found = {(one.method, one.path): one for desk in DESKS for one in operations_of([object.__new__(desk)])}
    return set(found[method, path].fields)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(set(faultdesk.KINDS["requests"]), options(keywords.Fault, "before"), id="fault"),
        pytest.param(set(faultdesk.KINDS["watches"]), options(keywords.WatchFault), id="disturb_watches"),
        pytest.param(set(faultdesk.KINDS["bodies"]), options(keywords.BodyFault), id="damage_bodies"),
        pytest.param(set(faultdesk.KINDS["webhooks"]), options(keywords.WebhookFault) | {"webhook"}, id="fail_webhooks"),
        pytest.param(fields_of("POST", "/holds"), parameters(Faults.hold_watches, "operator"), id="hold_watches"),
        pytest.param(set(journal.FIELDS), options(keywords.RequestFields), id="requests"),
        pytest.param(fields_of("POST", "/findings:allow"), parameters(Findings.allow), id="findings.allow"),
        pytest.param(fields_of("GET", "/rbac") - {"format"}, parameters(Access.rbac_report, "service_account"), id="rbac_report"),
        pytest.param(fields_of("POST", "/nodes"), options(keywords.NodeOptions) | {"name"}, id="nodes.add"),
        pytest.param(
            fields_of("POST", "/pods:script") - {"always", "do"},
            parameters(Pods.__call__, "label_selector") | {"selector"},
            id="pods",
        ),
        pytest.param(
            set(workloaddesk.METRICS),
            {camel(name.removeprefix("set_")) for name in vars(Metrics) if name.startswith("set_")},
            id="metrics",
        ),
    ],
)  # fmt: skip
def test_an_operation_takes_what_a_test_passes(found, expected):
    assert found == expected


@pytest.mark.parametrize(
    ("table", "owner", "without"),
    [(workloaddesk.scripts, SimulatedPods, {"always", "names"}), (workloaddesk.node_actions, SimulatedNode, {"name", "is_lost"})],
)  # fmt: skip
def test_what_can_be_done_to_pods_and_nodes(table, owner, without):
    public = {name for name in vars(owner) if not name.startswith("_")} - without
    assert set(table()) == {camel(name) for name in public}
    for name, fields in table().items():
        assert set(fields) == parameters(getattr(owner, snake(name)))


@stepped
async def test_every_desk_of_the_table_is_one_of_the_api(it):
    assert {type(one) for one in it.control.desks} == set(DESKS)


@given(st.lists(st.text("aexz", min_size=1, max_size=3), min_size=1, max_size=4).map("_".join))
def test_names_return_from_camel_case(name):
    assert snake(camel(name)) == name


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (str, {"type": "string"}),
        (int | None, {"type": "integer", "nullable": True}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Mapping[str, str], {"type": "object"}),
        (Sequence[int], {"type": "array", "items": {"type": "integer"}}),
        (Duration, {"anyOf": [{"type": "number"}, {"type": "string"}], "example": "30s"}),
        (Any, {}),
    ],
)
def test_the_schema_of_an_annotation(kind, schema):
    assert schema_of(kind) == schema


ACCEPTED = {
    "userAgent": {"type": "string"}, "times": {"type": "integer", "nullable": True}, "share": {"type": "number"},
    "committed": {"type": "boolean"}, "reset": {"type": "string", "enum": ["", "after"]},
    "delay": schema_of(Duration), "match": {"type": "object"}, "any": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"userAgent": "a", "times": None, "share": 1}, {"user_agent": "a", "times": None, "share": 1}),
        ({"delay": "8s", "committed": True, "any": None}, {"delay": "8s", "committed": True, "any": None}),
        ({"user_agent": "a"}, "x: unknown field 'user_agent': did you mean 'userAgent'? (accepted: userAgent, "),
        ({"times": True}, "x: times=True is not an integer"),
        ({"share": "a"}, "x: share='a' is not a number"),
        ({"reset": "before"}, "x: reset='before' is not one of '', 'after'"),
        ({"delay": []}, "x: delay=[] is not a number or a string"),
        ({"match": []}, "x: match=[] is not an object"),
        ({"userAgent": None}, "x: userAgent=None is not a string"),
        ("hello", "x='hello' is not an object with the fields userAgent, times, "),
        (None, "x=None is not an object"),
    ],
)
def test_the_arguments_of_a_request(given, found):
    if isinstance(found, dict):
        assert arguments("x", given, ACCEPTED) == found
    else:
        with pytest.raises(StatusError) as refused:
            arguments("x", given, ACCEPTED)
        assert (refused.value.code, refused.value.message[: len(found)]) == (400, found)


def test_messages_speak_of_fields():
    message = "user_agent=None: cut_after is no count (unrealistic=True injects it nevertheless); use .always()"
    assert spoken(message, ["userAgent", "cutAfter", "unrealistic"]) == (
        'userAgent=null: cutAfter is no count (unrealistic=true injects it nevertheless); use "always": true'
    )
