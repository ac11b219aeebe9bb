"""Types of CEL: how they are read from declarations, and which names they have."""

import pytest

from fakekube.apiserver.cel import types
from fakekube.apiserver.cel.library.overload import overload


@pytest.mark.parametrize(
    ("text", "kind", "name", "params"),
    [
        ("list(string)", "list", None, ("string",)),
        ("map(K, V)", "map", None, ("K", "V")),
        ("map(string, list(int))", "map", None, ("string", "list(int)")),
        ("map(map(int, int), list(map(K, V)))", "map", None, ("map(int, int)", "list(map(K, V))")),
        ("optional_type(A)", "opaque", "optional_type", ("A",)),
        ("type(int)", "type", None, ("int",)),
        ("A", "param", "A", ()),
        ("kubernetes.URL", "struct", "kubernetes.URL", ()),
        ("net.IP", "opaque", "net.IP", ()),
    ],
)
def test_types_of_declarations(text, kind, name, params):
    found = types.read(text)
    assert found.kind == kind
    assert name is None or found.name == name
    assert found.params == tuple(types.read(one) for one in params)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (types.TIMESTAMP, "google.protobuf.Timestamp"),
        (types.DURATION, "google.protobuf.Duration"),
        (types.NULL, "null_type"),
        (types.INT, "int"),
        (types.list_of(types.TIMESTAMP), "list(google.protobuf.Timestamp)"),
        (types.map_of(types.STRING, types.list_of(types.INT)), "map(string, list(int))"),
        (types.optional_of(types.INT), "optional_type(int)"),
        (types.type_of(types.INT), "type(int)"),
    ],
)
def test_names_of_types_at_run_time(one, text):
    assert types.runtime_text(one) == text


def test_which_types_are_optional():
    assert types.is_optional(types.optional_of(types.INT))
    assert not types.is_optional(types.read("net.IP"))
    assert not types.is_optional(types.list_of(types.INT))


@pytest.mark.parametrize(
    ("signature", "member", "params", "result", "generic"),
    [
        ("string.(int, int) -> string", True, ("string", "int", "int"), "string", False),
        ("(string) -> bool", False, ("string",), "bool", False),
        ("() -> int", False, (), "int", False),
        ("string.() -> int", True, ("string",), "int", False),
        ("list(A).(A) -> int", True, ("list(A)", "A"), "int", True),
        ("map(K, V).(K, optional_type(V)) -> list(V)", True, ("map(K, V)", "K", "optional_type(V)"), "list(V)", True),
        ("(list(A), A) -> bool", False, ("list(A)", "A"), "bool", True),
    ],
)
def test_signatures(signature, member, params, result, generic):
    found = overload("f", "id", signature, len)
    assert (found.function, found.id, found.member, found.run, found.generic) == ("f", "id", member, len, generic)
    assert found.args == tuple(map(types.read, params))
    assert found.result == types.read(result)


@pytest.mark.parametrize(
    ("text", "is_open"),
    [("A", True), ("list(A)", True), ("map(string, list(A))", True), ("int", False), ("list(string)", False)],
)
def test_a_type_is_open_if_it_has_a_parameter(text, is_open):
    assert types.read(text).open is is_open
