"""kubectl against `fakekube serve`: over HTTP, and over HTTPS with a token."""

import itertools
import json
import os
import queue
import shutil
import subprocess
import threading
from contextlib import contextmanager

import pytest
import yaml

from tests.clients import servers

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]

FUSE = 60

_NUMBERS = itertools.count(1)


class Kubectl:
    """kubectl of one user and namespace, with a home of its own."""

    def __init__(self, kubeconfig, home, namespace):
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
        self.env = {**kept, "KUBECONFIG": str(kubeconfig), "HOME": str(home)}
        self.namespace = namespace

    def __call__(self, *arguments, stdin=None, status=0):
        """What it says on its standard output; where another status is expected, on its standard error."""
        done = subprocess.run(
            ["kubectl", "--namespace", self.namespace, *arguments],
            input=stdin, capture_output=True, text=True, timeout=FUSE, check=False, env=self.env,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        return done.stderr if status else done.stdout

    def json(self, *arguments):
        return json.loads(self(*arguments, "--output", "json"))

    @contextmanager
    def running(self, *arguments):
        """Its lines, one by one, while it runs."""
        lines = queue.Queue()
        command = ["kubectl", "--namespace", self.namespace, *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.env) as process:
            reader = threading.Thread(target=lambda: [lines.put(line.rstrip("\n")) for line in process.stdout])
            reader.start()
            try:
                yield lambda: lines.get(timeout=FUSE)
            finally:
                process.terminate()
                process.wait(FUSE)
                reader.join(FUSE)


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secure")
    tokens = folder / "tokens.csv"
    tokens.write_text('admin-token,admin,1,"system:masters"\nalice-token,alice,2,dev\n')
    options = ("--tls", "--token-auth-file", str(tokens), "--authorization-mode", "RBAC")
    with servers.standalone(folder, *options) as server:
        yield server


@pytest.fixture(scope="module", params=["http", "https"])
def served(request):
    return request.getfixturevalue("standalone" if request.param == "http" else "secure")


@pytest.fixture
def kubectl(served, tmp_path):
    name = f"kubectl-{next(_NUMBERS)}"
    Kubectl(served.kubeconfig, tmp_path, "default")("create", "namespace", name)
    return Kubectl(served.kubeconfig, tmp_path, name)


CONFIGMAPS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {app: web}}
data: {x: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, labels: {app: db}}
data: {x: "1"}
"""

GADGET = """
apiVersion: example.com/v1
kind: Gadget
metadata: {name: g}
spec: {size: 1}
"""


def test_version(kubectl):
    version = kubectl.json("version")
    assert version["serverVersion"]["gitVersion"].startswith("v1.36.2")


def test_api_resources(kubectl):
    rows = [line.split() for line in kubectl("api-resources", "--no-headers").splitlines()]
    kinds = {(row[-3], row[-1]) for row in rows}
    assert {("v1", "ConfigMap"), ("apps/v1", "Deployment"), ("example.com/v1", "Gadget")} <= kinds
    assert "gd" in kubectl("api-resources", "--api-group", "example.com", "--no-headers").split()
    assert "example.com/v1" in kubectl("api-versions").split()


def test_create_and_get(kubectl):
    said = kubectl("create", "--filename", "-", stdin=f"{CONFIGMAPS}---{GADGET}")
    assert said.splitlines() == ["configmap/a created", "configmap/b created", "gadget.example.com/g created"]
    assert kubectl.json("get", "configmap", "a")["data"] == {"x": "1"}
    assert yaml.safe_load(kubectl("get", "gd", "g", "--output", "yaml"))["spec"] == {"size": 1}
    assert kubectl("get", "configmaps", "--output", "name").split() == ["configmap/a", "configmap/b"]
    names = ("--output", "name")
    assert kubectl("get", "configmaps", "-l", "app=web", *names).split() == ["configmap/a"]
    assert kubectl("get", "configmaps", "-l", "app notin (web)", *names).split() == ["configmap/b"]
    assert kubectl("get", "configmaps", "--field-selector", "metadata.name=b", *names).split() == ["configmap/b"]
    assert kubectl("get", "configmaps", "a", "--output", "jsonpath={.data.x}") == "1"
    table = [line.split() for line in kubectl("get", "configmaps").splitlines()]
    assert table[0][0] == "NAME"
    assert [row[0] for row in table[1:]] == ["a", "b"]
    assert kubectl("get", "configmaps,gadgets", *names).split()[-1] == "gadget.example.com/g"
    assert kubectl("get", "configmaps", "--chunk-size", "1", *names).split() == ["configmap/a", "configmap/b"]


def test_get_and_watch(kubectl):
    kubectl("create", "configmap", "a", "--from-literal", "x=1")
    with kubectl.running(
        "get", "configmaps", "--watch", "--output", "jsonpath={.metadata.name}{.data.x}{'\\n'}"
    ) as line:
        assert line() == "a1"
        kubectl("create", "configmap", "b", "--from-literal", "x=2")
        assert line() == "b2"
        kubectl("patch", "configmap", "a", "--type", "merge", "--patch", '{"data":{"x":"3"}}')
        assert line() == "a3"
        kubectl("delete", "configmap", "b")
        assert line() == "b2"


def test_what_there_is_not(kubectl):
    assert kubectl("get", "configmap", "z", status=1) == ('Error from server (NotFound): configmaps "z" not found\n')
    assert kubectl("get", "things", status=1) == 'error: the server doesn\'t have a resource type "things"\n'
    assert "already exists" in kubectl("create", "namespace", "default", status=1)


def test_unknown_fields_are_refused(kubectl):
    typo = CONFIGMAPS.replace("\ndata:", "\ndtaa:", 1)
    assert 'unknown field "dtaa"' in kubectl("create", "--filename", "-", stdin=typo, status=1)
    kubectl("create", "--validate=false", "--filename", "-", stdin=typo.partition("---")[0])
    assert "data" not in kubectl.json("get", "configmap", "a")


def test_dry_run_changes_nothing(kubectl):
    kubectl("create", "--dry-run=server", "--filename", "-", stdin=CONFIGMAPS)
    assert kubectl("get", "configmaps", "--output", "name") == ""


@pytest.mark.parametrize(
    "command",
    [
        ["configmap", "x", "--from-literal", "a=1"],
        ["secret", "generic", "x", "--from-literal", "a=1"],
        ["deployment", "x", "--image", "nginx", "--replicas", "0", "--port", "80"],
        ["job", "x", "--image", "busybox", "--", "date"],
        ["cronjob", "x", "--image", "busybox", "--schedule", "*/5 * * * *"],
        ["service", "nodeport", "x", "--tcp", "80:8080"],
        ["ingress", "x", "--rule", "example.com/=svc:80"],
        ["quota", "x", "--hard", "pods=2,requests.cpu=1500m"],
        ["poddisruptionbudget", "x", "--selector", "a=b", "--min-available", "50%"],
        ["role", "x", "--verb", "get", "--resource", "pods"],
        ["rolebinding", "x", "--role", "x", "--user", "me"],
        ["serviceaccount", "x"],
    ],
    ids=" ".join,
)
def test_create_commands_that_speak_protobuf(kubectl, command):
    """The same object as the command would print, created from JSON."""
    printed = kubectl("create", *command[:2], "--dry-run=client", "--output", "json", *command[2:])
    kubectl("create", *command)
    spoken = kubectl.json("get", command[0], "x")
    kubectl("delete", command[0], "x")
    kubectl("create", "--filename", "-", stdin=printed)
    written = kubectl.json("get", command[0], "x")
    assert _without_chance(spoken) == _without_chance(written)


def _without_chance(found):
    """An object without what differs each time that it is created."""
    found = json.loads(json.dumps(found).replace(found["metadata"]["uid"], "UID"))
    for field in ("resourceVersion", "creationTimestamp", "managedFields"):
        found["metadata"].pop(field, None)
    for field in ("clusterIP", "clusterIPs"):
        found.get("spec", {}).pop(field, None)
    for port in found.get("spec", {}).get("ports", []):
        port.pop("nodePort", None)
    return found


def test_create_token(kubectl):
    kubectl("create", "serviceaccount", "me")
    assert len(kubectl("create", "token", "me").strip().split(".")) == 3


def test_replace(kubectl):
    kubectl("create", "--filename", "-", stdin=CONFIGMAPS)
    assert kubectl("replace", "--filename", "-", stdin=CONFIGMAPS.replace('"1"', '"2"')).splitlines() == [
        "configmap/a replaced",
        "configmap/b replaced",
    ]
    assert kubectl("get", "configmap", "a", "--output", "jsonpath={.data.x}") == "2"
    before = kubectl.json("get", "configmap", "a")
    kubectl("patch", "configmap", "a", "--type", "merge", "--patch", '{"data":{"x":"3"}}')
    assert "the object has been modified" in kubectl("replace", "--filename", "-", stdin=json.dumps(before), status=1)
    kubectl("replace", "--force", "--filename", "-", stdin=CONFIGMAPS)
    assert kubectl.json("get", "configmap", "a")["metadata"]["uid"] != before["metadata"]["uid"]


@pytest.mark.parametrize(
    ("kind", "patch", "data"),
    [
        ("merge", {"data": {"x": None, "y": "2"}}, {"y": "2"}),
        ("json", [{"op": "replace", "path": "/data/x", "value": "2"}], {"x": "2"}),
        ("strategic", {"data": {"y": "2"}}, {"x": "1", "y": "2"}),
    ],
)
def test_patch(kubectl, kind, patch, data):
    kubectl("create", "--filename", "-", stdin=CONFIGMAPS)
    said = kubectl("patch", "configmap", "a", "--type", kind, "--patch", json.dumps(patch))
    assert said == "configmap/a patched\n"
    assert kubectl.json("get", "configmap", "a")["data"] == data


def test_patch_of_a_custom_kind_and_its_status(kubectl):
    kubectl("create", "--filename", "-", stdin=GADGET)
    kubectl("patch", "gadget", "g", "--type", "merge", "--patch", '{"spec":{"size":2},"status":{"seen":1}}')
    kubectl("patch", "gadget", "g", "--subresource", "status", "--type", "merge", "--patch", '{"status":{"seen":3}}')
    found = kubectl.json("get", "gadget", "g")
    assert (found["spec"], found["status"]) == ({"size": 2}, {"seen": 3})
    kubectl("patch", "gadget", "g", "--type", "json", "--patch", '[{"op":"remove","path":"/spec/size"}]')
    assert kubectl.json("get", "gadget", "g")["spec"] == {}


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["client-side", "server-side"])
def test_apply(kubectl, how):
    said = kubectl("apply", *how, "--filename", "-", stdin=CONFIGMAPS)
    word = "serverside-applied" if how else "created"
    assert said.splitlines() == [f"configmap/a {word}", f"configmap/b {word}"]
    changed = CONFIGMAPS.replace('data: {x: "1"}', 'data: {z: "2"}', 1)
    said = kubectl("apply", *how, "--filename", "-", stdin=changed)
    assert said.splitlines() == (
        ["configmap/a serverside-applied", "configmap/b serverside-applied"]
        if how
        else ["configmap/a configured", "configmap/b unchanged"]
    )
    assert kubectl.json("get", "configmap", "a")["data"] == {"z": "2"}
    kubectl("apply", *how, "--filename", "-", stdin=GADGET)
    kubectl("apply", *how, "--filename", "-", stdin=GADGET.replace("size: 1", "size: 2"))
    assert kubectl.json("get", "gadget", "g")["spec"] == {"size": 2}


def test_conflicts_of_apply(kubectl):
    kubectl("apply", "--server-side", "--field-manager", "one", "--filename", "-", stdin=CONFIGMAPS)
    theirs = ("apply", "--server-side", "--field-manager", "two", "--filename", "-")
    changed = CONFIGMAPS.replace('"1"', '"2"', 1)
    assert 'conflict with "one": .data.x' in kubectl(*theirs, stdin=changed, status=1)
    kubectl(*theirs, "--force-conflicts", stdin=changed)
    assert kubectl.json("get", "configmap", "a")["data"] == {"x": "2"}


def test_diff(kubectl):
    kubectl("apply", "--filename", "-", stdin=CONFIGMAPS)
    kubectl("diff", "--filename", "-", stdin=CONFIGMAPS)
    changed = subprocess.run(
        ["kubectl", "--namespace", kubectl.namespace, "diff", "--filename", "-"],
        input=CONFIGMAPS.replace('"1"', '"2"', 1), capture_output=True, text=True, env=kubectl.env, check=False,
    )  # fmt: skip
    assert changed.returncode == 1
    assert '+  x: "2"' in changed.stdout


def test_label_annotate_and_edit_in_place(kubectl):
    kubectl("create", "--filename", "-", stdin=CONFIGMAPS)
    kubectl("label", "configmap", "a", "tier=front", "app-")
    kubectl("annotate", "configmap", "a", "note=one")
    meta = kubectl.json("get", "configmap", "a")["metadata"]
    assert (meta["labels"], meta["annotations"]) == ({"tier": "front"}, {"note": "one"})


def test_delete_and_wait(kubectl):
    kubectl("create", "--filename", "-", stdin=CONFIGMAPS)
    assert kubectl("delete", "configmap", "a", "--wait") == 'configmap "a" deleted\n'
    assert kubectl("get", "configmaps", "--output", "name").split() == ["configmap/b"]
    kubectl("patch", "configmap", "b", "--type", "merge", "--patch", '{"metadata":{"finalizers":["example.com/f"]}}')
    with kubectl.running("delete", "configmap", "b", "--wait") as line:
        assert line() == 'configmap "b" deleted'
        assert kubectl.json("get", "configmap", "b")["metadata"]["deletionTimestamp"]
        kubectl("patch", "configmap", "b", "--type", "merge", "--patch", '{"metadata":{"finalizers":null}}')
    assert kubectl("get", "configmaps", "--output", "name") == ""
    assert "NotFound" in kubectl("delete", "configmap", "b", status=1)
    kubectl("create", "--filename", "-", stdin=CONFIGMAPS)
    kubectl("delete", "configmaps", "--all")
    assert kubectl("get", "configmaps", "--output", "name") == ""


def test_get_events(kubectl):
    event = {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Normal", "reason": "Made",
        "message": "it was made", "lastTimestamp": "2026-01-01T00:00:00Z", "source": {"component": "maker"},
        "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": kubectl.namespace},
    }  # fmt: skip
    kubectl("create", "--filename", "-", stdin=json.dumps(event))
    assert "it was made" in kubectl("events")
    assert kubectl.json("get", "events")["items"][0]["reason"] == "Made"
    assert kubectl("get", "events", "--field-selector", "reason=Other", "--output", "name") == ""


def test_auth_can_i(kubectl):
    assert kubectl("auth", "can-i", "create", "configmaps") == "yes\n"
    assert kubectl("auth", "can-i", "get", "gadgets.example.com") == "yes\n"


def test_auth_whoami(kubectl, served):
    found = kubectl.json("auth", "whoami")["status"]["userInfo"]["username"]
    assert found == ("admin" if served.url.startswith("https") else "system:anonymous")


def test_raw(kubectl):
    assert kubectl("get", "--raw", "/readyz") == "ok"
    assert json.loads(kubectl("get", "--raw", "/apis/example.com/v1"))["resources"][0]["kind"] == "Gadget"


def test_wait(kubectl):
    kubectl("create", "--filename", "-", stdin=GADGET)
    waiting = ("wait", "gadget/g", "--for", "jsonpath={.status.seen}=1", "--timeout", "30s")
    with kubectl.running(*waiting) as line:
        kubectl(
            "patch", "gadget", "g", "--subresource", "status", "--type", "merge", "--patch", '{"status":{"seen":1}}'
        )
        assert line() == "gadget.example.com/g condition met"
    assert "timed out" in kubectl(*waiting[:3], "jsonpath={.status.seen}=2", "--timeout", "1s", status=1)


def test_describe(kubectl):
    kubectl("create", "--filename", "-", stdin=GADGET + "---" + CONFIGMAPS)
    assert "Size:  1" in kubectl("describe", "gadget", "g")
    assert "app=web" in kubectl("describe", "configmap", "a")


def test_explain(kubectl):
    text = kubectl("explain", "gadgets.spec")
    assert "What the gadget is to be." in text
    assert "How large it is." in text
    assert "size\t<integer>" in text
    assert 'field "colours" does not exist' in kubectl("explain", "gadgets.spec.colours", status=1)
    assert "containers\t<[]Container>" in kubectl("explain", "pods.spec")


def test_auth_can_i_list(kubectl):
    rows = [line.split() for line in kubectl("auth", "can-i", "--list", "--no-headers").splitlines()]
    assert ["*.*", "[]", "[]", "[*]"] in rows


def test_top(kubectl):
    assert kubectl("top", "nodes", status=1) == "error: Metrics API not available\n"


def test_rollout_status(kubectl):
    kubectl("create", "deployment", "web", "--image", "nginx")
    status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    with kubectl.running("rollout", "status", "deployment/web", "--timeout", "30s") as line:
        assert line() == "Waiting for deployment spec update to be observed..."
        patch = json.dumps({"status": status})
        kubectl("patch", "deployment", "web", "--subresource", "status", "--type", "merge", "--patch", patch)
        while (said := line()).startswith("Waiting"):
            pass
        assert said == 'deployment "web" successfully rolled out'


def test_scale(kubectl):
    kubectl("create", "deployment", "web", "--image", "nginx")
    assert kubectl("scale", "deployment", "web", "--replicas", "3") == "deployment.apps/web scaled\n"
    assert kubectl("get", "deployment", "web", "--output", "jsonpath={.spec.replicas}") == "3"


def test_a_workload_is_changed(kubectl):
    kubectl("create", "deployment", "web", "--image", "nginx")
    assert kubectl("set", "image", "deployment/web", "nginx=nginx:2") == "deployment.apps/web image updated\n"
    assert kubectl("rollout", "restart", "deployment/web") == "deployment.apps/web restarted\n"
    found = kubectl.json("get", "deployment", "web")
    assert found["metadata"]["generation"] == 3
    assert "kubectl.kubernetes.io/restartedAt" in found["spec"]["template"]["metadata"]["annotations"]
    header, row = kubectl("get", "deployment", "web", "--output", "wide").splitlines()
    assert header.split() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"]
    assert row.split()[-3:] == ["nginx", "nginx:2", "app=web"]
    columns = "custom-columns=N:.metadata.name,I:.spec.template.spec.containers[0].image"
    assert kubectl("get", "deployments", "--output", columns).split() == ["N", "I", "web", "nginx:2"]


def test_edit_with_a_script(kubectl, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i \'s/x: "1"/x: "9"/\' "$1"\n')
    editor.chmod(0o755)
    kubectl("create", "--filename", "-", stdin=CONFIGMAPS)
    kubectl.env["KUBE_EDITOR"] = str(editor)
    assert kubectl("edit", "configmap", "a") == "configmap/a edited\n"
    assert kubectl("get", "configmap", "a", "--output", "jsonpath={.data.x}") == "9"
    assert kubectl("edit", "configmap", "a") == ""  # nothing to change, which it says on its standard error


def test_who_orphans_waits_for_a_garbage_collector(kubectl):
    kubectl("create", "configmap", "a")
    kubectl("delete", "configmap", "a", "--cascade=orphan", "--wait=false")
    assert kubectl.json("get", "configmap", "a")["metadata"]["finalizers"] == ["orphan"]
    kubectl("patch", "configmap", "a", "--type", "merge", "--patch", '{"metadata":{"finalizers":null}}')
    assert "not found" in kubectl("get", "configmap", "a", status=1)


def test_a_user_of_few_rights(secure, tmp_path):
    content = yaml.safe_load(secure.kubeconfig.read_text())
    content["users"][0]["user"]["token"] = "alice-token"
    (tmp_path / "alice").write_text(yaml.safe_dump(content))
    kubectl = Kubectl(tmp_path / "alice", tmp_path, "default")
    assert kubectl("get", "configmaps", status=1) == (
        'Error from server (Forbidden): configmaps is forbidden: User "alice" cannot list resource "configmaps" '
        'in API group "" in the namespace "default"\n'
    )
    assert subprocess.run(
        ["kubectl", "auth", "can-i", "create", "configmaps"],
        env=kubectl.env, capture_output=True, text=True, check=False, timeout=FUSE,
    ).stdout == "no\n"  # fmt: skip


def test_a_token_of_nobody(secure, tmp_path):
    content = yaml.safe_load(secure.kubeconfig.read_text())
    content["users"][0]["user"]["token"] = "nobodys"
    (tmp_path / "nobody").write_text(yaml.safe_dump(content))
    said = Kubectl(tmp_path / "nobody", tmp_path, "default")("get", "configmaps", status=1)
    assert "Unauthorized" in said or "must be logged in to the server" in said
