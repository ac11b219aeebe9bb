"""Strategies for objects of a kind: a valid body with some of its fields changed, removed or added."""

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from fakekube.apiserver.schema.model import Schema

Object = dict[str, Any]
Change = Callable[[Any], None]

TEXT = st.sampled_from(["a", "b", "x-y", "A_b", "", "10.0.0.1", "10%", "1Gi", "x" * 70, "a.example.com/b", "é", "*"])
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "boolean": st.booleans(),
    "int32": st.sampled_from([0, 1, -1, 30, 80, 65536, 2**31 - 1]),
    "int64": st.sampled_from([0, 1, -1, 30, 2**53 + 1, 2**63 - 1]),
    "integer": st.sampled_from([0, 1, -1, 30]),
    "number": st.sampled_from([0, 0.5, 1.0]),
    "double": st.sampled_from([0, 0.5, 1.0]),
    "bytes": st.sampled_from(["", "YQ==", "not base64"]),
    "quantity": st.sampled_from(["0", "1", "100m", "1Gi", "-1", "0.1", "1e3"]),
    "time": st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00+01:00", None]),
    "microtime": st.sampled_from(["2026-01-01T00:00:00.123456Z", None]),
    "int-or-string": st.sampled_from([0, 1, 80, "80%", "http", -1, ""]),
    "any": st.sampled_from([None, {}, {"a": 1}, [1], "a", 1]),
}
WRONG = st.sampled_from([None, "", 0, True, [], {}, ["a"], {"a": "b"}])

#: Fields of metadata that identify the object and its state, or that only the server sets.
FIXED = frozenset(
    {
        "name", "namespace", "resourceVersion", "uid", "creationTimestamp", "deletionTimestamp",
        "deletionGracePeriodSeconds", "generation", "managedFields", "selfLink",
    }
)  # fmt: skip

#: Nested deeper, a generated value is left empty.
DEPTH = 4


def values(schema: Schema, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a schema."""
    if schema.enum:
        return st.sampled_from([*schema.enum, "Other"])
    if schema.type == "list":
        assert schema.items is not None
        items = st.nothing() if depth > DEPTH else values(schema.items, depth + 1)
        return st.just([]) if depth > DEPTH else st.lists(items, max_size=2)
    if schema.type == "map":
        assert schema.values is not None
        return st.just({}) if depth > DEPTH else st.dictionaries(TEXT, values(schema.values, depth + 1), max_size=2)
    if schema.type == "object":
        return st.just({}) if depth > DEPTH else _structs(schema, depth)
    return SCALARS[schema.type]


@st.composite
def _structs(draw: st.DrawFn, schema: Schema, depth: int) -> Object:
    names = sorted(schema.fields)
    chosen = set(draw(st.lists(st.sampled_from(names), max_size=3, unique=True))) if names else set()
    chosen |= set(schema.required) & schema.fields.keys()
    return {name: draw(values(schema.fields[name], depth + 1)) for name in sorted(chosen)}


@st.composite
def changed(draw: st.DrawFn, body: Object, schema: Schema, at_most: int = 3) -> Object:
    """A copy of a body with up to `at_most` changes. Its name, kind and apiVersion stay."""
    made = copy.deepcopy(body)
    for _ in range(draw(st.integers(0, at_most))):
        place, below = _place(draw, made, schema)
        name = draw(st.sampled_from([*sorted(below.fields), "unknown"]))
        if (below is schema and name in ("apiVersion", "kind", "metadata")) or name in FIXED:
            continue
        what = draw(st.sampled_from(["set", "set", "set", "remove", "wrong"]))
        if what == "remove":
            place.pop(name, None)
        elif what == "wrong" or name not in below.fields:
            place[name] = copy.deepcopy(draw(WRONG))
        else:
            place[name] = copy.deepcopy(draw(values(below.fields[name])))
    return made


def _place(draw: st.DrawFn, body: Object, schema: Schema) -> tuple[Object, Schema]:
    """An object in the body, at the top or below, with its schema."""
    value: Any = body
    while True:
        inner = [
            (found, below)
            for key, item in value.items()
            if (below := schema.fields.get(key)) is not None and (found := _struct_of(item, below)) is not None
        ]
        if not inner or draw(st.integers(0, 3)) == 0:
            return value, schema
        value, schema = draw(st.sampled_from([_Same(*one) for one in inner])).pair


class _Same:
    """A pair that strategies neither copy nor compare."""

    def __init__(self, value: Object, schema: Schema) -> None:
        self.pair = value, schema if schema.type == "object" else schema.items or schema


def _struct_of(value: Any, schema: Schema) -> Object | None:
    """The value if it is an object with known fields; the first item of a list of them."""
    if schema.type == "object" and isinstance(value, dict):
        return value
    of_structs = schema.type == "list" and schema.items is not None and schema.items.type == "object"
    if of_structs and isinstance(value, list) and value and isinstance(value[0], dict):
        return value[0]
    return None
