"""A built-in kind: what the registry collects of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fakekube.apiserver.registry.generic.strategy import DEFAULT, Strategy
from fakekube.apiserver.registry.generic.table import columns


@dataclass(frozen=True, slots=True)
class Kind:
    """The rules of one built-in resource.

    Its module, or the module `strategy` of its folder, holds it as `KIND`; `registry.builtin` finds it there.
    `resource` is qualified by its group: `deployments.apps`. `versions` are the strategies of single API versions
    that differ from `strategy`.
    """

    resource: str
    strategy: Strategy = DEFAULT
    printer: columns.Printer = columns.DEFAULT
    versions: Mapping[str, Strategy] = field(default_factory=dict)
