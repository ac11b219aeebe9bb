"""Requests in protobuf."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakekube.apiserver.wire import protobuf
from fakekube.apiserver.wire.protobuf import MAGIC, Malformed, message
from fakekube.apiserver.wire.status import StatusError
from fakekube.data import load


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field with an integer, a text or bytes."""
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
def test_a_decoded_message(kind, raw, expected):
    version = "rbac.authorization.k8s.io/v1" if kind == "Role" else "v1"
    assert protobuf.decode(envelope(kind, raw, version)) == {"apiVersion": version, "kind": kind, **expected}


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
            envelope("ConfigMap", field(1, 7)),
            "a number where meta.v1.ObjectMeta was expected",
            id="number-for-message",
        ),
        pytest.param(envelope("ConfigMap", field(4, "x")), "bytes where int was expected", id="bytes-for-bool"),
        pytest.param(envelope("ConfigMap", field(2, 7)), "a map entry is no number", id="number-for-map"),
        pytest.param(envelope("DeleteOptions", field(4, b"\xff")), "text that is not UTF-8", id="bad-text"),
        pytest.param(envelope("ConfigMap", varint(1 << 3 | 1) + b"4444"), "unexpected EOF", id="fixed-cut-short"),
    ],
)
def test_malformed_messages(body, message):
    with pytest.raises(Malformed, match=message):
        protobuf.decode(body)


def test_an_unknown_kind_is_rejected_with_advice():
    with pytest.raises(StatusError, match="set the client's content type to application/json") as refused:
        protobuf.decode(envelope("Thing", b""))
    assert refused.value.code == 415


@given(st.binary(), st.sampled_from(["Pod", "Service", "Event", "CustomResourceDefinition", "DeleteOptions", ""]))
@example(b"\x08\x01", "Pod")
def test_any_bytes_are_decoded_or_rejected(raw, kind):
    version = "apiextensions.k8s.io/v1" if kind == "CustomResourceDefinition" else "v1"
    for body in (raw, MAGIC + raw, envelope(kind, raw, version)):
        try:
            assert isinstance(protobuf.decode(body), dict)
        except (Malformed, StatusError):
            pass


def test_every_type_of_a_field_is_decoded():
    types = load("protobuf.json")["types"]
    for name in types:
        for field in message(name).values():
            assert field.type in types or field.type in protobuf._NUMBERS or field.type in protobuf._VALUES


def test_nested_messages_are_not_kinds():
    with pytest.raises(StatusError):
        protobuf.decode(envelope("ObjectMeta", b""))


def time(seconds, nanos=0):
    return field(1, seconds) + field(2, nanos)


SCHEMA = field(5, "object")

DOUBLE = varint(9 << 3 | 1) + b"\0\0\0\0\0\0\xf8\x3f"


@pytest.mark.parametrize(
    ("api_version", "kind", "raw", "expected"),
    [
        pytest.param(
            "apps/v1",
            "Deployment",
            field(2, field(1, 0) + field(3, field(2, field(2, field(1, "web") + field(2, "nginx"))))),
            {"spec": {"replicas": 0, "template": {"spec": {"containers": [{"name": "web", "image": "nginx"}]}}}},
            id="messages within messages",
        ),
        pytest.param(
            "v1",
            "Pod",
            field(2, field(1, field(1, "v") + field(2, field(2, b"")))),
            {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
            id="a message that JSON does not show, and an empty one",
        ),
        pytest.param(
            "v1",
            "Pod",
            field(2, field(2, field(10, field(1, field(2, field(1, "/") + field(2, field(1, 0) + field(2, 80))))))),
            {"spec": {"containers": [{"livenessProbe": {"httpGet": {"path": "/", "port": 80}}}]}},
            id="an int or string that is a number",
        ),
        pytest.param(
            "v1",
            "Service",
            field(2, field(1, field(4, field(1, 1) + field(3, "http")))),
            {"spec": {"ports": [{"targetPort": "http"}]}},
            id="an int or string that is text",
        ),
        pytest.param(
            "v1",
            "ResourceQuota",
            field(2, field(1, field(1, "pods") + field(2, field(1, "10")))),
            {"spec": {"hard": {"pods": "10"}}},
            id="a map of quantities",
        ),
        pytest.param(
            "coordination.k8s.io/v1",
            "Lease",
            field(1, field(8, time(-62135596800))) + field(2, field(3, time(1_700_000_000, 5000))),
            {"metadata": {}, "spec": {"acquireTime": "2023-11-14T22:13:20.000005Z"}},
            id="times, and none",
        ),
        pytest.param(
            "v1", "Event", field(6, time(1_700_000_000)), {"firstTimestamp": "2023-11-14T22:13:20Z"}, id="whole seconds"
        ),
        pytest.param(
            "apps/v1",
            "ControllerRevision",
            field(2, field(1, b'{"a":[1]}')) + field(3, 7),
            {"data": {"a": [1]}, "revision": 7},
            id="JSON in bytes",
        ),
        pytest.param(
            "authorization.k8s.io/v1",
            "SubjectAccessReview",
            field(2, field(3, "me") + field(5, field(1, "scopes") + field(2, field(1, "a") + field(1, "b")))),
            {"spec": {"user": "me", "extra": {"scopes": ["a", "b"]}}},
            id="a map of lists",
        ),
        pytest.param(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            field(
                2,
                field(7, field(1, "v1") + field(4, field(1, SCHEMA + DOUBLE + field(30, field(1, 1)) + field(38, 1)))),
            ),
            {
                "spec": {
                    "versions": [
                        {
                            "name": "v1",
                            "schema": {
                                "openAPIV3Schema": {
                                    "type": "object",
                                    "maximum": 1.5,
                                    "additionalProperties": True,
                                    "x-kubernetes-preserve-unknown-fields": True,
                                }
                            },
                        }
                    ]
                }
            },
            id="a JSON schema",
        ),
    ],
)
def test_kinds_of_all_groups(api_version, kind, raw, expected):
    found = protobuf.decode(envelope(kind, raw, api_version))
    assert found == {"apiVersion": api_version, "kind": kind, **expected}


def test_messages_that_are_nested_too_deeply():
    raw = b""
    for _ in range(300):
        raw = field(28, raw)  # a schema's `not`
    with pytest.raises(Malformed, match="exceeded max depth"):
        protobuf.decode(
            envelope("CustomResourceDefinition", field(2, field(7, field(4, field(1, raw)))), "apiextensions.k8s.io/v1")
        )
