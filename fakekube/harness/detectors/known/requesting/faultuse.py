"""Detects faults that no request has matched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.requestlog import namespace_of_object
from fakekube.apiserver.storage.store import Change
from fakekube.apiserver.wire.request import RequestInfo
from fakekube.harness.detectors.detector import Doing, Scene
from fakekube.harness.detectors.levels import Level
from fakekube.harness.records.entry import Summary

#: Arguments that the harness sets.
_OF_THE_HARNESS = ("except_agent", "draw")

#: Arguments that the methods of the desk call otherwise.
_AS_GIVEN = {"event_delay": "delay", "body_delay": "delay"}


class UnusedFaults:
    """Faults, late watches and kills that a test has asked for and that have affected nothing: the test does not test
    what it says.

    `unused-script`: the same of what `pods(...).always()` was to do with pods. A fixture of several tests may describe
    pods that not every test has.
    """

    levels: Mapping[str, Level] = {"unused-fault": "error", "unused-script": "warn"}
    collections: frozenset[str] = frozenset({"pods"})

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def committed(self, change: Change, doing: Doing | None) -> None:
        if self._scene.scripts and change.after is not None:
            for script in self._scene.scripts:
                if not script.has_matched:
                    script.observe(change.after.object)

    def finish(self) -> None:
        for script in self._scene.scripts:
            if not script.has_matched:
                self._scene.report(
                    "unused-script",
                    f"{script.text} has matched no pod on a simulated node: compare the selector, the namespace and "
                    "the name of the container with those of the pods",
                )
        for plan in self._scene.plans:
            if problem := plan.problem:
                self._scene.report("unused-fault", problem)
        for rule in self._scene.faults:
            if rule.seen == 0 and not rule.abandoned:
                self._scene.report("unused-fault", f"{(self._scene.named or shown)(rule)} matched no request")


def hit_summary(fault: str, info: RequestInfo) -> Summary:
    """The row of the timeline for a request that a fault affects; that of the request follows."""
    where = "/".join(filter(None, (namespace_of_object(info.group, info.resource, info.namespace), info.name)))
    what = f"fault injected into {info.verb} {info.resource or info.path} {where}".rstrip()
    return Summary("test", what, cause=fault)


def shown(rule: FaultRule) -> str:
    """The rule as the test has written it: `fault(verb='update', error=409)`."""
    if rule.webhook:
        method = "faults.fail_webhooks"
    elif rule.watch_fault() is not None:
        method = "faults.disturb_watches"
    else:
        method = "faults.damage_bodies" if rule.body or rule.body_delay else "fault"
    given = given_of(rule)
    if method == "faults.disturb_watches":
        given.pop("verb", None)
    return f"{method}({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def given_of(rule: FaultRule) -> dict[str, object]:
    """The fields of a rule that were given."""
    said = {one.name: getattr(rule, one.name) for one in fields(rule) if one.init and one.name not in _OF_THE_HARNESS}
    defaults = {one.name: one.default for one in fields(rule)}
    return {_AS_GIVEN.get(name, name): value for name, value in said.items() if value != defaults[name]}


DETECTORS = (UnusedFaults,)
