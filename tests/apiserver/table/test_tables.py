"""Objects, lists and watches as tables."""

from datetime import timedelta

import orjson
import pytest

from tests.apiserver.api import BACKUPS, CONFIGMAPS, CRDS, DEPLOYMENTS, PODS, START, Api, backup, configmap, definition

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
OLD_TABLE = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
COLUMNS = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]


@pytest.fixture
def api() -> Api:
    api = Api()
    for name in ("a", "b"):
        api.ok("POST", CONFIGMAPS, configmap(name, data={"k": "1"}))
    return api


def names(table):
    return [row["cells"][0] for row in table["rows"]]


def test_a_list_has_a_row_for_each_object_and_the_metadata_of_the_list(api):
    table = api.ok("GET", f"{CONFIGMAPS}?limit=1", accept=TABLE)
    assert (table["kind"], table["apiVersion"], names(table)) == ("Table", "meta.k8s.io/v1", ["a"])
    assert table["metadata"].keys() == {"resourceVersion", "continue", "remainingItemCount"}
    rest = api.ok("GET", f"{CONFIGMAPS}?limit=1&continue={table['metadata']['continue']}", accept=TABLE)
    assert (names(rest), rest["metadata"]) == (["b"], {"resourceVersion": table["metadata"]["resourceVersion"]})


TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@pytest.mark.parametrize(
    ("path", "made"),
    [
        pytest.param(BACKUPS, backup("a"), id="custom"),
        pytest.param(
            DEPLOYMENTS, {"spec": {"selector": {"matchLabels": {"app": "a"}}, "template": TEMPLATE}}, id="built-in"
        ),
    ],
)
def test_the_metadata_of_a_row_is_in_the_order_of_go(api, path, made):
    api.ok("POST", CRDS, definition())
    meta = {"labels": {"x": "y"}, "name": "a", "finalizers": ["example.com/a"]}
    api.ok("POST", path, {**made, "metadata": meta})
    ordered = ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "labels", "finalizers"]
    for seen in range(3):
        (row,) = api.ok("GET", path, accept=TABLE)["rows"]
        assert list(row["object"]["metadata"]) == [*ordered, "managedFields"]
        patch = {"status": {"observedGeneration": seen + 1}}
        api.ok("PATCH", f"{path}/a/status", patch, content_type="application/merge-patch+json")


def test_one_object_has_one_row_and_its_own_revision(api):
    one = api.ok("GET", f"{CONFIGMAPS}/a")
    table = api.ok("GET", f"{CONFIGMAPS}/a", accept=TABLE)
    assert (names(table), table["metadata"]) == (["a"], {"resourceVersion": one["metadata"]["resourceVersion"]})


def test_a_write_returns_a_table_and_a_delete_a_status(api):
    assert names(api.ok("POST", CONFIGMAPS, configmap("c"), accept=TABLE)) == ["c"]
    assert api.ok("DELETE", f"{CONFIGMAPS}/c", accept=TABLE)["kind"] == "Status"


@pytest.mark.parametrize(
    ("include", "shown"),
    [
        pytest.param("", ("PartialObjectMetadata", "meta.k8s.io/v1", False), id="by-default"),
        pytest.param("Metadata", ("PartialObjectMetadata", "meta.k8s.io/v1", False), id="metadata"),
        pytest.param("Object", ("ConfigMap", "v1", True), id="object"),
        pytest.param("None", None, id="none"),
    ],
)
def test_the_object_in_a_row(api, include, shown):
    table = api.ok("GET", f"{CONFIGMAPS}/a?includeObject={include}", accept=TABLE)
    found = table["rows"][0]["object"]
    assert (found and (found["kind"], found["apiVersion"], "data" in found)) == shown


@pytest.mark.parametrize("target", [CONFIGMAPS, f"{CONFIGMAPS}/a", f"{CONFIGMAPS}?watch=1"])
def test_an_unknown_include_object_is_rejected(api, target):
    mark = "&" if "?" in target else "?"
    assert api.refused("GET", f"{target}{mark}includeObject=All", accept=TABLE) == (
        400,
        "BadRequest",
        'Unable to convert to Table as requested: includeObject: Invalid value: "All": must be '
        "'Metadata', 'Object', 'None', or empty",
    )


def test_a_missing_object_is_not_found_before_table_options_are_validated(api):
    assert api.refused("GET", f"{CONFIGMAPS}/none?includeObject=All", accept=TABLE)[0] == 404


def test_the_older_version_of_tables(api):
    table = api.ok("GET", f"{CONFIGMAPS}/a", accept=OLD_TABLE)
    assert table["apiVersion"] == table["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


def test_ages_are_computed_for_each_request(api):
    api.context.time = START + timedelta(minutes=5)
    assert api.ok("GET", f"{CONFIGMAPS}/a", accept=TABLE)["rows"][0]["cells"] == ["a", 1, "5m"]


def test_without_objects_printers_have_no_rows_and_the_default_null():
    api = Api()
    assert api.ok("GET", CONFIGMAPS, accept=TABLE)["rows"] == []
    assert api.ok("GET", "/api/v1/namespaces/default/limitranges", accept=TABLE)["rows"] is None


def test_terminated_pods_have_a_condition():
    api = Api()
    spec = {"containers": [{"name": "c", "image": "i"}]}
    api.ok("POST", PODS, {"metadata": {"name": "a"}, "spec": spec})
    api.ok("PATCH", f"{PODS}/a/status", {"status": {"phase": "Failed"}}, content_type="application/merge-patch+json")
    assert api.ok("GET", PODS, accept=TABLE)["rows"][0]["conditions"] == [
        {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
    ]


def test_scales_have_their_own_columns():
    api = Api()
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    api.ok("POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": spec})
    table = api.ok("GET", f"{DEPLOYMENTS}/web/scale?includeObject=Object", accept=TABLE)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert table["rows"][0]["cells"] == ["web", 2, 0, "0s"]
    assert table["rows"][0]["object"]["kind"] == "Scale"


# --- custom kinds ----------------------------------------------------------------------------------------------------


def with_columns(columns):
    made = definition()
    made["spec"]["versions"][0]["additionalPrinterColumns"] = columns
    return made


def test_columns_of_a_custom_kind_follow_its_definition():
    api = Api()
    made = api.ok("POST", CRDS, with_columns(COLUMNS))
    api.ok("POST", BACKUPS, backup(spec={"size": 3}))
    assert api.ok("GET", BACKUPS, accept=TABLE)["rows"][0]["cells"] == ["nightly", 3]
    path = f"{CRDS}/{made['metadata']['name']}"
    patch = [{"op": "replace", "path": "/spec/versions/0/additionalPrinterColumns/0/name", "value": "How big"}]
    api.ok("PATCH", path, orjson.dumps(patch), content_type="application/json-patch+json")
    found = api.ok("GET", BACKUPS, accept=TABLE)["columnDefinitions"]
    assert [column["name"] for column in found] == ["Name", "How big"]


def test_scales_of_custom_kinds_have_their_own_columns():
    api = Api()
    made = with_columns(COLUMNS)
    version = made["spec"]["versions"][0]
    version["subresources"]["scale"] = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    api.ok("POST", CRDS, made)
    api.ok("POST", BACKUPS, backup(spec={"size": 3}))
    table = api.ok("GET", f"{BACKUPS}/nightly/scale?includeObject=Object", accept=TABLE)
    found = [(column["name"], column["type"]) for column in table["columnDefinitions"]]
    assert found == [("Name", "string"), ("Desired", "integer"), ("Available", "integer"), ("Age", "date")]
    row = table["rows"][0]
    assert (row["cells"], row["object"]["kind"]) == (["nightly", 3, 0, "0s"], "Scale")
    api.ok("PATCH", f"{BACKUPS}/nightly", {"spec": {"size": 0}}, content_type="application/merge-patch+json")
    table = api.ok("GET", f"{BACKUPS}/nightly/scale", accept=TABLE)
    assert table["rows"][0]["cells"] == ["nightly", None, 0, "0s"]


# --- watches ---------------------------------------------------------------------------------------------------------


def events(api, target):
    return api.answer("GET", target, accept=TABLE).watch


def test_a_watch_names_its_columns_once(api):
    watch = events(api, f"{CONFIGMAPS}?watch=1")
    delivered = [orjson.loads(event.line) for event in watch.initial]
    api.ok("POST", CONFIGMAPS, configmap("c"))
    api.ok("DELETE", f"{CONFIGMAPS}/c")
    delivered += [orjson.loads(event.line) for event in watch.read()]
    assert [(event["type"], names(event["object"])) for event in delivered] == [
        ("ADDED", ["a"]), ("ADDED", ["b"]), ("ADDED", ["c"]), ("DELETED", ["c"]),
    ]  # fmt: skip
    assert [bool(event["object"]["columnDefinitions"]) for event in delivered] == [True, False, False, False]


def test_tables_of_a_watch_are_not_shared_with_other_watches(api):
    one, other = (
        events(api, f"{CONFIGMAPS}?watch=1&resourceVersion={api.revision}"),
        events(api, f"{CONFIGMAPS}?watch=1&resourceVersion={api.revision}&includeObject=None"),
    )
    api.ok("POST", CONFIGMAPS, configmap("c"))
    found = [orjson.loads(watch.read()[0].line)["object"]["rows"][0]["object"] for watch in (one, other)]
    assert [shown and shown["kind"] for shown in found] == ["PartialObjectMetadata", None]


def test_the_bookmark_that_ends_the_initial_events_always_has_its_object(api):
    wanted = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    watch = events(api, f"{CONFIGMAPS}?{wanted}&includeObject=None")
    last = orjson.loads(watch.initial[-1].line)
    assert last["type"] == "BOOKMARK"
    assert last["object"]["rows"][0]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
