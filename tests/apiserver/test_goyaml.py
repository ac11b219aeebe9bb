"""YAML as `sigs.k8s.io/yaml` and go-yaml read it: plain scalars, aliases, and values that JSON does not have."""

import pytest

from fakekube.apiserver.wire import goyaml
from fakekube.apiserver.wire.goyaml import Document, YamlProblem, resolve


@pytest.mark.parametrize(
    ("text", "tag", "value"),
    [
        ("0", "!!int", 0), ("-1", "!!int", -1), ("+1", "!!int", 1), ("1_000", "!!int", 1000), ("0x1F", "!!int", 31), ("-0x1f", "!!int", -31),
        ("0b101", "!!int", 5), ("0o17", "!!int", 15), ("017", "!!int", 15), ("9223372036854775807", "!!int", 2**63 - 1),
        ("+9223372036854775807", "!!int", 2**63 - 1), ("+9223372036854775808", "!!float", 2.0**63),
        ("9223372036854775808", "!!int", 2**63), ("18446744073709551615", "!!int", 2**64 - 1),
        ("18446744073709551616", "!!float", 2.0**64), ("-9223372036854775808", "!!int", -(2**63)),
        ("-9223372036854775809", "!!float", -(2.0**63)), ("1.5", "!!float", 1.5), (".5", "!!float", 0.5), ("1e3", "!!float", 1000.0),
        ("-.5", "!!float", -0.5), ("1e999", "!!str", "1e999"), ("1x", "!!str", "1x"), (".", "!!str", "."), ("x", "!!str", "x"),
        ("true", "!!bool", True), ("Yes", "!!bool", True), ("off", "!!bool", False), ("~", "!!null", None), ("null", "!!null", None),
    ],
)  # fmt: skip
def test_a_plain_scalar(text, tag, value):
    found = resolve(text)
    assert (found[0].replace("tag:yaml.org,2002:", "!!"), found[1], type(found[1])) == (tag, value, type(value))
    assert goyaml.is_text(text) is (tag == "!!str")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{a: 1}: b", 'yaml: invalid map key: map[interface {}]interface {}{"a":1}'),
        ("[x, 1, 1.5, true, null]: b", 'yaml: invalid map key: []interface {}{"x", 1, 1.5, true, interface {}(nil)}'),
        ("[[false]]: b", "yaml: invalid map key: []interface {}{[]interface {}{false}}"),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: [-.inf]", "json: unsupported value: -Inf"),
        ("a: {b: .nan}", "json: unsupported value: NaN"),
        ("<<: 1", "yaml: map merge requires map or sequence of maps as the value"),
        ("<<: [1]", "yaml: map merge requires map or sequence of maps as the value"),
        ("a: &x [*x]", "yaml: anchor 'x' value contains itself"),
    ],
)
def test_a_document_that_is_refused(text, why):
    with pytest.raises(YamlProblem) as raised:
        Document(text).value()
    assert str(raised.value) == why


def aliased(times, others):
    """A list whose items are aliases of a scalar, beside other scalars."""
    return f"a: &x 1\nb: [{','.join(['*x'] * times)}]\nc: [{','.join(['1'] * others)}]\n"


def test_aliases_may_be_nearly_all_of_a_small_document():
    found = Document(aliased(600, 500)).value()
    assert (found["b"], len(found["c"])) == ([1] * 600, 500)


def test_nearly_all_of_a_document_may_not_come_from_aliases():
    """150 aliases of a list of 400 items are more than 99 % of all nodes."""
    text = f"a: &x [{','.join('1' * 400)}]\nb: [{','.join(['*x'] * 150)}]\n"
    with pytest.raises(YamlProblem, match="yaml: document contains excessive aliasing"):
        Document(text).value()


@pytest.mark.parametrize(
    ("decoded", "share"),
    [(0, 0.99), (400_000, 0.99), (2_200_000, 0.545), (4_000_000, 0.10), (9_000_000, 0.10)],
)
def test_the_share_of_aliases_shrinks_in_large_documents(decoded, share):
    """`allowedAliasRatio`: 99 % up to 400,000 nodes, 10 % from 4,000,000 on."""
    decoder = goyaml._Decoder()
    decoder._decoded = decoded
    assert decoder._allowed_share() == pytest.approx(share)


@pytest.mark.parametrize("depth", [goyaml.MAX_DEPTH - 1, goyaml.MAX_DEPTH])
def test_collections_may_be_nested(depth):
    found = Document("[" * depth + "]" * depth).value()
    for _ in range(depth - 1):
        (found,) = found
    assert found == []


def test_collections_are_nested_too_deeply():
    depth = goyaml.MAX_DEPTH + 1
    with pytest.raises(goyaml.TooDeep):
        Document("[" * depth + "]" * depth).value()


def test_equal_keys_are_reported_by_their_lines():
    text = "a: 1\nb: {c: 1, c: 2}\na: 2\n1: x\n1: z\n"
    assert Document(text).value() == {"a": 2, "b": {"c": 2}, "1": "z"}
    assert [one.partition(" already")[0] for one in Document(text).repeated()] == [
        'line 2: key "c"', 'line 3: key "a"', "line 5: key 1",
    ]  # fmt: skip


def test_merged_maps_yield_to_the_keys_of_the_map():
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\none: {<<: *x, b: 9}\nboth: {<<: [*x, *y]}\n"
    found = Document(text).value()
    assert (found["one"], found["both"]) == ({"a": 1, "b": 9}, {"a": 1, "b": 1, "c": 2})
