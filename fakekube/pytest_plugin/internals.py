"""The private names of pytest that the plugin uses, each with what is lost without it.

Only this module uses them (and `__init__`, which needs `_must_rewrite` before a cluster is used and has a default).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from fakekube.virtualtime.compatibility.privatename import CompatibilityWarning, PrivateName, missing
from fakekube.virtualtime.compatibility.requirements import report_to

_LEAK = (
    "if a test ends with asyncio.CancelledError or another BaseException, fixtures that pytest does not tear down leak "
    "into the next test"
)
_EXPLORE = "tests cannot be explored (fakekube_explore, --fakekube-explore, --fakekube-plan)"
_SHARED = "the fixtures fakekube_module and fakekube_session cannot be used"
_SLOW = "the first cluster of a run takes longer, because pytest rewrites the assertions of fakekube's modules"


def _session(item: Any) -> Any:
    return item.session


def _setup_state(item: Any) -> Any:
    return item.session._setupstate


def _function(item: Any) -> Any:
    return item


def _fixture_info(item: Any) -> Any:
    return item._fixtureinfo


def _manager(item: Any) -> Any:
    return item.config.pluginmanager


SETUP_STATE = PrivateName("_pytest.main:Session", "_setupstate", f"{_LEAK}, and {_EXPLORE}", sample=_session)
STACK = PrivateName("_pytest.runner:SetupState", "stack", _LEAK, sample=_setup_state)
TEAR_DOWN = PrivateName("_pytest.runner:SetupState", "teardown_exact", _EXPLORE, sample=_setup_state)
RUN_PROTOCOL = PrivateName("_pytest.runner", "runtestprotocol", _EXPLORE)
FIXTURE_INFO = PrivateName("_pytest.python:Function", "_fixtureinfo", _SHARED, sample=_function)
DEFINITIONS = PrivateName("_pytest.fixtures:FuncFixtureInfo", "name2fixturedefs", _SHARED, sample=_fixture_info)
REWRITE_HOOK = PrivateName("_pytest.config:PytestPluginManager", "rewrite_hook", _SLOW, sample=_manager)
MUST_REWRITE = PrivateName(
    "_pytest.assertion.rewrite:AssertionRewritingHook",
    "_must_rewrite",
    _SLOW,
    sample=lambda item: item.config.pluginmanager.rewrite_hook,
)

SECTIONS = PrivateName(
    "_pytest.nodes:Item",
    "_report_sections",
    "the report of an exploration has the output of all runs, not that of the failing one",
    sample=_function,
)

NAMES = (SETUP_STATE, STACK, TEAR_DOWN, RUN_PROTOCOL, FIXTURE_INFO, DEFINITIONS, REWRITE_HOOK, MUST_REWRITE, SECTIONS)

#: Whether the missing names of a run have been reported.
_REPORTED: pytest.StashKey[bool] = pytest.StashKey()


def report_missing(item: pytest.Item) -> None:
    """Add a line for each missing name to the warnings of the run, once: at the first test that may use a cluster."""
    if isinstance(item, pytest.Function) and not item.config.stash.get(_REPORTED, False):
        item.config.stash[_REPORTED] = True
        report_to(partial(report, item.config))  # what the interpreter and other libraries lack
        for name in missing(NAMES, item):
            report(item.config, str(name))


def report(config: pytest.Config, text: str) -> None:
    """Add a line to the warnings of a run. No filter of warnings makes an error of it: no test is the cause."""
    record = warnings.WarningMessage(CompatibilityWarning(text), CompatibilityWarning, "fakekube", 1)
    config.hook.pytest_warning_recorded.call_historic(
        kwargs={"warning_message": record, "when": "config", "nodeid": "", "location": None}
    )


def finalizers(item: pytest.Item, nextitem: pytest.Item | None) -> list[list[Callable[[], object]]]:
    """The finalizers that pytest is about to run, for each node that the next test does not need, the session first.

    pytest removes those that it runs from these lists. Empty without STACK.
    """
    stack = getattr(getattr(item.session, "_setupstate", None), "stack", None)
    if not isinstance(stack, dict):
        return []
    needed = nextitem.listchain() if nextitem is not None else []
    return [
        entry[0]
        for node, entry in stack.items()
        if node not in needed and isinstance(entry, tuple) and isinstance(entry[0], list)
    ]


def problem_of_shared(item: pytest.Item) -> str:
    """Why clusters cannot be shared by tests with this pytest; empty: they can."""
    return _problem(item, FIXTURE_INFO, DEFINITIONS)


def problem_of_explorations(item: pytest.Item) -> str:
    """Why tests cannot be explored with this pytest; empty: they can."""
    return _problem(item, SETUP_STATE, TEAR_DOWN, RUN_PROTOCOL)


def _problem(item: pytest.Item, *names: PrivateName) -> str:
    return next(map(str, missing(names, item)), "")


def scopes_of_fixtures(item: pytest.Function) -> list[str]:
    """The scope of each fixture in `item.fixturenames`; empty for parameters."""
    definitions = item._fixtureinfo.name2fixturedefs
    return [definitions[name][-1].scope if name in definitions else "" for name in item.fixturenames]


def run_once(item: pytest.Item, nextitem: pytest.Item) -> Sequence[pytest.TestReport]:
    """Set up, call and tear down a test, as pytest does, but report nothing. The output of former runs is dropped."""
    from _pytest.runner import runtestprotocol

    getattr(item, "_report_sections", []).clear()
    return runtestprotocol(item, log=False, nextitem=nextitem)


def tear_down(session: pytest.Session, nextitem: pytest.Item | None) -> None:
    """Tear down all that the next test does not need; None: everything."""
    session._setupstate.teardown_exact(nextitem)
