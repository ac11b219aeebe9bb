"""Which kind is printed how (`pkg/printers/internalversion.AddHandlers`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.registry.core.pod.table import POD
from fakekube.apiserver.registry.tables import cluster, configuration, networking, workloads
from fakekube.apiserver.registry.tables.ages import Ages
from fakekube.apiserver.registry.tables.columns import NAME, Column, Printer, columns, get, name

Object = dict[str, Any]


def _created_at(obj: Object, ages: Ages) -> list[Any]:
    return [name(obj), get(obj, "metadata.creationTimestamp", "0001-01-01T00:00:00Z")]


#: Kinds without a printer of their own (apiserver `registry/rest.NewDefaultTableConvertor`).
DEFAULT = Printer(
    columns(NAME, Column("Created At", "date", description="When the object was created.")), _created_at, null_rows=True
)

#: Qualified resource -> its printer.
PRINTERS: Mapping[str, Printer] = {
    "pods": POD,
    **workloads.PRINTERS,
    **networking.PRINTERS,
    **configuration.PRINTERS,
    **cluster.PRINTERS,
}


def builtin(qualified: str, kind: str = "") -> Printer:
    """The printer of a built-in resource; `kind` tells a subresource that speaks another kind."""
    if kind == "Scale":
        return workloads.SCALE
    return PRINTERS.get(qualified, DEFAULT)
