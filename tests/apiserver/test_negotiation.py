"""Content negotiation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.endpoints.representation import SHAPES
from fakekube.apiserver.wire.negotiation import Representation, aggregated_version, negotiate, refusal_media_type
from fakekube.apiserver.wire.status import StatusError
from tests.apiserver.api import CONFIGMAPS, configmap

JSON, YAML = "application/json", "application/yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "found"),
    [
        pytest.param(None, Representation(), id="nothing-said"),
        pytest.param("*/*", Representation(), id="anything"),
        pytest.param("*", Representation(), id="anything-in-short"),
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
        pytest.param(f"{JSON};sv=v1, {YAML}", Representation(YAML), id="a-server-version"),
        pytest.param(f"{JSON};charset=utf-8", Representation(), id="parameters-that-mean-nothing"),
        pytest.param(f"application/vnd.kubernetes.protobuf, {JSON}", Representation(), id="protobuf-first"),
    ],
)
def test_the_first_supported_representation(accept, found):
    assert negotiate(accept, restful=True, listing=False, shapes=SHAPES) == found


@pytest.mark.parametrize(
    ("accept", "message"),
    [
        pytest.param("text/html", "406: Not Acceptable", id="html"),
        pytest.param("application/*", "406: Not Acceptable", id="half-a-wildcard"),
        pytest.param("application/vnd.kubernetes.protobuf", "only the following media types", id="protobuf"),
        pytest.param(TABLE.replace("Table", "Chair"), "only the following media types", id="an-unknown-shape"),
        pytest.param(f"{YAML};stream=watch", "only the following media types", id="a-stream-of-yaml"),
    ],
)
def test_unsupported_representations(accept, message):
    with pytest.raises(StatusError, match=message) as refused:
        negotiate(accept, restful=True, listing=False, shapes=SHAPES)
    assert refused.value.code == 406


@given(st.text(alphabet="aplicton/json*;,=q.01 yml", max_size=60))
def test_any_accept_header_is_accepted_or_rejected(accept):
    try:
        found = negotiate(accept, restful=False, listing=True, shapes=SHAPES)
    except StatusError as refused:
        assert refused.code == 406
    else:
        assert found.media_type in (JSON, YAML)
    assert refusal_media_type(accept) in (JSON, YAML)


@pytest.mark.parametrize(
    ("accept", "served", "version"),
    [
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", ["v2"], "v2"),
        ("application/json, application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", ["v2"], "v2"),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", ["v2"], ""),
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer", ["v2"], "v2"),
        ("application/json;g=meta.k8s.io;v=v2;as=APIGroupDiscoveryList", ["v2"], ""),
        ("application/json", ["v2"], ""),
        (None, ["v2"], ""),
    ],
)
def test_aggregated_discovery_is_returned_if_requested(accept, served, version):
    assert aggregated_version(accept, served) == version


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
    assert api.answer("GET", "/version", accept=YAML).content_type == JSON
