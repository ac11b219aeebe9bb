"""The pure rules by which detectors read what clients write, and by which checks of arguments answer."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllerlib.controller import RecoveredPanic
from fakekube.apiserver.kubelet import ExecResult
from fakekube.apiserver.wire.status import StatusError
from fakekube.controllers.kubelet.stage import Stage, Start
from fakekube.harness.callbacks import reported, takes_nothing
from fakekube.harness.detectors.detector import leaves, meta_of, shown_path, shown_value
from fakekube.harness.detectors.presenttime import (
    at_path,
    is_number,
    is_present,
    present_fields,
    texts_of,
    writes_present,
)
from fakekube.harness.detectors.spokenerrors import speaks_of_an_error
from fakekube.harness.detectors.texts.places import defined_at, is_of_library, raised_at, shown_error
from fakekube.harness.detectors.texts.unchanged import why
from fakekube.harness.keywords import EventFields, check_names, check_request_fields
from fakekube.harness.perturbation import Perturbation
from fakekube.harness.pods import simulationarguments as checks
from fakekube.harness.tracebacks import without_own_frames
from fakekube.harness.unhandled import is_unhandled
from fakekube.virtualtime.errors import BubbleClosed, LoopBlocked

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
SECONDS = int(NOW.timestamp())

# --- the present time


@pytest.mark.parametrize(
    ("value", "present"),
    [
        ("2026-05-06T07:08:09Z", True),
        ("2026-05-06T07:08:09.123456+00:00", True),
        ("2026-05-06 07:08:09", True),
        ("2026-05-06T07:08:10Z", False),
        ("2026-05-07T07:08:09Z", False),
        ("at 2026-05-06T07:08:09Z", False),
        (str(SECONDS), True),
        (f"{SECONDS}123", True),
        (f"1{SECONDS}", False),
        (SECONDS, True),
        (SECONDS + 0.5, True),
        (SECONDS * 1000 + 999, True),
        (SECONDS + 1, False),
        (SECONDS * 1000 + 1000, False),
        (True, False),
        (None, False),
    ],
)
def test_the_present_time_in_all_forms(value, present):
    assert present_fields({"spec": {"a": [value]}, "x": 1}, NOW) == ((("spec", "a", 0),) if present else ())


def test_all_forms_of_the_present_time_in_one_object():
    body = {"a": NOW.isoformat(), "b": f"{NOW:%Y-%m-%d %H:%M:%S}", "c": SECONDS, "d": "x"}
    assert present_fields(body, NOW) == (("a",), ("b",), ("c",))


def test_fields_of_the_server_and_times_of_changes_are_not_the_present():
    now = NOW.isoformat()
    assert present_fields({"metadata": {"creationTimestamp": now, "managedFields": [{"time": now}]}}, NOW) == ()
    body = {"status": {"conditions": [{"lastTransitionTime": now}]}}
    assert present_fields(body, NOW) == (("status", "conditions", 0, "lastTransitionTime"),)
    assert not writes_present(body, NOW)
    assert writes_present({**body, "spec": {"at": now}}, NOW)
    assert present_fields([now], NOW) == ((0,),)
    assert present_fields(now, NOW) == present_fields(None, NOW) == present_fields({"a": {1, now}}, NOW) == ()


class Moment(datetime):
    """As libraries that replace the wall clock have it."""


def forms_of(now):
    """Values that are the present time, or nearly so."""
    seconds, text = int(now.timestamp()), now.isoformat()
    near = (now + timedelta(seconds=1)).isoformat()
    numbers = [seconds, str(seconds), seconds + 0.25, seconds * 1000 + 7, seconds + 1, f"x{seconds}", f"{seconds}9"]
    return st.sampled_from(
        [text, text.replace("T", " "), text[:19] + "Z", text[11:19], near, *numbers, None, True, "é"]
    )


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_present_is_found_by_text_where_it_is_found_field_by_field(data):
    now = data.draw(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))
    names = st.sampled_from(["metadata", "creationTimestamp", "managedFields", "spec", "a"])
    nested = st.recursive(forms_of(now), lambda some: st.lists(some, max_size=3) | st.dictionaries(names, some))
    body = data.draw(st.dictionaries(names, nested, max_size=4))
    text, of_server = texts_of(now), {"creationTimestamp", "managedFields"}
    expected = [path for path, value in leaves(body) if is_present(value, text) and not of_server & set(path)]
    assert sorted(map(str, present_fields(body, now))) == sorted(map(str, expected))
    moment = Moment.fromtimestamp(now.timestamp(), UTC).replace(microsecond=now.microsecond)
    assert texts_of(moment) == text
    assert (text.date, text.time, text.seconds) == (f"{now:%Y-%m-%d}", f"{now:%H:%M:%S}", int(now.timestamp()))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), {"a": [1, {"b": 2}]}),
        (("a", 1, "b"), 2),
        (("a", 5), None),
        (("x",), None),
        (("a", "b"), None),
        (("a", 0, "c"), None),
    ],
)
def test_a_value_at_a_path(path, value):
    assert at_path({"a": [1, {"b": 2}]}, path) == value


@pytest.mark.parametrize(
    ("value", "number"), [(1, True), (1.5, True), ("12", True), ("1.5", False), ("", False), (None, False)]
)
def test_numbers(value, number):
    assert is_number(value) is number


def test_paths_and_values_in_texts():
    assert list(leaves({"a": [1, {"b": "text"}], "c": {}, "d": None})) == [
        (("a", 0), 1),
        (("a", 1, "b"), "text"),
        (("d",), None),
    ]
    assert shown_path(("spec", "containers", 0, "image")) == ".spec.containers[0].image"
    assert (shown_value(None), shown_value("x"), shown_value("abc", 5), shown_value("abcd", 5)) == (
        "absent",
        "'x'",
        "'abc'",
        "'abcd...",
    )
    assert [meta_of(obj) for obj in ({"metadata": {"name": "a"}}, {"metadata": None}, {}, None)] == [
        {"name": "a"},
        {},
        {},
        {},
    ]


# --- errors that are spoken of


@pytest.mark.parametrize(
    ("value", "speaks"),
    [
        ("it Failed", True), ("cannot, access DENIED", True), ("all is well", False), ("", False), (5, False), (None, False),
        ({"type": "Ready", "status": "False"}, True), ({"type": "Ready", "status": "True"}, False),
        ({"type": "Ready", "status": "Unknown"}, False), ({"type": "Degraded", "status": "True"}, True),
        ({"type": "Degraded", "status": "False", "message": "no error"}, False),
        ({"type": "Ready", "status": "True", "reason": "PartlyFailed"}, True),
        ({"type": "Ready", "status": "Unknown", "message": "unable to tell"}, True),
        ({"type": "Progressing", "status": "False"}, False), ({"type": "Running", "status": "False"}, True),
        ({"type": "Paused", "status": "False"}, False), ({"type": "Ready"}, False),
        ({"ready": False}, True), ({"ready": "False"}, True), ({"ready": "false"}, True), ({"ready": True}, False),
        ({"failed": True}, True), ({"failed": False}, False), ({"failed": 0}, False), ({"failed": 2}, True),
        ({"errors": []}, False), ({"errors": ["x"]}, True), ({"stopped": False}, False), ({"notReady": "true"}, True),
        ({"phase": "Failed"}, True), ({"nested": {"phase": ["ok", "rejected"]}}, True), ([], False), (["fine"], False),
        ('{"phase": "Failed"}', True), ('{"phase": "Fine"}', False), ("{failed", True), ("[fine", False), ('["error"]', True),
    ],
)  # fmt: skip
def test_what_speaks_of_an_error(value, speaks):
    assert speaks_of_an_error(value) is speaks


# --- why a write has changed nothing: more rows than in detectors/test_texts.py

STORED = {
    "apiVersion": "v1",
    "kind": "A",
    "metadata": {"name": "a", "uid": "u"},
    "spec": {"a": 1, "l": [1], "m": {"x": "1"}},
    "status": {"p": 1},
}


@pytest.mark.parametrize(
    ("verb", "body", "subresource", "has_status", "reason"),
    [
        ("patch", {"kind": "B", "metadata": {"uid": "v", "generation": 7}}, "", True, "it sends what is stored"),
        ("patch", {"metadata": {"labels": {"x": "y"}}}, "", True,
         ".metadata.labels.x was sent as 'y' and is not stored: the schema does not have the field, and prunes it"),
        ("patch", {"spec": {"n": {}}}, "", True, ".spec.n was sent as {}, and an empty value is not stored"),
        ("patch", {"spec": {"n": []}}, "", True, ".spec.n was sent as [], and an empty value is not stored"),
        ("patch", {"spec": {"l": [7]}}, "", True, "it sends what is stored"),
        ("patch", {"spec": {"$patch": "replace", "a": 2}}, "", True, ".spec.a was sent as 2 and is stored as 1"),
        ("patch", {"spec": {"a": {"b": 2}}}, "", True, ".spec.a was sent as {'b': 2} and is stored as 1"),
        ("patch", {"status": {"p": 2}}, "", False, ".status.p was sent as 2 and is stored as 1"),
        ("patch", {"status": {"p": 2}}, "scale", True, ".status.p was sent as 2 and is stored as 1"),
        ("patch", {"metadata": {"x": 1}, "status": {"p": 1}}, "status", True,
         ".metadata.x was sent as 1 and is not stored: the schema does not have the field, and prunes it"),
        ("patch", [{"op": "remove", "path": "/spec/a"}, {"op": "add", "path": "/spec/l/-", "value": 2}, "x",
                   {"op": "replace", "path": "/spec/m/x", "value": "1"}, {"op": "add", "path": "/spec/a"}], "", True,
         "it sends what is stored"),
        ("patch", [{"op": "add", "path": "/spec/m/a~1b~0c", "value": 1}, {"op": "replace", "path": "/spec/l/0", "value": 3}], "", True,
         ".spec.m.a/b~c was sent as 1 and is not stored: the schema does not have the field, and prunes it; .spec.l[0] was sent "
         "as 3 and is stored as 1"),
        ("patch", [{"op": "add", "path": "/spec/l/1", "value": 3}], "", True,
         ".spec.l[1] was sent as 3 and is not stored: the schema does not have the field, and prunes it"),
        ("update", {**STORED, "spec": {"a": 1, "l": [], "m": {"x": None}}}, "", True,
         ".spec.m.x was sent as null and is stored as '1', its default"),
        ("update", {**STORED, "spec": {"a": 1, "z": None, "l": [1], "m": {"x": "1"}}}, "", True, "it sends what is stored"),
        ("update", {key: one for key, one in STORED.items() if key in ("spec",)}, "", True, "it sends what is stored"),
        ("update", {**STORED, "spec": {"b": 1, "c": 2, "d": 3, "e": 4, "a": 1, "l": [1], "m": {"x": "1"}}}, "", True,
         "; ".join(f".spec.{key} was sent as {number} and is not stored: the schema does not have the field, and prunes it"
                   for key, number in (("b", 1), ("c", 2), ("d", 3))) + "; and 1 more fields"),
        ("update", "text", "", True, ""),
    ],
)  # fmt: skip
def test_why_a_write_has_changed_nothing(verb, body, subresource, has_status, reason):
    assert why(verb, body, STORED, subresource, has_status) == reason
    assert why(verb, body, None, subresource, has_status) == ""


# --- places and tracebacks


def fails():
    raise KeyError("x")


class Called:
    def __call__(self):
        fails()

    def method(self):
        """A method."""


def caught(function, *args):
    try:
        function(*args)
    except BaseException as error:
        return error


def test_places_of_the_code_under_test():
    line, file = fails.__code__.co_firstlineno, Path(__file__).name
    error = caught(fails)
    assert raised_at(error) == f" ({file}:{line + 1})"
    assert shown_error(error) == f"KeyError: 'x' ({file}:{line + 1})"
    assert shown_error(RecoveredPanic(error)) == shown_error(error)
    assert (raised_at(ValueError()), shown_error(ValueError("v"))) == ("", "ValueError: v")
    assert raised_at(caught(asyncio.run, None)).startswith(f" ({file}:")
    assert defined_at(fails) == f" ({file}:{line})"
    assert defined_at(Called().method) == f" ({file}:{Called.method.__code__.co_firstlineno})"
    assert defined_at(Called()) == f" ({file}:{Called.__call__.__code__.co_firstlineno})"
    assert defined_at(None) == defined_at(len) == ""
    assert is_of_library(asyncio.__file__)
    assert is_of_library(pytest.__file__)
    assert not is_of_library(__file__)


def frames(trace):
    names = []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return names


def through(*modules):
    """Calls `fails` through functions of these modules."""
    call = fails
    for name in reversed(modules):
        namespace = {"__name__": name, "inner": call}
        exec(f"def {name.replace('.', '_')}(): inner()", namespace)
        call = namespace[name.replace(".", "_")]
    return call


def test_reports_show_no_frames_of_this_package():
    assert frames(without_own_frames(caught(through("fakekube.a", "controllerlib")))) == ["caught", "fails"]
    assert frames(without_own_frames(caught(through("asyncio", "fakekube.a", "asyncio", "mine", "asyncio")))) == [
        "caught", "asyncio", "mine", "asyncio", "fails",
    ]  # fmt: skip
    namespace = {"__name__": "fakekube.x"}
    exec("def own(): None.x\ndef refuses(): raise ValueError", namespace)
    assert frames(without_own_frames(caught(namespace["own"]))) == ["caught", "own"]
    assert frames(without_own_frames(caught(namespace["refuses"]))) == ["caught"]
    only_own = caught(namespace["refuses"]).with_traceback(caught(namespace["refuses"]).__traceback__.tb_next)
    assert frames(without_own_frames(only_own)) == ["refuses"]
    assert without_own_frames(ValueError()) is None


# --- functions of the test


def test_what_a_function_of_the_test_raises_is_reported_and_answered():
    failures = []

    def answer(what):
        if isinstance(what, BaseException):
            raise what
        return what

    def converse(what):
        sent = yield what
        if isinstance(sent, BaseException):
            raise sent
        return sent

    call = reported(answer, failures.append)
    assert (call(5), call.__name__) == (5, "answer")
    for error, is_reported in (
        (ValueError(), True), (StatusError(404, "NotFound", "x"), False), (asyncio.CancelledError(), True), (BubbleClosed(), False),
    ):  # fmt: skip
        failures.clear()
        assert caught(call, error) is error
        assert failures == [error] * is_reported
        failures.clear()
        talk = reported(converse, failures.append)(1)
        assert next(talk) == 1
        assert caught(talk.send, error) is error
        assert failures == [error] * is_reported
    talk = reported(converse, failures.append)(1)
    next(talk)
    failures.clear()
    talk.close()
    assert failures == []
    with pytest.raises(TypeError, match="handler='x': pass a function"):
        reported("x", failures.append)


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (lambda: 1, True),
        (lambda x: 1, False),
        (lambda x=1: 1, True),
        (lambda *a: 1, True),
        (partial(pow, 1), False),
        (dict, True),
        (Called(), True),
    ],
)
def test_functions_that_take_nothing(function, takes):
    assert takes_nothing(function) is takes


@pytest.mark.parametrize(
    ("error", "unhandled"),
    [
        (ValueError(), True), (asyncio.CancelledError(), True), (KeyboardInterrupt(), False), (SystemExit(), False),
        (BubbleClosed(), False), (LoopBlocked(), False), (pytest.fail.Exception(), False), (type("Own", (BaseException,), {})(), True),
    ],
)  # fmt: skip
def test_errors_that_nothing_else_raises(error, unhandled):
    assert is_unhandled(error) is unhandled


def test_without_an_exploration_nothing_is_perturbed():
    found = Perturbation()
    assert (found.calm, found.skips(), found.absorbs(ValueError())) == (True, False, False)
    found.awaited()
    found.moves()
    assert found.external("x", 5, ValueError) == 5
    with found.step("x"):
        pass


class Run:
    calm = False

    def __init__(self):
        self.log = []

    def __getattr__(self, name):
        return lambda *args: self.log.append((name, *args)) or True


def test_the_run_of_an_exploration_is_asked():
    found, error = Perturbation(), ValueError()
    found.run = Run()
    assert (found.calm, found.skips(), found.absorbs(error), found.step("s")) == (False, True, True, True)
    found.awaited()
    found.moves()
    found.external("api", 5, ValueError)
    assert found.run.log == [
        ("skips",),
        ("absorbs", error),
        ("step", "s"),
        ("awaited",),
        ("moves",),
        ("external", "api", 5, ValueError),
    ]


# --- arguments


def test_keyword_arguments_are_checked_by_name_and_type():
    check_names("events", {"reason": "x"}, EventFields)
    with pytest.raises(TypeError, match=r"events\(\) has no argument a, b \(accepted: action, count, "):
        check_names("events", {"b": 1, "a": 1, "type": "x"}, EventFields)
    check_request_fields({"verb": "get", "code": 200, "at": 1.5, "serial": 3, "message": ""})
    for name, value, kind in (("verb", 1, "a text, not int"), ("code", "1", "a number, not str"), ("code", True, "a number, not bool"),
                              ("trace", True, "a text, not bool"), ("at", None, "a number, not NoneType")):  # fmt: skip
        with pytest.raises(TypeError, match=rf"requests\({name}={value!r}\): {name} is {kind}"):
            check_request_fields({name: value})


def test_the_options_of_a_node():
    spec = checks.node_spec("n-1", {"cpu": 4, "memory": "1Gi", "pods": 0, "labels": {"a/b": "c"}, "annotations": {"X/Y": "any text"},
                                    "resources": {"gpu": 0}, "taints": ["a=b:NoSchedule", "c:NoExecute", {"key": "d", "effect": "PreferNoSchedule"}]})  # fmt: skip
    assert (spec.name, spec.cpu, spec.pods) == ("n-1", 4, 0)
    assert spec.taints == [
        {"key": "a", "effect": "NoSchedule", "value": "b"}, {"key": "c", "effect": "NoExecute"}, {"key": "d", "effect": "PreferNoSchedule"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options", "error", "said"),
    [
        (3, {}, TypeError, r"nodes.add\(3\): pass the name"),
        ("A_b", {}, ValueError, r"nodes.add\('A_b'\): "),
        ("n", {"gpus": 1}, TypeError, "no argument gpus"),
        *(("n", {option: wrong}, TypeError, f"{option}=.*pass an int") for option in ("pods", "lease_duration") for wrong in (True, "1", 1.0)),
        ("n", {"pods": -1}, ValueError, "pods=-1: it must not be negative"),
        *(("n", {option: ["a"]}, TypeError, f"{option}=.*pass a mapping") for option in ("labels", "annotations", "resources")),
        ("n", {"labels": {"a": 1}}, TypeError, "names and values are text"),
        ("n", {"annotations": {1: "a"}}, TypeError, "names and values are text"),
        ("n", {"labels": {"a b": "c"}}, ValueError, "labels="),
        ("n", {"labels": {"a": "b c"}}, ValueError, "labels="),
        ("n", {"annotations": {"a b": "c"}}, ValueError, "annotations="),
        *(("n", {option: "x"}, ValueError, f"{option}='x': it is no quantity") for option in ("cpu", "memory", "storage")),
        ("n", {"cpu": True}, TypeError, "cpu=True: pass a number"),
        ("n", {"memory": "-1"}, ValueError, "memory='-1': it must not be negative"),
        ("n", {"resources": {"gpu": "x"}}, ValueError, "gpu='x': it is no quantity"),
        ("n", {"taints": "a:NoSchedule"}, TypeError, "pass a list"),
        ("n", {"taints": {"key": "a"}}, TypeError, "pass a list"),
        ("n", {"taints": [":NoSchedule"]}, ValueError, "expected 'key=value:Effect'"),
        ("n", {"taints": ["a:Never"]}, ValueError, "with NoSchedule, PreferNoSchedule, NoExecute"),
        ("n", {"taints": [3]}, ValueError, "taints=3: expected"),
    ],
)  # fmt: skip
def test_wrong_options_of_a_node(name, options, error, said):
    with pytest.raises(error, match=said):
        checks.node_spec(name, options)


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (checks.check_exit_code, [0, 255], [(-1, ValueError), (256, ValueError), (True, TypeError), ("1", TypeError)]),
        (checks.check_pressure, ["memory", "disk", "pid"], [("cpu", ValueError), (None, ValueError)]),
        (checks.check_probe, ["startup", "readiness", "liveness"], [("ready", ValueError)]),
        (checks.check_log, ["x", b"x", [(0, "x")], ((0, "x"),), len], [(3, TypeError), ({}, TypeError)]),
        (checks.check_command, ["x", b"x", ExecResult("x"), len], [(3, TypeError), ([], TypeError)]),
        (
            checks.check_stage,
            [Stage("x", "creating", Start())],
            [("x", TypeError), (Stage("x", "later", Start()), ValueError)],
        ),
        (partial(checks.check_pods, "ns"), ["", "a*"], [(None, TypeError), (3, TypeError)]),
        (lambda namespace: checks.check_pods(namespace, ""), [None, "x"], [(3, TypeError), (["x"], TypeError)]),
    ],
)
def test_arguments_of_pods(check, right, wrong):
    for value in right:
        check(value)
    for value, error in wrong:
        with pytest.raises(error, match="pass "):
            check(value)


def test_the_choices_are_named():
    with pytest.raises(ValueError, match="kind='x': pass 'memory', 'disk' or 'pid'"):
        checks.check_pressure("x")


def test_the_objects_that_a_container_applies(tmp_path):
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    path = tmp_path / "a.yaml"
    path.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    for effect in (one, [one], (one,), path, str(path), path.read_text()):
        assert checks.objects_of(effect) == [one]
    copies = checks.objects_of([one])
    copies[0]["metadata"]["name"] = "b"
    assert one["metadata"]["name"] == "a"
    with pytest.raises(TypeError, match=r"run\(3\): pass objects"):
        checks.objects_of(3)
    with pytest.raises(ValueError, match=r"\Arun\(\): "):
        checks.objects_of([{"kind": "x"}])
