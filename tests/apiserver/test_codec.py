"""Decoding of bodies: limits, duplicate fields, YAML."""

import orjson
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from fakekube.apiserver.wire import codec, gojson, goyaml, yamlencoder
from fakekube.apiserver.wire.codec import JSON, PROTOBUF, YAML, SyntaxProblem
from fakekube.apiserver.wire.status import StatusError


def refusal(body, content_type=JSON):
    with pytest.raises(StatusError) as refused:
        codec.decode(body, content_type, kind="Pod")
    return refused.value.code, refused.value.message


HEADER = (
    'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string '
    '"json:\\"kind,omitempty\\"" }'
)
UNRECOGNIZED = (
    "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: "
)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param(b"", "unexpected end of JSON input (<empty>)", id="empty"),
        pytest.param(b"{", "unexpected end of JSON input ({)", id="open"),
        pytest.param(b"hello", "invalid character 'h' looking for beginning of value (68656c6c6f)", id="words"),
        pytest.param(b"[]", f"json: cannot unmarshal array into {HEADER} (5b5d)", id="list"),
        pytest.param(b'"a"', f"json: cannot unmarshal string into {HEADER} (226122)", id="text"),
        pytest.param(b"[" * 300 + b"]" * 300, f"exceeded max depth ({(b'[' * 30).hex()} ...)", id="deep"),
        pytest.param(
            b'{"a":1e999}',
            'json: cannot unmarshal number 1e999 into Go value of type float64 ({"a":1e999})',
            id="infinite",
        ),
        pytest.param(
            b"9" * 5000, f"json: cannot unmarshal number {'9' * 5000} into Go value of type float64", id="long-number"
        ),
    ],
)
def test_invalid_json_is_rejected(body, problem):
    code, message = refusal(body)
    assert code == 400
    assert message.startswith(UNRECOGNIZED + problem)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param([1], f"json: cannot unmarshal array into {HEADER} (5b315d)", id="list"),
        pytest.param("words", f"json: cannot unmarshal string into {HEADER} (22776f72647322)", id="text"),
        pytest.param(7, f"json: cannot unmarshal number into {HEADER} (37)", id="number"),
    ],
)
def test_a_value_of_a_direct_client_is_rejected_like_its_json(value, problem):
    assert refusal(value) == (400, UNRECOGNIZED + problem)
    assert refusal(orjson.dumps(value)) == (400, UNRECOGNIZED + problem)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        pytest.param(b"null", {}, id="null"),
        pytest.param(b'{"a":[' + b"{}," * 500 + b"{}]}", {"a": [{}] * 501}, id="wide-is-not-deep"),
        pytest.param(b'{"a":"' + b"[" * 400 + b'\\"{"}', {"a": "[" * 400 + '"{'}, id="brackets-in-text"),
        pytest.param(b'{"a":"\\ud800"}', {"a": "\ufffd"}, id="half-a-surrogate-pair"),
        pytest.param(b'{"a":"\xff"}', {"a": "\ufffd"}, id="invalid-utf-8-is-replaced"),
        pytest.param(b'{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}, id="a-surrogate-pair"),
    ],
)
def test_valid_json_is_accepted(body, value):
    assert codec.decode(body, JSON, kind="Pod").object == value


def test_a_body_over_the_limit_is_rejected():
    code, message = refusal(b" " * (codec.MAX_BODY + 1))
    assert (code, message) == (413, "Request entity too large: limit is 3145728")
    assert codec.decode(b"{}" + b" " * (codec.MAX_BODY - 2), JSON, kind="Pod").object == {}


@pytest.mark.parametrize(
    ("content_type", "media_type"),
    [
        (None, JSON),
        ("", JSON),
        ("application/json; charset=utf-8", JSON),
        ("Application/YAML", YAML),
        (PROTOBUF, PROTOBUF),
    ],
)
def test_the_media_type_of_a_body(content_type, media_type):
    assert codec.media_type(content_type) == media_type


def test_an_unknown_media_type_is_rejected():
    assert refusal(b"{}", "text/html") == (
        415,
        "the body of the request was in an unknown format - accepted media types include: application/json, "
        "application/yaml, application/vnd.kubernetes.protobuf",
    )


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")], ids=["lists", "objects"])
def test_the_limit_of_the_nesting_is_exact(opening, closing):
    def nested(levels):
        return b'{"a":' + opening * (levels - 1) + b"0" + closing * (levels - 1) + b"}"

    assert codec.parse(nested(codec.MAX_DEPTH), JSON, strict=True)[1] == []
    with pytest.raises(codec.SyntaxProblem, match="exceeded max depth"):
        codec.parse(nested(codec.MAX_DEPTH + 1), JSON)
    twice = b'{"a":' + nested(codec.MAX_DEPTH) + b',"a":1}'
    with pytest.raises(codec.SyntaxProblem, match="exceeded max depth"):
        codec.parse(twice, JSON, strict=True)


@pytest.mark.parametrize(
    ("body", "duplicates"),
    [
        (b'{"a":1}', []),
        (b'{"a":"b\\":"}', []),
        (b'{"a":1,"a":2}', ["a"]),
        (b'{"a":1,"a":2,"a":3}', ["a"]),
        (b'{"a":{"b":1,"b":2},"c":[{"d":1},{"d":1,"d":2}]}', ["a.b", "c[1].d"]),
        (b'{"a":1,"\\u0061":2}', ["a"]),
        (b'{"a":1,"a":2,"b":"\\u0022:"}', ["a"]),
        (b'{"a":1,"a":2,"b":"\\" \\u003A"}', ["a"]),
        (b'{"a":1,"a":2,"b":"\\"\\u0020:"}', ["a"]),
        (b'{"a" : ": \\" :", "b\\"" :{}}', []),
        (b'{"a":{"c":": "},"a":1,"b":":"}', ["a"]),
    ],
    ids=[
        "none", "quotes", "one", "thrice", "deeper", "escaped", "escaped-quote", "escaped-colon", "escaped-space",
        "spaces", "lost-value",
    ],
)  # fmt: skip
def test_duplicate_fields(body, duplicates):
    assert codec.decode(body, JSON, kind="Pod", strict=True).duplicates == duplicates
    assert codec.decode(body, JSON, kind="Pod", strict=False).duplicates == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("2: a\ntrue: b\n1.5: c", {"2": "a", "true": "b", "1.5": "c"}),
        ("a: 2026-01-01", {"a": "2026-01-01"}),
        ("a: 2026-01-01T00:00:00Z", {"a": "2026-01-01T00:00:00Z"}),
        ("a: !!binary aGk=", {"a": "hi"}),
        ("a: !!set {x, z}", {"a": {"x": None, "z": None}}),
        ("a: !!omap [x: 1]", {"a": [{"x": 1}]}),
        ("a: !!timestamp x", {"a": "x"}),
        ("a: 123456789012345678901234567890", {"a": 1.2345678901234568e29}),
        ("a: " + "9" * 5000, {"a": "9" * 5000}),
        ("a: [y, N, on, Off, ~, Null, TRUE]", {"a": [True, False, True, False, None, None, True]}),
        ("a: [010, 0o10, 0x1F, 0b11, 1_000, 08, +1, -0, -0b11, 0x_]", {"a": [8, 8, 31, 3, 1000, 8, 1, 0, -3, "0x_"]}),
        ("a: [1e3, 1E3, -.5, .5, 1., 0.1e1, 12e03, 1e+2, .]", {"a": [1000, 1000, -0.5, 0.5, 1, 1, 12000, 100, "."]}),
        ("a: [12:30:45, 190:20:30, 1:2, -1:30]", {"a": ["12:30:45", "190:20:30", "1:2", "-1:30"]}),
        ("a: [9223372036854775808, 18446744073709551616]", {"a": [9223372036854775808.0, 18446744073709551616.0]}),
        ("a: &x {b: 1}\nc: *x\nd: [*x]", {"a": {"b": 1}, "c": {"b": 1}, "d": [{"b": 1}]}),
        ("a: {b: 1, <<: {b: 2, c: 3}}", {"a": {"b": 2, "c": 3}}),
        ("a: {<<: [{b: 1}, {b: 2, c: 3}], c: 4}", {"a": {"b": 1, "c": 4}}),
        ("a: [!!str 1, !!float 1, !!int '1', 'y', !x 1]", {"a": ["1", 1, 1, "y", "1"]}),
        ("a: 1\na: 2", {"a": 2}),
        ("a: yes", {"a": True}),
        ("{}", {}),
        ("", {}),
        ("a: |\n  text\n", {"a": "text\n"}),
    ],
    ids=lambda value: value.replace("\n", " ") if isinstance(value, str) else None,
)
def test_yaml_as_json(text, value):
    assert codec.decode(text.encode(), YAML, kind="Pod").object == value


def test_only_the_first_yaml_document_is_decoded():
    assert codec.parse_yaml(b"---\na: 1\n---\nb: 2") == ({"a": 1}, [])
    assert codec.parse_yaml(b"a: 1\n---\n[") == ({"a": 1}, [])
    assert codec.parse_yaml(b"# nothing\n") == (None, [])


def test_duplicate_yaml_keys_are_reported_with_their_lines():
    text = b"a: 1\nb:\n- c: 1\n  c: 2\na: 3\n---\nb: 1\nb: 2\n"
    _, repeated = codec.parse_yaml(text)
    assert repeated == [
        'line 4: key "c" already set in map',
        'line 5: key "a" already set in map',
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a: [",
        "a: *x",
        "a: &x [*x]",
        "<<: 1",
        "<<: [1]",
        "a: !!float x",
        "a: !!binary x",
        "~: a",
        "? [a]\n: b",
        "a: !!bool perhaps",
        "a: !!int ''",
        "a: !!int x",
        "a: !!float ''",
        "a: .inf",
        "a: .nan",
        "- " * 300 + "x",
        "{" * 300,
        "\x00",
        "a: \ud800".encode("utf-8", "surrogatepass"),
        b"\xff\xfe\x00",
        b"\xff",
    ],
    ids=lambda value: repr(value)[:40],
)
def test_invalid_yaml_is_rejected(text):
    body = text if isinstance(text, bytes) else text.encode()
    code, message = refusal(body, YAML)
    assert code == 400
    prefix, _, why = message.partition("(must be of type Pod): ")
    assert prefix == "the object provided is unrecognized "
    assert why.startswith(("yaml: ", "json: unsupported value: ", "unsupported map key ", "exceeded max depth"))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"a: \x01", "yaml: control characters are not allowed"),
        (b"\x00", "yaml: control characters are not allowed"),
        (b"a: \xff", "yaml: invalid leading UTF-8 octet"),
        (b"~: b", 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "b"'),
        (b"~:", "unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>"),
        (b"a: !!binary YQ=x", "yaml: !!binary value contains invalid base64 data"),
    ],
)
def test_errors_of_yaml_have_the_words_of_go(text, why):
    assert refusal(text, YAML)[1].partition("(must be of type Pod): ")[2].startswith(f"{why} (")


def test_yaml_aliases_that_multiply_are_rejected():
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)
    )
    code, message = refusal(bomb.encode(), YAML)
    assert code == 400
    assert "yaml: document contains excessive aliasing" in message


@given(st.one_of(st.binary(max_size=60), st.text(alphabet="a1:-[]{}!*&|>#%@`\"' \n?,.~").map(str.encode)))
@example(b"!!bool x")
@example(b"a: !!null x")
@example(b"<<: 1")
@example(b"<<: [1]")
@example(b"!!map [1]")
@example(b"!!pairs 1")
@example(b"!!omap [[1]]")
@example(b"!!str {}")
@example(b"!!binary \xc3\xa9")
@example(b"-0b_")
@example(b"0x_")
@example(b"1:60")
def test_any_bytes_are_decoded_or_rejected_as_yaml(body):
    try:
        value, _ = codec.parse_yaml(body)
    except SyntaxProblem:
        return
    assert orjson.loads(orjson.dumps(value)) == value


@given(st.one_of(st.binary(), st.text(alphabet='{}[]":,0123456789.eE-truefalsn\\u ').map(str.encode)))
@example(b'"\\ud800"')
@example(b"1e999")
@example(b"9" * 5000)
@example(b'{"a":1,"a":NaN}')
@example(b"[" * 251)
def test_any_bytes_are_decoded_or_rejected_with_a_status(body):
    try:
        decoded = codec.decode(body, JSON, kind="Pod")
    except StatusError as error:
        assert error.code == 400
    else:
        assert orjson.loads(orjson.dumps(decoded.object)) == decoded.object


def test_encoded_yaml_decodes_to_the_same_value():
    value = {"a": [1, "é", None, True], "b": {"c": "x\ny"}}
    assert yaml.safe_load(yamlencoder.encode(value)) == value


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e20, "100000000000000000000"),
        (-9223372036854775808.0 * 2, "-18446744073709552000"),
        (1e21, "1e+21"),
        (1.5, "1.5"),
        (1e300, "1e+300"),
    ],
)
def test_numbers_are_encoded_as_go_encodes_them(number, text):
    value = {"1e+20": number, "b": ['"1e+20', number]}
    assert gojson.encode(value) == f'{{"1e+20":{text},"b":["\\"1e+20",{text}]}}'.encode()


def test_a_number_in_a_text_is_left_alone():
    value = {"a": '{"b":1e+16,"c":"\\\\"}', "d": "\\\\", "e": 1e20}
    assert orjson.loads(gojson.encode(value)) == value


def test_whole_numbers_become_integers_and_large_ones_floats():
    value = {"a": [1.0, 2.5, 2**63, -(2**63), True], "b": {"c": "x"}}
    found = gojson.with_go_numbers(value)
    assert found == value
    assert [type(one) for one in found["a"]] == [int, float, float, int, bool]
    assert found["b"] is value["b"]


def test_a10_strict_errors_come_in_the_order_of_the_document():
    body = b'{"a":{"x":1,"x":2},"b":1,"c":1,"c":2,"b":2,"d":[{"e":1,"e":2}]}'
    decoded = codec.decode(body, JSON, kind="Pod", strict=True)
    assert decoded.strict_errors(["b", "a"], opaque=lambda path: False) == [
        'unknown field "a"',
        'unknown field "b"',
        'duplicate field "c"',
        'duplicate field "d[0].e"',
    ]
    assert decoded.strict_errors(["b"])[-1] == 'unknown field "b"'


@pytest.mark.parametrize(
    ("body", "shown"),
    [(b"", "<empty>"), (b"{x", "{x"), (b"x", "78"), (b"{" + b"x" * 2000, "{" + "x" * 29 + " ...")],
    ids=["empty", "like-json", "else", "long"],
)
def test_the_summary_of_a_body(body, shown):
    assert codec.summary(body) == shown


MANIFEST = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {date: 2026-01-01}}}
- {apiVersion: v1, kind: Pod, metadata: {name: b}}
---
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
"""


def test_the_objects_of_a_manifest():
    found = list(codec.load_manifests(MANIFEST))
    assert [obj["metadata"]["name"] for obj in found] == ["a", "b", "c"]
    assert found[0]["metadata"]["labels"] == {"date": "2026-01-01"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Pod", "document 1 is not a Kubernetes object: apiVersion and kind are required"),
        ("{}\n---\n- 1", "document 1 is not a Kubernetes object: apiVersion and kind are required"),
        ("apiVersion: v1\nkind: 7", "document 1 is not a Kubernetes object: apiVersion and kind are required"),
        (
            "apiVersion: v1\nkind: List\nitems: [1]",
            "document 1 is not a Kubernetes object: apiVersion and kind are required",
        ),
        (
            "---\n---\napiVersion: v1\nkind: Pod\nmetadata: x",
            "document 2 is not a Kubernetes object: metadata must be a map",
        ),
    ],
    ids=["no-version", "empty", "kind-a-number", "list-of-numbers", "metadata-is-text"],
)
def test_invalid_manifests(text, message):
    with pytest.raises(ValueError) as refused:
        list(codec.load_manifests(text))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "body",
    [
        b'{"b":"x\\ny \\"q\\" \\\\ \\u003c\\t","a":[1,{"c":"\\u0000"}]}\n',
        b'{"a":"\\u0022 : \\u0023 -"}',
        b'{"a" : "\\\\/"}',
    ],
    ids=["escapes", "escaped-syntax", "escaped-backslash"],
)
def test_json_with_escapes_has_the_value_that_the_yaml_parser_finds(body):
    value, repeated = codec.parse(body, codec.YAML)
    assert (value, repeated) == (goyaml.Document(body).value(), [])


def test_json_with_escapes_that_yaml_reads_differently():
    assert codec.parse(b'{"a":"\\u00e9"}', codec.YAML)[0] == {"a": "\u00e9"}
    for body in (b'{"a":"\\ud83d\\ude00"}', b'{"a"\n:"\\n"}'):
        with pytest.raises(codec.SyntaxProblem, match="error converting YAML to JSON"):
            codec.parse(body, codec.YAML)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize(
    ("levels", "why"), [(codec.MAX_DEPTH, "unexpected end of JSON input"), (codec.MAX_DEPTH + 1, "exceeded max depth")]
)
def test_the_depth_of_a_body_is_checked_before_its_end(opening, levels, why):
    with pytest.raises(codec.SyntaxProblem, match=f"^{why}$"):
        codec.parse(opening * levels, codec.JSON)
