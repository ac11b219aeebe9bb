"""Names and parameters of operations, one rule at a time (apiserver `endpoints/installer.go`, `endpoints/openapi`)."""

import pytest

from fakekube.apiserver.openapi.customroutes import routes_of
from fakekube.apiserver.openapi.parameters import Parameter, in_path
from fakekube.apiserver.openapi.routes import Route, description
from fakekube.apiserver.resource import Resource


@pytest.mark.parametrize(
    ("version", "parameter", "written"),
    [
        (2, Parameter("p", "query", "string", "what"), {"uniqueItems": True, "type": "string", "description": "what", "name": "p", "in": "query"}),
        (2, Parameter("p", "query", "integer"), {"uniqueItems": True, "type": "integer", "name": "p", "in": "query"}),
        (2, in_path("p", "what"), {"uniqueItems": True, "type": "string", "description": "what", "name": "p", "in": "path", "required": True}),
        (3, Parameter("p", "query", "boolean", "what"), {"name": "p", "in": "query", "description": "what", "schema": {"type": "boolean", "uniqueItems": True}}),
        (3, in_path("p", ""), {"name": "p", "in": "path", "required": True, "schema": {"type": "string", "uniqueItems": True}}),
    ],
)  # fmt: skip
def test_a_parameter_has_its_keys_in_order(version, parameter, written):
    assert list(parameter.written(version).items()) == list(written.items())


@pytest.mark.parametrize(
    ("verb", "kind", "sub", "text"),
    [
        ("get", "Pod", "", "read the specified Pod"),
        ("get", "Pod", "log", "read log of the specified Pod"),
        ("list", "Pod", "", "list objects of kind Pod"),
        ("create", "Pod", "", "create a Pod"),
        ("create", "Event", "", "create an Event"),
        ("create", "Endpoints", "", "create Endpoints"),
        ("create", "IngressClass", "", "create an IngressClass"),
        ("create", "StorageClass", "", "create a StorageClass"),
        ("create", "Pod", "eviction", "create eviction of a Pod"),
        ("update", "Pod", "status", "replace status of the specified Pod"),
        ("patch", "Pod", "", "partially update the specified Pod"),
        ("delete", "Endpoints", "", "delete Endpoints"),
        ("deletecollection", "Pod", "", "delete collection of Pod"),
    ],
)
def test_what_an_operation_does(verb, kind, sub, text):
    assert description(verb, kind, sub) == text


@pytest.mark.parametrize(
    ("path", "operation_id", "tag"),
    [
        ("/api/v1/namespaces/{namespace}/pods", "readCoreV1Pods", "core_v1"),
        ("/apis/apps/v1/deployments", "readAppsV1Pods", "apps_v1"),
        ("/apis/rbac.authorization.k8s.io/v1/roles", "readRbacAuthorizationV1Pods", "rbacAuthorization_v1"),
        ("/apis/x-y.example.com/v1beta1/things", "readXYExampleComV1beta1Pods", "xYExampleCom_v1beta1"),
        ("/apis/apps/", "readAppsPods", "apps"),
        ("/apis/", "readPods", "apis"),
        ("/api/", "readCorePods", "core"),
        ("/version/", "readPods", "version"),
        ("/.well-known/openid-configuration/", "readPods", "WellKnown"),
    ],
)
def test_names_of_an_operation(path, operation_id, tag):
    route = Route(path, "get", ("read", "pods"), "", "")
    assert (route.operation_id, route.tag) == (operation_id, tag)


def custom(namespaced, **subresources):
    names = ("widgets", "widget", "Widget", "WidgetList")
    return Resource(
        "example.com", "v1", *names, namespaced, frozenset(), "widgets.example.com", subresources=subresources
    )


ROOT = "/apis/example.com/v1/widgets"
INNER = "/apis/example.com/v1/namespaces/{namespace}/widgets"
OWN, LISTED = "com.example.v1.Widget", "com.example.v1.WidgetList"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"

#: Path, method, operation, response, codes.
CLUSTER = [
    (ROOT, "get", ("list", "Widget"), LISTED, (200,)),
    (ROOT, "post", ("create", "Widget"), OWN, (200, 201, 202)),
    (ROOT, "delete", ("delete", "collectionWidget"), f"{META}.Status", (200,)),
    (f"{ROOT}/{{name}}", "get", ("read", "Widget"), OWN, (200,)),
    (f"{ROOT}/{{name}}", "put", ("replace", "Widget"), OWN, (200, 201)),
    (f"{ROOT}/{{name}}", "delete", ("delete", "Widget"), f"{META}.Status", (200, 202)),
    (f"{ROOT}/{{name}}", "patch", ("patch", "Widget"), OWN, (200,)),
]
SUBRESOURCES = [
    (f"{INNER}/{{name}}/{sub}", method, (verb, f"NamespacedWidget{sub.capitalize()}"), answer, codes)
    for sub, answer in (("status", OWN), ("scale", "io.k8s.api.autoscaling.v1.Scale"))
    for method, verb, codes in (("get", "read", (200,)), ("put", "replace", (200, 201)), ("patch", "patch", (200,)))
]


def rows(resource):
    return [(one.path, one.method, one.operation, one.answer, one.codes) for one in routes_of(resource)]


def test_the_routes_of_a_custom_resource():
    assert rows(custom(False)) == CLUSTER
    inner = [
        (path.replace(ROOT, INNER), method, (verb, what.replace("Widget", "NamespacedWidget")), answer, codes)
        for path, method, (verb, what), answer, codes in CLUSTER
    ]
    everywhere = (ROOT, "get", ("list", "WidgetForAllNamespaces"), LISTED, (200,))
    assert rows(custom(True, status=None, scale=None)) == [everywhere, *inner, *SUBRESOURCES]


def test_the_parameters_bodies_and_media_types_of_custom_routes():
    found = {(one.method, one.path.count("{")): one for one in routes_of(custom(True))}
    names = {key: [one.name for one in route.parameters if one.place == "path"] for key, route in found.items()}
    assert names == {
        ("get", 0): [],
        ("get", 1): ["namespace"],
        ("post", 1): ["namespace"],
        ("delete", 1): ["namespace"],
    } | {(method, 2): ["namespace", "name"] for method in ("get", "put", "delete", "patch")}
    bodies = {key: (route.body.type, route.body.required) for key, route in found.items() if route.body}
    assert bodies == {
        ("post", 1): (OWN, True), ("put", 2): (OWN, True), ("patch", 2): (f"{META}.Patch", True), ("delete", 2): (f"{META}.DeleteOptions", False),
    }  # fmt: skip
    assert found["get", 2].consumes == found["get", 2].produces == ("application/json", "application/yaml")
    assert [one.partition("/")[2] for one in found["patch", 2].consumes] == [
        "json-patch+json",
        "merge-patch+json",
        "apply-patch+yaml",
    ]
    assert found["get", 2].kind == {"group": "example.com", "version": "v1", "kind": "Widget"}
    assert found["get", 2].action == "get"
    assert "pretty" in [one.name for one in found["get", 2].parameters]
