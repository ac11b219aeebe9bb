"""All functions by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

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

#: What came with a version, as ids of overloads begin or end: the first minor version whose new expressions have it. A
#: library can be used one version after it was added, so that the version before can read the expressions.
_ADDED = (
    (35, "", ("lists_range", "list_distinct", "list_reverse", "list_slice")),
    (35, "list_flatten", ()),
    (35, "list_", ("_sort", "_sortByAssociatedKeys")),
    (34, "", ("_to_semver",)),
    (34, "semver_", ()),
    (34, "is_semver_", ()),
    (33, "", ("list_first", "list_last")),  # of a later cel-go, not of a version of a library
    (33, "optional_unwrap", ()),
    (33, "@mapInsert_", ()),
    (31, "format.", ()),
    (31, "format-", ()),
    (32, "resourcecheck_fieldselector", ()),
    (32, "resourcecheck_labelselector", ()),
    (30, "", ("_to_ip", "_to_cidr")),
    (30, "ip_", ()),
    (30, "is_ip", ()),
    (30, "is_cidr", ()),
    (30, "cidr_", ()),
    (30, "list_sets_", ()),
    (30, "string_format", ()),
    (30, "strings_quote", ()),
    (29, "quantity_", ()),
    (29, "string_to_quantity", ()),
    (29, "is_quantity_", ()),
    (29, "optional_", ()),
    (29, "list_optindex_", ()),
    (29, "map_optindex_", ()),
    (28, "authorizer_", ()),
    (28, "pathcheck_", ()),
    (28, "groupcheck_", ()),
    (28, "resourcecheck_", ()),
    (28, "decision_", ()),
)


@cache
def added_in(id: str) -> int:
    """The first minor version that has an overload; 0: all have it."""
    for minor, start, ends in _ADDED:
        if (not start or id.startswith(start)) and (not ends or id.endswith(ends)):
            return minor
    mixed = id.rpartition("equals_")[2] if "equals_" in id else id.partition("_")[2]
    numbers = mixed.split("_")
    comparison = id.startswith(("less_", "greater_")) and len(numbers) == 2 and numbers[0] != numbers[1]
    return 29 if comparison and set(numbers) <= {"int64", "uint64", "double"} else 0


@cache
def functions_in(minor: int) -> Mapping[str, tuple[Overload, ...]]:
    """The functions that new expressions can call in version 1.`minor`."""
    kept = {name: tuple(row for row in rows if added_in(row.id) <= minor) for name, rows in FUNCTIONS.items()}
    return {name: rows for name, rows in kept.items() if rows}


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
