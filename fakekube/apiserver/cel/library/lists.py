"""Functions of lists, sets and optional values (`cel-go/ext`, `cel-go/cel/optional`, `library/lists.go`)."""

from __future__ import annotations

import functools
from bisect import insort
from collections.abc import Callable
from typing import Any

from fakekube.apiserver.cel.library.overload import Overload, overload
from fakekube.apiserver.cel.library.standard import add, index
from fakekube.apiserver.cel.tree import UInt
from fakekube.apiserver.cel.values import NONE, CelError, Duration, Optional, compare, contains, equal, kind_of

Items = list[Any]

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SORTABLE = frozenset({"google.protobuf.Duration", "google.protobuf.Timestamp", *_COMPARABLE})
_SUMMABLE: dict[str, Any] = {"int": 0, "uint": UInt(0), "double": 0.0, "duration": Duration(0)}


# --- lists of Kubernetes ---------------------------------------------------------------------------------------------


def _order(a: Any, b: Any) -> int:
    """Compares two items; NaN, and values that cannot be compared, are neither less nor greater."""
    try:
        return 0 if a != a or b != b else compare(a, b)
    except CelError:
        return 0


def is_sorted(items: Items) -> bool:
    return all(_order(items[i], items[i + 1]) <= 0 for i in range(len(items) - 1))


def _sum(start: Any) -> Callable[[Items], Any]:
    return lambda items: functools.reduce(add, items, start)


def _extreme(name: str, sign: int) -> Callable[[Items], Any]:
    def extreme(items: Items) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        return functools.reduce(lambda a, b: b if _order(a, b) * sign < 0 else a, items)

    return extreme


def index_of(items: Items, value: Any) -> int:
    return next((i for i, one in enumerate(items) if equal(one, value)), -1)


def last_index_of(items: Items, value: Any) -> int:
    return next((i for i in range(len(items) - 1, -1, -1) if equal(items[i], value)), -1)


# --- lists of cel-go -------------------------------------------------------------------------------------------------


def slice_(items: Items, start: int, end: int) -> Items:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def flatten(items: Items, levels: int = 1) -> Items:
    if levels < 0:
        raise CelError("level must be non-negative")
    found: Items = []
    for one in items:
        if isinstance(one, list) and levels > 0:
            found += flatten(one, levels - 1)
        else:
            found.append(one)
    return found


def distinct(items: Items) -> Items:
    found: Items = []
    for one in items:
        if not contains(found, one):
            found.append(one)
    return found


def range_(count: int) -> Items:
    if count > 1_000_000:
        raise CelError("lists.range: too many items")
    return list(range(count))


def sort(items: Items) -> Items:
    return sort_by_keys(items, items)


def sort_by_keys(items: Items, keys: Items) -> Items:
    """The items in the order of their keys, which have one type. NaN is neither before nor after another number."""
    if keys and kind_of(keys[0]) not in _SORTABLE:
        raise CelError("list elements must be comparable")
    if len(set(map(kind_of, keys))) > 1:
        raise CelError("list elements must have the same type")
    places: list[int] = []
    if any(key != key for key in keys):
        for place in range(len(items)):  # where `sorted` leaves NaN depends on the version of Python
            insort(places, place, key=keys.__getitem__)
    else:
        places = sorted(range(len(items)), key=keys.__getitem__)
    return [items[place] for place in places]


# --- sets ------------------------------------------------------------------------------------------------------------


def sets_contains(items: Items, part: Items) -> bool:
    return all(contains(items, one) for one in part)


def sets_equivalent(a: Items, b: Items) -> bool:
    return sets_contains(a, b) and sets_contains(b, a)


def sets_intersects(a: Items, b: Items) -> bool:
    return any(contains(b, one) for one in a)


# --- optional values -------------------------------------------------------------------------------------------------


def opt_value(one: Optional) -> Any:
    if not one.present:
        raise CelError("optional.none() dereference")
    return one.value


def opt_of_non_zero(value: Any) -> Optional:
    return Optional(True, value) if value or (value is not None and not _sized(value)) else NONE


def _sized(value: Any) -> bool:
    return isinstance(value, str | bytes | list | dict | bool | int | float)


def opt_index(items: Any, key: Any) -> Optional:
    """An optional element."""
    if isinstance(items, Optional):
        return opt_index(items.value, key) if items.present else NONE
    try:
        return Optional(True, index(items, key))
    except CelError as problem:
        if str(problem).startswith(("no such key", "index out of bounds")):
            return NONE
        raise


def first(items: Items) -> Optional:
    return Optional(True, items[0]) if items else NONE


def last(items: Items) -> Optional:
    return Optional(True, items[-1]) if items else NONE


def unwrap(items: list[Optional]) -> Items:
    return [one.value for one in items if one.present]


def _templates(function: str, id: str, result: str, run: Any, kinds: tuple[str, ...] = _COMPARABLE) -> list[Overload]:
    return [
        overload(function, id.format(kind), f"list({kind}).() -> {result or kind}".replace("@", kind), run)
        for kind in kinds
    ]


OVERLOADS: list[Overload] = [
    *_templates("isSorted", "list_{}_is_sorted_bool", "bool", is_sorted),
    *(
        overload("sum", f"list_{kind}_sum_{kind}", f"list({kind}).() -> {kind}", _sum(start))
        for kind, start in _SUMMABLE.items()
    ),
    *_templates("max", "list_{0}_max_{0}", "", _extreme("max", 1)),
    *_templates("min", "list_{0}_min_{0}", "", _extreme("min", -1)),
    overload("indexOf", "list_a_index_of_int", "list(A).(A) -> int", index_of),
    overload("lastIndexOf", "list_a_last_index_of_int", "list(A).(A) -> int", last_index_of),
    overload("slice", "list_slice", "list(A).(int, int) -> list(A)", slice_),
    overload("flatten", "list_flatten", "list(list(A)).() -> list(A)", flatten),
    overload("flatten", "list_flatten_int", "list(dyn).(int) -> list(dyn)", flatten),
    overload("lists.range", "lists_range", "(int) -> list(int)", range_),
    overload("reverse", "list_reverse", "list(A).() -> list(A)", lambda items: items[::-1]),
    overload("distinct", "list_distinct", "list(A).() -> list(A)", distinct),
    *_templates("sort", "list_{}_sort", "list(@)", sort),
    *(
        overload(
            "@sortByAssociatedKeys",
            f"list_{kind}_sortByAssociatedKeys",
            f"list(A).(list({kind})) -> list(A)",
            sort_by_keys,
        )
        for kind in _COMPARABLE
    ),
    overload("sets.contains", "list_sets_contains_list", "(list(A), list(A)) -> bool", sets_contains),
    overload("sets.equivalent", "list_sets_equivalent_list", "(list(A), list(A)) -> bool", sets_equivalent),
    overload("sets.intersects", "list_sets_intersects_list", "(list(A), list(A)) -> bool", sets_intersects),
    overload("optional.of", "optional_of", "(A) -> optional_type(A)", lambda value: Optional(True, value)),
    overload("optional.ofNonZeroValue", "optional_ofNonZeroValue", "(A) -> optional_type(A)", opt_of_non_zero),
    overload("optional.none", "optional_none", "() -> optional_type(A)", lambda: NONE),
    overload("value", "optional_value", "optional_type(A).() -> A", opt_value),
    overload("hasValue", "optional_hasValue", "optional_type(A).() -> bool", lambda one: one.present),
    overload(
        "or",
        "optional_or_optional",
        "optional_type(A).(optional_type(A)) -> optional_type(A)",
        lambda one, other: one if one.present else other,
    ),
    overload(
        "orValue",
        "optional_orValue_value",
        "optional_type(A).(A) -> A",
        lambda one, other: one.value if one.present else other,
    ),
    overload("first", "list_first", "list(A).() -> optional_type(A)", first),
    overload("last", "list_last", "list(A).() -> optional_type(A)", last),
    overload("optional.unwrap", "optional_unwrap", "(list(optional_type(A))) -> list(A)", unwrap),
    overload("unwrapOpt", "optional_unwrapOpt", "list(optional_type(A)).() -> list(A)", unwrap),
    overload("_[?_]", "list_optindex_optional_int", "(list(A), int) -> optional_type(A)", opt_index),
    overload(
        "_[?_]", "optional_list_optindex_optional_int", "(optional_type(list(A)), int) -> optional_type(A)", opt_index
    ),
    overload("_[?_]", "map_optindex_optional_value", "(map(A, B), A) -> optional_type(B)", opt_index),
    overload(
        "_[?_]", "optional_map_optindex_optional_value", "(optional_type(map(A, B)), A) -> optional_type(B)", opt_index
    ),
    overload("_[_]", "optional_list_index_int", "(optional_type(list(A)), int) -> optional_type(A)", opt_index),
    overload("_[_]", "optional_map_index_value", "(optional_type(map(A, B)), A) -> optional_type(B)", opt_index),
    overload(
        "cel.@mapInsert",
        "@mapInsert_map_key_value",
        "(map(A, B), A, B) -> map(A, B)",
        lambda items, key, value: {**items, key: value},
    ),
    overload(
        "cel.@mapInsert",
        "@mapInsert_map_map",
        "(map(A, B), map(A, B)) -> map(A, B)",
        lambda items, more: {**items, **more},
    ),
]
