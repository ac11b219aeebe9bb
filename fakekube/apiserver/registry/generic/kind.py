"""A built-in kind: what the registry collects of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.registry.generic.strategy import DEFAULT, Strategy
from fakekube.apiserver.registry.generic.table import columns
from fakekube.apiserver.wire.status import FieldError
from fakekube.struct import Struct, field

Object = dict[str, Any]


class PartStrategy(Struct, frozen=True):
    """The rules of a subresource that writes one part of an object, other than its status.

    `take` returns the stored object with that part of the object that was sent; its arguments are the object that was
    sent, the stored one and the time. Of metadata only managedFields are taken (`ResetObjectMetaForStatus`), unless
    `writes_metadata` is set.
    """

    take: Callable[[Object, Object, str], Object]
    validate: Callable[[Object, Object], list[FieldError]]
    writes_metadata: bool = False
    owned_since: int = 0
    """Before this minor version managers did not own what they wrote to the part."""


class Kind(Struct, frozen=True):
    """The rules of one built-in resource.

    Its module, or the module `strategy` of its folder, holds it as `KIND`; `registry.builtin` finds it there.
    `resource` is qualified by its group: `deployments.apps`. `versions` are the strategies of single API versions
    that differ from `strategy`. `parts` are the strategies of subresources that write one part of the object.
    """

    resource: str
    strategy: Strategy = DEFAULT
    printer: columns.Printer = columns.DEFAULT
    versions: Mapping[str, Strategy] = field(default_factory=dict)
    parts: Mapping[str, PartStrategy] = field(default_factory=dict)
    before: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """What differs in Kubernetes before 1.N: N -> the fields of the strategy, with their values."""
    printers_before: Mapping[int, columns.Printer] = field(default_factory=dict)
    """The printers of Kubernetes before 1.N, by N."""
