"""Requests in protobuf."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fakekube.apiserver.wire import protobuf
from fakekube.apiserver.wire.messages import message
from fakekube.apiserver.wire.protobuf import MAGIC
from fakekube.apiserver.wire.protowire import Malformed
from fakekube.apiserver.wire.status import StatusError
from fakekube.data import load
from tests.apiserver.api import CONFIGMAPS, configmap

PROTOBUF = "application/vnd.kubernetes.protobuf"


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
        pytest.param(b"", "empty data", id="nothing"),
        pytest.param(MAGIC, "empty body", id="magic-only"),
        pytest.param(b"{}", "provided data does not appear to be a protobuf message, expected prefix", id="json"),
        pytest.param(envelope("ConfigMap", b"")[:-1], "unexpected EOF", id="cut-short"),
        pytest.param(MAGIC + field(1, field(1, 1)), "wrong wireType = 0 for field ApiVersion", id="number-for-text"),
    ],
)
def test_malformed_envelopes(body, message):
    with pytest.raises(Malformed, match=message) as malformed:
        protobuf.decode(body)
    assert (malformed.value.kind, malformed.value.version) == ("", "")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(b"\x0a\x05a", "unexpected EOF", id="cut-short"),
        pytest.param(b"\x0a", "unexpected EOF", id="length-missing"),
        pytest.param(b"\xff" * 11, "proto: integer overflow", id="endless-number"),
        pytest.param(varint(99 << 3) + b"\xff" * 11, "proto: integer overflow", id="endless-unknown-number"),
        pytest.param(b"\x0a" + b"\xff" * 9 + b"\x01", "proto: negative length found", id="negative-length"),
        pytest.param(b"\x0b", "proto: wrong wireType = 3 for field ObjectMeta", id="group"),
        pytest.param(b"\x0c", "proto: ConfigMap: wiretype end group for non-group", id="end-of-group"),
        pytest.param(b"\x02\0", r"proto: ConfigMap: illegal tag 0 \(wire type 2\)", id="number-zero"),
        pytest.param(b"\x9e\x06\0", "proto: illegal wireType 6", id="unknown-wire-type"),
        pytest.param(b"\x9b\x06\x08", "unexpected EOF", id="open-group"),
        pytest.param(b"\x08\x01", "proto: wrong wireType = 0 for field ObjectMeta", id="number-for-message"),
        pytest.param(field(4, "x"), "proto: wrong wireType = 2 for field Immutable", id="bytes-for-bool"),
        pytest.param(field(2, 7), "proto: wrong wireType = 0 for field Data", id="number-for-map"),
        pytest.param(varint(1 << 3 | 1) + b"4444", "proto: wrong wireType = 1 for field ObjectMeta", id="fixed"),
        pytest.param(varint(99 << 3 | 1) + b"4444", "unexpected EOF", id="fixed-cut-short"),
        pytest.param(varint(99 << 3 | 5) + b"44", "unexpected EOF", id="half-fixed-cut-short"),
    ],
)
def test_malformed_messages(raw, message):
    """The messages are those of kube-apiserver."""
    with pytest.raises(Malformed, match=message) as malformed:
        protobuf.decode(envelope("ConfigMap", raw))
    assert (malformed.value.kind, malformed.value.version) == ("ConfigMap", "v1")


def test_errors_name_the_kind_once_it_is_known(api):
    code, _, message = api.refused("POST", CONFIGMAPS, envelope("ConfigMap", b"\x0c"), content_type=PROTOBUF)
    why = "proto: ConfigMap: wiretype end group for non-group"
    assert (code, message) == (400, f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {why}')
    code, _, message = api.refused("POST", CONFIGMAPS, MAGIC, content_type=PROTOBUF)
    assert message == "the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)"


@pytest.mark.parametrize(
    ("api_version", "kind"), [("", ""), ("v1", ""), ("", "ConfigMap")], ids=["neither", "version", "kind"]
)
def test_an_envelope_without_a_type_has_that_of_the_path(api, api_version, kind):
    body = envelope(kind, field(1, field(1, "a")), api_version)
    assert api.answer("POST", CONFIGMAPS, body, content_type=PROTOBUF).status == 201


def test_options_without_a_type(api):
    api.ok("POST", CONFIGMAPS, configmap())
    body = MAGIC + field(2, field(5, "All"))
    assert api.answer("DELETE", f"{CONFIGMAPS}/a", body, content_type=PROTOBUF).status == 200
    assert api.answer("GET", f"{CONFIGMAPS}/a").status == 200
    body = envelope("DeleteOptions", b"\x0a")
    why = "proto: wrong wireType = 2 for field GracePeriodSeconds"
    assert api.refused("DELETE", f"{CONFIGMAPS}/a", body, content_type=PROTOBUF)[2] == why


def test_an_unknown_kind_is_rejected_as_in_json(api):
    for kind, version in (("Thing", "v1"), ("ConfigMap", "v7"), ("ConfigMap", "foo/v7")):
        as_json = api.refused("POST", CONFIGMAPS, {"apiVersion": version, "kind": kind})
        body = envelope(kind, b"", version)
        assert api.refused("POST", CONFIGMAPS, body, content_type=PROTOBUF) == as_json


def test_a_served_kind_without_a_message_is_rejected_with_advice():
    with pytest.raises(StatusError, match="set the client's content type to application/json") as refused:
        protobuf.decode(envelope("Thing", b"", "example.com/v1"), ("example.com/v1", "Thing"))
    assert refused.value.code == 415


def test_fields_that_occur_again():
    """Messages are merged, lists and maps get more items, the last of other values counts."""
    first = field(1, field(1, "a") + field(11, field(1, "k") + field(2, "1")) + field(14, "x"))
    second = field(1, field(11, field(1, "k") + field(2, "2")) + field(14, "y"))
    found = protobuf.decode(envelope("ConfigMap", first + second + field(4, 1) + field(4, 0)))
    assert found["metadata"] == {"name": "a", "labels": {"k": "2"}, "finalizers": ["x", "y"]}
    assert found["immutable"] is False


def test_packed_and_overflowing_numbers():
    groups = field(4, varint(5) + varint(1 << 63 | 7))
    context = field(2, field(14, groups))
    found = protobuf.decode(envelope("Pod", context))
    assert found["spec"]["securityContext"]["supplementalGroups"] == [5, 7 - (1 << 63)]
    port = field(2, field(2, field(6, field(3, (1 << 32) + 80))))
    assert protobuf.decode(envelope("Pod", port))["spec"]["containers"][0]["ports"] == [{"containerPort": 80}]


def test_unknown_groups_are_skipped():
    group = varint(99 << 3 | 3) + field(1, 5) + field(2, "x") + varint(3 << 3 | 5) + b"four" + varint(99 << 3 | 4)
    assert protobuf.decode(envelope("ConfigMap", group + field(4, 1)))["immutable"] is True


def test_text_that_is_not_utf_8():
    assert protobuf.decode(envelope("ConfigMap", field(2, field(1, "k") + field(2, b"\xff"))))["data"] == {
        "k": "\ufffd"
    }


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
    assert protobuf.decode(envelope("ObjectMeta", field(1, "a"))) == {"apiVersion": "v1", "kind": "ObjectMeta"}


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


def nested(levels, within=lambda raw: field(28, raw)):
    """A definition whose schema has so many levels, in its `not`: its message is within four others."""
    raw = b""
    for _ in range(levels - 1):
        raw = within(raw)
    schema = field(2, field(7, field(4, field(1, raw))))
    return protobuf.decode(envelope("CustomResourceDefinition", schema, "apiextensions.k8s.io/v1"))


def test_messages_are_nested_up_to_a_depth_of_250():
    found = nested(246)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for _ in range(245):
        found = found["not"]
    assert found == {}
    for levels in (247, 300):
        with pytest.raises(Malformed, match="exceeded max depth"):
            nested(levels)


@pytest.mark.parametrize(
    "within",
    [
        pytest.param(lambda raw: field(24, field(1, raw)), id="items"),
        pytest.param(lambda raw: field(24, field(2, raw)), id="a-list-of-items"),
        pytest.param(lambda raw: field(30, field(2, raw)), id="additionalProperties"),
        pytest.param(lambda raw: field(33, field(2, raw)), id="additionalItems"),
    ],
)
def test_a_schema_within_another_message_is_two_levels_deeper(within):
    nested(123, within)
    with pytest.raises(Malformed, match="exceeded max depth"):
        nested(124, within)


def test_a_schema_of_dependencies_is_in_a_message_of_its_own():
    def within(raw):
        return field(32, field(1, "a") + field(2, field(1, raw)))

    most = next(levels for levels in range(60, 250) if not _is_read(levels, within)) - 1
    assert most == 123


def _is_read(levels, within):
    try:
        nested(levels, within)
    except Malformed:
        return False
    return True


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        (2**63 - 1, 2**63 - 1),
        (2**63, -(2**63)),
        (2**64 - 1, -1),
        (0, 0),
    ],
)
def test_integers_of_64_bits(number, seconds):
    found = protobuf.decode(envelope("DeleteOptions", varint(1 << 3) + varint(number)))
    assert found["gracePeriodSeconds"] == seconds


@pytest.mark.parametrize(
    ("number", "replicas"),
    [(2**31 - 1, 2**31 - 1), (2**31, -(2**31)), (2**32 - 1, -1), (2**32, 0), (2**32 + 5, 5), (2**64 - 1, -1)],
)
def test_integers_of_32_bits(number, replicas):
    found = protobuf.decode(envelope("ReplicationController", field(2, varint(1 << 3) + varint(number))))
    assert found["spec"]["replicas"] == replicas


def time_of(seconds, nanos=0):
    moment = field(1, seconds) + (field(2, nanos) if nanos else b"")
    return protobuf.decode(envelope("ConfigMap", field(1, field(8, moment))))["metadata"].get("creationTimestamp")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (253402300799, "9999-12-31T23:59:59Z"),
        (-62135596800, None),  # the zero time
        (-62135596799, "0001-01-01T00:00:01Z"),
        (-62167219200, "0000-01-01T00:00:00Z"),
    ],
)
def test_the_text_of_a_time(seconds, text):
    assert time_of(seconds) == text


@pytest.mark.parametrize("seconds", [253402300800, -62167219201, 2**62, -(2**62)])
def test_a_time_outside_of_the_calendar_is_malformed(seconds):
    with pytest.raises(Malformed, match="a time that no calendar has"):
        time_of(seconds)


@pytest.mark.parametrize(
    ("raw", "found"), [("", None), ("5", 5), ('{"a":[1]}', {"a": [1]}), ("{", Malformed), ("x", Malformed)]
)
def test_json_within_protobuf(raw, found):
    schema = field(2, field(7, field(4, field(1, field(8, field(1, raw))))))
    message = envelope("CustomResourceDefinition", schema, "apiextensions.k8s.io/v1")
    if found is Malformed:
        with pytest.raises(Malformed):
            protobuf.decode(message)
        return
    made = protobuf.decode(message)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert made.get("default") == found
