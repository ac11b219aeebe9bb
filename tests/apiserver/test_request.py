"""Parsing of paths and methods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.wire.request import Request, RequestInfo, parse, parse_query


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/api/v1/pods", "list  v1  pods  "),
        ("GET", "/api/v1/pods?watch", "watch  v1  pods  "),
        ("GET", "/api/v1/pods?watch=true", "watch  v1  pods  "),
        ("GET", "/api/v1/pods?watch=0", "list  v1  pods  "),
        ("GET", "/api/v1/pods?watch=False", "list  v1  pods  "),
        ("GET", "/api/v1/namespaces/a/pods", "list  v1 a pods  "),
        ("GET", "/api/v1/namespaces/a/pods/x", "get  v1 a pods x "),
        ("HEAD", "/api/v1/namespaces/a/pods/x", "get  v1 a pods x "),
        ("GET", "/api/v1/namespaces/a/pods/x?watch=1", "get  v1 a pods x "),
        ("GET", "/api/v1/namespaces/a/pods/x/log", "get  v1 a pods x log"),
        ("PUT", "/api/v1/namespaces/a/pods/x/status", "update  v1 a pods x status"),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/x", "patch apps v1 a deployments x "),
        ("POST", "/apis/apps/v1/namespaces/a/deployments", "create apps v1 a deployments  "),
        ("DELETE", "/apis/apps/v1/namespaces/a/deployments", "deletecollection apps v1 a deployments  "),
        ("DELETE", "/apis/apps/v1/namespaces/a/deployments/x", "delete apps v1 a deployments x "),
        ("OPTIONS", "/api/v1/pods", "  v1  pods  "),
        ("GET", "/api/v1/namespaces", "list  v1  namespaces  "),
        ("GET", "/api/v1/namespaces/a", "get  v1 a namespaces a "),
        ("PUT", "/api/v1/namespaces/a/status", "update  v1 a namespaces a status"),
        ("PUT", "/api/v1/namespaces/a/finalize", "update  v1 a namespaces a finalize"),
        ("GET", "/apis/example.com/v1/namespaces/a/finalize", "list example.com v1 a finalize  "),
        ("GET", "/api/v1/watch/pods", "watch  v1  pods  "),
        ("GET", "/api/v1/watch/namespaces/a/pods/x", "watch  v1 a pods x "),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dx", "list  v1  pods x "),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dx&watch=1", "watch  v1  pods x "),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name", "list  v1  pods  "),
        ("GET", "/api/v1/pods?fieldSelector=status.phase%3Dx", "list  v1  pods  "),
        ("POST", "/api/v1/pods?fieldSelector=metadata.name%3Dx", "create  v1  pods  "),
        ("GET", "//api//v1/pods/", "list  v1  pods  "),
    ],
    ids=lambda value: value.replace("/", "_") if isinstance(value, str) and value.startswith("/") else None,
)
def test_the_request_info_of_a_path(method, target, expected):
    path, _, query = target.partition("?")
    info = parse(Request(method, path, parse_query(query)))
    assert info.is_resource
    fields = (info.verb, info.group, info.version, info.namespace, info.resource, info.name, info.subresource)
    assert " ".join(fields) == expected


@pytest.mark.parametrize(
    "path", ["", "/", "*", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/api/v1/watch", "x"]
)
def test_non_resource_paths(path):
    info = parse(Request("GET", path))
    assert info == RequestInfo("get", path)


def test_the_segments_after_a_subresource_are_kept():
    info = parse(Request("GET", "/api/v1/namespaces/a/pods/x/proxy/some/path"))
    assert (info.subresource, info.rest) == ("proxy", ("some", "path"))
    assert info.parts == ("pods", "x", "proxy", "some", "path")


@pytest.mark.parametrize(
    ("group", "qualified"), [pytest.param("", "pods", id="core"), pytest.param("apps", "pods.apps", id="group")]
)
def test_the_qualified_name(group, qualified):
    assert RequestInfo("get", "", True, group, resource="pods").qualified == qualified


def test_blank_query_values_are_kept_and_the_first_value_is_the_option():
    request = Request("GET", "/", parse_query("a=&a=2&b"), {"user-agent": "curl"})
    assert (request.option("a"), request.option("b"), request.option("c")) == ("", "", None)
    assert parse_query("") == {}
    assert request.user_agent == "curl"


@given(st.sampled_from(["GET", "POST", "HEAD", "FOO", ""]), st.text(alphabet="/apiswtchnmev1.é\ud800"), st.text())
def test_any_path_can_be_parsed(method, path, selector):
    info = parse(Request(method, path, {"fieldSelector": ["metadata.name" + selector]}))
    assert info.path == path


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", {}),
        ("a=1&a=2&b", {"a": ["1", "2"], "b": [""]}),
        ("&&a=1&", {"a": ["1"]}),
        ("a=%41+b&%62=c", {"a": ["A b"], "b": ["c"]}),
        ("a=1;b=2", {}),
        ("a=1;b=2&c=3", {"c": ["3"]}),
        ("c=%43&a=1;b", {"c": ["C"]}),
        ("a=%zz&b=2", {"b": ["2"]}),
        ("a=%4&b=2", {"b": ["2"]}),
        ("%zz=1", {}),
        ("a=b=c", {"a": ["b=c"]}),
    ],
)
def test_malformed_pairs_of_a_query_are_ignored(text, query):
    """`url.ParseQuery`, whose error `URL.Query` drops."""
    assert parse_query(text) == query
