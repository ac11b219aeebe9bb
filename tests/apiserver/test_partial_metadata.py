"""Responses as PartialObjectMetadata: which answers have one, and the errors of those that do not.

The errors name the Go type of the response (`handlers/response.go`, asPartialObjectMetadata).
"""

import pytest

from tests.apiserver.api import BACKUPS, CONFIGMAPS, CRDS, DEPLOYMENTS, Api, backup, configmap, definition

ONE = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@pytest.fixture(scope="module")
def served():
    api, made = Api(), definition()
    made["spec"]["versions"][0]["subresources"] = {
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    }
    api.ok("POST", CRDS, made)
    api.ok("POST", BACKUPS, backup("a", spec={"replicas": 1}))
    api.ok("POST", CONFIGMAPS, configmap("a", data={"k": "v"}))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    api.ok("POST", DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": spec})
    return api


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        (f"{CONFIGMAPS}/a", ONE, "PartialObjectMetadata"),
        (f"{BACKUPS}/a", ONE, "PartialObjectMetadata"),
        (f"{DEPLOYMENTS}/a/scale", ONE, "PartialObjectMetadata"),
        (f"{BACKUPS}/a/scale", ONE, "PartialObjectMetadata"),
        (CONFIGMAPS, LIST, "PartialObjectMetadataList"),
        (BACKUPS, LIST, "PartialObjectMetadataList"),
    ],
)
def test_only_metadata(served, path, accept, kind):
    found = served.ok("GET", path, accept=accept)
    assert (found["kind"], found["apiVersion"]) == (kind, "meta.k8s.io/v1")
    for one in found.get("items", [found]):
        assert one.keys() - {"kind", "apiVersion"} == {"metadata"}
        assert one["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("path", "accept", "code", "why"),
    [
        (CONFIGMAPS, ONE, 406, "PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"),
        (DEPLOYMENTS, ONE, 406, "PartialObjectMetadata, but the requested object is a list (*apps.DeploymentList)"),
        (
            BACKUPS, ONE, 406,
            "PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)",
        ),
        (
            f"{CONFIGMAPS}/a", LIST, 406,
            "PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)",
        ),
        (
            f"{DEPLOYMENTS}/a/scale", LIST, 406,
            "PartialObjectMetadataList, but the requested object is not a list (*autoscaling.Scale)",
        ),
        (
            f"{BACKUPS}/a/scale", LIST, 406,
            "PartialObjectMetadataList, but the requested object is not a list (*v1.Scale)",
        ),
        (f"{BACKUPS}/a", LIST, 500, "content is not a list"),
    ],
)  # fmt: skip
def test_an_object_is_no_list_and_a_list_no_object(served, path, accept, code, why):
    found = served.refused("GET", path, accept=accept)
    assert (found[0], found[2].removeprefix("you requested ")) == (code, why)


@pytest.mark.parametrize("accept", [ONE, LIST])
def test_a_status_is_not_converted(accept):
    api = Api()
    api.ok("POST", CONFIGMAPS, configmap())
    assert api.ok("DELETE", f"{CONFIGMAPS}/a", accept=accept)["kind"] == "Status"
    assert api.call("GET", f"{CONFIGMAPS}/a", accept=accept)[1]["kind"] == "Status"


def test_a_write_whose_response_is_refused_has_taken_place():
    api = Api()
    code, found = api.call("POST", CONFIGMAPS, configmap(), accept=LIST)
    assert (code, found["reason"]) == (406, "NotAcceptable")
    assert api.ok("GET", f"{CONFIGMAPS}/a")["kind"] == "ConfigMap"


def test_a_watch_sends_metadata():
    api = Api()
    api.ok("POST", CONFIGMAPS, configmap(data={"k": "v"}))
    [event] = api.answer(
        "GET", f"{CONFIGMAPS}?watch=1&resourceVersion=0&fieldSelector=metadata.name=a", accept=ONE
    ).watch.initial
    shown = event.to_object()["object"]
    assert (shown["kind"], "data" in shown) == ("PartialObjectMetadata", False)
