"""pykube-ng."""

import pykube
import pytest
from pykube.objects import NamespacedAPIObject, object_factory

pytestmark = pytest.mark.slow

KINDS = [
    pytest.param("v1", "ConfigMap", "data", {"x": "1"}, {"x": "2"}, id="ConfigMap"),
    pytest.param("example.com/v1", "Gadget", "spec", {"colour": "red"}, {"colour": "blue"}, id="Gadget"),
]


@pytest.fixture
def api(standalone):
    made = pykube.HTTPClient(pykube.KubeConfig.from_file(str(standalone.kubeconfig)))
    yield made
    made.session.close()


@pytest.fixture
def resource(api, namespaced):
    """Makes an object, not yet on the server; by discovery of its kind."""

    def make(api_version, kind, name, labels=None, **fields):
        body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespaced}, **fields}
        if labels:
            body["metadata"]["labels"] = labels
        return object_factory(api, api_version, kind)(api, body)

    return make


def test_discovery(api):
    assert api.version == ("1", "36")
    found = object_factory(api, "example.com/v1", "Gadget")
    assert (found.endpoint, issubclass(found, NamespacedAPIObject)) == ("gadgets", True)
    assert not issubclass(object_factory(api, "v1", "Node"), NamespacedAPIObject)


@pytest.mark.parametrize(("api_version", "kind", "field", "first", "second"), KINDS)
def test_an_objects_life(resource, api_version, kind, field, first, second):
    made = resource(api_version, kind, "a", **{field: first})
    assert not made.exists()
    made.create()
    assert made.obj[field] == first
    made.obj[field] = second
    made.update()  # a merge patch, whatever pykube calls it
    made.reload()
    assert made.obj[field] == second
    with pytest.raises(pykube.exceptions.HTTPError) as taken:
        resource(api_version, kind, "a").create()
    assert taken.value.code == 409
    made.delete()
    assert not made.exists()


@pytest.mark.parametrize(("api_version", "kind", "field", "first", "second"), KINDS)
def test_patches(resource, api_version, kind, field, first, second):
    made = resource(api_version, kind, "a", **{field: first})
    made.create()
    made.patch({field: {**dict.fromkeys(first), "added": "3"}})
    expected = {"added": "3"} if kind == "ConfigMap" else {}  # gadgets keep no field that they do not know
    assert made.obj[field] == expected


def test_status(resource):
    made = resource("example.com/v1", "Gadget", "a", spec={"size": 1})
    made.create()
    made.patch({"status": {"seen": 1}}, subresource="status")
    assert (made.obj["status"], made.obj["metadata"]["generation"]) == ({"seen": 1}, 1)


@pytest.mark.parametrize(("api_version", "kind", "field", "first", "second"), KINDS)
def test_selectors(api, namespaced, resource, api_version, kind, field, first, second):
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        resource(api_version, kind, name, {"app": app}).create()
    objects = object_factory(api, api_version, kind).objects(api, namespace=namespaced)
    assert [found.name for found in objects] == ["a", "b", "c"]
    assert [found.name for found in objects.filter(selector={"app": "web"})] == ["a", "c"]
    assert [found.name for found in objects.filter(selector={"app__in": {"db", "x"}})] == ["b"]
    assert [found.name for found in objects.filter(field_selector={"metadata.name": "c"})] == ["c"]


def test_a_table(api, namespaced, resource):
    resource("v1", "ConfigMap", "a").create()
    found = pykube.ConfigMap.objects(api, namespace=namespaced).as_table()
    assert found.columns[0]["name"] == "Name"
    assert found.rows[0]["cells"][0] == "a"


@pytest.mark.parametrize(("api_version", "kind", "field", "first", "second"), KINDS)
def test_a_watch_goes_on_where_it_was(api, namespaced, resource, api_version, kind, field, first, second):
    made = resource(api_version, kind, "a", **{field: first})
    made.create()
    version = made.metadata["resourceVersion"]
    made.patch({field: second})
    made.delete()
    objects = object_factory(api, api_version, kind).objects(api, namespace=namespaced)
    seen = []
    for _ in range(2):
        watching = objects.watch(since=version)
        event = next(iter(watching))
        watching.response.close()
        seen.append((event.type, event.object.obj[field]))
        version = event.object.metadata["resourceVersion"]
    assert seen == [("MODIFIED", second), ("DELETED", second)]


def test_a_version_that_is_gone_comes_as_an_object(api, namespaced, resource, standalone):
    """pykube returns the Status as if it were an object of the kind; only the event's type differs."""
    made = resource("v1", "ConfigMap", "a")
    made.create()
    version = made.metadata["resourceVersion"]
    made.patch({"data": {"x": "1"}})
    standalone.expire()
    (event,) = pykube.ConfigMap.objects(api, namespace=namespaced).watch(since=version)
    assert (event.type, event.object.obj["kind"], event.object.obj["code"]) == ("ERROR", "Status", 410)
