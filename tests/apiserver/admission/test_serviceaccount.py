"""The admission plugin ServiceAccount: the account, the token and the pull secrets of pods."""

import pytest

from fakekube.apiserver.admission.tokenvolumes import _environment_problems
from tests.apiserver.api import PODS, Api, pod

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
STRATEGIC = {"content_type": "application/strategic-merge-patch+json"}
APPLY = {"content_type": "application/apply-patch+yaml"}
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"

LIMITED = {
    "metadata": {"name": "limited", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
    "automountServiceAccountToken": False,
    "secrets": [{"name": "known"}],
    "imagePullSecrets": [{"name": "registry"}],
}


@pytest.fixture
def api():
    api = Api(enable_admission_plugins=["ServiceAccount"])
    api.ok("POST", ACCOUNTS, {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "registry"}]})
    api.ok("POST", ACCOUNTS, LIMITED)
    return api


def container(**more):
    return {"name": "c", "image": "i", **more}


def created(api, *, annotations=None, **spec):
    meta = {"name": "a", **({"annotations": annotations} if annotations else {})}
    return api.ok("POST", PODS, {"metadata": meta, "spec": {"containers": [container()], **spec}})


def test_a5_a_pod_gets_the_default_account_and_its_token(api):
    api.context.suffixes = ["abcde"]
    spec = created(api)["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    certificate = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": certificate},
        {"downwardAPI": {"items": [namespace]}},
    ]
    assert spec["volumes"] == [{"name": "kube-api-access-abcde", "projected": {"sources": sources, "defaultMode": 420}}]
    mount = {"name": "kube-api-access-abcde", "readOnly": True, "mountPath": PATH}
    assert spec["containers"][0]["volumeMounts"] == [mount]


def test_a5_a_projected_token_needs_no_account_name(api):
    source = {"serviceAccountToken": {"path": "t"}}
    spec = created(api, volumes=[{"name": "v", "projected": {"sources": [source]}}])["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["v", "kube-api-access-xxxxx"]


@pytest.mark.parametrize(
    ("spec", "volumes", "mounts"),
    [
        pytest.param({"automountServiceAccountToken": False}, [], [[]], id="pod-opts-out"),
        pytest.param({"serviceAccountName": "limited"}, [], [[]], id="account-opts-out"),
        pytest.param({"serviceAccountName": "limited", "automountServiceAccountToken": True},
                     ["kube-api-access-xxxxx"], [["kube-api-access-xxxxx"]], id="pod-decides"),
        pytest.param({"containers": [container(volumeMounts=[{"name": "v", "mountPath": PATH}])],
                      "volumes": [{"name": "v", "emptyDir": {}}]}, ["v"], [["v"]], id="mounts-another"),
        pytest.param({"initContainers": [{**container(volumeMounts=[{"name": "v", "mountPath": PATH}]), "name": "i"}],
                      "volumes": [{"name": "v", "emptyDir": {}}]},
                     ["v", "kube-api-access-xxxxx"], [["v"], ["kube-api-access-xxxxx"]], id="one-mounts-another"),
        pytest.param({"volumes": [{"name": "kube-api-access-own", "emptyDir": {}}]},
                     ["kube-api-access-own"], [["kube-api-access-own"]], id="has-the-volume"),
    ],
)  # fmt: skip
def test_a5_who_mounts_the_token(api, spec, volumes, mounts):
    found = created(api, **spec)["spec"]
    assert [volume["name"] for volume in found.get("volumes", [])] == volumes
    containers = [*found.get("initContainers", []), *found["containers"]]
    assert [[mount["name"] for mount in one.get("volumeMounts", [])] for one in containers] == mounts


def reference(name):
    return {"name": "E", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"serviceAccountName": "none"},
         'error looking up service account default/none: serviceaccount "none" not found'),
        ({"serviceAccountName": "limited", "volumes": [{"name": "v", "secret": {"secretName": "other"}}]},
         'volume with secret.secretName="other" is not allowed because service account limited does not reference that secret'),
        ({"serviceAccountName": "limited", "containers": [container(env=[reference("known"), reference("other")])]},
         'container c with envVar E referencing secret.secretName="other" is not allowed because service account limited '
         "does not reference that secret"),
        ({"serviceAccountName": "limited", "containers": [container(envFrom=[{"secretRef": {"name": "other"}}])]},
         'container c with envFrom referencing secret.secretName="other" is not allowed because service account limited '
         "does not reference that secret"),
        ({"serviceAccountName": "limited", "initContainers": [{**container(env=[reference("other")]), "name": "i"}]},
         'init container i with envVar E referencing secret.secretName="other" is not allowed because service account '
         "limited does not reference that secret"),
        ({"serviceAccountName": "limited", "imagePullSecrets": [{"name": "registry"}, {"name": "other"}]},
         'imagePullSecrets[1].name="other" is not allowed because service account limited does not reference that '
         "imagePullSecret"),
    ],
)  # fmt: skip
def test_a5_pods_that_are_refused(api, spec, why):
    body = {"metadata": {"name": "a"}, "spec": {"containers": [container()], **spec}}
    assert api.refused("POST", PODS, body) == (403, "Forbidden", f'pods "a" is forbidden: {why}')


def test_a5_a_known_secret_is_mounted(api):
    volumes = [{"name": "v", "secret": {"secretName": "known"}}]
    assert created(api, serviceAccountName="limited", volumes=volumes)["spec"]["volumes"][0]["name"] == "v"


MIRROR = {"kubernetes.io/config.mirror": "x"}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "known"}}]}, "a mirror pod may not reference secrets"),
        ({"containers": [container(envFrom=[{"secretRef": {"name": "known"}}])]}, "a mirror pod may not reference secrets"),
        ({"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
         "a mirror pod may not use ServiceAccountToken volume projections"),
    ],
)  # fmt: skip
def test_a5_mirror_pods_that_are_refused(api, spec, why):
    body = {
        "metadata": {"name": "a", "annotations": MIRROR},
        "spec": {"nodeName": "n", "containers": [container()], **spec},
    }
    assert api.refused("POST", PODS, body)[::2] == (403, f'pods "a" is forbidden: {why}')


def test_a5_mirror_pods_are_not_changed(api):
    spec = created(api, annotations=MIRROR, nodeName="n")["spec"]
    assert not {"serviceAccountName", "volumes", "imagePullSecrets"} & spec.keys()


def test_a5_ephemeral_containers_are_limited(api):
    created(api, serviceAccountName="limited")
    change = {"spec": {"ephemeralContainers": [{**container(envFrom=[{"secretRef": {"name": "other"}}]), "name": "e"}]}}
    code, _, message = api.refused("PATCH", f"{PODS}/a/ephemeralcontainers", change, **STRATEGIC)
    assert (code, message) == (
        500,
        'ephemeral container e with envFrom referencing secret.secretName="other" is not allowed because service account '
        "limited does not reference that secret",
    )
    del change["spec"]["ephemeralContainers"][0]["envFrom"]
    assert api.ok("PATCH", f"{PODS}/a/ephemeralcontainers", change, **STRATEGIC)["spec"]["ephemeralContainers"]


def test_a5_an_applied_pod_keeps_its_token(api):
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container()]}}
    first = api.ok("PATCH", f"{PODS}/a?fieldManager=m", body, **APPLY)
    body["spec"]["containers"][0]["image"] = "j"
    again = api.ok("PATCH", f"{PODS}/a?fieldManager=m", body, **APPLY)
    assert again["spec"]["volumes"] == first["spec"]["volumes"]
    assert "f:volumes" not in str(again["metadata"]["managedFields"])


def test_the_plugin_is_off_by_default():
    assert "serviceAccountName" not in Api().ok("POST", PODS, pod(spec={"containers": [container()]}))["spec"]


@pytest.mark.parametrize(
    ("plugin", "body", "field"),
    [
        ("Priority", {"containers": [container()]}, "priority"),
        ("DefaultTolerationSeconds", {"containers": [container()]}, "tolerations"),
    ],
)
def test_a_plugin_can_be_disabled(plugin, body, field):
    assert field in Api().ok("POST", PODS, pod(spec=body))["spec"]
    assert field not in Api(disable_admission_plugins=[plugin]).ok("POST", PODS, pod(spec=body))["spec"]


def test_without_lifecycle_objects_are_created_in_missing_namespaces():
    path = "/api/v1/namespaces/nowhere/configmaps"
    assert Api().refused("POST", path, {"metadata": {"name": "a"}})[0] == 404
    assert Api(disable_admission_plugins=["NamespaceLifecycle"]).ok("POST", path, {"metadata": {"name": "a"}})


def test_without_quotas_nothing_is_charged():
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "0"}}}
    for disabled, code in (((), 403), (("ResourceQuota",), 201)):
        api = Api(disable_admission_plugins=disabled)
        api.ok("POST", "/api/v1/namespaces/default/resourcequotas", quota)
        change = {"status": {"hard": {"count/configmaps": "0"}, "used": {"count/configmaps": "0"}}}
        merge = {"content_type": "application/merge-patch+json"}
        api.ok("PATCH", "/api/v1/namespaces/default/resourcequotas/q/status", change, **merge)
        assert api.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})[0] == code


@pytest.mark.parametrize(
    ("container", "problems"),
    [
        ({}, []),
        ({"env": [{"name": "E", "value": "v"}]}, []),
        ({"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "known"}}}]}, []),
        (
            {"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "other"}}}]},
            ['container c with envVar E referencing secret.secretName="other"'],
        ),
        (
            {"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"key": "k"}}}]},
            ['container c with envVar E referencing secret.secretName=""'],
        ),
        ({"envFrom": [{"configMapRef": {"name": "other"}}, {"secretRef": {"name": "known"}}]}, []),
        (
            {"envFrom": [{"secretRef": {"name": "other"}}, {"secretRef": {}}]},
            [
                'container c with envFrom referencing secret.secretName="other"',
                'container c with envFrom referencing secret.secretName=""',
            ],
        ),
    ],
)
def test_variables_of_secrets_that_the_account_may_not_mount(container, problems):
    assert list(_environment_problems("container", [{"name": "c", **container}], LIMITED)) == problems
