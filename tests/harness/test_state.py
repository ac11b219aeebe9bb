"""Manifests in and out, forced objects, and the differences between versions."""

import io
import shutil
from pathlib import Path

import pytest
import yaml

from controllerlib import ApiError
from fakekube import FakeKube, ManifestError
from fakekube.harness.engine import engine_of
from tests.harness.operators import build, config_map, definition, nothing

BACKUP = {"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "nightly"}, "spec": {"size": 1}}


@pytest.fixture
def kube():
    with FakeKube(wall_clock=False) as kube:
        yield kube


def as_yaml(*objects):
    return "---\n".join(yaml.safe_dump(obj) for obj in objects)


def in_order(kube, objects):
    return [(one["kind"], one["metadata"]["name"]) for one in objects]


# --- load --------------------------------------------------------------------------------------------------------------


def test_load_takes_directories_files_of_several_documents_and_json(kube, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.yaml").write_text(as_yaml(config_map("a"), config_map("b")))
    (tmp_path / "sub" / "c.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}')
    (tmp_path / "read.me").write_text("no manifest")
    assert [one["metadata"]["name"] for one in kube.state.load(tmp_path)] == ["a", "b", "c"]
    assert [one["metadata"]["name"] for one in kube.state.load(str(tmp_path / "sub" / "c.json"))] == ["c"]


def test_load_creates_namespaces_and_definitions_first(kube):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    backup = {**BACKUP, "metadata": {"name": "nightly", "namespace": "team"}}
    found = kube.state.load(as_yaml(backup, definition(), namespace))
    assert in_order(kube, found) == [
        ("Namespace", "team"),
        ("CustomResourceDefinition", "backups.example.com"),
        ("Backup", "nightly"),
    ]


def test_load_takes_text_and_open_files(kube, tmp_path):
    kube.state.load(as_yaml(config_map("text")))
    kube.state.load(io.StringIO(as_yaml(config_map("pipe"))), io.BytesIO(as_yaml(config_map("bytes")).encode()))
    assert {"text", "pipe", "bytes"} == {one["metadata"]["name"] for one in kube.list("v1", "ConfigMap")}


@pytest.fixture
def kustomization(tmp_path):
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\nnamePrefix: test-\n")
    (tmp_path / "a.yaml").write_text(as_yaml(config_map("a")))
    return tmp_path


def fake_program(folder, name, script):
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["kustomize", "kubectl"])
def test_load_builds_a_kustomization_with_the_program_that_is_installed(
    kube, kustomization, tmp_path_factory, monkeypatch, program
):
    programs = tmp_path_factory.mktemp("bin")
    output = as_yaml(config_map(f"built-by-{program}"))
    fake_program(programs, program, f"[ -f \"$2/kustomization.yaml\" ] && cat <<'END'\n{output}\nEND")
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin" if program == "kustomize" else f"{programs}:/bin")
    assert [one["metadata"]["name"] for one in kube.state.load(kustomization)] == [f"built-by-{program}"]


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("kubectl") or shutil.which("kustomize")), reason="needs kubectl or kustomize")
def test_load_builds_a_kustomization(kube, kustomization):
    assert [one["metadata"]["name"] for one in kube.state.load(kustomization / "kustomization.yaml")] == ["test-a"]


async def test_load_builds_a_kustomization_in_an_async_test(fakekube, kustomization, tmp_path_factory, monkeypatch):
    programs = tmp_path_factory.mktemp("bin")
    fake_program(programs, "kustomize", f"cat <<'END'\n{as_yaml(config_map('a'))}\nEND")
    monkeypatch.setenv("PATH", f"{programs}:/bin")
    assert [one["metadata"]["name"] for one in fakekube.state.load(kustomization)] == ["a"]


def test_apply_says_that_load_builds_kustomizations(kube, kustomization):
    with pytest.raises(ManifestError, match=r"load\(\) builds kustomizations, apply\(\) does not"):
        kube.apply(kustomization)


def test_a_kustomization_without_a_program_says_what_to_install(kube, kustomization, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ManifestError, match="neither kustomize nor kubectl is installed; install one of them, or pass"):
        kube.state.load(kustomization)


@pytest.mark.slow
def test_a_kustomization_that_does_not_build_shows_what_the_program_said(
    kube, kustomization, tmp_path_factory, monkeypatch
):
    programs = tmp_path_factory.mktemp("bin")
    fake_program(programs, "kustomize", "echo no such base >&2; exit 3")
    monkeypatch.setenv("PATH", f"{programs}:/bin")
    with pytest.raises(ManifestError, match=r"`kustomize build .*` failed with status 3: no such base"):
        kube.state.load(kustomization)


@pytest.mark.parametrize(
    ("sources", "error", "text"),
    [
        ((), TypeError, r"load\(\) needs at least one path"),
        ((3,), TypeError, r"load\(3\): pass paths, text"),
        (({"kind": "ConfigMap"},), TypeError, r"apply\(\) takes objects"),
        (("nowhere.yaml",), ManifestError, "nowhere.yaml: no such file or directory"),
        (("kind: [\n",), ManifestError, "the text: "),
        (("kind: ConfigMap\n",), ManifestError, "the text: document 1 is not a Kubernetes object"),
    ],
)
def test_what_cannot_be_loaded_is_named(kube, sources, error, text):
    with pytest.raises(error, match=text):
        kube.state.load(*sources)


# --- force -------------------------------------------------------------------------------------------------------


def pod(**more):
    container = {"name": "main", "image": "a:1"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}, **more}


def test_numbers_of_a_forced_custom_resource_are_those_of_a_stored_one(kube):
    backups = definition()
    schema = backups["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    rules = [{"rule": "self.size < 5"}]
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}, "x-kubernetes-validations": rules}
    schema["properties"] = {"spec": spec}
    kube.apply(backups)
    kube.state.force({**BACKUP, "spec": {"size": 1.0}})
    kube.patch("example.com/v1", "Backup", "nightly", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(ApiError, match=r"self.size < 5"):
        kube.patch("example.com/v1", "Backup", "nightly", {"spec": {"size": 5}})


def test_a_forced_object_keeps_its_status_and_metadata(kube):
    meta = {
        "name": "p",
        "uid": "11111111-2222-4333-8444-555555555555",
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "deletionTimestamp": "2020-01-02T00:00:00Z",
        "finalizers": ["example.com/hold"],
        "resourceVersion": "7",
    }
    made = kube.state.force(pod(metadata=meta, status={"phase": "Failed"}))
    found = kube.get("v1", "Pod", "p")
    assert made == found
    assert found["status"] == {"phase": "Failed"}
    assert {key: found["metadata"][key] for key in meta if key != "resourceVersion"} == {
        key: value for key, value in meta.items() if key != "resourceVersion"
    }
    assert int(found["metadata"]["resourceVersion"]) > 7
    kube.patch("v1", "Pod", "p", {"metadata": {"finalizers": None}})
    assert not kube.exists("v1", "Pod", "p")


def test_forcing_a_state_writes_what_validation_and_immutability_refuse(kube):
    kube.create(pod())
    changed = pod(spec={"containers": [{"name": "another", "image": "b:1"}], "restartPolicy": "Sometimes"})
    with pytest.raises(ApiError):
        kube.update(changed)
    before = kube.get("v1", "Pod", "p")["metadata"]
    kube.state.force(changed)
    found = kube.get("v1", "Pod", "p")
    assert (found["spec"]["containers"][0]["name"], found["spec"]["restartPolicy"]) == ("another", "Sometimes")
    assert (found["metadata"]["uid"], found["metadata"]["creationTimestamp"]) == (
        before["uid"],
        before["creationTimestamp"],
    )


def test_forcing_a_state_does_not_call_admission_or_need_a_namespace(kube):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    kube.create(quota)
    kube.state.force({**quota, "status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}})
    with pytest.raises(ApiError, match="exceeded quota"):
        kube.create(pod())
    kube.state.force(pod())
    kube.state.force(pod(metadata={"name": "p", "namespace": "nowhere"}))
    assert kube.exists("v1", "Pod", "p", "nowhere")


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"manager": "x", "apiVersion": "v1"}, "operation must be `Apply` or `Update`"),
        ({"operation": "Update"}, "apiVersion must not be empty"),
        ({"operation": "Update", "apiVersion": "v1"}, "missing fieldsType in managed fields entry 0"),
        (
            {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"z": {}}},
            "error decoding set",
        ),
    ],
)
def test_forced_managed_fields_that_no_write_could_read_are_refused(kube, entry, problem):
    with pytest.raises(ValueError, match=rf"cannot be stored: metadata.managedFields: {problem}"):
        kube.state.force(pod(metadata={"name": "p", "managedFields": [entry]}))


def test_forced_managed_fields_without_a_set_are_those_of_an_empty_one(kube):
    entry = {"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    made = kube.state.force(pod(metadata={"name": "p", "managedFields": [entry]}))
    assert made["metadata"]["managedFields"] == [{**entry, "fieldsV1": {}}]
    kube.patch("v1", "Pod", "p", {"metadata": {"labels": {"a": "b"}}})
    assert "x" not in {one["manager"] for one in kube.get("v1", "Pod", "p")["metadata"]["managedFields"]}


def test_a_forced_object_has_managed_fields_and_can_be_applied_to(kube):
    kube.state.force(config_map("a", x="1"))
    meta = kube.get("v1", "ConfigMap", "a")["metadata"]
    assert [(one["manager"], one["fieldsV1"]) for one in meta["managedFields"]] == [
        ("unchecked-write", {"f:data": {".": {}, "f:x": {}}})
    ]
    apply = {"content-type": "application/apply-patch+yaml"}
    path = "/api/v1/namespaces/default/configmaps/a"
    body = {**config_map("a", x="2"), "metadata": {"name": "a"}}
    code, _, answer = kube.access.transport().request_now(
        "PATCH", path, headers=apply, query=[("fieldManager", "me")], body=body
    )
    assert (code, answer["details"]["causes"][0]["message"]) == (409, 'conflict with "unchecked-write" using v1')


def test_watches_see_a_forced_object(kube):
    operator = kube.start(build(nothing))
    kube.state.force(config_map("a"))
    kube.settle()
    kube.state.force(config_map("a", x="1"))
    kube.settle()
    assert operator["minder"].causes("default/a") == ["added", "updated"]


def test_a_forced_custom_resource_skips_its_schema_and_a_forced_definition_is_served(kube):
    strict = definition()
    schema = strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"] = {"spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}}}
    kube.state.force(strict)
    kube.settle()
    with pytest.raises(ApiError, match="should be greater than or equal to 1"):
        kube.create({**BACKUP, "spec": {"size": 0}})
    made = kube.state.force({**BACKUP, "spec": {"size": 0}, "status": {"done": True}})
    assert (made["spec"], made["status"], made["metadata"]["generation"]) == ({"size": 0}, {"done": True}, 1)


def test_a_forced_object_is_put_in_order_by_the_next_write(kube):
    """A link to itself is dropped, as are entries without fields and all but the last of a manager."""
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    entries = [
        {**entry, "time": "2020-01-01T00:00:00Z", "fieldsV1": {"f:data": {"f:a": {}}}},
        {**entry, "time": "2020-01-02T00:00:00Z", "fieldsV1": {"f:data": {"f:b": {}}}},
        {**entry, "manager": "n", "time": "2020-01-02T00:00:00Z", "fieldsV1": {}},
    ]
    meta = {"name": "a", "namespace": "default", "selfLink": "/x", "managedFields": entries}
    kube.state.force(config_map("a", a="1", b="1") | {"metadata": meta})
    headers = {"User-Agent": "m", "Content-Type": "application/merge-patch+json"}
    path, patch = "/api/v1/namespaces/default/configmaps/a", {"data": {"b": "2"}}
    code, _, made = kube.access.transport().request_now("PATCH", path, headers=headers, body=patch)
    assert (code, "selfLink" in made["metadata"]) == (200, False)
    shown = [(one["manager"], one["fieldsV1"]) for one in made["metadata"]["managedFields"]]
    assert shown == [("m", {"f:data": {"f:b": {}}})]


def test_forced_objects_are_in_the_history_and_the_timeline(kube):
    kube.state.force(config_map("a"))
    assert len(kube.state.versions("v1", "ConfigMap", "a")) == 1
    assert "forces the state of configmaps a" in kube.timeline.render()


@pytest.mark.parametrize(
    ("obj", "error", "text"),
    [
        (3, TypeError, r"state\.force\(\) takes an object"),
        ([config_map("a")], TypeError, r"state\.force\(\) takes an object"),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, ValueError, "the ConfigMap has no metadata.name"),
        (config_map("a") | {"dta": {}}, ValueError, "unknown field dta"),
        (config_map("a") | {"data": 3}, ValueError, "the ConfigMap 'a' cannot be stored"),
        (BACKUP, LookupError, "no kind 'Backup'"),
    ],
)
def test_what_cannot_be_forced_is_named(kube, obj, error, text):
    with pytest.raises(error, match=text):
        kube.state.force(obj)


# --- export ------------------------------------------------------------------------------------------------------------

WORKLOADS = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
    definition(),
    {**BACKUP, "metadata": {"name": "nightly", "namespace": "team"}},
    config_map("settings", "team", text="a: 'b'\nc: |\n  d\n", number="0123", octal="0o17", yes="yes"),
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80}]},
    },
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
        },
    },
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once", "namespace": "team"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c:1"}]}}},
    },
    {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
    },
]


@pytest.mark.parametrize("clean", [False, True])
def test_an_export_can_be_loaded_into_another_cluster(kube, tmp_path, clean):
    kube.apply(*WORKLOADS)
    text, cleaned = kube.state.export(tmp_path / "all.yaml", clean=clean), kube.state.export(clean=True)
    assert (tmp_path / "all.yaml").read_text() == text
    kube.close()
    with FakeKube(wall_clock=False, seed=7) as other:
        assert len(other.state.load(tmp_path / "all.yaml")) == len(WORKLOADS)
        if not clean:
            documents = text.split("---\n")  # and again, over the existing objects; a job cannot be replaced
            other.state.load("---\n".join(one for one in documents if "kind: Job" not in one))
        assert other.state.export(clean=True) == cleaned


def test_a_clean_export_has_nothing_that_a_server_sets(kube):
    kube.apply(*WORKLOADS)
    for obj in yaml.safe_load_all(kube.state.export(clean=True)):
        assert set(obj["metadata"]) <= {"name", "namespace", "labels", "annotations"}, obj["metadata"]
        assert "status" not in obj
        if obj["kind"] == "Service":
            assert not {"clusterIP", "clusterIPs"} & set(obj["spec"])
            assert obj["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]


def test_an_export_selects_kinds_and_namespaces(kube):
    kube.apply(*WORKLOADS, config_map("other"))

    def exported(**wanted):
        return in_order(kube, yaml.safe_load_all(kube.state.export(**wanted)))

    assert exported(kinds=["ConfigMap"]) == [("ConfigMap", "other"), ("ConfigMap", "settings")]
    assert exported(kinds=["apps/v1 Deployment", "Service"], namespace="team") == [
        ("Deployment", "web"),
        ("Service", "web"),
    ]
    assert exported(namespace="default") == [("ConfigMap", "other")]
    assert exported(namespace="team")[0] == ("Namespace", "team")
    assert "Event" not in {kind for kind, _ in exported()}


@pytest.mark.parametrize(
    ("wanted", "error", "text"),
    [
        ({"kinds": "Pod"}, TypeError, r"export\(kinds='Pod'\): pass a list of kinds"),
        ({"kinds": [3]}, TypeError, r"kinds=\[3\]\): each is text"),
        ({"kinds": ["Pood"]}, LookupError, "no kind 'Pood'"),
        ({"namespace": 3}, TypeError, r"export\(namespace=3\)"),
        ({"path": 3}, TypeError, r"export\(path=3\)"),
        ({"clean": "yes"}, TypeError, r"export\(clean='yes'\)"),
    ],
)
def test_wrong_arguments_of_export_are_named(kube, wanted, error, text):
    with pytest.raises(error, match=text):
        kube.state.export(**wanted)


def two_versions(**conversion):
    """A definition whose preferred version is v2, and whose stored version is v1."""
    made = definition()
    (first,) = made["spec"]["versions"]
    made["spec"]["versions"] = [first, {**first, "name": "v2", "storage": False}]
    made["spec"]["conversion"] = conversion
    return made


def test_an_export_calls_no_conversion_webhook(kube):
    webhook = {"clientConfig": {"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": ["v1"]}
    kube.create(two_versions(strategy="Webhook", webhook=webhook))
    kube.create(BACKUP)
    (found,) = yaml.safe_load_all(kube.state.export(kinds=["Backup"]))
    assert (found["apiVersion"], found["spec"]) == ("example.com/v1", {"size": 1})


def test_an_object_is_forced_in_any_served_version(kube):
    kube.create(two_versions(strategy="None"))
    assert kube.state.force({**BACKUP, "apiVersion": "example.com/v2"})["apiVersion"] == "example.com/v2"
    assert kube.get("example.com/v1", "Backup", "nightly")["spec"] == {"size": 1}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"maxReplicas": 1, "minReplicas": 5, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": reference}
    kube.state.force(
        {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": spec}
    )
    found = kube.get("autoscaling/v2", "HorizontalPodAutoscaler", "web")["spec"]
    assert found["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 50}
    forced = kube.state.force(
        {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": spec}
    )
    assert forced["spec"] == spec


# --- versions and differences ------------------------------------------------------------------------------------------


def test_the_differences_between_versions_are_readable(kube):
    kube.create(config_map("a", x="1", gone="z"))
    kube.advance(90)
    kube.patch("v1", "ConfigMap", "a", {"data": {"x": "2", "gone": None}, "metadata": {"labels": {"a.b/c": "d"}}})
    kube.patch("v1", "ConfigMap", "a", {"metadata": {"managedFields": [{}]}})
    kube.delete("v1", "ConfigMap", "a")
    created, changed, reset = (
        version["metadata"]["resourceVersion"] for _, version in kube.state.versions("v1", "ConfigMap", "a")[:3]
    )
    assert kube.state.diff("v1", "ConfigMap", "a").splitlines() == [
        "ConfigMap default/a: 4 versions",
        f"+00:00:00 created resourceVersion {created}",
        f"+00:01:30 changed resourceVersion {changed}",
        "  - data.gone: z",
        "  ~ data.x: 1 -> 2",
        "  + metadata.labels[a.b/c]: d",
        f"+00:01:30 changed resourceVersion {reset}",
        "  (no field but resourceVersion and managedFields)",
        "+00:01:30 deleted",
    ]


def test_the_history_is_a_sequence_whose_text_is_the_differences(kube):
    kube.create(config_map("a", x="1"))
    kube.patch("v1", "ConfigMap", "a", {"data": {"x": "2"}})
    history = kube.state.versions("v1", "ConfigMap", "a")
    assert str(history) == kube.state.diff("v1", "ConfigMap", "a")
    assert [tuple(change) for change in history.changes(1)] == [("data.x", "1", "2")]
    assert [tuple(change) for change in history.changes(-1)] == [("data.x", "1", "2")]
    assert (len(history), history[-1][1]["data"], len(history[:1])) == (2, {"x": "2"}, 1)
    assert history == list(history)
    assert history != list(history)[:1]


def test_long_values_are_shortened(kube):
    kube.create(config_map("a", x="1"))
    kube.patch("v1", "ConfigMap", "a", {"data": {"x": "y" * 500}})
    line = kube.state.diff("v1", "ConfigMap", "a").splitlines()[-1]
    assert (len(line) < 150, line.endswith("yyy...")) == (True, True)


def test_a_list_is_compared_by_position(kube):
    kube.apply(definition())
    kube.create({**BACKUP, "spec": {"steps": [{"name": "a"}, {"name": "b"}]}})
    kube.patch(
        "example.com/v1", "Backup", "nightly", {"spec": {"steps": [{"name": "a"}, {"name": "c"}, {"name": "d"}]}}
    )
    assert kube.state.diff("example.com/v1", "Backup", "nightly").splitlines()[-2:] == [
        "  ~ spec.steps[1].name: b -> c",
        '  + spec.steps[2]: {"name":"d"}',
    ]


def test_the_folder_of_a_golden_file_is_that_of_the_caller(kube):
    assert engine_of(kube).golden.path("a.yaml") == Path(__file__).parent / "a.yaml"
