"""The state of a cluster in files."""

import json
import re

import orjson
import pytest
from click.testing import CliRunner

from fakekube.cli import main
from fakekube.control import statefile
from fakekube.control.statefile import BadFile
from tests.control.rig import CONFIGMAPS, stepped

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {"name": "v1", "served": True, "storage": True,
             "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
        ],
    },
}  # fmt: skip
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
MERGE = {"Content-Type": "application/merge-patch+json"}
SERVICE = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}


async def got(it, path):
    code, _, found = await it.client().request("GET", path)
    return found if code == 200 else code


@stepped
async def test_a_saved_state_is_restored_with_its_uids_and_statuses(it):
    client = it.client()
    await it.make("a")
    await client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=DEFINITION)
    await client.request(
        "POST", WIDGETS, body={"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3}
    )
    await client.request("POST", "/api/v1/namespaces/default/services", body=SERVICE)
    before = {
        path: await got(it, path)
        for path in (f"{CONFIGMAPS}/a", f"{WIDGETS}/w", "/api/v1/namespaces/default/services/s")
    }
    code, text = await it.call("GET", "/state")
    assert code == 200
    await client.request("DELETE", f"{CONFIGMAPS}/a")
    await it.make("b")
    await client.request("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com")
    await client.request("DELETE", "/api/v1/namespaces/default/services/s")
    assert await it.call("PUT", "/state", {"text": text}) == (
        200, {"objects": len(text.splitlines()) - 1, "revision": str(it.runner.apiserver.store.revision)},
    )  # fmt: skip
    assert await got(it, f"{CONFIGMAPS}/b") == 404
    for path, obj in before.items():
        after = await got(it, path)
        for one in (obj, after):
            one["metadata"].pop("resourceVersion")
        assert after == obj, path
    code, _, taken = await client.request("POST", "/api/v1/namespaces/default/services", body={
        "metadata": {"name": "t"}, "spec": {**SERVICE["spec"], "clusterIP": after["spec"]["clusterIP"]},
    })  # fmt: skip
    assert (code, "provided IP is already allocated" in taken["message"]) == (422, True)


@stepped
async def test_the_state_of_the_start_is_restored_without_what_came_later(it):
    _, text = await it.call("GET", "/state")
    size = it.runner.apiserver.store.size()
    await it.make("a")
    assert (await it.call("PUT", "/state", {"text": text}))[0] == 200
    assert it.runner.apiserver.store.size() == size


@stepped
async def test_the_places_of_objects_are_those_of_their_kinds(it):
    def obj(kind, api_version="v1", **meta):
        return {"apiVersion": api_version, "kind": kind, **({"metadata": meta} if meta else {})}

    objects = [
        obj("ConfigMap", name="a", namespace="team"),
        obj("ConfigMap", name="b"),
        obj("Namespace", name="team", namespace="ignored"),
        obj("Deployment", "apps/v1", name="web"),
        obj("Widget", "example.com/v1", name="w"),
        obj("ConfigMap"),
    ]
    assert statefile.places(it.runner.apiserver, objects) == [
        ("configmaps", "team/a"), ("configmaps", "default/b"), ("namespaces", "team"), ("deployments.apps", "default/web"),
        ("configmaps", "default/"),
    ]  # fmt: skip


@stepped
async def test_manifests_are_read_too(it):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: team}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n"
    assert (await it.call("PUT", "/state", {"text": text}))[1]["objects"] == 2
    assert (await got(it, "/api/v1/namespaces/team/configmaps/a"))["kind"] == "ConfigMap"
    assert await got(it, "/api/v1/namespaces/kube-public") == 404


@stepped
async def test_what_has_changed_is_exported_for_any_cluster(it):
    await it.make("a")
    code, text = await it.call("GET", "/state.yaml", clean="true")
    assert (code, text.count("---")) == (200, 1)
    assert "name: a" in text
    assert "uid" not in text


@stepped
async def test_what_the_server_has_from_the_start_is_not_exported_after_a_restore(it):
    await it.make("a")
    path = "/api/v1/namespaces/kube-public"
    labels = {"metadata": {"labels": {"team": "x"}}}
    await it.client().request("PATCH", path, body=labels, headers=MERGE)
    _, exported = await it.call("GET", "/state.yaml", clean="true")
    assert exported.count("---") == 2
    _, text = await it.call("GET", "/state")
    elsewhere = re.sub(r'"uid":"[0-9a-f]{8}', '"uid":"12345678', text)  # as a file of another server
    assert elsewhere != text
    for one in (text, elsewhere):
        assert (await it.call("PUT", "/state", {"text": one}))[0] == 200
        assert await it.call("GET", "/state.yaml", clean="true") == (200, exported)


@stepped
async def test_objects_that_cannot_be_stored_are_named(it):
    text = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\nsize: 3\n"
    code, said = await it.refused("PUT", "/state", {"text": text})
    assert (code, said) == (
        422,
        "the state is as it was, since 3 of 3 objects cannot be stored: Widget/w: the cluster has no kind 'Widget' in "
        "'example.com/v1'; ConfigMap/: it has no name; ConfigMap/b: unknown field size",
    )


@stepped
async def test_a_file_of_which_an_object_cannot_be_stored_changes_nothing(it):
    await it.make("a")
    await it.client().request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=DEFINITION)
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3}
    await it.client().request("POST", WIDGETS, body=widget)
    before = await it.call("GET", "/state")
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nsize: 3\n"
    code, said = await it.refused("PUT", "/state", {"text": text})
    assert code == 422
    assert said.startswith("the state is as it was, since 1 of 2 objects cannot be stored: ConfigMap/a")
    after = await it.call("GET", "/state")
    assert [without_versions(line) for line in after[1].splitlines()[1:]] == [
        without_versions(line) for line in before[1].splitlines()[1:]
    ]
    assert (await got(it, f"{WIDGETS}/w"))["size"] == 3
    await it.make("c")
    assert (await got(it, f"{CONFIGMAPS}/c"))["metadata"]["name"] == "c"


def without_versions(line):
    obj = orjson.loads(line)
    del obj["metadata"]["resourceVersion"]
    return obj


HEAD = {"kind": "fakekube.Snapshot", "format": 1, "objects": 1}
ONE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def text_of(*lines):
    return "\n".join(line if isinstance(line, str) else orjson.dumps(line).decode() for line in lines)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (text_of({**HEAD, "format": 2}, ONE), "the file has the format 2, which is of a newer version (known: 1)"),
        (text_of(HEAD), "the file is torn: it has 0 of 1 objects"),
        (text_of(HEAD, '{"apiVersion": "v1", "ki'), "the file is torn: "),
        ("", "the file is no snapshot and no manifests: it is empty"),
        ("SQLite format 3\0", "the file is no snapshot and no manifests: "),
        ("a: 1", "the file is no snapshot and no manifests: line:1: document 1 is not a Kubernetes object"),
    ],
)
def test_torn_newer_and_foreign_files_are_refused(text, problem):
    with pytest.raises(BadFile) as refused:
        statefile.parsed(text)
    assert str(refused.value).startswith(problem)


# --- the command


def test_the_command_names_what_it_cannot_read(tmp_path):
    def said(*arguments):
        found = CliRunner().invoke(main, ["snapshot", *map(str, arguments)])
        assert found.exit_code == 1
        return found.output

    assert said("restore", tmp_path / "none") == f"Error: {tmp_path}/none: No such file or directory\n"
    assert "http://127.0.0.1:1: " in said("save", tmp_path / "a", "--server", "http://127.0.0.1:1")
    assert f"--kubeconfig {tmp_path}/kc: " in said("save", tmp_path / "a", "--kubeconfig", tmp_path / "kc")
    assert list(tmp_path.iterdir()) == []


def test_the_command_takes_the_server_of_the_environment(tmp_path):
    def said(*arguments):
        named = {"FAKEKUBE_URL": "http://127.0.0.1:1/"}
        return CliRunner().invoke(main, ["snapshot", "save", str(tmp_path / "a"), *arguments], env=named).output

    assert said().startswith("Error: http://127.0.0.1:1: ")
    assert said("--server", "http://127.0.0.1:2").startswith("Error: http://127.0.0.1:2: ")


def test_the_command_reads_the_current_context_of_a_kubeconfig(tmp_path):
    clusters = [{"name": f"c{port}", "cluster": {"server": f"http://127.0.0.1:{port}"}} for port in (2, 1)]
    contexts = [{"name": one["name"], "context": {"cluster": one["name"], "user": "u"}} for one in clusters]
    content = {"clusters": clusters, "contexts": contexts, "users": [{"name": "u", "user": {"tokenFile": "token"}}]}
    (tmp_path / "kc").write_text(json.dumps({**content, "current-context": "c1"}))
    (tmp_path / "token").write_text("secret")
    arguments = ["snapshot", "save", str(tmp_path / "a"), "--kubeconfig", str(tmp_path / "kc")]
    assert "Error: http://127.0.0.1:1: " in CliRunner().invoke(main, arguments).output


SCRIPT = """
set -e
kubectl create configmap kept >/dev/null
fakekube snapshot save state --kubeconfig $KUBECONFIG
kubectl delete configmap kept >/dev/null
fakekube snapshot restore state --kubeconfig $KUBECONFIG
kubectl get configmap kept -o name
fakekube snapshot export changed --clean --server $FAKEKUBE_URL
grep -c kept changed
"""


@pytest.mark.slow
def test_the_command_keeps_the_state_of_a_running_server(tmp_path):
    import shutil
    import sys

    from tests.cli.commands import fakekube

    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    script = SCRIPT.replace("fakekube snapshot", f"{sys.executable} -m fakekube snapshot")
    done = fakekube("run", "--findings", "off", "--", "sh", "-c", script, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    count, name, times = done.stdout.splitlines()
    assert (count.endswith(" objects"), name, times) == (True, "configmap/kept", "1")
    assert json.loads((tmp_path / "state").read_text().splitlines()[0])["kind"] == "fakekube.Snapshot"
