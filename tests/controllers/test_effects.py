"""Containers with effects: what an init container or a Job does on a real cluster (issue 23, line 5)."""

from enum import StrEnum

import pytest

from fakekube.controllers.kubelet.stagedocument import stages_of
from fakekube.server.manifests import ManifestError

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "certificate"},
    "stringData": {"key": "made"},
}
WEBHOOKS = "admissionregistration.k8s.io/v1"


def pod(name="web", policy="Never", namespace="default", init=False, **spec):
    container = {"name": "c", "image": "a"}
    first = {"initContainers": [{"name": "prepare", "image": "a"}]} if init else {}
    spec = {"restartPolicy": policy, "containers": [container], **first, **spec}
    meta = {"name": name, "namespace": namespace, "labels": {"app": "web"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def status(fakekube, name="web"):
    return fakekube.get("v1", "Pod", name)["status"]


def terminated(fakekube, name="web"):
    (found,) = status(fakekube, name)["containerStatuses"]
    return found["state"]["terminated"]


@pytest.mark.fakekube(nodes=1)
def test_a_container_applies_objects_and_ends(fakekube):
    fakekube.create(pod())
    fakekube.advance(2)
    fakekube.pods("app=web").run(SECRET, delay="5s")
    fakekube.advance(2)
    assert status(fakekube)["phase"] == "Running"
    assert not fakekube.exists("v1", "Secret", "certificate")
    fakekube.advance(3)
    assert status(fakekube)["phase"] == "Succeeded"
    (entry,) = fakekube.get("v1", "Secret", "certificate")["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("c", "Update")


@pytest.mark.fakekube(nodes=1)
def test_an_effect_of_pods_that_come_later_is_in_their_namespace(fakekube):
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    fakekube.pods("app=web", namespace=None).always().run([SECRET], exit_code=3)
    fakekube.create(pod(namespace="other"))
    fakekube.advance(5)
    assert fakekube.exists("v1", "Secret", "certificate", "other")
    (found,) = fakekube.get("v1", "Pod", "web", "other")["status"]["containerStatuses"]
    assert found["state"]["terminated"]["exitCode"] == 3


@pytest.mark.fakekube(nodes=1)
def test_an_init_container_makes_what_the_pod_needs(fakekube):
    """As Argo CD's redis: its init container creates the Secret of its environment."""
    fakekube.pods("app=web").always().run(SECRET, container="prepare")
    source = {"secretKeyRef": {"name": "certificate", "key": "key"}}
    main = {"name": "c", "image": "a", "env": [{"name": "KEY", "valueFrom": source}]}
    fakekube.create(pod(init=True, policy="Always", containers=[main]))
    fakekube.advance(6)
    assert status(fakekube)["phase"] == "Running"


@pytest.mark.fakekube(controllers=["job"], nodes=1)
def test_a_job_patches_what_exists(fakekube):
    """As ingress-nginx: a Job writes its certificate into the configuration of its webhook."""
    hook = {
        "name": "a.example.com",
        "clientConfig": {"service": {"namespace": "default", "name": "web"}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    configuration = {
        "apiVersion": WEBHOOKS,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "web"},
        "webhooks": [hook],
    }
    fakekube.create(configuration)
    part = {"name": "a.example.com", "clientConfig": {"caBundle": "Y2E="}, **{k: hook[k] for k in list(hook)[2:]}}
    fakekube.pods("job-name=patch").always().run({**configuration, "webhooks": [part]})
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "patch", "image": "a"}]}}}
    meta = {"name": "patch", "namespace": "default"}
    fakekube.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})
    fakekube.advance(10)
    (found,) = fakekube.get(WEBHOOKS, "ValidatingWebhookConfiguration", "web")["webhooks"]
    assert found["clientConfig"]["caBundle"] == "Y2E="
    assert found["clientConfig"]["service"]["name"] == "web"
    assert fakekube.get("batch/v1", "Job", "patch")["status"]["succeeded"] == 1


@pytest.mark.fakekube(nodes=1, rbac=True, detect={"missing-permission": "off"})
def test_the_service_account_of_the_pod_needs_the_rights(fakekube):
    fakekube.pods("app=web").always().run(SECRET)
    fakekube.create(pod(serviceAccountName="robot"))
    fakekube.advance(5)
    assert terminated(fakekube)["exitCode"] == 1
    who = 'User "system:serviceaccount:default:robot" cannot create resource "secrets"'
    assert who in terminated(fakekube)["message"]
    assert not fakekube.exists("v1", "Secret", "certificate")


@pytest.mark.fakekube(nodes=1)
def test_a_container_that_fails_is_restarted_and_tries_again(fakekube):
    fakekube.pods("app=web").always().run({**SECRET, "metadata": {"name": "certificate", "namespace": "later"}})
    fakekube.create(pod(policy="OnFailure"))
    fakekube.advance(5)
    assert status(fakekube)["containerStatuses"][0]["restartCount"] == 1
    fakekube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}})
    fakekube.advance(60)
    assert status(fakekube)["phase"] == "Succeeded"
    assert fakekube.exists("v1", "Secret", "certificate", "later")


@pytest.mark.fakekube(nodes=1)
def test_an_effect_may_be_a_function_of_the_pod(fakekube):
    seen = []

    def effect(found):
        seen.append(found["metadata"]["name"])
        return [{**SECRET, "metadata": {"name": f"of-{found['metadata']['name']}"}}] if len(seen) == 1 else None

    fakekube.pods("app=web").always().run(effect)
    fakekube.create(pod("a"))
    fakekube.advance(5)
    fakekube.create(pod("b"))
    fakekube.advance(5)
    assert seen == ["a", "b"]
    assert fakekube.exists("v1", "Secret", "of-a")
    assert not fakekube.exists("v1", "Secret", "of-b")
    assert terminated(fakekube, "b")["exitCode"] == 0


@pytest.mark.slow
def test_what_an_effect_raises_fails_the_test(pytester):
    pytester.makepyfile(
        """
        import pytest

        def effect(pod):
            raise RuntimeError("no certificate")

        @pytest.mark.fakekube(nodes=1)
        def test_it(fakekube):
            fakekube.pods(name="p").always().run(effect)
            spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a"}]}
            meta = {"name": "p", "namespace": "default"}
            fakekube.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
            fakekube.advance(5)
        """
    )
    found = pytester.runpytest_subprocess("-q")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*RuntimeError: no certificate*"])


@pytest.mark.fakekube(nodes=1)
def test_an_effect_may_be_text_or_a_file(fakekube, tmp_path):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
    path = tmp_path / "made.yaml"
    path.write_text(text % "of-file")
    fakekube.pods(name="a").always().run(text % "of-text")
    fakekube.pods(name="b").always().run(path)
    fakekube.create(pod("a"))
    fakekube.create(pod("b"))
    fakekube.advance(5)
    assert {one["metadata"]["name"] for one in fakekube.list("v1", "ConfigMap")} >= {"of-text", "of-file"}


@pytest.mark.fakekube(nodes=1)
def test_an_effect_at_once_and_one_of_a_pod_that_is_deleted(fakekube):
    fakekube.pods(name="a").always().run(SECRET, delay=0)
    fakekube.pods(name="b").always().run({**SECRET, "metadata": {"name": "never"}}, delay=20)
    fakekube.create(pod("a"))
    fakekube.create(pod("b"))
    fakekube.advance(3)
    assert status(fakekube, "a")["phase"] == "Succeeded"
    fakekube.delete("v1", "Pod", "b")
    fakekube.advance(60)
    assert not fakekube.exists("v1", "Secret", "never")


@pytest.mark.fakekube(nodes=1)
@pytest.mark.parametrize(
    ("effect", "error", "text"),
    [
        (5, TypeError, "pass objects, the text or path of manifests, or a function"),
        ([{"kind": "Secret"}], ValueError, "expected an object with apiVersion and kind"),
        ({"apiVersion": "v1", "kind": "Secret"}, ValueError, "the Secret has no metadata.name"),
        ("a: {\nb", ManifestError, "the text"),
        ("no-such-file.yaml", ManifestError, "no-such-file.yaml"),
    ],
)
def test_an_effect_that_is_none(fakekube, effect, error, text):
    with pytest.raises(error, match=text):
        fakekube.pods().always().run(effect)


def test_a_stage_that_applies_objects():
    text = "kind: Stage\nspec:\n  next:\n    apply: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]\n"
    (stage,) = stages_of(text)
    assert (stage.at, stage.action.code) == ("running", 0)
    assert stage.action.objects[0]["metadata"]["name"] == "s"
    with pytest.raises(ValueError, match="apply has no list of objects"):
        stages_of("kind: Stage\nspec: {next: {apply: {code: 3}}}\n")
    with pytest.raises(ValueError, match=r"the Secret has no metadata\.name"):
        stages_of("kind: Stage\nspec: {next: {apply: [{apiVersion: v1, kind: Secret}]}}\n")


class Zone(StrEnum):
    A = "zone-a"


@pytest.mark.fakekube(nodes=1)
def test_an_effect_may_have_values_that_are_written_as_json(fakekube):
    """They are copied when they are applied: a test may change its objects afterwards."""
    data = {"zone": Zone.A}
    meta = {"name": "o", "finalizers": ("example.com/a",)}
    fakekube.pods("app=web").always().run(
        lambda pod: [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}]
    )
    fakekube.create(pod())
    fakekube.advance(5)
    assert terminated(fakekube)["exitCode"] == 0
    data["zone"] = "changed"
    found = fakekube.get("v1", "ConfigMap", "o")
    assert (found["data"], found["metadata"]["finalizers"]) == ({"zone": "zone-a"}, ["example.com/a"])


@pytest.mark.fakekube(nodes=1)
def test_a_node_may_have_values_that_are_written_as_json(fakekube):
    taint = {"key": "k", "value": Zone.A, "effect": "NoSchedule"}
    fakekube.nodes.add("n", labels={"zone": Zone.A}, annotations={"zone": Zone.A}, taints=[taint])
    fakekube.advance(5)
    found = fakekube.get("v1", "Node", "n")
    assert found["metadata"]["labels"]["zone"] == found["metadata"]["annotations"]["zone"] == "zone-a"
    assert [one["value"] for one in found["spec"]["taints"] if one["key"] == "k"] == ["zone-a"]
