"""All functions by name."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube.apiserver.cel.library import (
    authorization,
    formatting,
    kubernetes,
    lists,
    standard,
    strings,
    typeconversions,
)
from fakekube.apiserver.cel.library.overload import Overload
from fakekube.apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    type_of,
)


def _by_name() -> Mapping[str, tuple[Overload, ...]]:
    found: dict[str, list[Overload]] = {}
    for one in [
        *standard.OVERLOADS,
        *typeconversions.OVERLOADS,
        *strings.OVERLOADS,
        *formatting.OVERLOADS,
        *lists.OVERLOADS,
        *kubernetes.OVERLOADS,
        *authorization.OVERLOADS,
    ]:
        found.setdefault(one.function, []).append(one)
    return {name: tuple(rows) for name, rows in found.items()}


FUNCTIONS = _by_name()

#: Functions that only expressions for patches have (`library/jsonpatch.go`).
PATCH_FUNCTIONS = frozenset({"jsonpatch.escapeKey"})

BY_ID = {one.id: one for rows in FUNCTIONS.values() for one in rows}

#: The names of types, which are also values: `type(x) == int`.
TYPES: Mapping[str, Type] = {
    name: type_of(one)
    for name, one in {
        "bool": BOOL,
        "int": INT,
        "uint": UINT,
        "double": DOUBLE,
        "string": STRING,
        "bytes": BYTES,
        "null_type": NULL,
        "list": list_of(DYN),
        "map": map_of(DYN, DYN),
        "google.protobuf.Timestamp": TIMESTAMP,
        "google.protobuf.Duration": DURATION,
        "type": type_of(Type("type")),
    }.items()
}
