"""managedFields after random sequences of writes: ownership is neither lost nor invented."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.apply import fieldset, typed
from fakekube.apiserver.apply.comparison import compare
from fakekube.apiserver.apply.managedfields import STRIPPED
from fakekube.apiserver.apply.pathelement import encoded
from tests.apiserver.api import CONFIGMAPS, DEPLOYMENTS, Api

APPLY, MERGE, STRATEGIC = (
    f"application/{kind}" for kind in ("apply-patch+yaml", "merge-patch+json", "strategic-merge-patch+json")
)
MANAGERS = st.sampled_from(["alpha", "beta", "gamma"])
NAMES = st.sampled_from(["a", "b", "c"])

CONFIG = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.dictionaries(NAMES, NAMES, min_size=1, max_size=2),
        "data": st.dictionaries(NAMES, NAMES, min_size=1, max_size=3),
    },
)
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES, "image": NAMES},
        optional={
            "args": st.lists(NAMES, min_size=1, max_size=2),
            "env": st.lists(
                st.fixed_dictionaries({"name": NAMES, "value": NAMES}),
                min_size=1,
                max_size=2,
                unique_by=lambda one: one["name"],
            ),
            "ports": st.lists(
                st.fixed_dictionaries(
                    {"containerPort": st.integers(1, 2)}, optional={"protocol": st.sampled_from(["TCP", "UDP"])}
                ),
                min_size=1,
                max_size=2,
                unique_by=lambda one: (one["containerPort"], one.get("protocol", "TCP")),
            ),
        },
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda one: one["name"],
)
WORKLOAD = st.fixed_dictionaries(
    {"containers": CONTAINERS},
    optional={"labels": st.dictionaries(NAMES, NAMES, min_size=1, max_size=2), "replicas": st.integers(0, 3)},
)


def configmap(fields):
    meta = {"name": "x", "namespace": "default"}
    if "labels" in fields:
        meta["labels"] = fields["labels"]
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    return {**obj, "data": fields["data"]} if "data" in fields else obj


def deployment(fields):
    meta = {"name": "x", "namespace": "default"}
    if "labels" in fields:
        meta["labels"] = fields["labels"]
    spec = {
        "selector": {"matchLabels": {"app": "x"}},
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": fields["containers"]}},
    }
    if "replicas" in fields:
        spec["replicas"] = fields["replicas"]
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


KINDS = {"configmap": (CONFIGMAPS, configmap, CONFIG), "deployment": (DEPLOYMENTS, deployment, WORKLOAD)}


class Managed:
    """One object under several managers, checked after each step."""

    def __init__(self, collection, plural):
        self.api, self.collection, self.path = Api(), collection, f"{collection}/x"
        group, _, version = ("apps", "", "v1") if plural == "deployments" else ("", "", "v1")
        resource = self.api.apiserver.catalog.find(group, version, plural)
        self.schema = self.api.apiserver.registration(resource).apply_schema
        self.obj = None
        self.maps = set()
        """Every map that ever had entries: its owners keep it if it is empty and therefore omitted."""

    def write(self, method, query, body, **headers):
        path = self.collection if method == "POST" else self.path
        before, revision = self.obj, self.api.revision
        code, shown = self.api.call(method, f"{path}?{query}", copy.deepcopy(body), **headers)
        stored = self.api.call("GET", self.path)[1]
        if code >= 400:
            assert self.api.revision == revision
            return code
        assert shown == stored, "a get after a write gives what the write gave"
        assert self.api.revision - revision in (0, 1)
        assert (self.api.revision == revision) == (before == shown), "a write that changes nothing is none"
        if self.api.revision > revision:
            change = self.api.changes[-1]
            assert change.after.object == {k: v for k, v in shown.items() if k not in ("apiVersion", "kind")}
        self.obj = shown
        self.check()
        return code

    def entries(self):
        return self.obj["metadata"].get("managedFields", [])

    def fields(self, manager, operation):
        found = [e for e in self.entries() if (e["manager"], e["operation"]) == (manager, operation)]
        assert len(found) < 2
        return set(fieldset.paths(found[0]["fieldsV1"])) if found else set()

    def check(self):
        there = self.everything()
        self.maps |= {path[:-1] for path in there}
        for entry in self.entries():
            for path in fieldset.paths(entry["fieldsV1"]):
                assert path in there | self.maps, f"{entry['manager']} owns {path}, which is not there"

    def everything(self):
        value = {k: v for k, v in self.obj.items() if k not in ("apiVersion", "kind")}
        paths = fieldset.paths(compare({"metadata": {}}, value, self.schema).added)
        return {path[:n] for path in paths for n in range(1, len(path) + 1)} | {("f:metadata",)}

    def held(self, config):
        value = {k: v for k, v in config.items() if k not in ("apiVersion", "kind")}
        return set(fieldset.paths(fieldset.difference(typed.field_set(value, self.schema), STRIPPED)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_ownership_is_neither_lost_nor_invented(kind, data):
    collection, make, fields = KINDS[kind]
    managed = Managed(collection, f"{kind}s")
    steps = data.draw(st.lists(st.tuples(st.sampled_from("CUMSAF"), MANAGERS, fields), min_size=1, max_size=6))
    for step, manager, given_fields in steps:
        body, query = make(given_fields), f"fieldManager={manager}"
        if managed.obj is None and step in "UMS":
            step = "C"
        owned = {e["manager"]: managed.fields(e["manager"], "Apply") for e in managed.entries()} if managed.obj else {}
        if step == "C":
            managed.write("POST", query, body)
        elif step == "U":
            managed.write("PUT", query, body)
        elif step == "M":
            managed.write("PATCH", query, body, content_type=MERGE)
        elif step == "S":
            managed.write("PATCH", query, body, content_type=STRATEGIC)
        else:
            code = managed.write("PATCH", query + ("&force=1" if step == "F" else ""), body, content_type=APPLY)
            # 422: fields that no manager names are removed, and a container without an image is invalid
            assert code < 400 or code == 422 or (step == "A" and code == 409)
            if code < 400:
                assert managed.fields(manager, "Apply") == managed.held(body)
                again = managed.obj
                managed.write("PATCH", query, body, content_type=APPLY)
                assert managed.obj == again, "the same apply again changes nothing"
            else:
                assert managed.fields(manager, "Apply") == owned.get(manager, set())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_applying_exactly_the_owned_fields_changes_nothing(kind, data):
    collection, make, fields = KINDS[kind]
    managed = Managed(collection, f"{kind}s")
    for manager, given_fields in data.draw(st.lists(st.tuples(MANAGERS, fields), min_size=1, max_size=4)):
        query = f"fieldManager={manager}&force=1"
        managed.write("PATCH", query, make(given_fields), content_type=APPLY)
    for entry in managed.entries():
        before = managed.obj
        config = extracted(before, entry["fieldsV1"])
        config |= {"apiVersion": before["apiVersion"], "kind": before["kind"]}
        config["metadata"] = {**config.get("metadata", {}), "name": "x"}
        code = managed.write("PATCH", f"fieldManager={entry['manager']}", config, content_type=APPLY)
        assert (code, managed.obj) == (200, before)


def extracted(value, tree):
    """The part of a value in a field set."""
    below = {pe: node for pe, node in tree.items() if pe != "."}
    if not below:
        return value
    if isinstance(value, dict):
        return {pe[2:]: extracted(value[pe[2:]], node) for pe, node in below.items()}
    out = []
    for item in value:
        for pe, node in below.items():
            if pe.startswith("k:") and all(encoded(item.get(k, "TCP")) in pe for k in _keys(pe)):
                out.append(extracted(item, node))
    return out


def _keys(pe):
    return json.loads(pe[2:])


def test_a3_what_is_owned_in_another_version_of_a_built_in_kind_is_compared_there(api: Api) -> None:
    path = "/namespaces/default/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    v1 = {
        "metadata": {"name": "a"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 70},
    }
    api.ok("POST", f"/apis/autoscaling/v1{path}?fieldManager=creator", v1)
    use = {"type": "Utilization", "averageUtilization": 50}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": use}}]
    v2 = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3, "metrics": metrics},
    }
    kind = {"content_type": "application/apply-patch+yaml"}
    code, refused = api.call("PATCH", f"/apis/autoscaling/v2{path}/a?fieldManager=other", v2, **kind)
    assert code == 409
    assert [cause["field"] for cause in refused["details"]["causes"]] == [".spec.targetCPUUtilizationPercentage"]
    forced = api.ok("PATCH", f"/apis/autoscaling/v2{path}/a?fieldManager=other&force=true", v2, **kind)
    creator = next(one for one in forced["metadata"]["managedFields"] if one["manager"] == "creator")
    assert "f:targetCPUUtilizationPercentage" not in creator["fieldsV1"]["f:spec"]
    assert "f:maxReplicas" in creator["fieldsV1"]["f:spec"]


AUTOSCALERS = "/namespaces/default/horizontalpodautoscalers"


def autoscaler(version, *, spec=True, **metadata):
    found = {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 3}
    header = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler"}
    return {**header, "metadata": {"name": "a", **metadata}, **({"spec": found} if spec else {})}


def test_a_manager_that_applies_another_version_removes_what_it_has_applied_before(api: Api) -> None:
    """All metadata that is left when its labels are removed is the server's, which no manager owns."""
    path, kind = f"{AUTOSCALERS}/a?fieldManager=m", {"content_type": "application/apply-patch+yaml"}
    api.ok("PATCH", f"/apis/autoscaling/v2{path}", autoscaler("v2", labels={"a": "b"}), **kind)
    found = api.ok("PATCH", f"/apis/autoscaling/v1{path}", autoscaler("v1"), **kind)
    assert "labels" not in found["metadata"]
    assert found["spec"]["maxReplicas"] == 3


def test_so_does_one_of_an_older_cluster_whose_labels_were_emptied_by_another() -> None:
    api = Api(version="1.34")
    path, kind = f"{AUTOSCALERS}/a?force=true&fieldManager", {"content_type": "application/apply-patch+yaml"}
    api.ok("PATCH", f"/apis/autoscaling/v2{path}=one", autoscaler("v2", annotations={"x": "1"}), **kind)
    api.ok("PATCH", f"/apis/autoscaling/v2{path}=two", autoscaler("v2", spec=False, labels={}), **kind)
    found = api.ok("PATCH", f"/apis/autoscaling/v1{path}=one", autoscaler("v1"), **kind)
    assert "annotations" not in found["metadata"]
