"""The built-in kinds: every `KIND` below the group packages.

To add a kind, add a module to its group's package, or a folder with a module `strategy`, that defines `KIND`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.autoscaling import scale
from fakekube.apiserver.registry.generic.kind import Kind, PartStrategy
from fakekube.apiserver.registry.generic.strategy import DEFAULT, Strategy
from fakekube.apiserver.registry.generic.table import columns
from fakekube.struct import replace

#: The packages of API groups, below this one; named as in kubernetes `pkg/registry`.
GROUPS = (
    "admissionregistration",
    "apiregistration",
    "apiserverinternal",
    "apps",
    "autoscaling",
    "batch",
    "certificates",
    "coordination",
    "core",
    "discovery",
    "events",
    "flowcontrol",
    "networking",
    "node",
    "policy",
    "rbac",
    "resource",
    "scheduling",
    "storage",
    "storagemigration",
)


def kinds_of(group: str) -> Iterator[Kind]:
    """Imports all modules of a group package and yields their kinds."""
    package = import_module(f"{__package__}.{group}")
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        found = import_module(f"{module.name}.strategy" if module.ispkg else module.name)
        if hasattr(found, "KIND"):
            yield found.KIND


def strategies_of(kinds: Iterable[Kind]) -> Iterator[tuple[str, Strategy]]:
    """The strategies by qualified resource; those of a single version by `resource/version`."""
    for kind in kinds:
        yield kind.resource, kind.strategy
        for version, strategy in kind.versions.items():
            yield f"{kind.resource}/{version}", strategy


KINDS: tuple[Kind, ...] = tuple(kind for group in GROUPS for kind in kinds_of(group))

STRATEGIES: Mapping[str, Strategy] = dict(strategies_of(KINDS))

_KINDS = {kind.resource: kind for kind in KINDS}

PRINTERS_BEFORE = {
    kind.resource: {
        last: columns.described(kind.resource, kind.printers_before.get(last, kind.printer), last)
        for last in sorted({*kind.printers_before, *columns.changes_of_descriptions(kind.resource)})
    }
    for kind in KINDS
}


@cache
def strategy_of(resource: str, version: str, minor: int) -> Strategy:
    """The strategy of a built-in resource in an API version, as Kubernetes 1.`minor` has it."""
    found = STRATEGIES.get(f"{resource}/{version}") or STRATEGIES.get(resource, DEFAULT)
    kind = _KINDS.get(resource)
    for last, before in kind.before.items() if kind is not None else ():
        if minor < last:
            found = replace(found, **before)
    return found


#: (qualified resource, subresource) -> the strategy of the part that it writes.
PARTS: Mapping[tuple[str, str], PartStrategy] = {
    (kind.resource, subresource): part for kind in KINDS for subresource, part in kind.parts.items()
}

PRINTERS: Mapping[str, columns.Printer] = {
    kind.resource: columns.described(kind.resource, kind.printer) for kind in KINDS
}


def printer_of(resource: str, kind: str = "") -> columns.Printer:
    """The printer of a built-in resource; `kind` is that of a subresource with a kind of its own."""
    if kind == "Scale":
        return scale.PRINTER
    for last, printer in PRINTERS_BEFORE[resource].items() if resource in PRINTERS_BEFORE else ():
        if not since(last):
            return printer
    return PRINTERS.get(resource, columns.DEFAULT)
