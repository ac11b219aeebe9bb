"""The arguments of `@pytest.mark.fakekube_explore` and of `--fakekube-explore`, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fakekube.simulation.atoms import FAULTS, OPT_IN
from fakekube.simulation.explorer import BUDGETS, Settings
from fakekube.simulation.plan import Plan, parse_plan
from fakekube.simulation.releases import releases_of
from fakekube.simulation.results.runnumber import UNLIMITED

ORACLES = ("O1", "O2", "O3", "O4", "O5", "O6", "O7", "O8", "O9", "O10", "O11", "O12", "O13", "test")

_NAMES = (
    *("runs", "faults", "budget", "mask", "expect_delta", "owner_labels", "off", "unrealistic"),
    *("bugs", "known", "plans", "upgrade", "upgrade_mask", "workload"),
)

#: How many distinct bugs an exploration looks for.
BUGS = 10


@dataclass(frozen=True, slots=True)
class Budget:
    """How many runs, or for how many real seconds (0: no limit)."""

    runs: int
    seconds: float = 0.0


def budget_of(text: str) -> Budget:
    """The budget of a name (`smoke`, `pr`, `nightly`), a number of runs, or a time (`60s`, `5m`). Raises ValueError."""
    if text in BUDGETS:
        return Budget(BUDGETS[text])
    if text.isdigit() and int(text):
        return Budget(int(text))
    found = re.fullmatch(r"(\d+)(s|m|h)", text)
    if found is None or not int(found[1]):
        raise ValueError(f"budget {text!r} is none of {', '.join(BUDGETS)}, a number of runs, or a time like '60s'")
    return Budget(UNLIMITED, int(found[1]) * {"s": 1, "m": 60, "h": 3_600}[found[2]])


def settings_of(arguments: Mapping[str, Any], *, seed: int = 0, shard: tuple[int, int] = (0, 1)) -> Settings:
    """The settings of a marker. Raises TypeError, ValueError naming the argument."""
    if unknown := sorted(set(arguments) - set(_NAMES)):
        raise TypeError(
            f"@pytest.mark.fakekube_explore has no argument {', '.join(unknown)} (it has {', '.join(_NAMES)})"
        )
    budget = Budget(BUDGETS["pr"])
    if arguments.get("budget") is not None:
        budget = budget_of(str(arguments["budget"]))
    runs = arguments.get("runs", budget.runs)
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 3:
        raise ValueError(f"runs={runs!r} must be an integer of at least 3: two runs are the reference")
    return Settings(
        runs=runs,
        seconds=budget.seconds,
        faults=_texts(arguments, "faults", FAULTS, (*FAULTS, *OPT_IN)),
        seed=seed,
        mask=_texts(arguments, "mask"),
        expect_delta=_texts(arguments, "expect_delta"),
        owner_labels=_texts(arguments, "owner_labels"),
        off=_texts(arguments, "off", (), ORACLES),
        shard=shard,
        unrealistic=bool(arguments.get("unrealistic", False)),
        bugs=_number(arguments, "bugs", BUGS, 1),
        workload=_number(arguments, "workload", 0, 0),
        known=_texts(arguments, "known"),
        releases=releases_of(arguments.get("upgrade")),
        upgrade_mask=_texts(arguments, "upgrade_mask"),
    )


def _number(arguments: Mapping[str, Any], name: str, default: int, least: int) -> int:
    value = arguments.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name}={value!r} must be an integer of at least {least}")
    return value


def plans_of(arguments: Mapping[str, Any]) -> tuple[str, Sequence[Plan]]:
    """The directory in which failed plans are kept (empty: the default one), and the plans that are always tried first.

    Raises TypeError, ValueError.
    """
    found = arguments.get("plans", "")
    if isinstance(found, str):
        return found, ()
    plans = [parse_plan(one) for one in _texts(arguments, "plans")]
    for one in plans:
        if not one.atoms:
            raise ValueError(f"plans: {str(one)!r} has no atom")
    return "", plans


def _texts(
    arguments: Mapping[str, Any], name: str, default: Sequence[str] = (), known: Sequence[str] = ()
) -> Sequence[str]:
    values = arguments.get(name, default)
    if isinstance(values, str) or not all(isinstance(one, str) for one in values):
        raise TypeError(f"{name}={values!r}: pass a list of texts")
    for one in values:
        if known and one not in known:
            raise ValueError(f"{name}={list(values)!r}: {one!r} is none of {', '.join(known)}")
    return tuple(values)
