"""The order in which errors, messages and answers list things that arrive in another order."""

import orjson
import pytest

from fakekube.apiserver.admission.enablement import enabled_plugins
from fakekube.apiserver.apply import fieldset, managedfields
from fakekube.apiserver.apply.managedfields import MANAGER_LIMIT, Manager, Writer, manager_name
from fakekube.apiserver.apply.updater import Conflict
from fakekube.apiserver.auth import authenticationinfo
from fakekube.apiserver.auth.escalation import compact, shown
from fakekube.apiserver.auth.writechecks import shown_user
from fakekube.apiserver.cel.library import lists
from fakekube.apiserver.crd import definition, pruning
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.endpoints import metrics
from fakekube.apiserver.flowcontrol import seats
from fakekube.apiserver.openapi import typenames
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.celvalidation import TotalCost
from fakekube.apiserver.registry.apiregistration import autoregister
from fakekube.apiserver.registry.builtin import printer_of
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.labels import selector_dump
from fakekube.apiserver.registry.node.runtimeclass import selector_warnings
from fakekube.apiserver.schema import objectmeta
from fakekube.apiserver.schema.builtinschemas import minors
from fakekube.apiserver.user import User
from fakekube.apiserver.wire import yamlencoder
from fakekube.apiserver.wire.marshal import marshaler_of, varint
from fakekube.apiserver.wire.selectors import of_object, parse_labels
from fakekube.struct import replace
from tests.apiserver.api import Api, RequestContext
from tests.apiserver.apply.test_managedfields import UPDATER
from tests.apiserver.validation.support import problems
from tests.apiserver.validation.test_pods import POD

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def test_plugins_that_are_enabled_and_disabled():
    both = ["PodSecurity", "LimitRanger", "Priority"]
    with pytest.raises(ValueError, match=r"^\[LimitRanger PodSecurity Priority\] in enable-admission-plugins and "):
        enabled_plugins(both, both)


# --- managed fields --------------------------------------------------------------------------------------------------


def test_the_paths_of_a_set():
    tree = {name: {} for name in ("i:10", "i:2", 'v:"b"', 'v:"a"', "f:b", "f:a", 'k:{"a":10}', 'k:{"a":9}')}
    assert [path[0] for path in fieldset.paths(tree)] == [
        "f:a", "f:b", 'k:{"a":9}', 'k:{"a":10}', 'v:"a"', 'v:"b"', "i:2", "i:10",
    ]  # fmt: skip
    assert list(fieldset.in_order({"f:b": {}, "f:a": {}, ".": {}})) == [".", "f:a", "f:b"]
    assert list(fieldset.in_order({"i:10": {}, "i:9": {}})) == ["i:9", "i:10"]


def written_by(*managers):
    """An object that each of the managers has changed in another field, in this order."""
    live = {"metadata": {"name": "a"}, "spec": {"labels": {}}}
    for second, manager in enumerate(managers):
        labels = {**live["spec"]["labels"], f"l{second}": "x"}
        writer = Writer(manager, f"2026-01-01T00:00:{second:02}Z")
        live = managedfields.updated(live, {**live, "spec": {"labels": labels}}, UPDATER, writer)
    return live


def managers_of(live):
    return [entry["manager"] for entry in live["metadata"]["managedFields"]]


def owned_by(live, manager):
    (entry,) = (one for one in live["metadata"]["managedFields"] if one["manager"] == manager)
    return sorted(key for key in entry["fieldsV1"]["f:spec"]["f:labels"] if key != ".")


def test_the_entries_of_the_oldest_updates_are_merged():
    names = [chr(ord("z") - number) for number in range(13)]
    assert managers_of(written_by(*names[:10])) == names[:10]
    eleven = written_by(*names[:11])
    assert sorted(managers_of(eleven)) == sorted(["ancient-changes", *names[2:11]])
    assert owned_by(eleven, "ancient-changes") == ["f:l0", "f:l1"]
    twelve = written_by(*names[:12])
    assert sorted(managers_of(twelve)) == sorted(["ancient-changes", *names[3:12]])
    assert owned_by(twelve, "ancient-changes") == ["f:l0", "f:l1", "f:l2"]


def test_conflicts_are_grouped_by_manager():
    def conflict(name, version, field, operation="Update"):
        return Conflict(Manager(name, operation, version, ""), ("f:spec", f"f:{field}"))

    found = [
        conflict("b", "v1", "x"),
        conflict("a", "v1", "y"),
        conflict("b", "v1", "w"),
        conflict("a", "", "z", "Apply"),
    ]
    error = managedfields.conflict_error(found)
    assert error.message == (
        'Apply failed with 4 conflicts: conflicts with "a":\n- .spec.z\n'
        'conflicts with "a" using v1:\n- .spec.y\nconflicts with "b" using v1:\n- .spec.x\n- .spec.w'
    )
    assert [cause["field"] for cause in error.details["causes"]] == [".spec.x", ".spec.y", ".spec.w", ".spec.z"]
    one = managedfields.conflict_error([Conflict(Manager("a", "Apply", "", "status"), ("f:spec",))])
    assert one.message == 'Apply failed with 1 conflict: conflict with "a" with subresource "status": .spec'


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("a" * MANAGER_LIMIT, "a" * 128),
        ("a" * (MANAGER_LIMIT + 1), "a" * 128),
        ("é" * 64 + "a", "é" * 64),
        ("a" + "é" * 64, "a" + "é" * 63),
        ("a\x01b/c", "ab"),
        ("", ""),
    ],
)
def test_the_name_of_a_manager(agent, name):
    assert manager_name("", agent) == name
    assert manager_name("given", agent) == "given"


# --- users and rules -------------------------------------------------------------------------------------------------


def test_a_user_as_go_prints_it():
    user = User("jane", "7", ("b", "a"), {"z": ("2", "1"), "a": ("x",)})
    assert shown_user(user) == "&{jane 7 [b a] map[a:[x] z:[2 1]]}"


def test_rules_that_differ_only_in_their_verbs_are_merged():
    one = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
    other = {"verbs": ["list", "watch"], "resources": ["pods"], "apiGroups": [""]}
    third = {**one, "resources": ["nodes"], "resourceNames": ["b", "a"]}
    assert compact([one, third, other]) == [{**one, "verbs": ["get", "list", "watch"]}, third]
    assert shown(third) == '{APIGroups:[""], Resources:["nodes"], ResourceNames:["b" "a"], Verbs:["get" "list"]}'


def test_the_data_for_proxies_is_sorted():
    published = authenticationinfo.published(None, {"b": "1", "a": "2"}, RequestContext())
    assert list(published["data"]) == ["a", "b"]
    assert list(published["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]) == [".", "f:a", "f:b"]
    assert authenticationinfo.published(published, {"a": "2"}, RequestContext()) is published
    assert authenticationinfo.published(published, {"c": "3"}, RequestContext())["data"] == {
        "a": "2",
        "b": "1",
        "c": "3",
    }


# --- definitions of kinds --------------------------------------------------------------------------------------------


def versions(*rows):
    found = [{"name": name, "served": served, "deprecated": deprecated} for name, served, deprecated in rows]
    return {"spec": {"group": "x.io", "names": {"kind": "Thing"}, "versions": found}}


@pytest.mark.parametrize(
    ("rows", "use"),
    [
        ([("v1beta1", True, True), ("v1alpha1", True, False), ("v1", True, False)], "; use x.io/v1 Thing"),
        ([("v1beta1", True, True), ("v1", True, False), ("v2", True, False)], "; use x.io/v2 Thing"),
        ([("v1beta1", True, True), ("v1", False, False)], ""),
        ([("v1beta1", True, True), ("v1alpha1", True, False)], ""),
        ([("v1beta1", True, True), ("v1", True, True)], ""),
        ([("v1beta1", True, True)], ""),
        ([("b", True, True), ("a", True, False)], "; use x.io/a Thing"),
        ([("a", True, True), ("b", True, False)], ""),
    ],
)
def test_the_version_that_replaces_a_deprecated_one(rows, use):
    crd = versions(*rows)
    version = crd["spec"]["versions"][0]
    assert definition.deprecation(crd, version) == f"x.io/{rows[0][0]} Thing is deprecated{use}"


def test_unknown_fields_of_a_custom_resource_are_sorted():
    unknown = []
    schema = Structural({"type": "object", "properties": {"k": {"type": "string"}}})
    pruning.prune({"z": 1, "k": "x", "a": 2}, schema, unknown)
    assert unknown == ["a", "z"]


def test_the_most_expensive_rules():
    total = TotalCost()
    share = 1_000_000
    for path, cost in (("a", 1), ("b", 3), ("c", 2), ("d", 5), ("e", 4), ("f", 3)):
        total.add(path, cost * share)
    assert [path for _, path in total.most_expensive] == ["d", "e", "b", "f"]
    assert total.cost == 18 * share
    small = TotalCost()
    small.add("a", share - 1)
    assert small.most_expensive == []
    small.add("b", share)
    assert small.most_expensive == [(share, "b")]


def test_an_api_service_names_its_fields_in_order():
    made = autoregister.registered("x.io", "v1", (1000, 100), autoregister.ALWAYS, uid="u", now="t")
    fields = made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    assert list(fields) == ["f:group", "f:groupPriorityMinimum", "f:version", "f:versionPriority"]
    assert made["spec"] == {"group": "x.io", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100}


# --- metrics and flow control ----------------------------------------------------------------------------------------


def test_samples_of_metrics_are_sorted():
    api = Api()
    text = api.answer("GET", "/metrics").body.to_object()
    for name, label in (
        ("apiserver_resource_objects", "resource"),
        ("apiserver_flowcontrol_nominal_limit_seats", "priority_level"),
    ):
        found = [
            line.split(f'{label}="')[1].split('"')[0] for line in text.splitlines() if line.startswith(f"{name}{{")
        ]
        assert len(found) > 3
        assert found == sorted(found)
    assert list(seats(api.apiserver.store)) == sorted(seats(api.apiserver.store))
    lines = [
        line for line in metrics.slis().body.to_object().splitlines() if line.startswith("kubernetes_healthcheck{")
    ]
    assert lines == sorted(lines)
    assert len(lines) > 3


def test_the_default_priority_class_is_the_lowest_one():
    api = Api()
    for name, value in (("c", 7), ("a", 9), ("b", 5)):
        obj = {"metadata": {"name": name}, "value": value}
        api.ok("POST", CLASSES, obj)
    store = api.apiserver.store
    for name in ("a", "b", "c"):
        entry = store.get("priorityclasses.scheduling.k8s.io", name)
        store.update("priorityclasses.scheduling.k8s.io", name, entry, {**entry.object, "globalDefault": True})
    made = api.ok("POST", "/api/v1/namespaces/default/pods?dryRun=All", {"metadata": {"name": "p"}, **POD})
    assert (made["spec"]["priority"], made["spec"]["priorityClassName"]) == (5, "b")


# --- validation ------------------------------------------------------------------------------------------------------


def test_errors_of_labels_and_annotations_come_by_key():
    bad = {"b b": "x", "a a": "y"}
    assert [error.message.split('"')[1] for error in objectmeta.label_errors(bad, "l")] == ["a a", "b b"]
    assert [error.message.split('"')[1] for error in objectmeta.annotation_errors(bad, "l")] == ["a a", "b b"]
    size = objectmeta.ANNOTATIONS_LIMIT
    assert objectmeta.annotation_errors({"a": "x" * (size - 1)}, "p") == []
    assert len(objectmeta.annotation_errors({"a": "x" * size}, "p")) == 1


def test_exit_codes_of_a_job_are_ordered():
    def found(values):
        rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": values}}
        spec = {"template": {"spec": {**POD["spec"], "restartPolicy": "Never"}}, "podFailurePolicy": {"rules": [rule]}}
        return problems("Job", {"spec": spec})

    assert found([1, 2]) == []
    assert "must be ordered" in found([2, 1])[0]


def test_the_claims_that_a_container_can_name():
    claims = [{"name": name, "resourceClaimName": "x"} for name in ("b", "a")]
    container = {**POD["spec"]["containers"][0], "resources": {"claims": [{"name": "c"}]}}
    (found,) = problems("Pod", {"spec": {"containers": [container], "resourceClaims": claims}})
    assert found.endswith('Not found: "c": must be one of the names in pod.spec.resourceClaims: a, b')


def test_warnings_about_deprecated_labels_come_by_key():
    selector = {"kubernetes.io/x": "a", "failure-domain.beta.kubernetes.io/zone": "a", "beta.kubernetes.io/os": "a"}
    found = selector_warnings({"scheduling": {"nodeSelector": selector}})
    assert ["os" in one.split(" is deprecated")[0] for one in found] == [True, False]


# --- encodings -------------------------------------------------------------------------------------------------------


def test_selectors_are_sorted():
    labels = {"matchLabels": {"b": "1", "a": "2"}}
    assert selector_dump(labels) == (
        "&LabelSelector{MatchLabels:map[string]string{a: 2,b: 1,},MatchExpressions:[]LabelSelectorRequirement{},}"
    )
    assert [one.key for one in of_object(labels).requirements] == ["a", "b"]
    assert parse_labels("x in (c,a,b,a)").requirements[0].values == ("a", "b", "c")


def test_maps_are_sorted_by_their_bytes_and_yaml_by_go_s_order():
    assert yamlencoder.encode({"b": 1, "a": 2}) == b"a: 2\nb: 1\n"
    made = marshaler_of("v1", "ConfigMap")({"data": {"\U00010000": "a", "\uffff": "b"}})
    assert made.index("\uffff".encode()) < made.index("\U00010000".encode())


def test_cel_sorts_by_its_own_order():
    assert lists.sort([True, False]) == [False, True]
    assert lists.sort([b"b", b"a"]) == [b"a", b"b"]


def test_openapi_lists_paths_and_groups_in_order():
    api = Api()
    roots = list(orjson.loads(api.answer("GET", "/openapi/v3").body.encode())["paths"])
    assert roots == sorted(roots)
    assert len(roots) > 20
    document = orjson.loads(api.answer("GET", "/openapi/v3/apis/apps/v1").body.encode())
    assert list(document["paths"]) == sorted(document["paths"])
    schemas = document["components"]["schemas"]
    assert list(schemas) == sorted(schemas)
    deployment = schemas["io.k8s.api.apps.v1.DeploymentSpec"]
    assert deployment["required"] == ["selector", "template"]
    assert list(deployment["properties"]) == sorted(deployment["properties"])
    conditions = schemas["io.k8s.api.apps.v1.DeploymentStatus"]["properties"]["conditions"]
    assert conditions["x-kubernetes-patch-strategy"] == "merge"
    parameters = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["get"]["parameters"]
    names = [one["name"] for one in parameters]
    assert names == sorted(names)
    assert len(names) == 11


# --- names and versions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "name"),
    [("example.com", "com.example.v1.Widget"), ("a.b.example.com", "com.example.b.a.v1.Widget"), ("x", "x.v1.Widget")],
)
def test_the_name_of_a_custom_type_turns_its_group_around(group, name):
    assert typenames.custom_name(group, "v1", "Widget") == name


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("io.k8s.api.core.v1.Pod", "core.v1.Pod"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "meta.v1.ObjectMeta"),
        ("com.example.v1.Widget", "com.example.v1.Widget"),
    ],
)
def test_the_package_of_a_type_is_left_out(full, short):
    assert typenames.short_name(full) == short
    assert full.startswith("com.") or typenames.full_name(short) == full


def test_types_that_all_groups_register_are_listed_by_group():
    (first, *others) = next(iter(typenames.cross_registered(["b/v1", "a/v2", "a/v1"]).values()))
    assert (first["group"], first["version"]) == ("", "v1")
    assert [(one["group"], one["version"]) for one in others] == [("a", "v1"), ("a", "v2"), ("b", "v1")]


def test_versions_of_kubernetes_are_ordered_by_their_numbers():
    assert minors({"types": {"a": [["1.9"], ["1.31"]], "b": [["1.10"], ["1.9"]]}}) == ["1.9", "1.10", "1.31"]


def test_the_algorithms_of_tokens_are_listed_once_and_by_name(api, monkeypatch):
    key = api.apiserver.issuer.keys.verifying[0]
    keys = [replace(key, algorithm=name) for name in ("RS256", "ES512", "ES256", "RS256")]
    # clusters share the issuer's keys
    monkeypatch.setitem(vars(api.apiserver.issuer.keys), "verifying", keys)
    found = orjson.loads(api.answer("GET", "/.well-known/openid-configuration").body.encode())
    assert found["id_token_signing_alg_values_supported"] == ["ES256", "ES512", "RS256"]


def test_unknown_fields_of_a_resource_without_a_schema_are_sorted():
    unknown: list[str] = []
    assert pruning.prune({"kind": "A", "z": 1, "b": 2, "metadata": {}}, None, unknown) == {"kind": "A", "metadata": {}}
    assert unknown == ["b", "z"]


@pytest.mark.parametrize("value", [0, 1, 126, 127, 128, 129, 16383, 16384, 2**63])
def test_the_bytes_of_an_integer_are_those_of_protobuf(value):
    encoded = varint(value)
    assert len(encoded) == max(1, -(-value.bit_length() // 7))
    assert all(byte & 0x80 for byte in encoded[:-1])
    assert encoded[-1] < 0x80
    assert sum((byte & 0x7F) << 7 * i for i, byte in enumerate(encoded)) == value


def test_groups_of_other_servers_are_placed_by_their_priority(api):
    path = "/apis/apiregistration.k8s.io/v1/apiservices"
    for group, priority in (("z.example.com", 100), ("a.example.com", 100), ("m.example.com", 20_000)):
        spec = {"group": group, "version": "v1", "groupPriorityMinimum": priority, "versionPriority": 1,
                "service": {"namespace": "default", "name": "s"}, "insecureSkipTLSVerify": True}  # fmt: skip
        api.ok("POST", path, {"metadata": {"name": f"v1.{group}"}, "spec": spec})
    names = api.apiserver.catalog.group_names()
    assert names[:2] == ["apiregistration.k8s.io", "m.example.com"]
    assert names[-2:] == ["a.example.com", "z.example.com"]


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ([], "Unknown"),
        ([{"type": "Available", "status": "True", "reason": "Passed"}], "True"),
        ([{"type": "Available", "status": "False", "reason": "MissingEndpoints"}], "False (MissingEndpoints)"),
        ([{"type": "Available", "status": "False"}], "False ()"),
        ([{"type": "Other", "status": "False", "reason": "R"}], "Unknown"),
    ],
)
def test_the_state_of_an_api_service(conditions, state):
    printer = printer_of("apiservices.apiregistration.k8s.io")
    obj = {"metadata": {"name": "a"}, "spec": {}, "status": {"conditions": conditions}}
    assert printer.cells(obj, Ages("2026-01-01T00:00:00Z"))[1:3] == ["Local", state]
