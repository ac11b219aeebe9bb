"""The settings of a test's cluster: those of its markers, else of the command line, else of the ini file."""

from __future__ import annotations

from typing import Any

import pytest

from fakekube.pytest_plugin import OPTIONS
from fakekube.pytest_plugin.itemkeys import PROBLEM


def check_options(config: pytest.Config) -> None:
    """Raises UsageError for an option of the run that cannot be read."""
    wanted = option(config, "timeline_for")
    if wanted not in (None, "all", "failed"):
        raise pytest.UsageError(f"fakekube_timeline_for={wanted!r}: must be all or failed")
    plan, budget = config.option.fakekube_plan, config.option.fakekube_explore
    if plan is None and not budget:
        return
    from fakekube.simulation.marker import budget_of
    from fakekube.simulation.plan import parse_faults

    for name, value, parse in (("plan", plan, parse_faults), ("explore", budget, budget_of)):
        try:
            if value or (name == "plan" and value is not None):
                parse(value)
        except ValueError as error:
            raise pytest.UsageError(f"--fakekube-{name}: {error}") from None


def option(config: pytest.Config, name: str) -> Any:
    """The value of the command line, else that of the ini file; None if neither has one."""
    value = config.getoption(f"fakekube_{name}", None)
    if value is None:
        value = config.getini(f"fakekube_{name}")
    return None if value in ("", []) else value


def backend(config: pytest.Config) -> str:
    """The API server that tests run against: fakekube, envtest or cluster."""
    found: str = option(config, "backend") or "fakekube"
    return found


def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The settings of the marker, else the command line, else the ini file. Raises UsageError for positional ones."""
    check_test(request)
    found: dict[str, Any] = {}
    levels = _levels(request.config)
    for name, _, _ in OPTIONS:
        if name == "detect":
            continue
        value = option(request.config, name)
        if value is not None:
            number = name in ("seed", "nodes") and str(value).lstrip("-").isdigit()
            found[name] = int(value) if number else value
    for marker in reversed(list(request.node.iter_markers("fakekube"))):
        if marker.args:
            raise pytest.UsageError(f"{request.node.nodeid}: @pytest.mark.fakekube takes keyword arguments only")
        levels.update(marker.kwargs.get("detect") or {})
        found.update(marker.kwargs)
    if levels:
        found["detect"] = levels
    if found.get("seed") is None:
        found["seed"] = request.node.nodeid or "session"
    return found


def check_test(request: pytest.FixtureRequest) -> None:
    """Fail a test that cannot have a cluster, with one line."""
    if problem := request.node.stash.get(PROBLEM, ""):
        pytest.fail(problem, pytrace=False)


def _levels(config: pytest.Config) -> dict[str, str]:
    """The levels of detectors in the ini file and the options. Raises UsageError."""
    texts = [*(config.getini("fakekube_detect") or ()), *(config.getoption("fakekube_detect", None) or ())]
    if not texts:
        return {}
    from fakekube.harness.detectors.levels import parse_levels

    try:
        return parse_levels(texts)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
