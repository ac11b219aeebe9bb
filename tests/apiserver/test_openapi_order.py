"""The encoding of OpenAPI documents in protobuf: fields are in the order of their numbers, as Go writes them."""

from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.openapi import gnostic, gnosticv3
from tests.protofields import fields

KEYWORDS = {
    "type": "string",
    "default": "a",
    "title": "t",
    "description": "d",
    "maxLength": 3,
    "pattern": "p",
    "x-a": 1,
}


@given(names=st.permutations(list(KEYWORDS)))
def test_the_order_of_keywords_does_not_change_a_schema(names):
    schema = {name: KEYWORDS[name] for name in names}
    three = {"components": {"schemas": {"n": schema}}}
    assert gnosticv3.encode(three) == gnosticv3.encode({"components": {"schemas": {"n": KEYWORDS}}})
    assert gnostic.encode({"definitions": {"n": schema}}) == gnostic.encode({"definitions": {"n": KEYWORDS}})


@given(names=st.permutations(["openapi", "info", "paths", "components"]))
def test_the_fields_of_a_document_have_ascending_numbers(names):
    document = {"openapi": "3.0.0", "info": {"title": "t"}, "paths": {}, "components": {"schemas": {"n": KEYWORDS}}}
    numbers = list(fields(gnosticv3.encode({name: document[name] for name in names})))
    assert numbers == sorted(numbers)
    assert len(numbers) == len(names)
