"""The areas of requests, one module each: what it draws is one scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.differential.areas import (
    applying,
    builtin,
    custom,
    expressions,
    messages,
    patches,
    policies,
    quotas,
    reads,
    subresources,
)
from tests.differential.scenario import Draw, Scenario, Step


class Area(NamedTuple):
    """`draw` makes a scenario in a namespace; `jobs` is how many of them run at a time. `kept` makes requests that are
    sent once, before the first scenario, for what stays on the server."""

    draw: Callable[[Draw, str], Scenario]
    jobs: int = 32
    kept: Callable[[], Sequence[Step]] = tuple


AREAS: dict[str, Area] = {
    "builtin": Area(builtin.scenario),
    "custom": Area(custom.scenario),
    "expressions": Area(expressions.scenario),
    "apply": Area(applying.scenario),
    "patches": Area(patches.scenario),
    "policies": Area(policies.scenario, kept=policies.kept),
    "quotas": Area(quotas.scenario),
    "reads": Area(reads.scenario),
    "subresources": Area(subresources.scenario),
    "protobuf": Area(messages.scenario),
}
