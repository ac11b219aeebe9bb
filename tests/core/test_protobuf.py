"""Requests in protobuf."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakekube.core import protobuf
from fakekube.core.protobuf import MAGIC, MESSAGES, Malformed
from fakekube.core.status import StatusError


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field: an integer, text, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def envelope(kind, raw, api_version="v1"):
    return MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


META = field(1, field(1, "x") + field(11, field(1, "app") + field(2, "web")))


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [
        pytest.param("Namespace", META, {"metadata": {"name": "x", "labels": {"app": "web"}}}, id="metadata"),
        pytest.param("ConfigMap", field(2, field(1, "k") + field(2, "v")), {"data": {"k": "v"}}, id="map-of-text"),
        pytest.param("ConfigMap", field(2, field(1, "k")), {"data": {"k": ""}}, id="map-entry-without-a-value"),
        pytest.param("Secret", field(2, field(1, "k") + field(2, b"\xff")), {"data": {"k": "/w=="}}, id="map-of-bytes"),
        pytest.param("ConfigMap", field(4, 1), {"immutable": True}, id="boolean"),
        pytest.param(
            "Role",
            field(2, field(1, "get") + field(1, "list") + field(3, "pods")),
            {"rules": [{"verbs": ["get", "list"], "resources": ["pods"]}]},
            id="repeated-messages",
        ),
        pytest.param("DeleteOptions", field(1, 5), {"gracePeriodSeconds": 5}, id="integer"),
        pytest.param("DeleteOptions", field(1, -1), {"gracePeriodSeconds": -1}, id="negative-integer"),
        pytest.param("ConfigMap", field(99, "?") + field(4, 1), {"immutable": True}, id="unknown-field"),
        pytest.param(
            "ConfigMap", varint(99 << 3 | 1) + b"8bytes!!" + varint(99 << 3 | 5) + b"four", {}, id="fixed-size-fields"
        ),
    ],
)
def test_what_a_message_says(kind, raw, expected):
    assert protobuf.decode(envelope(kind, raw)) == {"apiVersion": "v1", "kind": kind, **expected}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "expected prefix", id="empty"),
        pytest.param(b"{}", "expected prefix", id="json"),
        pytest.param(envelope("ConfigMap", b"\x0a\x05a"), "unexpected EOF", id="cut-short"),
        pytest.param(envelope("ConfigMap", b"\x0a"), "unexpected EOF", id="length-missing"),
        pytest.param(envelope("ConfigMap", b"\xff" * 11), "unexpected EOF", id="endless-number"),
        pytest.param(envelope("ConfigMap", b"\x0b"), "wire type 3", id="group"),
        pytest.param(
            envelope("ConfigMap", field(1, 7)), "a number where ObjectMeta was expected", id="number-for-message"
        ),
        pytest.param(envelope("ConfigMap", field(4, "x")), "bytes where bool was expected", id="bytes-for-bool"),
        pytest.param(envelope("ConfigMap", field(2, 7)), "a map entry is no number", id="number-for-map"),
        pytest.param(envelope("DeleteOptions", field(4, b"\xff")), "text that is not UTF-8", id="bad-text"),
        pytest.param(envelope("ConfigMap", varint(1 << 3 | 1) + b"4444"), "unexpected EOF", id="fixed-cut-short"),
    ],
)
def test_bytes_that_are_no_message(body, message):
    with pytest.raises(Malformed, match=message):
        protobuf.decode(body)


def test_a_kind_that_is_not_known_is_refused_with_advice():
    with pytest.raises(StatusError, match="set the client's content type to application/json") as refused:
        protobuf.decode(envelope("Pod", b""))
    assert refused.value.code == 415


@given(st.binary(), st.sampled_from([*MESSAGES, "Pod", ""]))
@example(b"\x08\x01", "TypeMeta")
def test_any_bytes_are_a_message_or_refused(raw, kind):
    for body in (raw, MAGIC + raw, envelope(kind, raw)):
        try:
            assert isinstance(protobuf.decode(body), dict)
        except (Malformed, StatusError):
            pass


def test_every_message_that_a_field_names_is_known():
    for fields in MESSAGES.values():
        for known in fields.values():
            assert known.type in MESSAGES or known.type in ("string", "bytes", "int", "bool")


def test_messages_of_the_envelope_are_no_kinds():
    with pytest.raises(StatusError):
        protobuf.decode(envelope("ObjectMeta", b""))
