"""Numbers that an operator hands out: which object gets which depends on the order in which it comes to them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from fakekube.simulation.statemask import leaves

Object = Mapping[str, Any]

_NUMBER = re.compile(r"\d+")


def handed_out(expected: Mapping[str, Object], found: Mapping[str, Object]) -> Mapping[tuple[str, str], frozenset[Any]]:
    """The numbers that two states have at a kind and path, each at one object, but at other objects.

    A number may stand in a text: `disk-3`. Not every number, nor every object, needs to be found again.
    """
    before, after = _values(expected), _values(found)
    return {
        place: frozenset(values.values())
        for place, values in before.items()
        if _is_other_order(values, after.get(place, {}))
    }


def _values(final: Mapping[str, Object]) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """The values that have a number, by kind and path, and by object."""
    values: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for target, obj in final.items():
        for path, value in leaves({name: one for name, one in obj.items() if name != "metadata"}):
            if isinstance(value, int | str) and not isinstance(value, bool) and _NUMBER.search(str(value)):
                values[target.partition("/")[0], path][target] = value
    return values


def _is_other_order(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    if len(before) < 2 or before == after or not after.keys() <= before.keys():
        return False
    numbers, others = set(before.values()), set(after.values())
    forms = {_NUMBER.sub("0", str(one)) for one in numbers}
    return len(numbers) == len(before) and len(forms) == 1 and len(others) == len(after) and others <= numbers
