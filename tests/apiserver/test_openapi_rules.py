"""Names and parameters of operations, one rule at a time (apiserver `endpoints/installer.go`, `endpoints/openapi`)."""

import pytest

from fakekube.apiserver.openapi.aggregated import merged
from fakekube.apiserver.openapi.customroutes import routes_of
from fakekube.apiserver.openapi.operations import paths_of
from fakekube.apiserver.openapi.parameters import Parameter, in_path
from fakekube.apiserver.openapi.routes import TEXT, Body, Route, description
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


# --- routes as paths of a document


def query(name, text="", place="query"):
    return Parameter(name, place, "string", text)


def route(method="get", *parameters, path="/api/v1/p", **more):
    return Route(path, method, ("read", "Pod"), "what", **{"answer": "A", **more}, parameters=parameters)


def refer(name):
    return {"$ref": name}


OK = {"description": "OK"}


def test_an_operation_of_version_2_has_its_keys_in_order():
    made = route(
        "get",
        query("z"),
        query("a"),
        codes=(200, 201),
        action="get",
        kind={"kind": "Pod"},
        produces=("b", "a"),
        body=Body("B"),
    )
    other = route("put", answer=TEXT, consumes=(), body=Body("B", required=False))
    item = paths_of([made, other], refer, 2)["/api/v1/p"]
    assert list(item) == ["get", "put"]
    assert list(item["get"].items()) == [
        ("description", "what"),
        ("consumes", ["*/*"]),
        ("produces", ["b", "a"]),
        ("schemes", ["https"]),
        ("tags", ["core_v1"]),
        ("operationId", "readCoreV1Pod"),
        ("parameters", [query("a").written(2), {"name": "body", "in": "body", "required": True, "schema": refer("B")}, query("z").written(2)]),
        ("responses", {"200": {**OK, "schema": refer("A")}, "201": {"description": "Created", "schema": refer("A")}, "401": {"description": "Unauthorized"}}),
        ("x-kubernetes-action", "get"),
        ("x-kubernetes-group-version-kind", {"kind": "Pod"}),
    ]  # fmt: skip
    assert "consumes" not in item["put"]
    assert item["put"]["parameters"] == [{"name": "body", "in": "body", "schema": refer("B")}]
    assert item["put"]["responses"]["200"]["schema"] == {"type": "string"}
    assert "x-kubernetes-action" not in item["put"]
    assert "parameters" not in paths_of([route()], refer, 2)["/api/v1/p"]["get"]


def test_an_operation_of_version_3_has_its_keys_in_order():
    made = route("get", query("z"), codes=(202,), produces=("b", "a"), consumes=("d", "c"), body=Body("B"))
    other = route("put", body=Body("B", required=False))
    item = paths_of([made, other], refer, 3)["/api/v1/p"]
    content = {"a": {"schema": refer("A")}, "b": {"schema": refer("A")}}
    assert list(item["get"].items()) == [
        ("tags", ["core_v1"]),
        ("description", "what"),
        ("operationId", "readCoreV1Pod"),
        ("parameters", [query("z").written(3)]),
        ("requestBody", {"content": {"c": {"schema": refer("B")}, "d": {"schema": refer("B")}}, "required": True}),
        ("responses", {"202": {"description": "Accepted", "content": content}, "401": {"description": "Unauthorized"}}),
    ]
    assert list(item["get"]["responses"]["202"]["content"]) == ["a", "b"]
    assert item["put"]["requestBody"] == {"content": {"*/*": {"schema": refer("B")}}}
    assert "requestBody" not in paths_of([route()], refer, 3)["/api/v1/p"]["get"]


def test_paths_are_sorted_and_have_what_all_their_operations_share():
    shared, own = [query("n", place="path"), query("b"), query("n")], [query("x", "1"), query("a"), query("x", "2")]
    routes = [route("get", *shared, *own), route("put", *shared), route(path="/api/v1/a")]
    found = paths_of(routes, refer, 2)
    assert list(found) == ["/api/v1/a", "/api/v1/p"]
    item = found["/api/v1/p"]
    assert item["parameters"] == [query("b").written(2), query("n", place="path").written(2), query("n").written(2)]
    assert item["get"]["parameters"] == [query("a").written(2), query("x", "1").written(2)]
    assert "parameters" not in item["put"]
    assert "parameters" not in found["/api/v1/a"]


# --- other documents


def test_documents_of_other_servers_add_what_is_below_their_paths():
    mine = {"info": 1, "paths": {"/apis/b/": "mine"}, "definitions": {"Mine": "mine"}}
    reference = [{"deep": {"$ref": "#/definitions/One"}}, {"$ref": "#/definitions/Mine"}]
    other = {
        "paths": {"/apis/b/": "theirs", "/apis/a/": reference, "/apis/a/v1/x": {"$ref": "#/definitions/Gone"}, "/apis/ab/": 1, "/version/": 2},
        "definitions": {"One": {"$ref": "#/definitions/Two"}, "Two": {"$ref": "#/definitions/One"}, "Mine": "theirs", "Unused": 3},
    }  # fmt: skip
    assert merged(mine, {}) is mine
    found = merged(mine, {"apis/a": other, "apis/b": {**other, "definitions": None}, "apis/c": {}})
    assert list(found) == ["info", "paths", "definitions"]
    assert list(found["paths"]) == ["/apis/a/", "/apis/a/v1/x", "/apis/b/"]
    assert found["paths"]["/apis/b/"] == "mine"
    assert list(found["definitions"].items()) == [
        ("Mine", "mine"),
        ("One", other["definitions"]["One"]),
        ("Two", other["definitions"]["Two"]),
    ]
    assert merged(mine, {"apis/a": {"paths": {"/apis/a": 1}}})["paths"]["/apis/a"] == 1
    assert mine["paths"] == {"/apis/b/": "mine"}
