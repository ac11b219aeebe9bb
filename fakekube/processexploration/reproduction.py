"""A failure as a script of the shell, whose lines of curl repeat it, and whose status is 1 if it is repeated."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.processexploration.changesteps import Call, Step
from fakekube.processexploration.faultplans import DOWN, PAUSED, FaultPlan
from fakekube.simulation.anchor import Anchor
from fakekube.simulation.observation import Observation, Violation
from fakekube.simulation.statemask import Mask

#: A part of the path of a leaf that CEL can select.
_PART = re.compile(r"[A-Za-z_][\w/-]*")


@dataclass(frozen=True, slots=True)
class Setting:
    """How a process is explored. `arguments`: those of `fakekube serve` for the same server."""

    start: str
    agent: str = "*"
    quiet: str = "3s"
    within: str = "60s"
    patience: str = "30s"
    arguments: Sequence[str] = ()
    steps: Sequence[Step] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that an oracle rejects. `phase`: the number of steps before the fault took effect. `lease`: whether the
    process leads by a lease."""

    plan: FaultPlan
    violations: Sequence[Violation]
    phase: int
    lease: bool


def condition(violation: Violation, reference: Observation, run: Observation, mask: Mask) -> str:
    """The CEL expression that holds for the object in a correct run; empty if there is none."""
    target = violation.target
    expected, found = reference.final.get(target), run.final.get(target)
    if violation.oracle == "O10":
        return "object.status.observedGeneration == object.metadata.generation"
    if violation.oracle == "O6" or expected is None:
        return "object == null"
    if violation.oracle != "O2":
        return ""
    if found is None:
        return "object != null"
    for path, was, _ in mask.differences(target, expected, found):
        parts = path.split(".")
        if all(_PART.fullmatch(one) for one in parts) and isinstance(was, str | int | bool | None):
            where = "object" + "".join(f"[{json.dumps(one)}]" for one in parts)
            if was is not None:
                return f"{where} == {json.dumps(was)}"
            return f"!({json.dumps(parts[-1])} in object{''.join(f'[{json.dumps(one)}]' for one in parts[:-1])})"
    return ""


def verification(violation: Violation, reference: Observation, resource: str, agent: str) -> Mapping[str, Any] | None:
    """The body of `requests:verify` that a correct run fulfils, for an object that is made or deleted too often."""
    verb = "create" if " created " in f" {violation.text} " else "delete"
    if violation.oracle != "O3" or not resource:
        return None
    name = violation.target.rpartition("/")[2].partition("~")[0]
    times = sum(Anchor(verb, violation.target).signature == one.anchor.signature for one in reference.commits)
    match = {"verb": verb, "resource": resource, "name": name, "userAgent": agent, "code": "2xx"}
    return {"match": match, "atMost": times}


def script(setting: Setting, failure: Failure, check: str) -> str:
    """The script. `check`: the line whose status is 0 in a correct run."""
    plan = failure.plan
    options = shlex.join(setting.arguments)
    lines = [
        "#!/bin/sh",
        f"# fakekube explore: {plan}",
        *(f"#   {one}" for one in failure.violations[:3]),
        "# The status is 1 if the failure is repeated, 0 if not, 2 if something else fails.",
        "set -u",
        "work=$(mktemp -d)",
        f'fakekube serve --port 0 {options} --kubeconfig "$work/kubeconfig" --wait-file "$work/ready" \\',
        '  > "$work/server.log" 2>&1 &',
        "server=$!",
        "process=",
        "trap 'kill -s KILL -- ${process:+-$process} 2> /dev/null; kill $server; rm -rf \"$work\"' EXIT",
        'until [ -f "$work/ready" ]; do kill -0 $server || exit 2; sleep 0.1; done',
        'FAKEKUBE_URL=$(cat "$work/ready") KUBECONFIG=$work/kubeconfig',
        "export FAKEKUBE_URL KUBECONFIG",
        "control=$FAKEKUBE_URL/_fakekube/v1",
        "",
        'post() { curl -sS -X POST "$control$1" -H \'Content-Type: application/json\' -d "$2"; }',
        'holds() { curl -sSf -o /dev/null -X POST "$control$1" -H \'Content-Type: application/json\' -d "$2"; }',
        f'start() {{ setsid /bin/sh -c {shlex.quote(setting.start)} >> "$work/process.log" 2>&1 & process=$!; }}',
        f'count() {{ curl -sSG "$control/requests" {_counted(setting, failure)} | grep -o \'"verb"\' | wc -l; }}',
        'asked() { until [ "$(count)" -gt "$1" ]; do sleep 0.1; done; }',
        f"quiet() {{ holds /quiet {_quoted({'for': setting.quiet, 'within': setting.within})}; }}",
        "",
        "quiet",
        f'fault=$(post /faults {_quoted(plan.fault)} | sed \'s/.*"id":"\\([0-9]*\\)".*/\\1/\')',
        "start",
        "asked 0",
    ]
    for number, step in enumerate([None, *setting.steps]):
        if step is not None:
            lines += ["", f"# {step.name}", *(_call(one) for one in step.calls)]
        lines += _fault(setting, plan) if number == failure.phase else ["quiet"]
    lines += ["", f"if {check}; then echo 'not repeated'; else echo 'repeated'; exit 1; fi"]
    return "\n".join(lines) + "\n"


def _counted(setting: Setting, failure: Failure) -> str:
    """The query of the requests that show that the process works: for one that leads by a lease, that it leads."""
    query = {"userAgent": setting.agent}
    if failure.lease:
        query |= {"resource": "leases", "verb": "[cup]*", "code": "2xx"}
    return " ".join(f"--data-urlencode {shlex.quote(f'{name}={value}')}" for name, value in query.items())


def _fault(setting: Setting, plan: FaultPlan) -> Sequence[str]:
    """The lines that wait for the fault, and do what belongs to it."""
    found = [
        "",
        f"# {plan}",
        'until curl -sS "$control/faults/$fault" | grep -q \'"hits":[1-9]\'; do sleep 0.05; done',
    ]
    if plan.kills:
        found += ["kill -s KILL -- -$process"]
    if plan.atom == "pause":
        found += ["kill -s STOP -- -$process", f"sleep {PAUSED}", "kill -s CONT -- -$process"]
    found += [f"post {path} {_quoted(body)} > /dev/null" for path, body in plan.calls(setting.agent)]
    if plan.atom == "down":
        found += [f"sleep {DOWN}"]
    if plan.atom != "503":
        found += ['curl -sS -X DELETE "$control/faults/$fault"']
    if plan.kills:
        found += ["seen=$(count)", "start", "asked $seen"]
    return [*found, "quiet"]


def _call(call: Call) -> str:
    data = "" if call.body is None else f" -H 'Content-Type: {call.content_type}' -d {_quoted(call.body)}"
    return f'curl -sS -o /dev/null -X {call.method} "$FAKEKUBE_URL"{shlex.quote(call.path)}{data}'


def checked(path: str, body: Mapping[str, Any]) -> str:
    """A line whose status is 0 if a request of the control API is fulfilled."""
    return f"holds {path} {_quoted(body)}"


def _quoted(value: Any) -> str:
    """JSON as an argument in the shell."""
    return shlex.quote(json.dumps(value))
