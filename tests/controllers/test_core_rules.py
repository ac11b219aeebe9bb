"""Rules of namespaces, budgets, certificates, tokens, resource claims, garbage and Service CIDRs."""

import base64
from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.controllers.catalogue import named
from fakekube.controllers.core.namespaceconditions import (
    SUCCESSES,
    Findings,
    Problem,
    new_conditions,
    updated_conditions,
)
from fakekube.controllers.dynamicresources import podresourceclaims as dra
from fakekube.controllers.garbagecollector import ownerpatches
from fakekube.controllers.garbagecollector.dependencygraph import DependencyGraph, Identity
from fakekube.controllers.servedresources import ServedResources
from fakekube.controllers.signingrequests.approving import recognized
from fakekube.controllers.signingrequests.certificateauthority import CannotSign, CertificateAuthority, lifetime
from fakekube.controllers.signingrequests.cleaning import is_old
from fakekube.controllers.signingrequests.requests import (
    KUBELET_CLIENT,
    client_usage_problem,
    decisions,
    is_true,
    kubelet_client_problem,
    kubelet_serving_problem,
)
from fakekube.controllers.signingrequests.signing import _serial
from tests.controllers.test_disruption import bare_pod, budget, counts
from tests.controllers.workloads import NOW, deployment, make_all_ready, pods, set_ready, stamp


@pytest.mark.parametrize(
    ("draws", "serial"),
    [
        ((0.0, 0.0), 1),
        ((0.0, 2**-52), 1),
        ((0.0, 0.5), 2**51),
        ((2**-52, 0.0), 2**52),
        ((0.5, 0.5), 2**103 + 2**51),
        ((1 - 2**-52, 1 - 2**-52), 2**104 - 1),
    ],
)
def test_a_serial_number_has_the_bits_of_two_draws_and_is_not_0(draws, serial):
    assert _serial(*draws) == serial


# --- namespaces


def test_what_keeps_a_namespace():
    findings = Findings("stale GroupVersion discovery: x", ["b", "a"], {"pods.": 2, "jobs.batch": 1})
    findings.finalizers.update(["f", "f", "e"])
    assert [(one.type, one.message) for one in new_conditions(findings)] == [
        (
            "NamespaceDeletionDiscoveryFailure",
            "Discovery failed for some groups, 1 failing: stale GroupVersion discovery: x",
        ),
        ("NamespaceDeletionContentFailure", "Failed to delete all resource types, 2 remaining: a, b"),
        (
            "NamespaceContentRemaining",
            "Some resources are remaining: jobs.batch has 1 resource instances, pods. has 2 resource instances",
        ),
        (
            "NamespaceFinalizersRemaining",
            "Some content in the namespace has finalizers remaining: e in 1 resource instances, f in 2 resource instances",
        ),
    ]
    assert new_conditions(Findings()) == []


def test_conditions_of_a_namespace_keep_their_time_while_their_status_stays():
    remaining = "NamespaceContentRemaining"
    first = updated_conditions([], [Problem(remaining, "R", "one")], "t1")
    assert [one["type"] for one in first] == list(SUCCESSES)
    assert {one["type"]: one["status"] for one in first}[remaining] == "True"
    assert sum(one["status"] == "True" for one in first) == 1
    second = updated_conditions(first, [Problem(remaining, "R", "two")], "t2")
    (changed,) = [one for one in second if one not in first]
    assert (changed["message"], changed["lastTransitionTime"]) == ("two", "t1")
    assert updated_conditions(second, [Problem(remaining, "R", "two")], "t3") == second
    (done,) = [one for one in updated_conditions(second, [], "t4") if one not in second]
    assert (done["status"], done["reason"], done["lastTransitionTime"]) == ("False", "ContentRemoved", "t4")


def test_versions_of_groups_that_do_not_answer_are_named_in_order():
    failed = "stale GroupVersion discovery"
    assert ServedResources(stale=["b.com/v1", "a.com/v1"]).problem == (
        f"unable to retrieve the complete list of server APIs: a.com/v1: {failed}: a.com/v1, b.com/v1: {failed}: b.com/v1"
    )
    assert ServedResources().problem == ""


# --- which controllers there are


def test_controllers_that_do_not_exist_or_do_not_run_here_cannot_be_chosen():
    assert named("job") is named("job-controller")
    with pytest.raises(ValueError, match=r"there is no controller 'x' \(known: serviceaccount-token, endpoint, "):
        named("x")
    with pytest.raises(ValueError, match="the controller 'nodeipam' of kube-controller-manager does not run here"):
        named("nodeipam")


# --- disruption budgets

BUDGETS = pytest.mark.fakekube(controllers=["deployment", "replicaset", "disruption"])


@BUDGETS
def test_a_budget_allows_one_eviction_after_the_other(fakekube):
    fakekube.create(deployment(3))
    fakekube.settle()
    make_all_ready(fakekube)
    fakekube.create(budget(minAvailable=2))
    fakekube.settle()
    assert counts(fakekube) == (3, 2, 3, 1)
    fakekube.delete("v1", "Pod", pods(fakekube)[0]["metadata"]["name"])
    fakekube.settle()
    assert counts(fakekube) == (2, 2, 3, 0)
    make_all_ready(fakekube)
    assert counts(fakekube) == (3, 2, 3, 1)


@BUDGETS
@pytest.mark.parametrize(
    ("spec", "expected"),
    [({"minAvailable": 1}, (2, 1, 2, 1)), ({"maxUnavailable": 1}, (2, 0, 0, 0)), ({}, (2, 0, 0, 0))],
)
def test_budgets_of_pods_without_a_controller(fakekube, spec, expected):
    for name in ("a", "b"):
        fakekube.create(bare_pod(name))
        set_ready(fakekube, fakekube.get("v1", "Pod", name))
    fakekube.create(budget(**spec))
    fakekube.settle()
    assert counts(fakekube) == expected
    assert bool(fakekube.events(reason="UnmanagedPods")) is ("maxUnavailable" in spec)


# --- certificates

KEY = ec.generate_private_key(ec.SECP256R1())


def request(organization="system:nodes", name="system:node:n", alternatives=()):
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    names += [x509.NameAttribute(NameOID.COMMON_NAME, name)] if name else []
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(list(alternatives)), False)
    return builder.sign(KEY, hashes.SHA256())


CLIENT, SERVER = ["digital signature", "client auth"], ["digital signature", "server auth"]
DNS, MAIL, URI = x509.DNSName("n"), x509.RFC822Name("a@b.c"), x509.UniformResourceIdentifier("spiffe://x")


@pytest.mark.parametrize(
    ("made", "usages", "client", "server"),
    [
        (request(), CLIENT, "", "DNS or IP subjectAltName is required"),
        (request(), [*CLIENT, "key encipherment"], "", "DNS or IP subjectAltName is required"),
        (request(alternatives=[DNS]), SERVER, "DNS subjectAltNames are not allowed", ""),
        (request(alternatives=[DNS]), [*SERVER, "key encipherment"], "DNS subjectAltNames are not allowed", ""),
        (
            request("other"),
            CLIENT,
            "subject organization is not system:nodes",
            "subject organization is not system:nodes",
        ),
        (
            request(name="x"),
            CLIENT,
            "subject common name does not begin with system:node:",
            "DNS or IP subjectAltName is required",
        ),
        (
            request(name="x", alternatives=[DNS]),
            SERVER,
            "DNS subjectAltNames are not allowed",
            "subject common name does not begin with system:node:",
        ),
        (
            request(alternatives=[MAIL]),
            CLIENT,
            "Email subjectAltNames are not allowed",
            "DNS or IP subjectAltName is required",
        ),
        (
            request(alternatives=[DNS, URI]),
            SERVER,
            "DNS subjectAltNames are not allowed",
            "URI subjectAltNames are not allowed",
        ),
        (
            request(),
            ["client auth"],
            "usages did not match [client auth digital signature key encipherment]",
            "DNS or IP subjectAltName is required",
        ),
        (
            request(),
            [*CLIENT, "server auth"],
            "usages did not match [client auth digital signature key encipherment]",
            "DNS or IP subjectAltName is required",
        ),
    ],
)
def test_requests_of_kubelets(made, usages, client, server):
    assert kubelet_client_problem(made, usages) == client
    assert kubelet_serving_problem(made, usages) == server


@pytest.mark.parametrize(
    ("usages", "problem"),
    [
        (["client auth"], ""),
        (CLIENT, ""),
        (["digital signature"], "missing required usage for client certificate: client auth"),
        (["client auth", "server auth"], "invalid usage for client certificate: server auth"),
    ],
)
def test_usages_of_client_certificates(usages, problem):
    assert client_usage_problem(usages) == problem


@pytest.mark.parametrize(
    ("user", "signer", "usages", "expected"),
    [
        ("system:node:n", KUBELET_CLIENT, CLIENT, ["selfnodeclient", "nodeclient"]),
        ("system:bootstrap:x", KUBELET_CLIENT, CLIENT, ["nodeclient"]),
        ("system:node:n", "example.com/signer", CLIENT, []),
        ("system:node:n", KUBELET_CLIENT, SERVER, []),
    ],
)
def test_requests_that_are_recognized(user, signer, usages, expected):
    from cryptography.hazmat.primitives.serialization import Encoding

    text = base64.b64encode(request().public_bytes(Encoding.PEM)).decode()
    spec = {"username": user, "signerName": signer, "usages": usages, "request": text}
    assert recognized({"spec": spec}) == expected


def decided(kind, seconds, issued="", status="True"):
    condition = {"type": kind, "status": status, "lastUpdateTime": stamp(seconds)}
    return {"metadata": {"creationTimestamp": stamp(0)}, "status": {"conditions": [condition], "certificate": issued}}


def test_what_a_request_has_decided():
    assert decisions(decided("Approved", 0)) == (True, False)
    assert decisions(decided("Denied", 0)) == (False, True)
    assert decisions({}) == (False, False)
    assert (is_true(decided("Failed", 0), "Failed"), is_true(decided("Failed", 0, status="False"), "Failed")) == (
        True,
        False,
    )


HOUR, DAY = 3600, 86400


@pytest.mark.parametrize(
    ("made", "old"),
    [
        ({"metadata": {"creationTimestamp": stamp(DAY)}}, False),
        ({"metadata": {"creationTimestamp": stamp(DAY + 1)}}, True),
        (decided("Denied", HOUR), False),
        (decided("Denied", HOUR + 1), True),
        (decided("Failed", HOUR + 1), True),
        (decided("Approved", HOUR + 1), False),
        (decided("Approved", DAY), False),
        (decided("Approved", DAY + 1), True),
        (decided("Approved", HOUR, "bm90IGEgY2VydA=="), False),
        (decided("Approved", HOUR + 1, "bm90IGEgY2VydA=="), True),
    ],
)
def test_old_requests(made, old):
    assert is_old(made, NOW) is old


AUTHORITY = CertificateAuthority.created(NOW)


def signed(made=None, usages=(), duration=timedelta(days=1), now=NOW):
    return x509.load_pem_x509_certificate(AUTHORITY.sign(made or request(), usages, duration, now, serial=7))


def test_a_request_with_an_expired_certificate_is_old():
    pem = AUTHORITY.sign(request(), CLIENT, timedelta(minutes=10), NOW - timedelta(minutes=20), serial=1)
    text = base64.b64encode(pem).decode()
    assert is_old(decided("Approved", 1200, text), NOW)
    fresh = AUTHORITY.sign(request(), CLIENT, timedelta(minutes=30), NOW - timedelta(minutes=20), serial=1)
    assert not is_old(decided("Approved", 1200, base64.b64encode(fresh).decode()), NOW)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, timedelta(days=365)),
        (60, timedelta(minutes=10)),
        (601, timedelta(seconds=601)),
        (365 * DAY + 1, timedelta(days=365)),
    ],
)
def test_lifetimes(seconds, expected):
    assert lifetime(seconds) == expected


def test_validity_of_certificates():
    short, long = signed(duration=timedelta(hours=8) - timedelta(seconds=1)), signed(duration=timedelta(hours=8))
    assert short.not_valid_before_utc == long.not_valid_before_utc == NOW - timedelta(minutes=5)
    assert short.not_valid_after_utc == NOW + timedelta(hours=8) - timedelta(seconds=1)
    assert long.not_valid_after_utc == NOW + timedelta(hours=8) - timedelta(minutes=5)
    end = AUTHORITY.certificate.not_valid_after_utc
    assert end == NOW + timedelta(days=3650)
    assert signed(now=end - timedelta(hours=1)).not_valid_after_utc == end
    with pytest.raises(CannotSign, match="refusing to sign a certificate that expired in the past"):
        signed(now=end)


def test_a_new_authority_is_valid_for_ten_years():
    made = CertificateAuthority.created(NOW).certificate
    assert made.not_valid_before_utc == NOW - timedelta(minutes=5)
    assert made.not_valid_after_utc == NOW + timedelta(days=3650)
    assert (made.subject.rfc4514_string(), made.serial_number) == ("CN=kubernetes", 1)
    constraints = made.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.value.ca, constraints.value.path_length, constraints.critical) == (True, None, True)
    made.verify_directly_issued_by(made)


def test_what_a_certificate_says():
    made = request(alternatives=[DNS])
    found = signed(made, ["digital signature", "key encipherment", "server auth", "client auth", "client auth"])
    assert (found.serial_number, found.subject, found.issuer) == (7, made.subject, AUTHORITY.certificate.subject)
    bits = found.extensions.get_extension_for_class(x509.KeyUsage)
    assert (bits.critical, bits.value.digital_signature, bits.value.key_encipherment, bits.value.crl_sign) == (
        True,
        True,
        True,
        False,
    )
    purposes = list(found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    assert purposes == [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert (list(names.value), names.critical) == ([DNS], False)
    nameless = signed(request("", "", [DNS])).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert nameless.critical
    alone = (
        signed(usages=["encipher only", "digital signature"]).extensions.get_extension_for_class(x509.KeyUsage).value
    )
    assert (alone.key_agreement, alone.digital_signature) == (False, True)
    both = signed(usages=["encipher only", "key agreement"]).extensions.get_extension_for_class(x509.KeyUsage).value
    assert (both.key_agreement, both.encipher_only, both.decipher_only) == (True, True, False)
    with pytest.raises(x509.ExtensionNotFound):
        signed().extensions.get_extension_for_class(x509.KeyUsage)
    with pytest.raises(CannotSign, match=r'unrecognized usage values: \["fly" "swim"\]'):
        signed(usages=["fly", "client auth", "swim"])


# --- resource claims


def dra_pod(phase="Running", *, node="n", deleted=False, statuses=(), name="p"):
    meta = {"name": name, "namespace": "ns", "uid": "u", **({"deletionTimestamp": "t"} if deleted else {})}
    listed = [{"name": "a", "resourceClaimName": "given"}, {"name": "b", "resourceClaimTemplateName": "t"}]
    spec = {"resourceClaims": listed, **({"nodeName": node} if node else {})}
    return {"metadata": meta, "spec": spec, "status": {"phase": phase, "resourceClaimStatuses": list(statuses)}}


def test_the_claims_of_a_pod():
    one = dra_pod()
    first, second = dra.wanted_claims(one)
    assert dra.claim_name_of(one, first) == dra.ClaimName("given", made=False)
    with pytest.raises(dra.ClaimNotCreated, match='pod "ns/p": ResourceClaim not created yet'):
        dra.claim_name_of(one, second)
    assert list(dra.known_claims(one)) == ["given"]
    noted = dra_pod(statuses=[{"name": "b", "resourceClaimName": "x"}])
    assert dra.claim_name_of(noted, second) == dra.ClaimName("x", made=True)
    assert list(dra.known_claims(noted)) == ["given", "x"]
    unneeded = dra_pod(statuses=[{"name": "b"}])
    assert dra.claim_name_of(unneeded, second) == dra.ClaimName("", made=True)
    assert list(dra.known_claims(unneeded)) == ["given"]


@pytest.mark.parametrize(
    ("phase", "node", "deleted", "done"),
    [
        ("Running", "n", False, False),
        ("Succeeded", "n", False, True),
        ("Running", "n", True, False),
        ("Pending", "", True, True),
        ("Pending", "", False, False),
    ],
)
def test_pods_that_are_done(phase, node, deleted, done):
    assert dra.is_done(dra_pod(phase, node=node, deleted=deleted)) is done


@pytest.mark.parametrize(
    ("node", "allocated", "reserved", "needed"),
    [
        ("n", True, [], True),
        ("n", True, ["v"], True),
        ("n", True, ["u"], False),
        ("", True, [], False),
        ("n", False, [], False),
    ],
)
def test_claims_that_have_to_be_reserved(node, allocated, reserved, needed):
    status = {"reservedFor": [{"uid": uid} for uid in reserved], **({"allocation": {"x": 1}} if allocated else {})}
    assert dra.needs_reservation(dra_pod(node=node), {"status": status}) is needed


def claim(name, *, owner="u", allocated=False):
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}]
    status = {"allocation": {"x": 1}} if allocated else {}
    return {"metadata": {"name": name, "namespace": "ns", "ownerReferences": owners}, "status": status}


OF_TEMPLATE, UNNEEDED = {"name": "b", "resourceClaimName": "x"}, {"name": "b"}


@pytest.mark.parametrize(
    ("statuses", "claims", "node", "work"),
    [
        pytest.param((), [], "n", False, id="a user has to create the first claim"),
        pytest.param((), [claim("given")], "", True, id="the second claim was not created"),
        pytest.param([OF_TEMPLATE], [claim("given")], "", True, id="the second claim was deleted"),
        pytest.param([OF_TEMPLATE], [claim("given"), claim("x")], "n", False, id="nothing is allocated"),
        pytest.param(
            [OF_TEMPLATE], [claim("given"), claim("x", allocated=True)], "n", True, id="the second is to reserve"
        ),
        pytest.param(
            [OF_TEMPLATE], [claim("given"), claim("x", allocated=True)], "", False, id="the scheduler reserves"
        ),
        pytest.param([OF_TEMPLATE], [claim("given"), claim("x", owner="v", allocated=True)], "n", False, id="foreign"),
        pytest.param(
            [OF_TEMPLATE], [claim("given", owner="v", allocated=True)], "n", True, id="a shared one is to reserve"
        ),
        pytest.param([UNNEEDED], [claim("given")], "n", False, id="not needed"),
    ],
)
def test_pods_whose_claims_need_work(statuses, claims, node, work):
    found = {(one["metadata"]["namespace"], one["metadata"]["name"]): one for one in claims}
    assert dra.needs_work(dra_pod(node=node, statuses=statuses), lambda *key: found.get(key)) is work


def test_a_claim_that_a_user_has_to_remove_ends_the_search_for_work():
    one = dra_pod(statuses=[OF_TEMPLATE])
    one["spec"]["resourceClaims"].reverse()
    found = {"x": claim("x", owner="v"), "given": claim("given", allocated=True)}
    assert not dra.needs_work(one, lambda namespace, name: found[name])
    assert dra.needs_work(one, lambda namespace, name: {**found, "x": claim("x")}[name])


def test_the_pod_that_owns_a_claim():
    def of(**changes):
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True, **changes}
        return {"metadata": {"name": "c", "namespace": "ns", "ownerReferences": [owner]}}

    assert dra.owning_pod(of()) == ("p", "u")
    for changes in ({"controller": False}, {"kind": "Job"}, {"apiVersion": "v2"}):
        assert dra.owning_pod(of(**changes)) == ("", "")
    assert dra.foreign_problem(dra_pod(), of()) == ""
    assert "was not created for Pod ns/p (Pod is not owner)" in dra.foreign_problem(dra_pod(), of(uid="v"))


@pytest.mark.parametrize(
    ("pod", "claim", "prefix"),
    [
        ("p", "c", "p-c-"),
        ("p" * 30, "c" * 25, f"{'p' * 30}-{'c' * 25}-"),
        ("p" * 30, "c" * 26, f"{'p' * 29}-{'c' * 25}"),
        ("p" * 100, "c" * 50, f"{'p' * 37}-{'c' * 18}"),
    ],
)
def test_names_of_claims_that_are_made(pod, claim, prefix):
    made = dra.claim_from_template(dra_pod(name=pod), {"name": claim}, {"spec": {"spec": {}}})
    assert made["metadata"]["generateName"] == prefix


def test_a_claim_is_made_as_its_template_says_and_is_owned_by_the_pod():
    template = {"spec": {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}, "spec": {"devices": {}}}}
    made = dra.claim_from_template(dra_pod(), {"name": "gpu"}, template)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    annotations = {"b": "2", "resource.kubernetes.io/pod-claim-name": "gpu"}
    meta = {"generateName": "p-gpu-", "namespace": "ns", "ownerReferences": [owner], "annotations": annotations}
    assert made["metadata"] == {**meta, "labels": {"a": "1"}}
    assert (made["apiVersion"], made["kind"], made["spec"]) == ("resource.k8s.io/v1", "ResourceClaim", {"devices": {}})


# --- garbage: patches


def test_patches_of_owner_references():
    listed = [{"uid": "a", "blockOwnerDeletion": True}, {"uid": "b"}]
    obj = {"metadata": {"resourceVersion": "7", "ownerReferences": listed, "finalizers": ["x", "y"]}}
    assert ownerpatches.strategic_removal("u", ["a"]) == {
        "metadata": {"uid": "u", "ownerReferences": [{"$patch": "delete", "uid": "a"}]}
    }
    assert ownerpatches.merge_removal(obj, ["a"]) == {
        "metadata": {"resourceVersion": "7", "ownerReferences": [{"uid": "b"}]}
    }
    assert ownerpatches.merge_removal(obj, ["a", "b"])["metadata"]["ownerReferences"] is None
    unblocked = [{"uid": "a", "blockOwnerDeletion": False}]
    assert ownerpatches.strategic_unblocking("u", listed)["metadata"] == {"uid": "u", "ownerReferences": unblocked}
    assert [
        one["blockOwnerDeletion"] for one in ownerpatches.merge_unblocking(obj, listed)["metadata"]["ownerReferences"]
    ] == [False, False]
    assert ownerpatches.finalizer_removal(obj, "x") == {"metadata": {"resourceVersion": "7", "finalizers": ["y"]}}
    assert (
        ownerpatches.finalizer_removal({"metadata": {**obj["metadata"], "finalizers": ["x"]}}, "x")["metadata"][
            "finalizers"
        ]
        is None
    )


# --- garbage: the graph, beside a model


def identity(name):
    return Identity("ConfigMap", "v1", "ns", name, name)


def observed(graph, name, owners, *, blocking=False, deleted=False, old=None):
    def obj(references, is_deleted):
        listed = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": one, "uid": one, "blockOwnerDeletion": blocking}
            for one in references
        ]
        more = {"deletionTimestamp": "t", "finalizers": ["foregroundDeletion"]} if is_deleted else {}
        return {"metadata": {"name": name, "uid": name, "ownerReferences": listed, **more}}

    before = None if old is None else obj(old, False)
    return [(one.what, one.node.identity.name) for one in graph.observed(identity(name), obj(owners, deleted), before)]


STEPS = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.sampled_from(["see", "see", "delete"]), st.sets(st.sampled_from("abcd"), max_size=2)
    ),
    max_size=12,
)


@settings(max_examples=100)
@given(STEPS)
def test_the_graph_has_the_owners_and_dependents_of_what_was_seen(steps):
    """Objects are seen and changed; one that was deleted does not come back."""
    graph, known, gone = DependencyGraph(), {}, set()
    for name, action, owners in steps:
        listed = sorted(owners - {name})
        if action == "see" and name not in gone:
            observed(graph, name, listed)
            known[name] = listed
        elif action == "delete" and name in known:
            gone.add(name)
            dependents = {one for one, its in known.items() if name in its}
            todo = {(one.what, one.node.identity.name) for one in graph.deleted(identity(name))}
            del known[name]
            assert todo == {("delete", one) for one in dependents}
            assert not dependents or identity(name) in graph.absent
    for name, listed in known.items():
        node = graph.find(name)
        assert not node.virtual
        assert [one["uid"] for one in node.owners] == listed
        assert {one.identity.name for one in node.dependents} == {one for one, its in known.items() if name in its}


def test_the_deletion_of_a_dependent_or_of_its_reference_lets_a_waiting_owner_go():
    graph = DependencyGraph()
    observed(graph, "owner", [])
    observed(graph, "one", ["owner"], blocking=True)
    observed(graph, "two", ["owner"])
    owner = graph.find("owner")
    assert [one.identity.name for one in owner.blocking_dependents()] == ["one"]
    assert observed(graph, "owner", [], deleted=True, old=[]) == [
        ("delete", "one"),
        ("delete", "two"),
        ("delete", "owner"),
    ]
    assert (owner.deleting_dependents, owner.being_deleted) == (True, True)
    assert [(one.what, one.node.identity.name) for one in graph.deleted(identity("two"))] == [("delete", "owner")]
    assert observed(graph, "one", ["owner"], blocking=False) == [("delete", "owner")]
    assert observed(graph, "one", ["owner"], blocking=True) == []
    assert observed(graph, "one", []) == [("delete", "owner")]
    assert owner.dependents == {}
    graph.deleted(identity("owner"))
    assert graph.find("owner") is None
    assert len(graph) == 1
