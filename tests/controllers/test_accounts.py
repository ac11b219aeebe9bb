"""The controllers of tokens in Secrets, of certificate requests, and of aggregated roles."""

import base64
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

RBAC = "rbac.authorization.k8s.io/v1"


# --- tokens in Secrets


def account(name="robot", **fields):
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}, **fields}


def token_secret(name="t", account="robot", **annotations):
    annotations = {"kubernetes.io/service-account.name": account, **annotations}
    meta = {"name": name, "namespace": "default", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": meta}


@pytest.mark.fakekube(controllers=["serviceaccount-token"], rbac=True)
def test_a_secret_gets_a_token_by_which_the_server_knows_the_account(fakekube):
    made = fakekube.create(account())
    fakekube.create(token_secret())
    fakekube.settle()
    secret = fakekube.get("v1", "Secret", "t")
    assert secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"] == made["metadata"]["uid"]
    data = {name: base64.b64decode(value).decode() for name, value in secret["data"].items()}
    assert data["namespace"] == "default"
    assert data["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}}
    answer = fakekube.create({**review, "spec": {"token": data["token"]}})
    assert answer["status"]["user"]["username"] == "system:serviceaccount:default:robot"
    fakekube.delete("v1", "ServiceAccount", "robot")
    fakekube.settle()
    assert not fakekube.exists("v1", "Secret", "t")


@pytest.mark.fakekube(controllers=["serviceaccount-token"])
@pytest.mark.parametrize("uid", ["", "other"])
def test_a_secret_of_an_account_that_does_not_exist_is_deleted(fakekube, uid):
    if uid:
        fakekube.create(account())
    fakekube.create(token_secret(**({"kubernetes.io/service-account.uid": uid} if uid else {})))
    fakekube.settle()
    assert not fakekube.exists("v1", "Secret", "t")


@pytest.mark.fakekube(controllers=["serviceaccount-token"])
def test_a_deleted_secret_is_removed_from_those_of_its_account(fakekube):
    fakekube.create(account(secrets=[{"name": "t"}, {"name": "kept"}]))
    fakekube.create(token_secret())
    fakekube.settle()
    fakekube.delete("v1", "Secret", "t")
    fakekube.settle()
    assert fakekube.get("v1", "ServiceAccount", "robot")["secrets"] == [{"name": "kept"}]


@pytest.mark.fakekube(controllers=["serviceaccount-token"])
def test_an_item_is_retried_ten_times(fakekube):
    fakekube.create(account())
    fakekube.fault(verb="update", resource="secrets", error=500)
    fakekube.create(token_secret())
    fakekube.advance("1h")
    controller = fakekube.controllers["serviceaccount-token"]
    assert len(controller.errors("secret default/t")) == 10


@pytest.mark.fakekube(controllers=["serviceaccount-token"])
@pytest.mark.parametrize("verb", ["get", "update"])
def test_an_item_whose_request_fails_is_retried_with_the_error_of_the_server(fakekube, verb):
    fakekube.create(account())
    fakekube.fault(verb=verb, resource="secrets", error=500, times=2)
    fakekube.create(token_secret())
    fakekube.advance("1s")
    errors = fakekube.controllers["serviceaccount-token"].errors("secret default/t")
    assert [getattr(one, "code", one) for one in errors] == [500, 500]
    assert "token" in fakekube.get("v1", "Secret", "t")["data"]


@pytest.mark.slow
@pytest.mark.fakekube(controllers=["legacy-service-account-token-cleaner"])
def test_an_unused_token_of_an_old_cluster_is_marked_and_deleted_a_year_later(fakekube):
    fakekube.create(account(secrets=[{"name": "t"}]))
    fakekube.create(token_secret())
    fakekube.create(token_secret("unlisted"))
    begun = fakekube.clock.now()
    tracking = {"name": "kube-apiserver-legacy-service-account-token-tracking", "namespace": "kube-system"}
    if not fakekube.exists("v1", "ConfigMap", tracking["name"], "kube-system"):
        since = {"since": begun.date().isoformat()}
        fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": tracking, "data": since})
    marked = "kubernetes.io/legacy-token-invalid-since"
    labels = lambda: fakekube.get("v1", "Secret", "t")["metadata"].get("labels") or {}  # noqa: E731
    fakekube.advance(days=365, hours=1)
    assert labels() == {}
    fakekube.advance(days=1)
    assert labels()[marked] == (begun + timedelta(days=366)).date().isoformat()
    fakekube.advance(days=365)
    assert fakekube.exists("v1", "Secret", "t")
    fakekube.advance(days=1)
    assert not fakekube.exists("v1", "Secret", "t")
    assert fakekube.exists("v1", "Secret", "unlisted")


# --- certificate requests


def request(name="csr", common_name="system:node:a", organization="system:nodes", **spec):
    key = ec.generate_private_key(ec.SECP256R1())
    parts = [(NameOID.ORGANIZATION_NAME, organization), (NameOID.COMMON_NAME, common_name)]
    subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in parts if value])
    built = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    pem = built.public_bytes(serialization.Encoding.PEM)
    defaults = {
        "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
        "usages": ["digital signature", "client auth"],
        "request": base64.b64encode(pem).decode(),
    }
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name}}
    return {**kind, "spec": {**defaults, **spec}}


def stored(fakekube, name="csr"):
    return fakekube.get("certificates.k8s.io/v1", "CertificateSigningRequest", name, "")


def decide(fakekube, kind, name="csr"):
    condition = {"type": kind, "status": "True", "reason": "Test", "message": ""}
    obj = stored(fakekube, name)
    obj["status"] = {"conditions": [condition]}
    fakekube.update(obj, subresource="approval")


def certificate(fakekube, name="csr"):
    pem = stored(fakekube, name)["status"].get("certificate")
    return x509.load_pem_x509_certificate(base64.b64decode(pem)) if pem else None


@pytest.mark.fakekube(controllers=["csrapproving", "csrsigning"], rbac=True)
def test_the_request_of_a_kubelet_is_approved_and_signed(fakekube):
    fakekube.create(request())  # as the administrator, who may do everything
    fakekube.settle()
    status = stored(fakekube)["status"]
    assert [(one["type"], one["reason"], one["message"]) for one in status["conditions"]] == [
        ("Approved", "AutoApproved", "Auto approving kubelet client certificate after SubjectAccessReview.")
    ]
    signed, now = certificate(fakekube), fakekube.clock.now()
    assert signed.not_valid_before_utc == now - timedelta(minutes=5)
    assert signed.not_valid_after_utc == now + timedelta(days=365, minutes=-5)
    usage = signed.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (usage.digital_signature, usage.key_encipherment) == (True, False)
    ca = x509.load_pem_x509_certificate(base64.b64decode(fakekube.webhooks.ca_bundle))
    signed.verify_directly_issued_by(ca)


@pytest.mark.fakekube(controllers=["csrsigning"])
@pytest.mark.parametrize(
    ("spec", "failure"),
    [
        ({"organization": "others"}, "subject organization is not system:nodes"),
        ({"common_name": "a"}, "subject common name does not begin with system:node:"),
        (
            {"usages": ["client auth", "server auth"]},
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (
            {"usages": ["server auth"], "signerName": "kubernetes.io/kube-apiserver-client"},
            "invalid usage for client certificate: server auth",
        ),
        ({"signerName": "kubernetes.io/kubelet-serving"}, "DNS or IP subjectAltName is required"),
    ],
)
def test_requests_that_a_signer_does_not_sign_fail(fakekube, spec, failure):
    fakekube.create(request(**spec))
    decide(fakekube, "Approved")
    fakekube.settle()
    condition = stored(fakekube)["status"]["conditions"][-1]
    assert (condition["type"], condition["reason"]) == ("Failed", "SignerValidationFailure")
    assert condition["message"] == failure


@pytest.mark.fakekube(controllers=["csrsigning"])
@pytest.mark.parametrize(
    ("seconds", "lifetime"), [(600, 600), (3600, 3600), (8 * 3600, 8 * 3600 - 300), (10**9, 365 * 86400 - 300)]
)
def test_certificates_are_valid_as_long_as_requested_up_to_a_year(fakekube, seconds, lifetime):
    fakekube.create(request(expirationSeconds=seconds))
    decide(fakekube, "Approved")
    fakekube.settle()
    assert certificate(fakekube).not_valid_after_utc - fakekube.clock.now() == timedelta(seconds=lifetime)


@pytest.mark.fakekube(controllers=["csrsigning"])
def test_requests_of_other_signers_and_denied_ones_are_left_alone(fakekube):
    fakekube.create(request("other", signerName="example.com/signer"))
    decide(fakekube, "Approved", "other")
    fakekube.create(request("denied"))
    decide(fakekube, "Denied", "denied")
    fakekube.settle()
    assert certificate(fakekube, "other") is None
    assert certificate(fakekube, "denied") is None


@pytest.mark.fakekube(controllers=["csrcleaner"])
@pytest.mark.parametrize(("decision", "hours"), [("", 25), ("Denied", 2), ("Approved", 25)])
def test_old_requests_are_deleted_by_the_hourly_check(fakekube, decision, hours):
    fakekube.create(request(signerName="example.com/signer"))
    if decision:
        decide(fakekube, decision)
    begun = fakekube.clock.now()
    gone = lambda: not fakekube.exists("certificates.k8s.io/v1", "CertificateSigningRequest", "csr", "")  # noqa: E731
    fakekube.advance_until(gone, "48h")
    assert fakekube.clock.now() - begun == timedelta(hours=hours)


# --- aggregated roles


def role(name, labels=None, rules=(), **fields):
    meta = {"name": name, "labels": labels or {}}
    return {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": meta, "rules": list(rules), **fields}


@pytest.mark.fakekube(controllers=["clusterrole-aggregation"], rbac=True)
def test_an_aggregated_role_has_the_rules_of_its_parts_each_once(fakekube):
    assert {one.name for one in fakekube.requests(verb="patch")} == {"admin", "edit", "view"}  # of a new cluster
    pods, secrets = ({"apiGroups": [""], "resources": [one], "verbs": ["get"]} for one in ("pods", "secrets"))
    selectors = [{"matchLabels": {"to": "all"}}]
    fakekube.create(role("all", {"to": "all"}, aggregationRule={"clusterRoleSelectors": selectors}))
    fakekube.create(role("b", {"to": "all"}, [pods]))
    fakekube.create(role("a", {"to": "all"}, [secrets, pods]))
    fakekube.settle()
    found = fakekube.get(RBAC, "ClusterRole", "all", "")
    assert [one["resources"] for one in found["rules"]] == [["secrets"], ["pods"]]
    managers = [one["manager"] for one in found["metadata"]["managedFields"]]
    assert "clusterrole-aggregation-controller" in managers
    for name in ("a", "b"):
        fakekube.delete(RBAC, "ClusterRole", name, "")
    fakekube.settle()
    assert not fakekube.get(RBAC, "ClusterRole", "all", "").get("rules")


# --- addresses and nodes


@pytest.mark.fakekube(controllers=["service-cidr-controller"], rbac=True)
def test_a_range_of_addresses_is_kept_as_long_as_services_use_it(fakekube):
    cidr = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "more"}}
    fakekube.create({**cidr, "spec": {"cidrs": ["10.200.0.0/24"]}})
    fakekube.settle()
    ready = lambda: fakekube.get("networking.k8s.io/v1", "ServiceCIDR", "more", "")["status"]["conditions"][0]  # noqa: E731
    assert (ready()["status"], ready()["message"]) == ("True", "Kubernetes Service CIDR is ready")
    spec = {"clusterIP": "10.200.0.7", "ports": [{"port": 80}]}
    meta = {"name": "web", "namespace": "default"}
    fakekube.create({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})
    fakekube.settle()
    fakekube.delete("networking.k8s.io/v1", "ServiceCIDR", "more", "")
    fakekube.advance("1h")
    assert (ready()["status"], ready()["reason"]) == ("False", "Terminating")
    fakekube.delete("v1", "Service", "web")
    fakekube.settle()
    assert not fakekube.exists("networking.k8s.io/v1", "ServiceCIDR", "more", "")


@pytest.mark.fakekube(controllers=["ttl"], rbac=True)
def test_nodes_say_how_long_objects_may_be_kept(fakekube):
    for number in range(101):
        fakekube.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}"}})
        if number == 0:
            fakekube.settle()
    fakekube.settle()
    kept = lambda name: fakekube.get("v1", "Node", name, "")["metadata"]["annotations"]["node.alpha.kubernetes.io/ttl"]  # noqa: E731
    assert kept("n0") == "0"
    assert kept("n100") == "15"
    fakekube.patch("v1", "Node", "n0", {"metadata": {"labels": {"changed": "true"}}}, "")
    fakekube.settle()
    assert kept("n0") == "15"
