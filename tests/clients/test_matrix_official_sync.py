"""The official client, blocking, with its typed API and for custom kinds."""

import pytest
from kubernetes import client, watch

pytestmark = pytest.mark.slow


@pytest.fixture
def api_client(server):
    with client.ApiClient(client.Configuration(host=server.url)) as made:
        yield made


@pytest.fixture
def core(api_client):
    return client.CoreV1Api(api_client)


@pytest.fixture
def custom(api_client):
    return client.CustomObjectsApi(api_client)


def config_map(name, labels=None, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data or None)


def gadget(name, **spec):
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}


GADGETS = ("example.com", "v1")


def test_discovery(api_client):
    assert client.VersionApi(api_client).get_code().git_version.startswith("v1.36.2")
    assert "example.com" in [group.name for group in client.ApisApi(api_client).get_api_versions().groups]
    resources = {found.name: found for found in client.CoreV1Api(api_client).get_api_resources().resources}
    assert (resources["configmaps"].kind, resources["configmaps"].namespaced) == ("ConfigMap", True)
    gadgets = client.CustomObjectsApi(api_client).get_api_resources(*GADGETS).resources
    assert [found.name for found in gadgets] == ["gadgets", "gadgets/status"]


def test_a_built_in_kind(core, namespace):
    created = core.create_namespaced_config_map(namespace, config_map("a", x="1"))
    assert (created.data, created.metadata.namespace) == ({"x": "1"}, namespace)
    found = core.read_namespaced_config_map("a", namespace)
    assert found == created
    found.data["y"] = "2"
    replaced = core.replace_namespaced_config_map("a", namespace, found)
    assert replaced.data == {"x": "1", "y": "2"}
    with pytest.raises(client.ApiException) as stale:
        core.replace_namespaced_config_map("a", namespace, found)
    assert (stale.value.status, stale.value.reason) == (409, "Conflict")
    deleted = core.delete_namespaced_config_map("a", namespace)  # a V1Status, or from version 36 on a dict
    assert (deleted["status"] if isinstance(deleted, dict) else deleted.status) == "Success"
    with pytest.raises(client.ApiException) as gone:
        core.read_namespaced_config_map("a", namespace)
    assert gone.value.status == 404


def test_a_typed_object_with_its_status(api_client, namespace):
    apps = client.AppsV1Api(api_client)
    container = client.V1Container(name="web", image="nginx")
    labels = {"app": "web"}
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(selector=client.V1LabelSelector(match_labels=labels), template=template, replicas=2)
    created = apps.create_namespaced_deployment(
        namespace, client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    )
    assert (created.spec.replicas, created.metadata.generation) == (2, 1)
    created.status.replicas = 2
    assert apps.replace_namespaced_deployment_status("web", namespace, created).status.replicas == 2
    found = apps.read_namespaced_deployment("web", namespace)
    assert (found.status.replicas, found.metadata.generation) == (2, 1)


def test_a_custom_kind(custom, namespace):
    where = (*GADGETS, namespace, "gadgets")
    created = custom.create_namespaced_custom_object(*where, gadget("g", size=1))
    assert custom.get_namespaced_custom_object(*where, "g") == created
    custom.replace_namespaced_custom_object(*where, "g", {**created, "spec": {"size": 2}})
    custom.patch_namespaced_custom_object_status(*where, "g", {"status": {"seen": 1}})
    (found,) = custom.list_namespaced_custom_object(*where)["items"]
    assert (found["spec"], found["status"], found["metadata"]["generation"]) == ({"size": 2}, {"seen": 1}, 2)
    custom.delete_namespaced_custom_object(*where, "g")
    assert custom.list_namespaced_custom_object(*where)["items"] == []


@pytest.mark.parametrize(
    ("kind", "patch", "data"),
    [
        (None, {"data": {"x": None, "y": "2"}}, {"y": "2"}),
        ("application/merge-patch+json", {"data": {"x": None, "y": "2"}}, {"y": "2"}),
        ("application/json-patch+json", [{"op": "add", "path": "/data/y", "value": "2"}], {"x": "1", "y": "2"}),
        ("application/strategic-merge-patch+json", {"data": {"y": "2"}}, {"x": "1", "y": "2"}),
    ],
)
def test_patches(core, namespace, kind, patch, data):
    core.create_namespaced_config_map(namespace, config_map("a", x="1"))
    options = {"_content_type": kind} if kind else {}
    assert core.patch_namespaced_config_map("a", namespace, patch, **options).data == data


APPLY = {"_content_type": "application/apply-patch+yaml"}


def test_apply(core, namespace):
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}}
    created = core.patch_namespaced_config_map("a", namespace, body, field_manager="one", **APPLY)
    assert [(entry.manager, entry.operation) for entry in created.metadata.managed_fields] == [("one", "Apply")]
    theirs = {**body, "data": {"x": "2"}}
    with pytest.raises(client.ApiException) as conflict:
        core.patch_namespaced_config_map("a", namespace, theirs, field_manager="two", **APPLY)
    assert conflict.value.status == 409
    assert 'Apply failed with 1 conflict: conflict with \\"one\\": .data.x' in conflict.value.body
    forced = core.patch_namespaced_config_map("a", namespace, theirs, field_manager="two", force=True, **APPLY)
    assert forced.data == {"x": "2", "y": "1"}
    ours = {**body, "data": {"z": "3"}}
    assert core.patch_namespaced_config_map("a", namespace, ours, field_manager="one", **APPLY).data == {
        "x": "2",
        "z": "3",
    }


def test_apply_of_a_custom_kind(custom, namespace):
    where = (*GADGETS, namespace, "gadgets", "g")
    # the client knows no 201 here: it answers None where the apply has created the object
    assert custom.patch_namespaced_custom_object(*where, gadget("g", size=1), field_manager="me", **APPLY) is None
    applied = custom.patch_namespaced_custom_object(*where, gadget("g", size=2), field_manager="me", **APPLY)
    assert (applied["spec"], applied["metadata"]["generation"]) == ({"size": 2}, 2)


def test_selectors(core, namespace):
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        core.create_namespaced_config_map(namespace, config_map(name, {"app": app}))

    def names(**selectors):
        return [found.metadata.name for found in core.list_namespaced_config_map(namespace, **selectors).items]

    assert names(label_selector="app=web") == ["a", "c"]
    assert names(label_selector="app in (db)") == ["b"]
    assert names(label_selector="app=web", field_selector="metadata.name!=a") == ["c"]
    with pytest.raises(client.ApiException) as refused:
        names(label_selector="a===b")
    assert refused.value.status == 400


def test_pages(core, namespace):
    names = [f"a{i}" for i in range(7)]
    for name in names:
        core.create_namespaced_config_map(namespace, config_map(name))
    seen, token, pages = [], None, 0
    while pages == 0 or token:
        page = core.list_namespaced_config_map(namespace, limit=3, _continue=token)
        seen += [found.metadata.name for found in page.items]
        token, pages = page.metadata._continue, pages + 1
    assert (seen, pages) == (names, 3)


def test_an_expired_page(core, server, namespace):
    for name in ("a", "b"):
        core.create_namespaced_config_map(namespace, config_map(name))
    page = core.list_namespaced_config_map(namespace, limit=1)
    core.delete_namespaced_config_map("a", namespace)
    server.expire()
    with pytest.raises(client.ApiException) as expired:
        core.list_namespaced_config_map(namespace, limit=1, _continue=page.metadata._continue)
    assert (expired.value.status, expired.value.reason) == (410, "Gone")


def test_a_watch_goes_on_where_it_was(core, namespace):
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("a", x="1"))
    core.patch_namespaced_config_map("a", namespace, {"data": {"x": "2"}})
    core.delete_namespaced_config_map("a", namespace)
    where = {"namespace": namespace, "timeout_seconds": 1}
    first = watch.Watch()
    for event in first.stream(core.list_namespaced_config_map, resource_version=version, **where):
        assert (event["type"], event["object"].data) == ("ADDED", {"x": "1"})
        first.stop()
    rest = watch.Watch().stream(core.list_namespaced_config_map, resource_version=first.resource_version, **where)
    assert [(event["type"], event["object"].data["x"]) for event in rest] == [("MODIFIED", "2"), ("DELETED", "2")]


def test_a_watch_of_a_custom_kind(custom, namespace):
    where = (*GADGETS, namespace, "gadgets")
    custom.create_namespaced_custom_object(*where, gadget("g", size=1))
    events = watch.Watch().stream(custom.list_namespaced_custom_object, *where, timeout_seconds=1)
    assert [(event["type"], event["object"]["spec"]) for event in events] == [("ADDED", {"size": 1})]


def test_a_watch_from_a_version_that_is_gone(core, server, namespace):
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("a"))
    server.expire()
    events = watch.Watch().stream(
        core.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=1
    )
    with pytest.raises(client.ApiException) as expired:
        list(events)
    assert expired.value.status == 410
    assert "too old resource version" in expired.value.reason
