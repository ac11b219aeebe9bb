"""Random requests: every response is one of the API, and the store stays consistent."""

import asyncio
import logging

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakekube.apiserver.user import ADMIN
from fakekube.apiserver.wire.request import Request
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner, Suspended
from fakekube.server.systemclock import SystemClock
from fakekube.virtualtime.seeds import Seed
from tests.apiserver.api import definition
from tests.apiserver.test_store import check_shape

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

#: Codes above 499 that the real server returns as well, with their messages.
REAL = {
    500: ("resourceVersion should not be set on objects to be created", "resourceVersion: Invalid value", "ParseUint"),
    501: ("does not implement",),
    504: ("Too large resource version",),
}

WORDS = st.sampled_from(
    ["a", "b", "default", "kube-system", "x.y", "A", "", "..", "-", "1", "0", "é", "a" * 70, "example.com/a"]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False),
    WORDS, st.text(max_size=5).filter(lambda text: text.isprintable()),
)  # fmt: skip
KEYS = st.sampled_from([
    "spec", "status", "data", "stringData", "finalizers", "names", "versions", "name", "namespace", "plural", "kind",
    "labels", "annotations", "rules", "subjects", "verbs", "nodeName", "phase", "uid", "conditions", "target", "type",
    "terminationGracePeriodSeconds", "podIPs", "replicas", "group", "scope", "served", "storage", "schema",
    "subresources", "selectableFields", "jsonPath", "resourceAttributes", "nonResourceAttributes", "groups", "user",
    "verb", "resource", "path", "roleRef", "shortNames", "hostNetwork", "a", "preconditions", "gracePeriodSeconds",
    "dryRun", "orphanDependents", "propagationPolicy", "template", "containers", "resourceVersion", "",
])  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=10
)
METADATA = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "default", "backups.example.com"])},
    optional={
        "namespace": st.sampled_from(["default", "kube-system", "a"]) | VALUES,
        "generateName": st.sampled_from(["a-", "b"]) | VALUES,
        "labels": st.dictionaries(KEYS, st.sampled_from(["a", None, ""]), max_size=2) | VALUES,
        "annotations": st.dictionaries(KEYS, st.sampled_from(["a", None, ""]), max_size=2) | VALUES,
        "finalizers": st.lists(st.sampled_from(["example.com/a", "kubernetes", "orphan"]), max_size=2) | VALUES,
        "resourceVersion": st.sampled_from(["", "0", "1", "x", "9" * 5000]) | VALUES,
        "uid": st.sampled_from(["", "u"]) | VALUES,
        "generation": VALUES,
        "deletionTimestamp": VALUES,
        "creationTimestamp": VALUES,
        "ownerReferences": VALUES,
        "managedFields": VALUES,
    },
)
OBJECTS = st.builds(
    lambda metadata, rest: {"metadata": metadata, **rest}, METADATA | VALUES, st.dictionaries(KEYS, VALUES, max_size=4)
)
CRDS = st.builds(
    lambda spec, metadata: {"metadata": {"name": "backups.example.com", **metadata}, "spec": spec},
    st.builds(lambda base, change: {**base, **change}, st.just(definition()["spec"]), st.dictionaries(KEYS, VALUES)),
    st.dictionaries(st.sampled_from(["labels", "finalizers"]), VALUES),
)
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "copy", "move", "test"]) | VALUES,
     "path": st.sampled_from(["/metadata", "/spec", "/status", "/data/a", "/metadata/labels", "/a/0", "/metadata/name",
                              "/kind", "/metadata/labels/a", "/spec/finalizers/0", ""]) | VALUES},
    optional={"value": VALUES, "from": st.sampled_from(["", "/spec", "/metadata"]) | VALUES},
)  # fmt: skip
BODIES = st.one_of(
    st.just(b""),
    OBJECTS,
    CRDS,
    VALUES,
    st.lists(OPERATIONS, max_size=4),
    st.binary(max_size=20),
    OBJECTS.map(orjson.dumps),
)
SERVED = [
    "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/default/services", "/api/v1/namespaces", "/api/v1/nodes", "/api/v1/pods",
    "/api/v1/namespaces/default/events", "/apis/apps/v1/namespaces/default/deployments", "/api/v1/componentstatuses",
    "/apis/apps/v1/namespaces/default/replicasets", "/apis/batch/v1/namespaces/default/jobs",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/example.com/v1/namespaces/default/backups",
    "/apis/example.com/v1/backups", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases", "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests", "/api/v1/persistentvolumes", "/api/v1/watch/pods",
    "/api/v1/watch/namespaces/default/pods", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    "/apis/events.k8s.io/v1/namespaces/default/events", "/apis/nowhere/v1/things", "/api/v2/pods",
]  # fmt: skip
COLLECTIONS = st.sampled_from(SERVED)
PATHS = st.one_of(
    COLLECTIONS,
    st.builds("{}/{}".format, COLLECTIONS, st.sampled_from(["a", "b", "default", "backups.example.com"])),
    st.builds("{}/a/{}".format, COLLECTIONS, st.sampled_from(["status", "scale", "finalize", "binding", "log", "x/y"])),
    st.builds("/{}".format, st.text(alphabet="/apisv1.é", max_size=12)),
    st.sampled_from(
        ["", "*", "api", "/version", "/openapi/v3", "/openapi/v3/api/v1", "/openapi/v2", "/healthz", "/apis"]
    ),
)
QUERIES = st.lists(
    st.tuples(
        st.sampled_from(["limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector",
                         "fieldSelector", "watch", "timeoutSeconds", "sendInitialEvents", "allowWatchBookmarks",
                         "dryRun", "fieldValidation", "gracePeriodSeconds", "propagationPolicy"]),
        st.one_of(
            st.sampled_from(["1", "0", "All", "true", "Strict", "NotOlderThan", "Exact", "a=b", "metadata.name=a", "a in (",
                             "status.phase!=Running", "spec.nodeName=", "type=Opaque", "x", "99", "Orphan", "Foreground",
                             "9" * 5000, "9223372036854775807", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0"]),
            WORDS,
        ),
    ),
    max_size=3,
)  # fmt: skip
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "content-type": st.sampled_from([
            "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/html",
            "application/merge-patch+json", "application/json-patch+json", "application/apply-patch+yaml",
        ]),
        "accept": st.sampled_from([
            "application/json", "*/*", "application/yaml", "text/html",
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json;q=x", ";;,",
        ]),
    },
)  # fmt: skip
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "BREW"])
ANY = st.tuples(METHODS, PATHS, QUERIES, HEADERS, BODIES)

#: Requests, some of which succeed.
PLAIN = st.builds(
    lambda name, rest: {"metadata": {"name": name}, **rest},
    st.sampled_from(["a", "b"]),
    st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=3), max_size=2),
)
NAMED = st.builds("{}/{}".format, COLLECTIONS, st.sampled_from(["a", "a", "b", "a/status", "backups.example.com"]))
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NO_QUERY, NO_HEADERS = st.just([]), st.just({})
PLAUSIBLE = st.one_of(
    st.tuples(st.just("POST"), COLLECTIONS, NO_QUERY, NO_HEADERS, PLAIN | OBJECTS),
    st.tuples(st.just("POST"), st.just(DEFINITIONS), NO_QUERY, NO_HEADERS, st.just(definition()) | CRDS),
    st.tuples(st.just("PUT"), NAMED, NO_QUERY, NO_HEADERS, PLAIN | OBJECTS),
    st.tuples(
        st.just("PATCH"), NAMED, NO_QUERY, st.just({"content-type": "application/merge-patch+json"}), PLAIN | OBJECTS
    ),
    st.tuples(
        st.just("PATCH"), NAMED, NO_QUERY, st.just({"content-type": "application/json-patch+json"}),
        st.lists(OPERATIONS, min_size=1, max_size=3),
    ),
    st.tuples(st.just("DELETE"), NAMED | COLLECTIONS, QUERIES, NO_HEADERS, st.just(b"") | VALUES),
    st.tuples(st.just("GET"), NAMED | COLLECTIONS, QUERIES, HEADERS, st.just(b"")),
)  # fmt: skip
REQUESTS = PLAUSIBLE | PLAUSIBLE | ANY


class Answers:
    """A server whose responses are checked: each must be possible for the real server."""

    def __init__(self) -> None:
        chance = SeededRandom(Seed(1))
        apiserver = bootstrap.api_server(SystemClock().now(), chance, history_window=50)
        self.runner = ServerRunner(apiserver, SystemClock(), chance)
        self.transport = DirectTransport(self.runner)
        self.transport.request_now("POST", DEFINITIONS, body=definition())
        for collection in SERVED:
            self.transport.request_now("POST", collection, body={"metadata": {"name": "a"}})

    def ask(self, method, path, query, headers, body) -> None:
        values: dict[str, list[str]] = {}
        for name, value in query:
            values.setdefault(name, []).append(value)
        response = self.runner.begin(Request(method, path, values, headers, body, ADMIN))
        if isinstance(response, Suspended):  # an OpenAPI document is made in parts
            response = asyncio.run(self.runner.complete(response))
        if response.watch is not None:
            [event.line for event in response.watch.initial]
            return
        if response.status == 406 and path.startswith("/openapi/"):
            assert response.body is None
            return
        assert response.body is not None
        shown, encoded = response.body.to_object(), response.body.encode()
        if not isinstance(shown, str):
            assert orjson.loads(encoded) == shown
        if response.status >= 500:
            known = REAL.get(response.status, ())
            assert any(text in shown["message"] for text in known), shown["message"]


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(REQUESTS, min_size=1, max_size=15))
def test_any_requests_get_valid_responses(requests):
    failures: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = failures.append  # type: ignore[method-assign]
    logger = logging.getLogger("fakekube.server.runner")
    logger.addHandler(handler)
    try:
        answers = Answers()
        for request in requests:
            answers.ask(*request)
            assert not failures, failures[0].exc_info
    finally:
        logger.removeHandler(handler)
    store = answers.runner.apiserver.store
    for resource in answers.runner.apiserver.catalog.resources():
        check_shape(store.collection(resource.collection))


def test_an_internal_failure_is_500_and_logged(caplog):
    answers = Answers()
    answers.runner.apiserver.catalog = None
    code, _, body = answers.transport.request_now("GET", "/api/v1/pods")
    assert (code, body["reason"], body["code"]) == (500, "InternalError", 500)
    assert body["message"].startswith("Internal error occurred: AttributeError")
    code, _, body = asyncio.run(answers.transport.request("GET", "/api/v1/pods"))
    assert code == 500
    first, second = caplog.records
    assert (first.message, first.method, first.path) == ("request failed", "GET", "/api/v1/pods")
    assert second.exc_info
