"""Client certificates: their users, and the chains that lead to a trusted authority."""

from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fakekube.apiserver.auth import clientcertificate
from fakekube.apiserver.auth.clientcertificate import CREDENTIAL, UID, client_certificate
from fakekube.apiserver.user import AUTHENTICATED

NOW = datetime(2026, 6, 1, tzinfo=UTC)
CA = x509.BasicConstraints(ca=True, path_length=None)
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


class Issuer:
    """A key with a certificate, which issues others."""

    def __init__(self, name, by=None, *extensions, years=(2026, 2027), subject=None):
        self.key = ed25519.Ed25519PrivateKey.generate()
        self.name = subject or x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        by = by or self
        builder = x509.CertificateBuilder().subject_name(self.name).issuer_name(by.name).serial_number(1)
        builder = builder.not_valid_before(datetime(years[0], 1, 1)).not_valid_after(datetime(years[1], 1, 1))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        self.certificate = builder.public_key(self.key.public_key()).sign(by.key, None)


def is_valid(presented, trusted, now=NOW):
    return client_certificate(tuple(one.certificate for one in presented), [trusted.certificate]).is_valid(now)


def usage(*names):
    every = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
             "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")  # fmt: skip
    return x509.KeyUsage(**{name: name in names for name in every})


@pytest.mark.parametrize(
    ("extensions", "valid"),
    [
        pytest.param([CA], True, id="authority"),
        pytest.param([], False, id="no-constraints"),
        pytest.param([x509.BasicConstraints(ca=False, path_length=None)], False, id="not-an-authority"),
        pytest.param([CA, usage("key_cert_sign")], True, id="may-sign"),
        pytest.param([CA, usage("digital_signature")], False, id="may-not-sign"),
        pytest.param([CA, x509.ExtendedKeyUsage([CLIENT])], True, id="of-clients"),
        pytest.param([CA, x509.ExtendedKeyUsage([SERVER])], False, id="of-servers"),
    ],
)
def test_the_issuer_of_a_certificate(extensions, valid):
    root = Issuer("root", None, CA)
    between = Issuer("between", root, *extensions)
    leaf = Issuer("leaf", between)
    assert is_valid([leaf, between], root) == valid
    assert not is_valid([leaf], root)


@pytest.mark.parametrize(("length", "valid"), [(None, True), (1, True), (0, False)])
def test_the_length_of_a_chain(length, valid):
    root = Issuer("root", None, x509.BasicConstraints(ca=True, path_length=length))
    between = Issuer("between", root, CA)
    assert is_valid([Issuer("leaf", between), between], root) == valid


@pytest.mark.parametrize(("year", "valid"), [(2025, False), (2026, True), (2027, True), (2028, False)])
def test_every_certificate_of_a_chain_must_be_valid(year, valid):
    root = Issuer("root", None, CA, years=(2020, 2040))
    between = Issuer("between", root, CA, years=(2026, 2035))
    leaf = Issuer("leaf", between, years=(2020, 2028))
    assert is_valid([leaf, between], root, datetime(year, 6, 1, tzinfo=UTC)) == valid


def test_another_key_with_the_name_of_the_issuer():
    root, forged = Issuer("root", None, CA), Issuer("root", None, CA)
    assert not is_valid([Issuer("leaf", forged)], root)
    assert not is_valid([Issuer("leaf", forged), forged], root)


def test_a_trusted_certificate_itself():
    own = Issuer("own")
    assert is_valid([own], own)


def test_authorities_that_issue_each_other_end():
    several = [Issuer(f"a{i}", None, CA) for i in range(3)]
    assert not is_valid([Issuer("leaf", several[0]), *several], Issuer("root", None, CA))


def named(*names):
    return x509.Name([x509.NameAttribute(kind, value, _validate=False) for kind, value in names])


def user_of(*names):
    own = Issuer("", subject=named(*names))
    return client_certificate((own.certificate,), [own.certificate])


def test_the_user_of_a_certificate():
    names = [
        (NameOID.COMMON_NAME, "ann"),
        (NameOID.ORGANIZATION_NAME, "dev"),
        (NameOID.ORGANIZATION_NAME, "ops"),
        (UID, "u"),
    ]
    user = user_of(*names).user
    assert (user.name, user.uid, user.groups) == ("ann", "u", ("dev", "ops", AUTHENTICATED))
    [credential] = user.extra[CREDENTIAL]
    assert len(credential.removeprefix("X509SHA256=")) == 64


@pytest.mark.parametrize(
    ("names", "valid"),
    [
        pytest.param([(NameOID.ORGANIZATION_NAME, "dev")], True, id="nameless"),
        pytest.param([(NameOID.COMMON_NAME, "ann"), (UID, "")], False, id="empty-uid"),
        pytest.param([(NameOID.COMMON_NAME, "ann"), (UID, "a"), (UID, "b")], False, id="two-uids"),
    ],
)
def test_a_certificate_without_a_user(names, valid):
    found = user_of(*names)
    assert (found.user, found.is_valid(NOW)) == (None, valid)


@pytest.mark.parametrize(
    ("now", "valid"),
    [
        (datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC), False),
        (datetime(2026, 1, 1, tzinfo=UTC), True),
        (datetime(2027, 1, 1, tzinfo=UTC), True),
        (datetime(2027, 1, 1, 0, 0, 1, tzinfo=UTC), False),
    ],
)
def test_a_certificate_is_valid_from_its_first_to_its_last_second(now, valid):
    own = Issuer("own")
    assert is_valid([own], own, now) == valid


def test_a_chain_is_searched_with_a_limited_number_of_checks(monkeypatch):
    root = Issuer("root", None, CA)
    between = Issuer("between", root, CA)
    presented = [Issuer("leaf", between), between]  # two checks for each certificate: of the root, and of the other one
    for checks, valid in ((1, False), (2, False), (3, True)):
        monkeypatch.setattr(clientcertificate, "MOST_CHECKS", checks)
        assert is_valid(presented, root) == valid
