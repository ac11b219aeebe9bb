"""Numbers that an operator hands out: which object gets which depends on the order in which it comes to them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fakekube.simulation.statemask import leaves

Object = Mapping[str, Any]

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class State:
    """The objects at the end of a run, and the last states of those that were deleted."""

    final: Mapping[str, Object]
    deleted: Mapping[str, Object]


def handed_out(expected: State, found: State) -> Mapping[tuple[str, str], frozenset[Any]]:
    """The numbers that two states have at a kind and path, each at one object, but at other objects.

    A number may stand in a text: `disk-3`. Not every number, nor every object, needs to be found again. The number of a
    deleted object may be handed out once more.
    """
    before, after = _values(expected.final), _values(found.final)
    gone, gone_now = _values(expected.deleted), _values(found.deleted)
    result = {}
    for place in {**gone, **before}:
        free = {**gone_now.get(place, {}), **gone.get(place, {})}
        numbers = _other_order(before.get(place, {}), after.get(place, {}), free)
        if numbers:
            result[place] = numbers
    return result


def _values(final: Mapping[str, Object]) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """The values that have a number, by kind and path, and by object."""
    values: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for target, obj in final.items():
        for path, value in leaves({name: one for name, one in obj.items() if name != "metadata"}):
            if isinstance(value, int | str) and not isinstance(value, bool) and _NUMBER.search(str(value)):
                values[target.partition("/")[0], path][target] = value
    return values


def _other_order(before: Mapping[str, Any], after: Mapping[str, Any], free: Mapping[str, Any]) -> frozenset[Any]:
    """All numbers, if `after` has them in another order than `before`; else none."""
    known, numbers = {**free, **before}, frozenset([*free.values(), *before.values()])
    if len(known) < 2 or before == after or not after.keys() <= known.keys():
        return frozenset()
    forms = {_NUMBER.sub("0", str(one)) for one in numbers}
    is_unique = all(len(set(each.values())) == len(each) for each in (before, after))
    return numbers if is_unique and len(forms) == 1 and numbers.issuperset(after.values()) else frozenset()
