"""The operations of OpenAPI documents: their names, parameters, bodies and media types."""

from importlib.metadata import version

import pytest

from fakekube import data
from fakekube.apiserver.catalog import builtin_resources
from fakekube.apiserver.openapi.builtinroutes import routes_of
from fakekube.apiserver.openapi.routes import TEXT, Route
from fakekube.apiserver.openapi.sharedparameters import share
from fakekube.apiserver.openapi.typenames import STATUS, WATCH_EVENT
from fakekube.server import bootstrap
from tests.apiserver.api import CRDS, definition

V3 = "/openapi/v3"
POD = "/api/v1/namespaces/{namespace}/pods/{name}"


def paths(api, root="api/v1"):
    return api.ok("GET", f"{V3}/{root}")["paths"]


def names(parameters):
    return [one["name"] for one in parameters]


LIST = [
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds", "watch",
]  # fmt: skip


def test_wd_107_an_operation_without_parameters_has_no_list_of_them(api):
    item = paths(api)[POD]
    assert "parameters" not in item["get"]
    assert names(item["parameters"]) == ["name", "namespace", "pretty"]
    assert names(item["put"]["parameters"]) == ["dryRun", "fieldManager", "fieldValidation"]


def test_wd_111_a_path_has_the_parameters_that_its_operations_share(api):
    found = paths(api)
    assert names(found["/api/v1/pods"]["parameters"]) == sorted([*LIST, "pretty"])
    assert "parameters" not in found["/api/v1/pods"]["get"]
    collection = found["/api/v1/namespaces/{namespace}/pods"]
    assert names(collection["parameters"]) == ["namespace", "pretty"]
    assert names(collection["get"]["parameters"]) == LIST


@pytest.mark.parametrize(
    ("path", "method", "operation_id", "description"),
    [
        (POD, "get", "readCoreV1NamespacedPod", "read the specified Pod"),
        (POD, "delete", "deleteCoreV1NamespacedPod", "delete a Pod"),
        ("/api/v1/pods", "get", "listCoreV1PodForAllNamespaces", "list or watch objects of kind Pod"),
        ("/api/v1/componentstatuses", "get", "listCoreV1ComponentStatus", "list objects of kind ComponentStatus"),
        (f"{POD}/status", "patch", "patchCoreV1NamespacedPodStatus", "partially update status of the specified Pod"),
        (f"{POD}/eviction", "post", "createCoreV1NamespacedPodEviction", "create eviction of a Pod"),
        (f"{POD}/exec", "post", "connectCoreV1PostNamespacedPodExec", "connect POST requests to exec of Pod"),
        (
            f"{POD}/proxy/{{path}}", "options", "connectCoreV1OptionsNamespacedPodProxyWithPath",
            "connect OPTIONS requests to proxy of Pod",
        ),
        (
            "/api/v1/namespaces/{namespace}/endpoints", "post", "createCoreV1NamespacedEndpoints", "create Endpoints"
        ),
        ("/api/v1/namespaces/{namespace}/events", "post", "createCoreV1NamespacedEvent", "create an Event"),
        ("/api/v1/nodes", "delete", "deleteCoreV1CollectionNode", "delete collection of Node"),
        (
            "/api/v1/watch/pods", "get", "watchCoreV1PodListForAllNamespaces",
            "watch individual changes to a list of Pod. deprecated: use the 'watch' parameter with a list operation "
            "instead.",
        ),
        ("/api/v1/", "get", "getCoreV1APIResources", "get available resources"),
    ],
)  # fmt: skip
def test_names_of_operations(api, path, method, operation_id, description):
    operation = paths(api)[path][method]
    assert (operation["operationId"], operation["description"]) == (operation_id, description)
    assert operation["tags"] == ["core_v1"]


@pytest.mark.parametrize(
    ("path", "verb", "operation_id", "tag"),
    [
        ("/apis/rbac.authorization.k8s.io/v1/roles", "list", "listRbacAuthorizationV1X", "rbacAuthorization_v1"),
        ("/apis/my-group.example.com/v1beta1/x", "read", "readMyGroupExampleComV1beta1X", "myGroupExampleCom_v1beta1"),
        ("/apis/apps/", "get", "getAppsX", "apps"),
        ("/api/", "get", "getCoreX", "core"),
        ("/apis/", "get", "getX", "apis"),
        ("/.well-known/x", "get", "getX", "WellKnown"),
    ],
)
def test_names_of_groups_in_operations(path, verb, operation_id, tag):
    route = Route(path, "get", (verb, "X"), "", "")
    assert (route.operation_id, route.tag) == (operation_id, tag)


def built_in(plural):
    found = {one.plural: one for one in builtin_resources(data.load(bootstrap.DISCOVERY)) if not one.group}[plural]
    return {(one.path, one.method): one for one in routes_of(found, lambda group, version, kind: kind)}


WATCHED = [
    ("pods", "/api/v1/watch/pods", "watchlist", "PodListForAllNamespaces", ["pretty", *LIST]),
    ("pods", "/api/v1/watch/namespaces/{namespace}/pods", "watchlist", "NamespacedPodList",
     ["namespace", "pretty", *LIST]),
    ("pods", "/api/v1/watch/namespaces/{namespace}/pods/{name}", "watch", "NamespacedPod",
     ["name", "namespace", "pretty", *LIST]),
    ("nodes", "/api/v1/watch/nodes", "watchlist", "NodeList", ["pretty", *LIST]),
    ("nodes", "/api/v1/watch/nodes/{name}", "watch", "Node", ["name", "pretty", *LIST]),
]  # fmt: skip


@pytest.mark.parametrize(("plural", "path", "action", "what", "parameters"), WATCHED)
def test_the_deprecated_paths_of_watches(plural, path, action, what, parameters):
    route = built_in(plural)[path, "get"]
    assert (route.action, route.operation, route.answer) == (action, ("watch", what), WATCH_EVENT)
    assert names(one.written(2) for one in route.parameters) == parameters
    assert route.produces == (
        "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
    )  # fmt: skip


LISTED = [
    ("pods", "/api/v1/pods", "PodForAllNamespaces", "list or watch objects of kind Pod", ["pretty", *LIST]),
    ("pods", "/api/v1/namespaces/{namespace}/pods", "NamespacedPod", "list or watch objects of kind Pod",
     ["namespace", "pretty", *LIST]),
    ("nodes", "/api/v1/nodes", "Node", "list or watch objects of kind Node", ["pretty", *LIST]),
    ("componentstatuses", "/api/v1/componentstatuses", "ComponentStatus", "list objects of kind ComponentStatus",
     ["pretty", *LIST]),
]  # fmt: skip


@pytest.mark.parametrize(("plural", "path", "what", "says", "parameters"), LISTED)
def test_the_paths_of_lists(plural, path, what, says, parameters):
    route = built_in(plural)[path, "get"]
    assert (route.action, route.operation, route.description) == ("list", ("list", what), says)
    assert names(one.written(2) for one in route.parameters) == parameters


@pytest.mark.parametrize(
    ("plural", "watched"),
    [("pods", 3), ("nodes", 2), ("componentstatuses", 0), ("bindings", 0)],
)
def test_only_kinds_that_are_watched_have_paths_of_watches(plural, watched):
    assert sum("/watch/" in path for path, _ in built_in(plural)) == watched


@pytest.mark.parametrize(
    ("plural", "path", "method", "operation", "answer", "codes", "required"),
    [
        ("pods", "", "post", ("create", "NamespacedPod"), "Pod", (200, 201, 202), True),
        ("pods", "", "delete", ("delete", "collectionNamespacedPod"), STATUS, (200,), False),
        ("pods", "/{name}", "get", ("read", "NamespacedPod"), "Pod", (200,), None),
        ("pods", "/{name}", "put", ("replace", "NamespacedPod"), "Pod", (200, 201), True),
        ("pods", "/{name}", "patch", ("patch", "NamespacedPod"), "Pod", (200, 201), True),
        ("pods", "/{name}", "delete", ("delete", "NamespacedPod"), "Pod", (200, 202), False),
        ("configmaps", "/{name}", "delete", ("delete", "NamespacedConfigMap"), STATUS, (200, 202), False),
        ("pods", "/{name}/status", "put", ("replace", "NamespacedPodStatus"), "Pod", (200, 201), True),
        ("pods", "/{name}/eviction", "post", ("create", "NamespacedPodEviction"), "Eviction", (200, 201, 202), True),
        ("pods", "/{name}/log", "get", ("read", "NamespacedPodLog"), TEXT, (200,), None),
        ("pods", "/{name}/exec", "get", ("connect", "GetNamespacedPodExec"), TEXT, (200,), None),
        (
            "services",
            "/{name}/proxy/{path}",
            "head",
            ("connect", "HeadNamespacedServiceProxyWithPath"),
            TEXT,
            (200,),
            None,
        ),
    ],
)
def test_operations_of_objects(plural, path, method, operation, answer, codes, required):
    route = built_in(plural)[f"/api/v1/namespaces/{{namespace}}/{plural}{path}", method]
    assert (route.operation, route.answer, route.codes) == (operation, answer, codes)
    assert (route.body.required if route.body else None) is required


def test_media_types_of_a_built_in_kind(api):
    item = paths(api)["/api/v1/namespaces/{namespace}/pods"]
    kinds = ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"]
    assert list(item["post"]["responses"]["201"]["content"]) == kinds
    assert list(item["get"]["responses"]["200"]["content"]) == [
        "application/json", "application/json;stream=watch", "application/vnd.kubernetes.protobuf",
        "application/vnd.kubernetes.protobuf;stream=watch", "application/yaml",
    ]  # fmt: skip


def test_a_log_is_text_with_options_of_its_own(api):
    item = paths(api)[f"{POD}/log"]
    assert list(item["get"]["responses"]["200"]["content"])[-1] == "text/plain"
    assert item["get"]["responses"]["200"]["content"]["text/plain"]["schema"] == {"type": "string"}
    assert {"follow", "tailLines", "pretty", "name"} < set(names(item["parameters"]))


@pytest.mark.parametrize(
    ("path", "type"),
    [
        (POD, "core.v1.Pod"),
        ("/api/v1/namespaces/{namespace}/configmaps/{name}", "apimachinery.pkg.apis.meta.v1.Status"),
    ],
)
def test_what_a_deletion_responds_with(api, path, type):
    content = paths(api)[path]["delete"]["responses"]["200"]["content"]["application/json"]
    assert content["schema"]["$ref"].endswith(type)


@pytest.mark.skipif(version("lightkube-models") < "1.36", reason="older descriptions lack those of newer parameters")
def test_parameters_are_described(api):
    found = {one["name"]: one["description"] for one in paths(api)["/api/v1/pods"]["parameters"]}
    assert found["labelSelector"].startswith("A selector to restrict the list of returned objects by their labels.")
    assert "\n\nDefaults to unset" in found["resourceVersion"]
    assert all(found.values())


def test_documents_that_are_not_about_resources(api):
    index = api.ok("GET", V3)["paths"]
    assert {"api", "apis", "apis/apps", "version", ".well-known/openid-configuration", "openid/v1/jwks"} <= set(index)
    assert list(paths(api, "apis/apps")) == ["/apis/apps/"]
    version = api.ok("GET", f"{V3}/version")
    assert version["paths"]["/version/"]["get"]["operationId"] == "getCodeVersion"
    assert list(version["components"]["schemas"]) == ["io.k8s.apimachinery.pkg.version.Info"]
    assert "schemas" not in api.ok("GET", f"{V3}/openid/v1/jwks")["components"]


# --- custom resources --------------------------------------------------------------------------------------------------


def test_operations_of_a_custom_resource(api):
    made = definition()
    made["spec"]["versions"][0]["subresources"] = {"status": {}}
    api.ok("POST", CRDS, made)
    found = paths(api, "apis/example.com/v1")
    one = found["/apis/example.com/v1/namespaces/{namespace}/backups/{name}"]
    assert one["get"]["operationId"] == "readExampleComV1NamespacedBackup"
    assert names(one["get"]["parameters"]) == ["resourceVersion"]
    assert list(one["put"]["requestBody"]["content"]) == ["application/json", "application/yaml"]
    assert list(one["patch"]["responses"]) == ["200", "401"]
    assert found["/apis/example.com/v1/backups"]["get"]["description"] == "list objects of kind Backup"
    assert "requestBody" not in found["/apis/example.com/v1/namespaces/{namespace}/backups"]["delete"]
    assert not [path for path in found if "/watch/" in path]
    assert api.ok("GET", f"{V3}/apis/example.com/v1")["info"]["title"] == "Kubernetes CRD Swagger"


# --- parameters of version 2 -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_version_2_shares_parameters_by_name(api):
    found = api.ok("GET", "/openapi/v2")
    pod = found["paths"][POD]
    assert {"$ref": "#/parameters/namespace-vgWSWtn3"} in pod["parameters"]
    assert found["parameters"]["namespace-vgWSWtn3"]["description"] == (
        "object name and auth scope, such as for teams and projects"
    )
    body = found["parameters"]["body-2Y1dVQaQ"]
    assert body["schema"] == {"$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"}


@pytest.mark.slow
def test_version_2_keeps_what_clients_look_for_in_the_operation(api):
    put = api.ok("GET", "/openapi/v2")["paths"][POD]["put"]
    assert names([one for one in put["parameters"] if "name" in one]) == ["body", "dryRun", "fieldValidation"]
    assert (put["consumes"], put["schemes"]) == (["*/*"], ["https"])


def test_parameters_are_shared_however_often_they_occur():
    parameter = {"uniqueItems": True, "type": "string", "name": "q", "in": "query"}
    own = {"name": "body", "in": "body", "schema": {"$ref": "#/definitions/com.example.Own"}}
    found = {"/a": {"get": {"parameters": [dict(parameter), own]}}, "/b": {"parameters": [dict(parameter)]}}
    shared = share(found)
    [(name, value)] = shared.items()
    assert value == parameter
    assert found["/a"]["get"]["parameters"] == [{"$ref": f"#/parameters/{name}"}, own]
    assert found["/b"]["parameters"] == [{"$ref": f"#/parameters/{name}"}]


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [
        ({"name": "body", "in": "body", "schema": {"$ref": "#/definitions/io.k8s.apimachinery.pkg.Patch"}}, True),
        ({"name": "body", "in": "body", "schema": {"$ref": "#/definitions/io.k8s.api.core.v1.Pod"}}, False),
        ({"name": "body", "in": "body", "schema": {"type": "object"}}, False),
        ({"name": "pretty", "in": "query"}, True),
        ({"name": "namespace", "in": "path"}, True),
        ({"name": "name", "in": "path"}, False),
        ({"name": "dryRun", "in": "query"}, False),
        ({"name": "fieldValidation", "in": "query"}, False),
    ],
)
def test_which_parameters_are_shared(parameter, expected):
    assert bool(share({"/a": {"parameters": [dict(parameter)]}})) is expected
