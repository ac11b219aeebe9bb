"""Objects in protobuf: bytes that a kube-apiserver sent, and round trips of every kind."""

import base64
import struct
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.storage.watch import View
from fakekube.apiserver.wire import envelope, protobuf
from fakekube.apiserver.wire.marshal import _NUMBERS, _timestamp, delimited, marshaler, marshaler_of, varint
from fakekube.apiserver.wire.messages import message, message_of
from fakekube.apiserver.wire.protowire import Malformed
from fakekube.data import load
from tests.apiserver.api import CONFIGMAPS, configmap
from tests.protofields import fields

RECORDED = orjson.loads(Path(__file__).with_name("protobuf_recorded.json").read_bytes())
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.mark.parametrize("row", RECORDED["objects"], ids=lambda row: row["object"]["kind"])
def test_the_bytes_are_those_of_kube_apiserver(row):
    assert envelope.encode(row["object"]) == base64.b64decode(row["protobuf"])


@pytest.mark.parametrize("row", RECORDED["watches"], ids=["events", "an-error"])
def test_the_frames_of_a_watch_are_those_of_kube_apiserver(row):
    frames = [envelope.event(event["type"], envelope.encode(event["object"])) for event in row["events"]]
    assert b"".join(frames) == base64.b64decode(row["protobuf"])


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (1024, b"\x80\x08"), (-1, b"\xff" * 9 + b"\x01")],
)
def test_integers(value, encoded):
    assert varint(value) == encoded


def field(name, number, **values):
    """The content of one field of a message."""
    return dict(fields(marshaler(name)(values))).get(number)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-01T00:00:00Z", 1767225600),
        ("1969-12-31T23:59:59Z", -1),
        ("0900-01-01T00:00:00Z", -33765897600),
        ("0000-01-01T00:00:00Z", -62167219200),
        ("9999-12-31T23:59:59Z", 253402300799),
    ],
)
def test_a12_times_of_all_years(text, seconds):
    """The seconds are those of Go's `time.Time.Unix`."""
    content = field("meta.v1.ObjectMeta", 8, creationTimestamp=text)
    assert content == b"\x08" + varint(seconds) + b"\x10\0"
    body = envelope.wrap("v1", "ConfigMap", delimited(1, delimited(8, content)))
    assert protobuf.decode(body)["metadata"]["creationTimestamp"] == text


def test_a12_an_object_with_a_time_before_the_year_1000_is_accepted(api):
    meta = {"name": "a", "namespace": "default", "deletionTimestamp": "0007-01-01T00:00:00Z"}
    body = envelope.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    assert api.answer("POST", CONFIGMAPS, body, content_type=PROTOBUF).status == 201


@pytest.mark.parametrize("seconds", [-62167219201, 253402300800])
def test_times_outside_of_the_calendar_are_malformed(seconds):
    time = b"\x08" + varint(seconds)
    with pytest.raises(Malformed, match="a time that no calendar has"):
        protobuf.decode(envelope.wrap("v1", "ConfigMap", delimited(1, delimited(8, time))))


def test_zero_values_are_written_and_unset_pointers_are_not():
    assert marshaler("core.v1.ContainerPort")({}) == b"\x0a\0\x10\0\x18\0\x22\0\x2a\0"
    assert marshaler("core.v1.EmptyDirVolumeSource")({}) == b"\x0a\0"
    assert marshaler("core.v1.EmptyDirVolumeSource")({"sizeLimit": "0"}) == b"\x0a\0\x12\x03\x0a\x010"


def test_fields_without_a_message_and_null_are_ignored():
    assert marshaler("core.v1.ConfigMap")({"kind": "ConfigMap", "data": None, "x": 1}) == marshaler(
        "core.v1.ConfigMap"
    )({})


def test_maps_are_sorted_by_their_bytes():
    encoded = marshaler("core.v1.ConfigMap")({"data": {"\U0001f600": "1", "\uff00": "2", "a": "3"}})
    entries = [dict(fields(value))[2] for number, value in fields(encoded) if number == 2]
    assert entries == [b"3", b"2", b"1"]


def test_an_apiservice_in_protobuf():
    row = next(row for row in RECORDED["objects"] if row["object"]["kind"] == "APIService")
    decoded = protobuf.decode(base64.b64decode(row["protobuf"]))
    assert decoded["spec"]["groupPriorityMinimum"] == row["object"]["spec"]["groupPriorityMinimum"]
    assert decoded["status"]["conditions"][0]["type"] == "Available"


# --- round trips -----------------------------------------------------------------------------------------------------

TEXT = st.text(max_size=5)
SCHEMA = st.fixed_dictionaries({"type": st.sampled_from(["object", "string"])})
YEARS = st.integers(2, 9998)
VALUES = {
    "string": TEXT,
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "bytes": st.binary(min_size=1, max_size=5).map(lambda data: base64.b64encode(data).decode()),
    "json": st.dictionaries(TEXT, st.integers(0, 9) | TEXT | st.lists(st.booleans(), max_size=2), max_size=2),
    "strings": st.lists(TEXT, min_size=1, max_size=2),
    "quantity": st.sampled_from(["0", "1500m", "1Gi"]),
    "int-or-string": TEXT | st.integers(-9, 2**31 - 1),
    "time": YEARS.map(lambda year: f"{year:04}-02-28T23:59:59Z"),
    "microtime": YEARS.map(lambda year: f"{year:04}-02-28T23:59:59.000123Z"),
    "schema-or-list": SCHEMA | st.lists(SCHEMA, min_size=1, max_size=2),
    "schema-or-bool": SCHEMA | st.booleans(),
    "schema-or-strings": SCHEMA | st.lists(TEXT, min_size=1, max_size=2),
}


@st.composite
def objects(draw, name, depth=0):
    """Objects with some of the fields of a message."""
    found = {}
    for field in message(name).values():
        nested = field.type not in VALUES
        if nested and depth > 3:
            continue
        if not field.name:
            found |= draw(objects(field.type, depth + 1))
        elif draw(st.integers(0, 9)) > 2 + 2 * depth:
            one = objects(field.type, depth + 1) if nested else VALUES[field.type]
            if field.repeated:
                one = st.lists(one, min_size=1, max_size=2)
            elif field.map:
                one = st.dictionaries(TEXT, one, min_size=1, max_size=2)
            found[field.name] = draw(one)
    return found


ZEROS = ("", 0, False, {}, [], "0")


def pruned(name, obj):
    """The object without the zero values of fields that are no pointers, which are the same as none in Go."""
    found = {}
    for field in message(name).values():
        if not field.name:
            found |= pruned(field.type, obj)
            continue
        value = obj.get(field.name)
        if field.type not in VALUES and value is not None:
            if field.map:
                value = {key: pruned(field.type, one) for key, one in value.items()}
            else:
                value = [pruned(field.type, one) for one in value] if field.repeated else pruned(field.type, value)
        kept = value not in ZEROS or (field.pointer and field.type not in ("json", "schema-or-bool"))
        if value is not None and kept:
            found[field.name] = value
    return found


KINDS = sorted(key for key in load("schemas.json")["kinds"] if message_of(*key.rsplit("/", 1)) is not None)


def api_version(key):
    return key.rpartition("/")[0].removeprefix("/")


@settings(max_examples=100)
@given(st.data(), st.sampled_from(KINDS))
def test_what_is_encoded_is_decoded(data, key):
    kind, version = key.rpartition("/")[2], api_version(key)
    name = message_of(version, kind)
    obj = data.draw(objects(name))
    decoded = protobuf.decode(envelope.encode({"apiVersion": version, "kind": kind, **obj}))
    assert (decoded.pop("apiVersion"), decoded.pop("kind")) == (version, kind)
    assert pruned(name, decoded) == pruned(name, obj)


@pytest.mark.parametrize("key", KINDS)
def test_every_kind_has_a_marshaler(key):
    kind, version = key.rpartition("/")[2], api_version(key)
    empty = envelope.encode({"apiVersion": version, "kind": kind})
    assert pruned(message_of(version, kind), protobuf.decode(empty)) == {}


# --- answers ---------------------------------------------------------------------------------------------------------


def test_answers_in_protobuf_have_the_same_content(api):
    api.ok("POST", CONFIGMAPS, configmap())
    for target in (
        CONFIGMAPS,
        f"{CONFIGMAPS}/a",
        "/apis",
        "/api/v1",
        "/apis/apps/v1/deployments",
        "/api/v1/namespaces",
    ):
        response = api.answer("GET", target, accept=PROTOBUF)
        assert (response.status, response.content_type) == (200, PROTOBUF)
        assert response.body.marshal() == envelope.encode(api.ok("GET", target))


def test_a_write_is_answered_in_protobuf(api):
    response = api.answer("POST", CONFIGMAPS, orjson.dumps(configmap()), accept=PROTOBUF)
    assert (response.status, response.content_type) == (201, PROTOBUF)
    assert protobuf.decode(response.body.marshal())["metadata"]["name"] == "a"


def test_an_object_is_encoded_once_for_all_answers():
    marshal = marshaler_of("v1", "ConfigMap")
    entry, view = Entry(1, {"metadata": {"name": "a"}}), View("v1", "ConfigMap")
    assert entry.message(marshal) is entry.message(marshal)
    assert view.messages([entry])[0] is entry.message(marshal)


def test_aggregated_discovery_in_protobuf(api):
    shape = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    response = api.answer("GET", "/apis", accept=f"{PROTOBUF};{shape}")
    assert response.content_type == f"{PROTOBUF};{shape}"
    json = api.answer("GET", "/apis", accept=f"application/json;{shape}")
    assert response.body.marshal() == envelope.encode(json.body.to_object())
    assert response.headers["ETag"] == json.headers["ETag"]


@pytest.mark.parametrize(
    ("name", "value", "content"),
    [
        ("items", {"type": "string"}, b"\x0a"),
        ("items", [{"type": "string"}, {"type": "integer"}], b"\x12"),
        ("additionalProperties", True, b"\x08\x01"),
        ("additionalProperties", False, b"\x08\x00"),
        ("additionalProperties", {"type": "string"}, b"\x08\x01\x12"),
        ("additionalItems", {"type": "string"}, b"\x08\x01\x12"),
        ("dependencies", {"a": ["x", "y"], "b": {"type": "string"}}, b"\x0a"),
        ("default", {"a": [1]}, b"\x0a"),
        ("enum", ["a", 1, None], b"\x0a"),
    ],
)
def test_schemas_that_are_one_of_several_types(name, value, content):
    """`JSONSchemaPropsOrArray`, `OrBool` and `OrStringArray`: field 1 and 2 are the alternatives."""
    schema = "apiextensions.v1.JSONSchemaProps"
    raw = marshaler(schema)({name: value})
    number = next(number for number, one in message(schema).items() if one.name == name)
    assert dict(fields(raw))[number].startswith(content)
    assert set_fields(protobuf._read(schema, message(schema), raw, 1)) == set_fields({name: value})


def set_fields(value):
    """Without the fields that are not set, which Go encodes as well."""
    if isinstance(value, dict):
        return {
            key: found
            for key, one in value.items()
            if (found := set_fields(one)) not in ("", None, 0) or key == "additionalProperties"
        }
    return [set_fields(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("text", "fraction", "encoded"),
    [
        ("0001-01-01T00:00:00", "0", b""),
        ("0001-01-01T00:00:00", "000001", b"\x08" + varint(-62135596800) + b"\x10" + varint(1000)),
        ("0001-01-01T00:00:01", "0", b"\x08" + varint(-62135596799) + b"\x10\0"),
        ("1970-01-01T00:00:00", "5", b"\x08\0\x10" + varint(500_000_000)),
    ],
)
def test_only_the_zero_time_is_empty(text, fraction, encoded):
    assert _timestamp(text, fraction) == encoded


@pytest.mark.parametrize(
    ("kind", "value", "encoded"),
    [
        ("int", 5, b"\x18\x05"),
        ("int32", 300, b"\x18" + varint(300)),
        ("bool", True, b"\x18\x01"),
        ("bool", False, b"\x18\0"),
        ("double", 1.5, b"\x19" + struct.pack("<d", 1.5)),
    ],
)
def test_a_field_of_a_number_has_its_wire_type(kind, value, encoded):
    assert _NUMBERS[kind](3)(value) == encoded
