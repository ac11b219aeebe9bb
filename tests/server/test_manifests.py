"""Manifests are read in the order of their paths, and applied in an order in which each finds what it needs."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.server import bootstrap, manifests
from fakekube.server.random import SeededRandom
from fakekube.virtualtime.seeds import Seed

KINDS = ["Namespace", "CustomResourceDefinition", "ConfigMap", "Pod", "Widget", ""]


@given(kinds=st.lists(st.sampled_from(KINDS), max_size=9))
def test_namespaces_then_definitions_then_the_rest_as_given(kinds):
    objects = [{"kind": kind, "number": number} for number, kind in enumerate(kinds)]
    found = manifests.ordered(objects)
    ranks = [{"Namespace": 0, "CustomResourceDefinition": 1}.get(one["kind"], 2) for one in found]
    assert ranks == sorted(ranks)
    for rank in range(3):
        numbers = [one["number"] for one, its in zip(found, ranks, strict=True) if its == rank]
        assert numbers == sorted(numbers)
    assert sorted(one["number"] for one in found) == list(range(len(kinds)))


def test_the_files_of_a_directory_are_read_in_the_order_of_their_paths(tmp_path):
    for name in ("b.yaml", "a.yml", "c/a.json", "c.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"kind": "X", "apiVersion": "v1", "metadata": {"name": name}}))
    (tmp_path / "notes.txt").write_text("no manifest")
    names = [one["metadata"]["name"] for one in manifests.read(tmp_path)]
    assert names == ["a.yml", "b.yaml", "c/a.json", "c.yaml"]


@pytest.mark.parametrize("name", ["notes.txt", ""])
def test_a_directory_without_manifests_is_an_error(tmp_path, name):
    if name:
        (tmp_path / name).write_text("no manifest")
    with pytest.raises(manifests.ManifestError, match="no manifests in this directory"):
        manifests.read(tmp_path)


SERVED = list(
    bootstrap.api_server(datetime(2026, 1, 1, tzinfo=UTC), SeededRandom(Seed(1)), fixed_uids=True).catalog.resources()
)


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("v1", "Deployment", "did you mean 'Deployment' in 'apps/v1'?"),
        ("apps/v1", "deployment", "did you mean 'Deployment'?"),
        ("apps/v1", "deployments", "did you mean 'Deployment'?"),
        ("Deployment", "apps/v1", "did you mean 'apps/v1', 'Deployment' (the apiVersion goes first)?"),
        ("apps/v1", "Deploymnet", "did you mean 'Deployment' in 'apps/v1'?"),
        ("v2", "Event", "did you mean 'Event' in 'events.k8s.io/v1' or 'Event' in 'v1'?"),
        ("example.com/v1", "Widget", "is its CustomResourceDefinition applied?"),
    ],
)
def test_the_message_for_an_unknown_kind(api_version, kind, hint):
    message = manifests.no_kind(api_version, kind, SERVED)
    assert message == f"the cluster has no kind {kind!r} in {api_version!r}: {hint}"


def kind_of(api_version, kind):
    return next(one for one in SERVED if (one.api_version, one.kind) == (api_version, kind))


@pytest.mark.parametrize(
    ("api_version", "kind", "namespace", "path"),
    [
        ("v1", "ConfigMap", "a", "/api/v1/namespaces/a/configmaps"),
        ("v1", "ConfigMap", None, "/api/v1/configmaps"),
        ("v1", "Node", "a", "/api/v1/nodes"),
        ("apps/v1", "Deployment", "a", "/apis/apps/v1/namespaces/a/deployments"),
    ],
)
def test_the_path_of_a_collection(api_version, kind, namespace, path):
    assert manifests.collection_path(kind_of(api_version, kind), namespace) == path


class Cluster:
    """What `apply` needs of a server: its kinds, and answers to requests by method."""

    def __init__(self, **answers):
        self.catalog, self.answers, self.asked = self, answers, []

    def find_kind(self, api_version, kind):
        return next((one for one in SERVED if (one.api_version, one.kind) == (api_version, kind)), None)

    def resources(self):
        return SERVED

    def apply(self, *objects):
        steps, answer = manifests.apply(self, objects, namespace="test"), None
        try:
            while True:
                ask = steps.send(answer)
                self.asked.append((ask.method, ask.path))
                self.body = ask.body
                answer = self.answers[ask.method]
        except StopIteration as end:
            return end.value


A = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "labels": {"x": "new"}, "annotations": {"n": "1"}},
}
COLLECTION = "/api/v1/namespaces/test/configmaps"


def test_a_new_object_is_created():
    cluster = Cluster(POST=(201, {"made": True}))
    assert cluster.apply(A) == [{"made": True}]
    assert cluster.asked == [("POST", COLLECTION)]


@pytest.mark.parametrize("code", [409, 422])
def test_an_existing_object_is_replaced_and_keeps_what_others_set(code):
    metadata = {
        "name": "a",
        "uid": "u",
        "resourceVersion": "7",
        "labels": {"x": "old", "y": "kept"},
        "finalizers": ["f"],
    }
    cluster = Cluster(POST=(code, {}), GET=(200, {"metadata": metadata}), PUT=(200, {"put": True}))
    given = {**A, "metadata": {**A["metadata"], "uid": "other", "resourceVersion": "1"}}
    assert cluster.apply(given) == [{"put": True}]
    assert cluster.asked == [("POST", COLLECTION), ("GET", f"{COLLECTION}/a"), ("PUT", f"{COLLECTION}/a")]
    assert cluster.body["metadata"] == {**metadata, "labels": {"x": "new", "y": "kept"}, "annotations": {"n": "1"}}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"POST": (403, {"message": "no"})}, "ConfigMap 'a': no"),
        ({"POST": (400, {})}, "ConfigMap 'a': {}"),
        ({"POST": (422, {"message": "invalid"}), "GET": (404, {"message": "none"})}, "ConfigMap 'a': invalid"),
        (
            {
                "POST": (409, {}),
                "GET": (200, {"metadata": {"uid": "", "resourceVersion": ""}}),
                "PUT": (400, {"message": "bad"}),
            },
            "ConfigMap 'a': bad",
        ),
    ],
)
def test_a_rejected_object_is_named(answers, message):
    with pytest.raises(manifests.ManifestError) as error:
        Cluster(**answers).apply(A)
    assert str(error.value) == message


def test_an_object_without_a_name_or_with_an_unknown_kind():
    with pytest.raises(manifests.ManifestError, match="ConfigMap '': taken"):
        Cluster(POST=(409, {"message": "taken"})).apply({"apiVersion": "v1", "kind": "ConfigMap"})
    with pytest.raises(manifests.ManifestError, match="Widget 'w': the cluster has no kind 'Widget' in 'v1'"):
        Cluster().apply({"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "w"}})
