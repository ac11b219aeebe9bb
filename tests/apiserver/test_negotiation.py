"""Content negotiation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.wire.negotiation import (
    MESSAGES,
    UNCONVERTED,
    UNSTRUCTURED,
    Representation,
    aggregated_discovery,
    check_produced,
    choose,
    clauses,
    negotiate,
)
from fakekube.apiserver.wire.status import StatusError
from tests.apiserver.api import CONFIGMAPS, configmap

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
AS_TABLE = "as=Table;v=v1;g=meta.k8s.io"
TABLE = f"{JSON};{AS_TABLE}"
PARTIAL = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "found"),
    [
        pytest.param(None, Representation(), id="nothing-said"),
        pytest.param("*/*", Representation(), id="anything"),
        pytest.param(YAML, Representation(YAML), id="yaml"),
        pytest.param(f"{YAML};q=0.5, {JSON}", Representation(), id="by-quality"),
        pytest.param(f"*/*, {YAML}", Representation(YAML), id="wildcards-last"),
        pytest.param("text/html, */*;q=0.1", Representation(), id="something-else-first"),
        pytest.param(TABLE, Representation(JSON, "Table", "v1"), id="a-table"),
        pytest.param(f"{TABLE}, {JSON}", Representation(JSON, "Table", "v1"), id="a-table-or-json"),
        pytest.param(f"{TABLE.replace('=v1', '=v9')}, {JSON}", Representation(), id="a-version-that-tables-have-not"),
        pytest.param(
            f"{YAML};as=Table;v=v1beta1;g=meta.k8s.io", Representation(YAML, "Table", "v1beta1"), id="a-table-in-yaml"
        ),
        pytest.param(f"{JSON};g=meta.k8s.io;v=v1, {YAML}", Representation(YAML), id="a-group-without-a-shape"),
        pytest.param(f"{JSON};stream=watch", Representation(), id="a-stream"),
        pytest.param(f"{JSON};stream=other, {YAML}", Representation(YAML), id="an-unknown-stream"),
        pytest.param(f"{JSON};sv=v1, {YAML}", Representation(), id="the-server-version"),
        pytest.param(f"{JSON};sv=v2, {YAML}", Representation(YAML), id="another-server-version"),
        pytest.param(f"{JSON};charset=utf-8", Representation(), id="parameters-that-mean-nothing"),
        pytest.param(PROTOBUF, Representation(PROTOBUF), id="protobuf"),
        pytest.param(f"{PROTOBUF}, {JSON}", Representation(PROTOBUF), id="protobuf-first"),
        pytest.param(f"{PROTOBUF};stream=watch", Representation(PROTOBUF), id="a-stream-in-protobuf"),
        pytest.param(f"{PROTOBUF};{AS_TABLE}, {JSON}", Representation(), id="a-table-in-protobuf-or-json"),
        pytest.param(
            f"{PROTOBUF};{AS_TABLE}, {TABLE}", Representation(JSON, "Table", "v1"), id="a-table-in-protobuf-or-in-json"
        ),
        pytest.param(
            f"{PROTOBUF};{PARTIAL};x=y", Representation(PROTOBUF, "PartialObjectMetadata", "v1"), id="metadata"
        ),
        pytest.param(f"application/cbor, {JSON}", Representation(), id="cbor"),
        pytest.param(f"application/JSON, {PROTOBUF}", Representation(PROTOBUF), id="case-matters"),
        pytest.param(f"{PROTOBUF};q=0.1, */*", Representation(), id="a-wildcard-of-higher-quality-after"),
        pytest.param(f"*/*;q=1, {PROTOBUF};q=0.1", Representation(PROTOBUF), id="a-wildcard-of-higher-quality-before"),
        pytest.param(f"{PROTOBUF};q=0.1, {YAML};q=0.2, */*;q=0.9", Representation(), id="a-wildcard-of-three"),
        pytest.param(f"{JSON};q=x, {PROTOBUF}", Representation(PROTOBUF), id="a-quality-that-is-no-number"),
    ],
)
def test_the_first_supported_representation(accept, found):
    """The answers are those of kube-apiserver for a Namespace."""
    assert negotiate(accept, MESSAGES, restful=True) == found


@pytest.mark.parametrize(
    ("accept", "message"),
    [
        pytest.param("text/html", "406: Not Acceptable", id="html"),
        pytest.param("application/*", "406: Not Acceptable", id="half-a-wildcard"),
        pytest.param("*", "406: Not Acceptable", id="a-wildcard-in-short"),
        pytest.param("application/cbor", "406: Not Acceptable", id="cbor"),
        pytest.param("Application/JSON", "406: Not Acceptable", id="capitals"),
        pytest.param(f"{PROTOBUF};{AS_TABLE}", "only the following media types", id="a-table-in-protobuf"),
        pytest.param(f"{PROTOBUF};stream=foo", "only the following media types", id="an-unknown-stream"),
        pytest.param(f"{PROTOBUF};sv=v2", "only the following media types", id="an-unknown-server-version"),
        pytest.param(f" {PROTOBUF} ; as = Table", "only the following media types", id="a-shape-without-a-group"),
        pytest.param(TABLE.replace("Table", "Chair"), "only the following media types", id="an-unknown-shape"),
        pytest.param(f"{YAML};stream=watch", "only the following media types", id="a-stream-of-yaml"),
    ],
)
def test_unsupported_representations(accept, message):
    with pytest.raises(StatusError, match=message) as refused:
        negotiate(accept, MESSAGES, restful=True)
    assert refused.value.code == 406


@pytest.mark.parametrize(
    ("accept", "found"),
    [
        pytest.param(PROTOBUF, None, id="objects"),
        pytest.param(f"{PROTOBUF}, {JSON}", Representation(), id="objects-or-json"),
        pytest.param("application/*", Representation(), id="half-a-wildcard"),
        pytest.param(
            f"{PROTOBUF};{PARTIAL}", Representation(PROTOBUF, "PartialObjectMetadata", "v1"), id="their-metadata"
        ),
    ],
)
def test_custom_resources_in_protobuf(accept, found):
    assert choose(accept, UNSTRUCTURED) == found


@given(st.text(alphabet="aplicton/json*;,=q.01 yml", max_size=60))
def test_any_accept_header_is_accepted_or_rejected(accept):
    try:
        found = negotiate(accept, MESSAGES, restful=False, listing=True)
    except StatusError as refused:
        assert refused.code == 406
    else:
        assert found.media_type in (JSON, YAML)


V2 = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (f"{JSON};{V2}", JSON),
        (f"{JSON}, {JSON};{V2}", JSON),
        (f"{PROTOBUF};{V2}, {JSON};{V2}, {JSON}", PROTOBUF),
        (f"{YAML};{V2}", YAML),
        (f"*/*;{V2}", JSON),
        (f"application/*;{V2}", JSON),
        (f"{JSON};{V2.replace('v2', 'v2beta1')}", ""),
        (f"{JSON};{V2};profile=nopeer", JSON),
        (f"{JSON};{V2.replace('apidiscovery', 'meta')}", ""),
        (JSON, ""),
    ],
)
def test_aggregated_discovery_is_returned_if_requested(accept, media_type):
    found = choose(accept, aggregated_discovery(["v2"]))
    assert (found.media_type if found is not None else "") == media_type


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        pytest.param(PROTOBUF, PROTOBUF, id="protobuf"),
        pytest.param(f"{PROTOBUF};{PARTIAL}, {JSON}", JSON, id="a-shape-or-json"),
        pytest.param(f"{JSON};{AS_TABLE}, {YAML}", YAML, id="a-shape-or-yaml"),
        pytest.param(f"{PROTOBUF};{PARTIAL}", None, id="a-shape-only"),
        pytest.param(f"{JSON};sv=v1", None, id="a-server-version"),
    ],
)
def test_a_status_is_not_converted(accept, media_type):
    found = choose(accept, UNCONVERTED)
    assert (found and found.media_type) == media_type


def test_a_status_that_the_client_does_not_accept_is_indented_json(api):
    found = api.answer("GET", f"{CONFIGMAPS}/none", accept=f"{PROTOBUF};{PARTIAL}")
    assert (found.status, found.content_type) == (404, JSON)
    assert found.body.encode().startswith(b'{\n  "kind": "Status",\n')


def test_a_log_is_also_text():
    with pytest.raises(StatusError, match="Available representations: text/plain, application/json, "):
        negotiate("text/html", MESSAGES, restful=True, log=True)
    with pytest.raises(StatusError, match="only the following media types are accepted"):
        negotiate("text/plain", MESSAGES, restful=True, log=True)
    assert negotiate(f"text/plain, {JSON}", MESSAGES, restful=True, log=True) == Representation()


def test_connections_are_not_negotiated(api):
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    api.ok("POST", "/api/v1/namespaces/default/pods", pod)
    refused = api.answer("GET", "/api/v1/namespaces/default/pods/a/proxy", accept="text/html")
    assert refused.status == 400


@pytest.mark.parametrize("accept", [None, "*/*", f"{PROTOBUF}, {JSON};q=0.1", f"{JSON};as=x"])
def test_paths_that_produce_json_only(accept):
    check_produced(accept, (JSON,), JSON)


@pytest.mark.parametrize("accept", ["*", "application/*", YAML, PROTOBUF])
def test_paths_that_produce_json_only_reject_the_rest(accept):
    with pytest.raises(StatusError, match=r"Available representations: application/json$"):
        check_produced(accept, (JSON,), JSON)


@pytest.mark.parametrize(
    ("path", "code"), [("/api", 406), ("/api/v1", 406), ("/apis", 200), ("/apis/apps", 200), ("/apis/apps/v1", 406)]
)
def test_documents_that_go_restful_does_not_serve_accept_half_a_wildcard(api, path, code):
    assert api.answer("GET", path, accept="application/*").status == code


@pytest.mark.parametrize(
    ("target", "code"),
    [
        pytest.param(f"{CONFIGMAPS}/none", 404, id="a-missing-object"),
        pytest.param("/api/v1/gadgets", 404, id="a-missing-resource"),
        pytest.param(f"{CONFIGMAPS}?limit=x", 400, id="a-bad-option"),
        pytest.param(f"{CONFIGMAPS}?watch=1", 406, id="a-stream-of-yaml"),
    ],
)
def test_errors_have_the_media_type_of_the_response(api, target, code):
    for accept, media in ((YAML, YAML), (f"{YAML}, {JSON}", YAML), (JSON, JSON), ("text/html", JSON)):
        if (code, accept) == (406, JSON):
            continue
        found = api.answer("GET", target, accept=accept)
        assert found.content_type == media
        assert found.status == (
            406 if accept == "text/html" and code in (400, 404) and "gadgets" not in target else code
        )


def test_objects_and_discovery_as_yaml(api):
    api.ok("POST", CONFIGMAPS, configmap())
    for target in (CONFIGMAPS, f"{CONFIGMAPS}/a", "/apis", "/api/v1"):
        assert api.answer("GET", target, accept=YAML).content_type == YAML
    assert api.answer("GET", "/version", accept=YAML).status == 406


@pytest.mark.parametrize(
    ("accept", "types"),
    [
        ("a/b", ["a/b"]),
        (" a / b ", ["a/b"]),
        ("a/b/c, d/e", ["d/e"]),
        ("text, a/b", ["a/b"]),
        ("a/, a/b", ["a/b"]),
        ("*", ["*/*"]),
        (" * ", ["*/*"]),
        ("*/b", ["*/b"]),
        ("", []),
        ("a/b;q=0.1, c/d;q=0.9", ["c/d", "a/b"]),
        ("*/*, a/*, a/b", ["a/b", "a/*", "*/*"]),
        ("a/b;q=x, c/d;q=0", ["a/b", "c/d"]),
    ],
)
def test_the_clauses_of_an_accept_header(accept, types):
    assert [one.media_type for one in clauses(accept)] == types


def test_the_parameters_of_a_clause():
    (one,) = clauses("a/b; as = Table ;v=v1;g=;x=y=z;q=0.5")
    assert (one.parameters, one.quality) == ({"as": "Table", "v": "v1"}, 0.5)
