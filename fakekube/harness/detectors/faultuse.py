"""Detects faults that no request has matched."""

from __future__ import annotations

from fakekube.apiserver.faults import FaultRule
from fakekube.harness.detectors.detector import Scene

_PATTERNS = ("verb", "resource", "name", "namespace", "user_agent")


class UnusedFaults:
    """Faults that a test has injected and that have affected nothing: the test does not test what it says."""

    names = ("unused-fault",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def finish(self) -> None:
        for rule in self._scene.faults:
            if rule.seen == 0:
                self._scene.report("unused-fault", f"{shown(rule)} matched no request")


def shown(rule: FaultRule) -> str:
    """The rule as the test has written it: `fault(verb='update', error=409)`."""
    patterns = {name: getattr(rule, name) for name in _PATTERNS if getattr(rule, name) != "*"}
    effects = {"error": rule.error, "delay": rule.delay, "reset": rule.reset, "times": rule.times, "after": rule.after}
    said = {**patterns, **{name: value for name, value in effects.items() if value}}
    return f"fault({', '.join(f'{name}={value!r}' for name, value in said.items())})"
