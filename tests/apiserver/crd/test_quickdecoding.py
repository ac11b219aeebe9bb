"""What is not decoded again has the result of decoding."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from fakekube import data
from fakekube.apiserver.crd.customversion import CustomVersion
from fakekube.apiserver.crd.quickdecoding import unchanged_resource
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.registry.custom.registration import CustomRegistration
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.schema.builtinschemas import BuiltinSchemas
from fakekube.apiserver.schema.wrongtype import WrongType
from tests.apiserver.crd.strategies import NAMES
from tests.apiserver.crd.test_custom import version, widgets

Object = dict[str, Any]

META = BuiltinSchemas(data.load("schemas.json"), "1.36").type("meta.v1.ObjectMeta")
OWN = {"apiVersion": "example.com/v1", "kind": "Widget"}

LEAVES = st.sampled_from([{"type": "string"}, {"type": "integer", "default": 3}, {"type": "number", "nullable": True}])
OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def schemas(depth: int = 2) -> st.SearchStrategy[Object]:
    """Schemas of values with everything that decoding looks at."""
    if not depth:
        return LEAVES
    inner = schemas(depth - 1)
    fields = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    maps = fields.map(lambda found: {"type": "object", "properties": found})
    return st.one_of(
        LEAVES,
        maps,
        maps.map(lambda found: {**found, "default": {}}),
        maps.map(lambda found: {**found, **OPEN}),
        maps.map(lambda found: {**found, **OPEN, "x-kubernetes-embedded-resource": True}),
        inner.map(lambda found: {"type": "object", "additionalProperties": found}),
        st.just({"type": "object", "additionalProperties": True}),
        st.just({"type": "array"}),
        inner.map(lambda found: {"type": "array", "items": found}),
        inner.map(lambda found: {"type": "array", "items": found, **OPEN}),
    )


ROOTS = st.fixed_dictionaries({"spec": schemas()}, optional={"status": schemas(), "a": schemas(1)}).map(
    lambda found: {"type": "object", "properties": found}
) | st.just({"type": "object", **OPEN})

SCALARS = st.sampled_from(["x", "", 3, -1, 2**64, 2.5, 2.0, 1e17, True, None])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*NAMES, "d", "kind", "metadata"]), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["spec", "status", "a", "d"]), VALUES, max_size=3)


def registration(schema: Object) -> CustomRegistration:
    crd = widgets(version("v1", schema))
    custom = CustomVersion(crd, crd["spec"]["versions"][0], META, None)
    names = ("example.com", "v1", "widgets", "widget", "Widget", "WidgetList")
    resource = Resource(*names, namespaced=True, verbs=frozenset(), collection="widgets.example.com")
    return CustomRegistration(resource, crd, custom, META)


def decoded(decode: Any, *arguments: Any) -> tuple[Object | str, list[str]]:
    unknown: list[str] = []
    try:
        return decode(*arguments, unknown), unknown
    except WrongType as problem:
        return str(problem), []


def text(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)


@given(ROOTS, OBJECTS)
def test_objects_that_are_certainly_unchanged_are_unchanged(schema: Object, obj: Object) -> None:
    made = registration(schema).version
    assert made is not None
    if unchanged_resource(Structural(schema))({**OWN, **obj}):
        unknown: list[str] = []
        assert text(made._without_unknown(obj, unknown)) == text(obj)
        assert text(made.pruned(obj)) == text(obj)
        assert not unknown


def test_usual_objects_are_certainly_unchanged() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "array"}}}}}
    test = unchanged_resource(Structural(schema))
    assert test({**OWN, "metadata": {"generation": 1.0, "x": None}, "spec": {"a": ["x", 1, 2.5, True]}})
    assert not test({**OWN, "spec": {"b": "x"}})
    assert not test({**OWN, "spec": {"a": [1.0]}})
    assert not test({**OWN, "spec": {"a": None}})


@given(ROOTS, OBJECTS, OBJECTS, st.booleans())
def test_fields_that_a_request_does_not_change_have_the_result_of_decoding(
    schema: Object, first: Object, second: Object, copies: bool
) -> None:
    served = registration(schema)
    assert served.write is not None
    meta = {"name": "w", "labels": {"a": "b"}, "generation": 1}
    created, _ = decoded(served.decode, {**OWN, "metadata": meta, **first})
    if isinstance(created, str):
        return
    stored = served.write(created)
    sent = {**OWN, **stored, **second}
    if copies:
        sent = {**OWN, **{key: _copied(value) for key, value in stored.items()}, **second}

    plain = registration(schema)
    expected, expected_unknown = decoded(plain.decode, sent)
    found, unknown = decoded(lambda obj, lost: served.decode_changed(obj, stored, lost), sent)
    assert (text(found), unknown) == (text(expected), expected_unknown)
    if isinstance(found, dict) and isinstance(expected, dict):
        assert list(found) == list(expected)
        assert plain.write is not None
        assert text(served.write(found)) == text(plain.write(expected))


def _copied(value: Any) -> Any:
    """An equal value, of which no part is the same object."""
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in reversed(value.items())}
    return [_copied(one) for one in value] if isinstance(value, list) else value
