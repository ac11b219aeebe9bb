"""The table of Scale, which several kinds have as a subresource."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.podtemplate.table import count_at
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    columns,
    described,
    integer,
    name_of,
)
from fakekube.struct import replace

Object = dict[str, Any]


def _scale(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), count_at(obj, "spec.replicas"), count_at(obj, "status.replicas"), age_of(obj, ages)]


COLUMNS = columns(replace(NAME, format=""), integer("Desired"), integer("Available"), AGE)

PRINTER = described("scales.autoscaling", Printer(COLUMNS, _scale))
