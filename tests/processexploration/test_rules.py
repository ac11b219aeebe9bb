"""The plans of an exploration and the script of a failure, without a process."""

import shlex
import subprocess

import pytest

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.processexploration import explorecommand
from fakekube.processexploration.changesteps import Call, Step
from fakekube.processexploration.exploring import Outcome
from fakekube.processexploration.faultplans import FaultPlan, Write, plans, writes_of
from fakekube.processexploration.reproduction import Failure, Setting, checked, condition, script, verification
from fakekube.server.process.listening import CannotServe
from fakekube.simulation.anchor import parse_anchor
from fakekube.simulation.observation import Commit, Observation, Violation
from fakekube.simulation.statemask import Mask

WRITE = Write(parse_anchor("create cm/a#1"), {"verb": "create", "resource": "configmaps", "userAgent": "mine*"})


def record(serial, verb, name="a", resource="configmaps", subresource="", code=200):
    return RequestRecord(
        0, verb, resource, "", "default", name, subresource, "u", "mine/1", code, "", f"/{resource}/{name}", 1,
        serial=serial,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("records", "changes", "found"),
    [
        pytest.param([record(1, "get")], {}, [], id="a read is no write"),
        pytest.param([record(1, "update")], {}, [], id="nor is one that changes nothing"),
        pytest.param([record(1, "create", "l", "leases")], {1: "create lease/l#1"}, [], id="nor one of a lease"),
        pytest.param(
            [record(1, "create", "a"), record(2, "create", "b")],
            {1: "create cm/a#1", 2: "create cm/b#1"},
            [("create", None, 0), ("create", None, 1)],
            id="a create has no name, and is counted",
        ),
        pytest.param(
            [record(1, "update", code=409), record(2, "update")],
            {2: "update cm/a{data.x}#1"},
            [("update", "a", 1)],
            id="requests that fail are counted, too",
        ),
        pytest.param(
            [record(1, "delete", "a-x7k2p")], {1: "delete cm/a-*#1"}, [("delete", "a-*", 0)], id="a generated name"
        ),
    ],
)
def test_which_writes_a_fault_can_be_at(records, changes, found):
    anchors = {serial: parse_anchor(text) for serial, text in changes.items()}
    made = [one.match for one in writes_of(records, anchors, "mine*")]
    assert [(one["verb"], one.get("name"), one.get("after", 0)) for one in made] == found
    assert all(one["userAgent"] == "mine*" and one["namespace"] == "default" for one in made)


def test_a_crash_is_tried_at_two_moments_and_what_lasts_longest_comes_last():
    found = [str(one) for one in plans([WRITE], ("pause", "crash", "503"))]
    assert found == ["crash@create cm/a#1", "before@create cm/a#1", "503@create cm/a#1", "pause@create cm/a#1"]


@pytest.mark.parametrize(
    ("atom", "fault"),
    [
        ("crash", {"on": "bodies", "delay": "1h", "times": 1}),
        ("before", {"delay": "1h", "times": 1}),
        ("503", {"error": 503, "times": 3}),
        ("pause", {"on": "bodies", "delay": "1s", "times": 1}),
    ],
)
def test_the_fault_of_an_atom(atom, fault):
    assert FaultPlan(atom, WRITE).fault == {**WRITE.match, **fault}


@pytest.mark.parametrize(
    ("atom", "kills", "skips", "calls"),
    [
        ("crash", True, True, []),
        ("before", True, True, []),
        ("503", False, False, []),
        ("down", False, True, [("/server:down", {"for": "5s"})]),
        ("cut", False, True, [("/compact", {}), ("/connections:cut", {"userAgent": "mine/*"})]),
        ("pause", False, True, []),
    ],
)
def test_what_belongs_to_a_fault(atom, kills, skips, calls):
    plan = FaultPlan(atom, WRITE)
    assert (plan.kills, plan.skips, plan.calls("mine/*")) == (kills, skips, calls)


def state(**objects):
    final = {f"cm/{name}": {"metadata": {"name": name}, **obj} for name, obj in objects.items()}
    return Observation(0, final=final)


@pytest.mark.parametrize(
    ("oracle", "before", "after", "cel"),
    [
        ("O2", {"a": {}}, {}, "object != null"),
        ("O2", {}, {"a": {}}, "object == null"),
        ("O2", {"a": {"data": {"x": "1"}}}, {"a": {"data": {"x": "2"}}}, 'object["data"]["x"] == "1"'),
        ("O2", {"a": {"data": {"y": "1"}}}, {"a": {"data": {"y": "1", "x": "2"}}}, '!("x" in object["data"])'),
        ("O2", {"a": {"spec": {"l": [1]}}}, {"a": {"spec": {"l": [2]}}}, ""),
        ("O6", {"a": {}}, {"a": {}}, "object == null"),
        ("O10", {"a": {}}, {"a": {}}, "object.status.observedGeneration == object.metadata.generation"),
    ],
)
def test_what_holds_for_the_object_of_a_correct_run(oracle, before, after, cel):
    assert condition(Violation(oracle, "cm/a", ""), state(**before), state(**after), Mask()) == cel


def test_an_object_that_is_created_too_often_is_verified_by_the_requests():
    anchor = parse_anchor("create cm/a#1")
    reference = Observation(0, commits=[Commit(1, 0.0, anchor, "cm", "default", "a", "operator agent")])
    violation = Violation("O3", "cm/a", "is created 2 times, in the reference once")
    found = verification(violation, reference, "configmaps", "mine*")
    match = {"verb": "create", "resource": "configmaps", "name": "a", "userAgent": "mine*", "code": "2xx"}
    assert found == {"match": match, "atMost": 1}


@pytest.mark.parametrize("atom", ["crash", "before", "503", "down", "cut", "pause"])
def test_a_script_is_one_of_the_shell_and_has_its_steps_in_order(atom):
    steps = [Step(f"{n}.yaml", [Call("PATCH", f"/api/v1/x?n={n}", "t", {"it's": n})]) for n in (1, 2)]
    setting = Setting("./it's $HOME", steps=steps)
    failure = Failure(FaultPlan(atom, WRITE), [Violation("O2", "cm/a", "is absent")], phase=1, lease=True)
    text = script(setting, failure, checked("/quiet", {"it's": 1}))
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False, capture_output=True).stderr == ""
    order = [text.index(part) for part in ("\nstart\n", "# 1.yaml", f"\n# {atom}@", "# 2.yaml", "if holds")]
    assert order == sorted(order)
    assert shlex.quote("./it's $HOME") in text


@pytest.mark.parametrize("failures", [[], ["one"], ["one", "two"]])
def test_what_an_exploration_reports(tmp_path, capsys, failures):
    violation = Violation("O2", "cm/a", "is absent")
    found = [(Failure(FaultPlan("crash", WRITE), [violation], phase=1, lease=False), text) for text in failures]
    report = tmp_path / "made" / "report"
    for _ in range(2):  # the directory may exist
        assert explorecommand._reported(Outcome(found, 5, 4, 9), report) == int(bool(failures))
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"5 runs, 4 reached their fault, {len(failures)} defects, 4 not tried"
    files = [report / f"failure-{number}.sh" for number, _ in enumerate(failures, 1)]
    assert said[1 : 1 + 2 * len(files)] == [
        line for file in files for line in (f"{file}: {found[0][0].plan}", f"  {violation}")
    ]
    assert [file.read_text() for file in files] == failures
    assert all(file.stat().st_mode & 0o777 == 0o755 for file in files)


def test_a_report_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    failure = Failure(FaultPlan("crash", WRITE), [Violation("O2", "cm/a", "is absent")], phase=1, lease=False)
    with pytest.raises(CannotServe, match=f"--report {tmp_path}/file/failure-1.sh: "):
        explorecommand._reported(Outcome([(failure, "x")], 1, 1, 1), tmp_path / "file")
