"""CertificateSigningRequests: what is said of them, and who decides.

An expected text that ends in an ellipsis is the beginning of the server's.
"""

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256, SHA512

from fakekube.apiserver.registry.certificates.certificatesigningrequest.pem import (
    certificate_problem,
    parsed_request,
    request_common_name,
    request_problem,
)
from fakekube.apiserver.registry.certificates.certificatesigningrequest.validation import validate_approval
from tests.apiserver.api import Api
from tests.apiserver.certificates import KEY, certificate, encoded, pem, request, request_der
from tests.apiserver.validation.support import as_new, check_new, check_status, merged, strategy, texts

PEM = pem(request_der())

RSA = rsa.generate_private_key(65537, 2048)


REQUEST = {"spec": {"request": encoded(PEM), "signerName": "example.com/signer", "usages": ["client auth"]}}
CERTIFICATE = certificate()

NEW = [
    ({}, []),
    ({"spec": {"request": encoded("no")}},
     ['spec.request: Invalid value: "bm8=": PEM block type must be CERTIFICATE REQUEST']),
    ({"spec": {"usages": []}}, ["spec.usages: Required value"]),
    ({"spec": {"usages": ["any", "all", "any"]}}, [
        'spec.usages[1]: Unsupported value: "all": supported values: "any", "cert sign", "client auth"…',
        'spec.usages[2]: Duplicate value: "any"',
    ]),
    ({"spec": {"signerName": None}}, ["spec.signerName: Required value"]),
    ({"spec": {"signerName": "signer"}},
     ['spec.signerName: Invalid value: "signer": must be a fully qualified domain and path of the form \'example.com/signer-name\'']),
    ({"spec": {"signerName": "com/a"}},
     ['spec.signerName: Invalid value: "com": should be a domain with at least two segments separated by dots']),
    ({"spec": {"signerName": "A.B/c_d"}}, [
        'spec.signerName: Invalid value: "A.B": validating label "A": a lowercase RFC 1123 label…',
        'spec.signerName: Invalid value: "c_d": validating label "c_d": a lowercase RFC 1123 subdomain…',
    ]),
    ({"spec": {"signerName": "kubernetes.io/legacy-unknown"}},
     ['spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version']),
    ({"spec": {"expirationSeconds": 599}},
     ["spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)"]),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), NEW)
def test_new(change, expected):
    check_new("CertificateSigningRequest", merged(REQUEST, change), expected)


def condition(type, status="True"):
    return {"type": type, "status": status}


DECIDED = [
    ([], [condition("Approved")], []),
    ([condition("Approved")], [], ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"']),
    ([], [condition("Approved"), condition("Denied")],
     ['status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive']),
    ([], [condition("Denied", "False")],
     ['status.conditions[0].status: Unsupported value: "False": supported values: "True"']),
    ([], [condition("Other", "False")], []),
    ([], [condition("Other", "Maybe")],
     ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"']),
    ([], [condition("", "")], ["status.conditions[0].type: Required value", "status.conditions[0].status: Required value"]),
    ([], [condition("Other")] * 2, ['status.conditions[1].type: Duplicate value: "Other"']),
    ([condition("Other")] * 2, [condition("Other")] * 2, []),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), DECIDED)
def test_decisions(before, after, expected):
    stored = {**as_new("CertificateSigningRequest", REQUEST), "status": {"conditions": before}}
    assert texts(validate_approval({**stored, "status": {"conditions": after}}, stored)) == expected


ISSUED = [
    (None, {"certificate": CERTIFICATE}, []),
    ({"certificate": CERTIFICATE}, {"certificate": certificate(2)},
     ["status.certificate: Forbidden: updates may not modify existing certificate content"]),
    (None, {"certificate": encoded(PEM)},
     ['status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"']),
    (None, {"certificate": encoded("no")},
     ['status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block']),
    (None, {"conditions": [condition("Approved")]},
     ['status.conditions: Forbidden: updates may not add a condition of type "Approved"']),
    (None, {"conditions": [condition("Failed")]}, []),
]  # fmt: skip


@pytest.mark.parametrize(("before", "status", "expected"), ISSUED)
def test_what_is_issued(before, status, expected):
    check_status("CertificateSigningRequest", REQUEST, status, before, expected)


def test_headers_in_a_certificate():
    text = "-----BEGIN CERTIFICATE-----\nProc-Type: 4\n\nMAA=\n-----END CERTIFICATE-----\n"
    assert certificate_problem(encoded(text)) == "no PEM block headers are permitted"


def test_the_way_of_a_request():
    api = Api()
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    merge = {"content_type": "application/merge-patch+json"}
    made = api.ok("POST", path, merged(REQUEST, {"metadata": {"name": "r"}, "spec": {"username": "eve"}}))
    assert made["spec"]["username"] == "kubernetes-admin"
    status = {"conditions": [{**condition("Approved"), "reason": "Fine"}]}
    (approved,) = api.ok("PATCH", f"{path}/r/approval", {"status": status}, **merge)["status"]["conditions"]
    assert approved["lastUpdateTime"] == approved["lastTransitionTime"] == api.context.now
    failed = {"conditions": [approved, condition("Failed")], "certificate": CERTIFICATE}
    shown = api.ok("PATCH", f"{path}/r/status", {"status": failed}, **merge)["status"]
    assert shown["conditions"][0] == approved
    assert shown["conditions"][1]["lastTransitionTime"] == api.context.now
    code, _, message = api.refused("PATCH", f"{path}/r/status", {"status": {"conditions": []}}, **merge)
    assert (code, 'may not remove a condition of type "Approved"' in message) == (422, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
            "must contain at least one CERTIFICATE PEM block",
        ),
        ("-----BEGIN CERTIFICATE-----\nAAA=\n-----END CERTIFICATE-----\n", "x509: malformed certificate"),
        ("-----BEGIN KEY-----\nMAA=\n-----END KEY-----\n", 'only CERTIFICATE PEM blocks are allowed, found "KEY"'),
    ],
)
def test_what_is_no_certificate(text, problem):
    assert certificate_problem(encoded(text)) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("!", "PEM block type must be CERTIFICATE REQUEST", id="not-base64"),
        pytest.param(encoded("-----BEGIN CERTIFICATE REQUEST-----\n!\n-----END CERTIFICATE REQUEST-----\n"),
                     "PEM block type must be CERTIFICATE REQUEST", id="no-content"),
        pytest.param(encoded(pem(request_der(), "NEW CERTIFICATE REQUEST")),
                     "PEM block type must be CERTIFICATE REQUEST", id="other-block"),
        pytest.param(encoded(pem(b"")), "asn1: syntax error: sequence truncated", id="empty"),
        *(pytest.param(encoded(pem(der)), f"asn1: {problem}", id=der.hex()) for der, problem in (
            (b"\x30", "syntax error: truncated tag or length"),
            (b"\x30\x00", "syntax error: sequence truncated"),
            (b"\x30\x80", "syntax error: indefinite length found (not DER)"),
            (b"\x30\x82\x01", "syntax error: truncated tag or length"),
            (b"\x30\x81\x00", "structure error: superfluous leading zeros in length"),
            (b"\x30\x81\x7f", "structure error: non-minimal length"),
            (b"\x30\x81\x80", "syntax error: data truncated"),
            (b"\x30\x84\x80\x00\x00\x00", "structure error: length too large"),
            (b"\x30\x84\x7f\xff\xff\xff", "syntax error: data truncated"),
            (b"\x30\x85\x7f\xff\xff\xff\xff", "structure error: length too large"),
            (b"\x30\x01\x30", "syntax error: truncated tag or length"),
            (b"\x30\x01\x02", "syntax error: truncated tag or length"),
            (b"\x30\x00\x00", "syntax error: trailing data"),
        )),
        pytest.param(encoded(pem(request_der()[:100])), "asn1: syntax error: data truncated", id="truncated"),
        pytest.param(encoded(pem(request_der() + b"x")), "asn1: syntax error: trailing data", id="trailing"),
        pytest.param(encoded(pem(b"\x02\x01\x05")),
                     "asn1: structure error: tags don't match (16 vs {class:0 tag:2 length:1 isCompound:false}) "
                     "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> "
                     "stringType:0 timeType:0 set:false omitEmpty:false} certificateRequest @2", id="a-number"),
        pytest.param(encoded("first line\n" + pem(request_der()) + pem(b"")), "", id="among-others"),
        pytest.param(encoded(pem(request_der()).replace("-----\n", "-----\nA: b\n\n", 1)), "", id="headers"),
        pytest.param(encoded(pem(request_der()).replace("\n", "\r\n")), "", id="carriage-returns"),
    ],
)  # fmt: skip
def test_the_form_of_a_request(text, problem):
    assert request_problem(text) == problem


ELLIPTIC = "x509: ECDSA verification failure"


@pytest.mark.parametrize(
    ("key", "algorithm", "failure"),
    [
        pytest.param(KEY, None, "x509: Ed25519 verification failure", id="ed25519"),
        pytest.param(RSA, SHA256(), "crypto/rsa: verification error", id="rsa"),
        pytest.param(RSA, SHA512(), "crypto/rsa: verification error", id="rsa-sha512"),
        pytest.param(ec.generate_private_key(ec.SECP224R1()), SHA256(), ELLIPTIC, id="p224"),
        pytest.param(ec.generate_private_key(ec.SECP256R1()), SHA256(), ELLIPTIC, id="p256"),
        pytest.param(ec.generate_private_key(ec.SECP521R1()), SHA512(), ELLIPTIC, id="p521"),
    ],
)
def test_the_signature_of_a_request(key, algorithm, failure):
    der = request_der("jane", key=key, algorithm=algorithm)
    assert request_problem(encoded(pem(der))) == ""
    assert request_problem(encoded(pem(der.replace(b"jane", b"jack")))) == failure


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        pytest.param(ec.generate_private_key(ec.SECP256K1()), "x509: unsupported elliptic curve", id="k1"),
        pytest.param(
            dsa.generate_private_key(1024), "x509: cannot verify signature: algorithm unimplemented", id="dsa"
        ),
    ],
)
def test_a_signature_that_go_does_not_verify(key, problem):
    assert request_problem(encoded(pem(request_der(key=key, algorithm=SHA256())))) == problem


def test_the_subject_of_a_request():
    assert request_common_name(request("jane", ("dev",))) == "jane"
    assert request_common_name(request("")) == ""
    with pytest.raises(ValueError, match="PEM block type"):
        parsed_request("")


def test_a9_an_approval_writes_metadata():
    api = Api()
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    merge = {"content_type": "application/merge-patch+json"}
    api.ok("POST", path, merged(REQUEST, {"metadata": {"name": "r", "labels": {"a": "1"}}}))
    meta = {"labels": {"b": "2"}, "annotations": {"x": "y"}, "finalizers": ["a.b/c"]}
    change = {"metadata": meta, "spec": {"usages": ["any"]}, "status": {"certificate": CERTIFICATE}}
    api.ok("PATCH", f"{path}/r/approval", change, **merge)
    shown = api.ok("GET", f"{path}/r")
    assert {key: shown["metadata"][key] for key in meta} == {**meta, "labels": {"a": "1", "b": "2"}}
    assert (shown["spec"]["usages"], shown["status"]) == (["client auth"], {})


def requested(usages=("client auth",), signer="example.com/signer", types=(), certificate=None):
    spec = {**REQUEST["spec"], "usages": list(usages), "signerName": signer}
    status = {"conditions": [condition(one) for one in types], **({"certificate": certificate} if certificate else {})}
    return {"metadata": {"name": "x"}, "spec": spec, "status": status}


BAD_CERTIFICATE = encoded("-----BEGIN KEY-----\nMAA=\n-----END KEY-----\n")


@pytest.mark.parametrize(
    "wrong",
    [
        {"usages": ["client auth", "client auth"]},
        {"usages": ["other"]},
        {"signer": "kubernetes.io/legacy-unknown"},
        {"types": ["Approved", "Denied"]},
        {"types": ["Failed", "Failed"]},
        {"types": [""]},
        {"certificate": BAD_CERTIFICATE},
    ],
)
def test_a_stored_request_keeps_what_is_wrong_already(wrong):
    rules, (good, bad) = (
        strategy("CertificateSigningRequest"),
        (as_new("CertificateSigningRequest", requested(**one)) for one in ({}, wrong)),
    )
    good, bad = ({**one, "status": given["status"]} for one, given in ((good, requested()), (bad, requested(**wrong))))
    new = set(texts(rules.validate_update(bad, good)))
    kept = set(texts(rules.validate_update(bad, bad)))
    assert kept < new
