"""The decoder of usual values has the results of the exact one, for any value of any type."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.schema.decode import decode
from fakekube.apiserver.schema.exactdecode import decode_exactly
from fakekube.apiserver.schema.wrongtype import WrongType
from tests.apiserver.test_decode import SCHEMAS
from tests.apiserver.test_decode_rules import INNER, NEEDS, THING

DEPTH = 4
KINDS = {
    "Thing": THING,
    "Needs": NEEDS,
    "Inner": INNER,
    "Pod": SCHEMAS.of_kind("", "v1", "Pod"),
    "Deployment": SCHEMAS.of_kind("apps", "v1", "Deployment"),
    "CronJob": SCHEMAS.of_kind("batch", "v1", "CronJob"),
    "Service": SCHEMAS.of_kind("", "v1", "Service"),
    "CustomResourceDefinition": SCHEMAS.of_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
}
SCALARS = {
    "string": st.sampled_from(["", "a", "b"]),
    "boolean": st.booleans(),
    "int32": st.sampled_from([0, 1, -1, 2**31 - 1, 2**31]),
    "int64": st.sampled_from([0, 1, 2**63]),
    "integer": st.sampled_from([0, 7]),
    "double": st.sampled_from([0, 0.5, 3]),
    "bytes": st.sampled_from(["", "aGk=", "?", [1, None]]),
    "quantity": st.sampled_from(["", "0", "1000m", "1Gi", 5, "x"]),
    "time": st.sampled_from(["", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "soon"]),
    "microtime": st.sampled_from(["2026-01-01T00:00:00.000000Z", "soon"]),
    "int-or-string": st.sampled_from([0, 80, "http", ""]),
}
ANY = st.sampled_from([None, "", "a", 0, 1, 2.5, True, [], ["a"], {}, {"a": 1}, [None], [{}], {"type": "string"}])


@cache
def values(schema, depth):
    """Values of a type, nearly all of them right; rarely any others."""
    return st.one_of(*[right(schema, depth)] * 12, ANY)


@cache
def right(schema, depth):
    if schema.type == "object":
        fields = schema.fields if depth else {}
        known = st.fixed_dictionaries({}, optional={key: values(field, depth - 1) for key, field in fields.items()})
        if len(fields) > 8:  # few at a time
            some = st.lists(st.sampled_from(sorted(fields)), max_size=6, unique=True)
            known = some.flatmap(
                lambda keys: st.fixed_dictionaries({key: values(fields[key], depth - 1) for key in keys})
            )
        return st.one_of(*[known] * 12, known.map(lambda found: {**found, "other": 1, "kind": "K"}))
    if schema.type == "list":
        return st.lists(values(schema.items, depth), max_size=3)
    if schema.type == "map":
        return st.dictionaries(st.sampled_from("abc"), values(schema.values, depth), max_size=3)
    return SCALARS.get(schema.type, ANY)


def outcome(decoder, schema, obj):
    unknown = []
    try:
        return decoder(schema, obj, unknown), unknown
    except WrongType as problem:
        return str(problem), unknown


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(data=st.data())
def test_usual_values_are_decoded_as_the_exact_decoder_does(kind, data):
    schema = KINDS[kind]
    obj = data.draw(right(schema, DEPTH))
    assert outcome(decode, schema, obj) == outcome(decode_exactly, schema, obj)
