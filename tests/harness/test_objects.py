"""Reading and writing objects from the test itself."""

import pytest
import yaml

from controllerlib import ApiError
from fakekube.server.manifests import ManifestError
from tests.harness.operators import build, config_map, every


def test_from_files_directories_and_objects(fakekube, tmp_path):
    (tmp_path / "one.yaml").write_text(yaml.safe_dump_all([config_map("a"), config_map("b")]))
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "c.yml").write_text(yaml.safe_dump(config_map("c")))
    (tmp_path / "many" / "d.json").write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"}}')
    made = fakekube.apply(tmp_path / "one.yaml", str(tmp_path / "many"), config_map("e"), [config_map("f")])
    assert [obj["metadata"]["name"] for obj in made] == ["a", "b", "c", "d", "e", "f"]
    assert len(fakekube.list("v1", "ConfigMap")) == 6


def test_applying_again_replaces(fakekube):
    fakekube.apply(config_map("a", colour="red", size="1"))
    (replaced,) = fakekube.apply(config_map("a", colour="blue"))
    assert replaced["data"] == {"colour": "blue"}


def test_an_invalid_manifest_is_reported(fakekube, tmp_path):
    broken = tmp_path / "broken.yaml"
    broken.write_text("kind: [")
    with pytest.raises(ManifestError, match=r"broken\.yaml"):
        fakekube.apply(broken)
    with pytest.raises(ManifestError, match="nowhere"):
        fakekube.apply(tmp_path / "nowhere")
    with pytest.raises((ManifestError, LookupError), match="Wibble"):
        fakekube.apply({"apiVersion": "v1", "kind": "Wibble", "metadata": {"name": "a"}})


def test_reading_and_writing(fakekube):
    made = fakekube.create(config_map("a", n="1"))
    assert fakekube.get("v1", "ConfigMap", "a") == made
    updated = fakekube.update({**made, "data": {"n": "2"}})
    assert updated["metadata"]["resourceVersion"] > made["metadata"]["resourceVersion"]
    with pytest.raises(ApiError) as conflict:
        fakekube.update({**made, "data": {"n": "3"}})
    assert conflict.value.reason == "Conflict"
    assert fakekube.patch("v1", "ConfigMap", "a", {"data": {"m": "1"}})["data"] == {"n": "2", "m": "1"}
    patched = fakekube.patch("v1", "ConfigMap", "a", [{"op": "remove", "path": "/data/n"}])
    assert patched["data"] == {"m": "1"}
    assert fakekube.exists("v1", "ConfigMap", "a")
    fakekube.delete("v1", "ConfigMap", "a")
    assert not fakekube.exists("v1", "ConfigMap", "a")
    with pytest.raises(ApiError, match='configmaps "a" not found'):
        fakekube.get("v1", "ConfigMap", "a")


def test_lists(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    fakekube.apply(config_map("a", labels={"app": "web"}), config_map("b"), config_map("c", "other"))

    def names(*args, **kwargs):
        found = fakekube.list("v1", "ConfigMap", *args, **kwargs)
        assert all((one["apiVersion"], one["kind"]) == ("v1", "ConfigMap") for one in found)
        return [one["metadata"]["name"] for one in found]

    assert names() == ["a", "b"]
    assert names(None) == ["a", "b", "c"]
    assert names("other") == ["c"]
    assert names(label_selector="app=web") == ["a"]
    assert names(field_selector="metadata.name=b") == ["b"]


def test_status_and_delete_options(fakekube):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "finalizers": ["example.com/mine"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    made = fakekube.create(pod)
    running = fakekube.update({**made, "status": {"phase": "Running"}}, subresource="status")
    assert running["status"]["phase"] == "Running"
    assert fakekube.patch("v1", "Pod", "p", {"status": {"phase": "Failed"}}, subresource="status")["status"] == {
        **running["status"],
        "phase": "Failed",
    }
    deleted = fakekube.delete("v1", "Pod", "p", gracePeriodSeconds=0)
    assert deleted["metadata"]["finalizers"] == ["example.com/mine"]
    assert fakekube.get("v1", "Pod", "p")["metadata"]["deletionTimestamp"]


def test_returned_objects_are_copies(fakekube):
    body = config_map("a", n="1")
    made = fakekube.create(body)
    body["data"]["n"] = made["data"]["n"] = "changed"
    fakekube.get("v1", "ConfigMap", "a")["data"]["n"] = "changed"
    fakekube.list("v1", "ConfigMap")[0]["data"]["n"] = "changed"
    fakekube.state.versions("v1", "ConfigMap", "a")[0][1]["data"]["n"] = "changed"
    assert fakekube.get("v1", "ConfigMap", "a")["data"]["n"] == "1"
    assert fakekube.state.versions("v1", "ConfigMap", "a")[0][1]["data"]["n"] == "1"


def test_an_unknown_kind(fakekube):
    for call in (
        lambda: fakekube.create({"apiVersion": "v1", "kind": "Wibble", "metadata": {"name": "a"}}),
        lambda: fakekube.get("example.com/v1", "Wibble", "a"),
        lambda: fakekube.list("example.com/v1", "Wibble"),
        lambda: fakekube.state.versions("example.com/v1", "Wibble", "a"),
    ):
        with pytest.raises(LookupError, match=r"no kind 'Wibble'.*CustomResourceDefinition"):
            call()


def test_a_name_is_needed(fakekube):
    with pytest.raises(ValueError, match="name of a ConfigMap must not be empty"):
        fakekube.get("v1", "ConfigMap", "")


async def test_objects_need_no_await_in_an_async_test(fakekube):
    fakekube.apply(config_map("a"))
    controller = (await fakekube.start(build(every(60))))["minder"]
    fakekube.patch("v1", "ConfigMap", "a", {"data": {"x": "1"}})
    await fakekube.settle()
    assert controller.causes() == ["added", "updated"]


@pytest.mark.fakekube(service_cluster_ip_range="192.0.2.0/24,2001:db8::/112")
def test_services_get_addresses_of_the_ranges_of_the_cluster(fakekube):
    spec = {"ports": [{"port": 80}], "ipFamilyPolicy": "PreferDualStack"}
    made = fakekube.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec})
    four, six = made["spec"]["clusterIPs"]
    assert (four.startswith("192.0.2."), six.startswith("2001:db8::")) == (True, True)
