"""Random requests to one server: none is answered with an internal error, and none changes anything partially."""

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.rig import CONFIGMAPS, closed, served

pytestmark = pytest.mark.slow

METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
PIECES = st.sampled_from(
    ["api", "apis", "v1", "apps", "namespaces", "default", "configmaps", "pods", "a", "status", "scale", "log", "watch",
     "healthz", "openapi", "v2", "v3", "version", "%00", "%2F", "%ff", "..", "", "ü", "*", "apiextensions.k8s.io",
     "customresourcedefinitions", "metrics", "finalize", "proxy", "exec", "binding", "eviction", "token"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["limit", "continue", "labelSelector", "fieldSelector", "resourceVersion", "resourceVersionMatch", "timeoutSeconds",
     "watch", "allowWatchBookmarks", "sendInitialEvents", "dryRun", "fieldManager", "fieldValidation", "force", "pretty",
     "gracePeriodSeconds", "propagationPolicy", "x"]
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(["", "0", "1", "-1", "true", "All", "a=b", "a in (b", "metadata.name=a", "Exact", "%zz", "99999999999999999999", "%F0"]),
    st.text("abc=,()!%;& ", max_size=8).map(lambda text: text.replace(" ", "+")),
)  # fmt: skip
TYPES = st.sampled_from(
    ["", "application/json", "application/yaml", "application/merge-patch+json", "application/json-patch+json",
     "application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/vnd.kubernetes.protobuf",
     "text/plain", "application/json;charset=utf-8", ";", "a/b/c"]
)  # fmt: skip
ACCEPTS = st.sampled_from(
    ["", "*/*", "application/json", "application/yaml", "text/html", "application/json;as=Table;v=v1;g=meta.k8s.io", ";q=x",
     "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/cbor", "application/vnd.kubernetes.protobuf"]
)  # fmt: skip
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "name", "labels", "spec", "data", "kind", "apiVersion", "op", "path", "value", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)
BODIES = st.one_of(
    st.just(b""),
    st.binary(max_size=40),
    JSON.map(lambda value: repr(value).encode()),
    JSON.map(lambda value: json.dumps(value).encode()),
)


@st.composite
def requests(draw):
    path = "/" + "/".join(draw(st.lists(PIECES, max_size=7)))
    if draw(st.booleans()):
        path = f"{CONFIGMAPS}/a" if draw(st.booleans()) else CONFIGMAPS
    query = "&".join(f"{draw(NAMES)}={draw(VALUES)}" for _ in range(draw(st.integers(0, 3))))
    target = (path + ("?" + query if query else "")).encode().decode("latin-1")
    body = draw(BODIES)
    lines = [f"{draw(METHODS)} {target} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body)}"]
    for name, values in (("Content-Type", TYPES), ("Accept", ACCEPTS)):
        if value := draw(values):
            lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@settings(max_examples=60)
@given(st.lists(requests(), min_size=1, max_size=20))
def test_no_request_breaks_the_server(sent):
    asyncio.run(_tried(sent))


async def _tried(sent):
    async with served() as api:
        await api.call("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
        for request in sent:
            reader, writer = await api.dial()
            writer.write(request)
            async with asyncio.timeout(10):
                line = await reader.readline()
            await closed(writer)
            assert line.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")), request
            code = int(line.split()[1])
            assert code != 500 or b"resourceVersion" in request, request
        assert (await api.call("GET", "/readyz"))[0] == 200
