"""The conditions of APIServices with a Service, their paths and their place in discovery."""

import pytest

from fakekube.apiserver import aggregation
from fakekube.apiserver.aggregation import PASSED, Condition
from fakekube.apiserver.needs import Forward, Forwarded
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.request import Request, parse
from tests.apiserver.api import Api

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAME = "v1alpha1.wardle.example.com"
SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
MERGE = {"content_type": "application/merge-patch+json"}
FLUNDERS = "/apis/wardle.example.com/v1alpha1/namespaces/default/flunders"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def api_service(**spec):
    service = {"namespace": "default", "name": "wardle"}
    given = {"group": "wardle.example.com", "version": "v1alpha1", "groupPriorityMinimum": 2000, "versionPriority": 200}
    return {"metadata": {"name": NAME}, "spec": {**given, "service": service, **spec}}


def registered(**spec):
    api = Api()
    api.unchecked = []
    api.apiserver.controllers.on_unchecked = api.unchecked.append
    api.ok("POST", API_SERVICES, api_service(**spec))
    return api


def available(api):
    api.apiserver.controllers.set_available(NAME, PASSED, api.context)
    return api


def condition(api):
    found = api.ok("GET", f"{API_SERVICES}/{NAME}")["status"]["conditions"]
    return [(one["type"], one["status"], one["reason"], one["message"]) for one in found]


def add_service(api, *ports):
    api.ok("POST", SERVICES, {"metadata": {"name": "wardle"}, "spec": {"ports": list(ports)}})


def add_slice(api, *, ready):
    meta = {"name": "wardle-1", "labels": {"kubernetes.io/service-name": "wardle"}}
    endpoint = {"addresses": ["192.0.2.1"], "conditions": {"ready": ready}}
    ports = [{"name": "https", "port": 8443}]
    api.ok("POST", SLICES, {"metadata": meta, "addressType": "IPv4", "endpoints": [endpoint], "ports": ports})


def test_an_api_service_without_its_service():
    api = registered()
    message = 'service/wardle in "default" is not present'
    assert condition(api) == [("Available", "False", "ServiceNotFound", message)]
    assert api.unchecked == []


def test_a_service_without_the_port():
    api = registered()
    add_service(api, {"port": 8443})
    message = 'service/wardle in "default" is not listening on port 443'
    assert condition(api) == [("Available", "False", "ServicePortError", message)]


def test_a_service_without_endpoints():
    api = registered()
    add_service(api, {"name": "https", "port": 443})
    message = 'cannot find endpointslices for service/wardle in "default"'
    assert condition(api) == [("Available", "False", "EndpointsNotFound", message)]


def test_a_service_without_ready_endpoints():
    api = registered()
    add_service(api, {"name": "https", "port": 443})
    add_slice(api, ready=False)
    message = 'endpointslices for service/wardle in "default" have no addresses with port name "https"'
    assert condition(api) == [("Available", "False", "MissingEndpoints", message)]
    assert api.unchecked == []


def test_a_server_is_tried_when_it_has_endpoints():
    api = registered()
    add_service(api, {"name": "https", "port": 443})
    add_slice(api, ready=True)
    assert api.unchecked == [NAME]
    api.ok("PATCH", f"{API_SERVICES}/{NAME}", {"metadata": {"labels": {"a": "b"}}}, **MERGE)
    assert api.unchecked == [NAME]
    api.ok("DELETE", f"{SERVICES}/wardle")
    assert condition(api)[0][2] == "ServiceNotFound"


def test_the_condition_keeps_its_transition_time():
    obj = {"metadata": {"name": NAME}, "spec": {}}
    first = aggregation.with_condition(obj, Condition("False", "A", "a"), "t1")
    second = aggregation.with_condition(first, Condition("False", "B", "b"), "t2")
    third = aggregation.with_condition(second, PASSED, "t3")
    times = [one["status"]["conditions"][0]["lastTransitionTime"] for one in (first, second, third)]
    assert times == ["t1", "t1", "t3"]
    assert aggregation.with_condition(third, PASSED, "t4") is third
    assert [entry["subresource"] for entry in third["metadata"]["managedFields"]] == ["status"]


@pytest.mark.parametrize("path", [FLUNDERS, "/apis/wardle.example.com/v1alpha1"])
def test_an_unavailable_server_answers_503(path):
    answer = registered().answer("GET", path)
    assert (answer.status, answer.content_type) == (503, "text/plain; charset=utf-8")
    assert answer.body.to_object() == "service unavailable\n"


def test_access_is_checked_before_a_request_is_forwarded():
    api = Api(authorization_mode="RBAC")
    root = User("root", groups=("system:masters",))
    api.ok("POST", API_SERVICES, api_service(), user=root)
    assert api.answer("GET", FLUNDERS, user=User("alice")).status == 403


def begun(api, request):
    step = api.apiserver.answer(request, parse(request), request.user, api.context)
    return step, next(step)


def test_the_request_that_is_forwarded():
    api = available(registered(insecureSkipTLSVerify=True))
    user = User("bob", "1", ("dev", "system:authenticated"), {"scopes": ("a", "b")})
    headers = {"accept": "text/csv", "authorization": "Bearer x", "x-remote-user": "eve", "impersonate-user": "bob"}
    _, forward = begun(api, Request("POST", FLUNDERS, {"b": ["1 2"], "a": ["x", "y"]}, headers, b"{}", user))
    assert forward == Forward(
        service=aggregation.service_of(api_service()),
        method="POST",
        target=f"{FLUNDERS}?a=x&a=y&b=1+2",
        headers=(
            ("accept", "text/csv"),
            ("X-Remote-User", "bob"),
            ("X-Remote-Uid", "1"),
            ("X-Remote-Group", "dev"),
            ("X-Remote-Group", "system:authenticated"),
            ("X-Remote-Extra-Scopes", "a"),
            ("X-Remote-Extra-Scopes", "b"),
        ),
        body=b"{}",
        verified=False,
    )


@pytest.mark.parametrize(
    ("forwarded", "text"),
    [
        (Forwarded(problem="no endpoints", unresolved=True), "service unavailable\n"),
        (Forwarded(problem="dial tcp 192.0.2.1:1: connect: connection refused"),
         "error trying to reach service: dial tcp 192.0.2.1:1: connect: connection refused\n"),
    ],
    ids=["unresolved", "unreachable"],
)  # fmt: skip
def test_a_server_that_is_not_reached_answers_503(forwarded, text):
    step, _ = begun(available(registered()), Request("GET", FLUNDERS))
    with pytest.raises(StopIteration) as end:
        step.send(forwarded)
    assert (end.value.value.status, end.value.value.body.to_object()) == (503, text)


def test_an_upgrade_is_refused():
    answer = available(registered()).answer("GET", FLUNDERS, upgrade="websocket")
    assert (answer.status, "not supported" in answer.body.to_object()) == (501, True)


def test_the_group_is_discovered_by_its_priority():
    api = registered()
    names = [one["name"] for one in api.ok("GET", "/apis")["groups"]]
    assert names.index("wardle.example.com") == len(names) - 1
    group = api.ok("GET", "/apis/wardle.example.com")
    version = {"groupVersion": "wardle.example.com/v1alpha1", "version": "v1alpha1"}
    assert (group["versions"], group["preferredVersion"]) == ([version], version)
    api.ok("PATCH", f"{API_SERVICES}/{NAME}", {"spec": {"groupPriorityMinimum": 17650}}, **MERGE)
    names = [one["name"] for one in api.ok("GET", "/apis")["groups"]]
    place = names.index("wardle.example.com")
    assert names[place - 1 : place + 2] == ["authentication.k8s.io", "wardle.example.com", "authorization.k8s.io"]
    api.ok("DELETE", f"{API_SERVICES}/{NAME}")
    assert api.answer("GET", "/apis/wardle.example.com").status == 404


def aggregated_group(api):
    document = api.ok("GET", "/apis", accept=AGGREGATED)
    return next(one for one in document["items"] if one["metadata"]["name"] == "wardle.example.com")["versions"]


def test_aggregated_discovery_has_the_resources_of_the_other_server():
    api = registered()
    assert aggregated_group(api) == [{"version": "v1alpha1", "freshness": "Stale"}]
    row = {"name": "flunders", "singularName": "flunder", "namespaced": True, "kind": "Flunder", "verbs": ["get"]}
    status = {"name": "flunders/status", "singularName": "", "namespaced": True, "kind": "Flunder", "verbs": ["get"]}
    resources = aggregation.converted({"resources": [row, status]})
    found = aggregation.remote_version(api_service(), resources, fresh=True)
    api.apiserver.controllers.show_remote({NAME: found})
    kind = {"group": "", "version": "", "kind": "Flunder"}
    shown = {
        "resource": "flunders",
        "responseKind": kind,
        "scope": "Namespaced",
        "singularResource": "flunder",
        "verbs": ["get"],
        "subresources": [{"subresource": "status", "responseKind": kind, "verbs": ["get"]}],
    }
    assert aggregated_group(api) == [{"version": "v1alpha1", "resources": [shown], "freshness": "Current"}]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/", False),
        ("/api", False),
        ("/api/v1", False),
        ("/apis", False),
        ("/apis/wardle.example.com", False),
        ("/apis/wardle.example.com/v1alpha1", True),
        ("/apis/wardle.example.com/v1alpha1/flunders/a", True),
        ("/apis/wardle.example.com/v1", False),
        ("/api/v1alpha1.wardle.example.com", False),
        ("/other/wardle.example.com/v1alpha1", False),
    ],
)
def test_the_api_service_of_a_path(path, found):
    of_path = aggregation.api_service_of(registered().apiserver.store, path)
    assert (of_path is not None and of_path["metadata"]["name"] == NAME) == found


@pytest.mark.slow
def test_openapi_documents_are_merged():
    api = registered()
    flunder = {"$ref": "#/definitions/com.example.Flunder"}
    two = {
        "paths": {
            "/apis/wardle.example.com/v1alpha1/flunders": {"get": {"schema": flunder}},
            "/apis/elsewhere": {"get": {}},
        },
        "definitions": {
            "com.example.Flunder": {"properties": {"spec": {"$ref": "#/definitions/com.example.Spec"}}},
            "com.example.Spec": {"type": "object"},
            "com.example.Unused": {"type": "object"},
        },
    }
    three = {"openapi": "3.0.0", "paths": {"/apis/wardle.example.com/v1alpha1/flunders": {}}}
    found = aggregation.remote_version(api_service(), (), fresh=True, openapi={2: two, 3: three})
    api.apiserver.controllers.show_remote({NAME: found})
    merged = api.ok("GET", "/openapi/v2")
    assert merged["paths"]["/apis/wardle.example.com/v1alpha1/flunders"] == {"get": {"schema": flunder}}
    assert "/apis/elsewhere" not in merged["paths"]
    added = {name for name in merged["definitions"] if name.startswith("com.example.")}
    assert added == {"com.example.Flunder", "com.example.Spec"}
    assert "/api/v1/pods" in merged["paths"]
    assert list(merged["paths"]) == sorted(merged["paths"])
    assert list(merged["definitions"]) == sorted(merged["definitions"])
    url = api.ok("GET", "/openapi/v3")["paths"]["apis/wardle.example.com/v1alpha1"]["serverRelativeURL"]
    assert api.ok("GET", url) == three
    api.ok("DELETE", f"{API_SERVICES}/{NAME}")
    assert api.answer("GET", url).status == 404


def test_discovery_that_has_not_changed_keeps_its_documents():
    api = registered()
    catalog = api.apiserver.catalog
    before = catalog.document("/apis", dict)
    api.apiserver.controllers.show_remote()
    assert catalog.document("/apis", dict) is before
