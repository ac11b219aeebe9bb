"""The certificates of a server."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from fakekube.server.certificates import Authority, FrontProxy


@pytest.mark.parametrize(
    ("secret", "key", "serial"),
    [(0, 1, 1), (7, 8, 8), (2**100 + 5, 2**100 + 6, 6), (2**255 + 3, 4, 4), (2**100 - 1, 2**100, 2**100)],
)
def test_the_key_and_the_serial_number_of_an_authority_follow_from_its_number(secret, key, serial):
    authority = Authority(secret)
    made = x509.load_pem_x509_certificate(authority.certificate)
    private = load_pem_private_key(authority.key, None)
    assert (private.private_numbers().private_value, made.serial_number) == (key, serial)
    assert made.public_key().public_numbers() == private.public_key().public_numbers()


def test_the_certificate_of_an_authority():
    made = x509.load_pem_x509_certificate(Authority(7).certificate)
    assert made.subject == made.issuer
    assert [one.value for one in made.subject] == ["fakekube"]
    assert (made.not_valid_before_utc.year, made.not_valid_after_utc.year) == (2000, 3000)
    constraints = made.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 9)
    usage = made.extensions.get_extension_for_class(x509.KeyUsage)
    assert usage.critical
    assert (usage.value.digital_signature, usage.value.key_cert_sign, usage.value.crl_sign) == (True, True, True)
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    assert not any(getattr(usage.value, name) for name in others)
    assert not made.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).critical
    made.verify_directly_issued_by(made)


@pytest.mark.parametrize("secret", [None, 7])
def test_the_certificates_that_an_authority_issues(secret):
    authority = Authority(secret)
    ca = x509.load_pem_x509_certificate(authority.certificate)
    server = x509.load_pem_x509_certificates(
        authority.server_credentials(["a.example", "a.example", "::1"]).certificate
    )
    names = server[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["a.example", "::1"]
    server[0].verify_directly_issued_by(ca)
    administrator = authority.administrator()
    client = x509.load_pem_x509_certificates(administrator.certificate)[0]
    client.verify_directly_issued_by(ca)
    assert client.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "kubernetes-admin"
    assert client.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value == "system:masters"
    assert load_pem_private_key(administrator.key, None).public_key() == client.public_key()
    with pytest.raises(ValueError, match="PEM"):
        authority.requesting_context(client_ca=b"nothing")


def test_the_certificate_of_the_front_proxy():
    proxy = FrontProxy()
    assert proxy.NAME == "front-proxy-client"
    ca = x509.load_pem_x509_certificate(proxy.ca.encode())
    assert [one.value for one in ca.subject][:1] == ["fakekube front proxy"]
