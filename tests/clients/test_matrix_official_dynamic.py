"""The official dynamic client, which knows the kinds by discovery alone."""

import pytest
from kubernetes import client, dynamic
from kubernetes.dynamic import exceptions

pytestmark = pytest.mark.slow

KINDS = [
    pytest.param("v1", "ConfigMap", "data", {"x": "1"}, {"x": "2"}, id="ConfigMap"),
    pytest.param("example.com/v1", "Gadget", "spec", {"colour": "red"}, {"colour": "blue"}, id="Gadget"),
]


@pytest.fixture
def api(server, tmp_path):
    # its discovery cache is a file named after the server's address alone, in the folder of temporary files: another
    # server at this address would be taken for this one
    cache = str(tmp_path / "discovery.json")
    with client.ApiClient(client.Configuration(host=server.url)) as made:
        yield dynamic.DynamicClient(made, cache_file=cache)


def test_discovery(api):
    found = api.resources.get(api_version="apps/v1", kind="Deployment")
    assert (found.name, found.namespaced, "status" in found.subresources) == ("deployments", True, True)
    gadgets = api.resources.get(api_version="example.com/v1", kind="Gadget")
    assert (gadgets.name, list(gadgets.short_names)) == ("gadgets", ["gd"])
    assert api.version["kubernetes"]["gitVersion"].startswith("v1.36.2")
    with pytest.raises(exceptions.ResourceNotFoundError):
        api.resources.get(api_version="example.com/v1", kind="Thing")


@pytest.mark.parametrize(("api_version", "kind", "field", "first", "second"), KINDS)
def test_an_objects_life(api, namespace, api_version, kind, field, first, second):
    resource = api.resources.get(api_version=api_version, kind=kind)
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, field: first}
    created = resource.create(body=body, namespace=namespace)
    assert created.to_dict()[field] == first
    assert resource.get(name="a", namespace=namespace).to_dict() == created.to_dict()
    replaced = resource.replace(body={**created.to_dict(), field: second}, namespace=namespace)
    assert replaced.to_dict()[field] == second
    with pytest.raises(exceptions.ConflictError):
        resource.replace(body=created.to_dict(), namespace=namespace)
    resource.delete(name="a", namespace=namespace)
    with pytest.raises(exceptions.NotFoundError):
        resource.get(name="a", namespace=namespace)


@pytest.mark.parametrize(("api_version", "kind", "field", "first", "second"), KINDS)
def test_patches(api, namespace, api_version, kind, field, first, second):
    resource = api.resources.get(api_version=api_version, kind=kind)
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, field: first}
    resource.create(body=body, namespace=namespace)
    where = {"name": "a", "namespace": namespace}
    merged = resource.patch(body={field: second}, content_type="application/merge-patch+json", **where)
    assert merged.to_dict()[field] == second
    key = next(iter(first))
    operations = [{"op": "replace", "path": f"/{field}/{key}", "value": "3"}]
    patched = resource.patch(body=operations, content_type="application/json-patch+json", **where)
    assert patched.to_dict()[field] == {key: "3"}


@pytest.mark.parametrize(("api_version", "kind", "field", "first", "second"), KINDS)
def test_apply(api, namespace, api_version, kind, field, first, second):
    resource = api.resources.get(api_version=api_version, kind=kind)
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, field: first}
    applied = resource.server_side_apply(body=body, namespace=namespace, field_manager="one")
    assert applied.to_dict()[field] == first
    with pytest.raises(exceptions.ConflictError):
        resource.server_side_apply(body={**body, field: second}, namespace=namespace, field_manager="two")
    options = {"field_manager": "two", "force_conflicts": True}
    applied = resource.server_side_apply(body={**body, field: second}, namespace=namespace, **options)
    assert applied.to_dict()[field] == second


def test_the_status_subresource(api, namespace):
    resource = api.resources.get(api_version="example.com/v1", kind="Gadget")
    body = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}}
    created = resource.create(body=body, namespace=namespace)
    resource.status.replace(body={**created.to_dict(), "status": {"seen": 1}}, name="a", namespace=namespace)
    assert resource.get(name="a", namespace=namespace).status.seen == 1


@pytest.mark.parametrize(("api_version", "kind", "field", "first", "second"), KINDS)
def test_selectors_and_pages(api, namespace, api_version, kind, field, first, second):
    resource = api.resources.get(api_version=api_version, kind=kind)
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        meta = {"name": name, "labels": {"app": app}}
        resource.create(body={"apiVersion": api_version, "kind": kind, "metadata": meta}, namespace=namespace)

    def names(found):
        return [item.metadata.name for item in found.items]

    assert names(resource.get(namespace=namespace, label_selector="app=web")) == ["a", "c"]
    assert names(resource.get(namespace=namespace, field_selector="metadata.name=b")) == ["b"]
    page = resource.get(namespace=namespace, limit=2)
    assert names(page) == ["a", "b"]
    assert names(resource.get(namespace=namespace, limit=2, _continue=page.metadata["continue"])) == ["c"]


@pytest.mark.parametrize(("api_version", "kind", "field", "first", "second"), KINDS)
def test_a_watch_goes_on_where_it_was(api, namespace, api_version, kind, field, first, second):
    resource = api.resources.get(api_version=api_version, kind=kind)
    version = resource.get(namespace=namespace).metadata.resourceVersion
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, field: first}
    resource.create(body=body, namespace=namespace)
    resource.patch(body={field: second}, name="a", namespace=namespace, content_type="application/merge-patch+json")
    resource.delete(name="a", namespace=namespace)
    seen = []
    for event in resource.watch(namespace=namespace, resource_version=version, timeout=1):
        seen.append((event["type"], event["raw_object"][field]))
        version = event["raw_object"]["metadata"]["resourceVersion"]
        break
    rest = resource.watch(namespace=namespace, resource_version=version, timeout=1)
    seen += [(event["type"], event["raw_object"][field]) for event in rest]
    assert seen == [("ADDED", first), ("MODIFIED", second), ("DELETED", second)]


def test_a_watch_from_a_version_that_is_gone(api, server, namespace):
    resource = api.resources.get(api_version="v1", kind="ConfigMap")
    version = resource.get(namespace=namespace).metadata.resourceVersion
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    resource.create(body=body, namespace=namespace)
    server.expire()
    with pytest.raises(client.ApiException) as expired:
        list(resource.watch(namespace=namespace, resource_version=version, timeout=1))
    assert expired.value.status == 410
