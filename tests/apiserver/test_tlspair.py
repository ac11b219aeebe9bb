"""Which certificates and keys a Secret of type kubernetes.io/tls may have, with the words of `crypto/tls.X509KeyPair`."""

import pytest

from fakekube.apiserver.registry.core.tlspair import pair_problem
from tests.apiserver.certificates import encoded, pem

NO_DATA = "tls: failed to find any PEM data in {} input"


def blocks(*types, end=""):
    return encoded("text before\n" + "between\n".join(pem(b"der", one) for one in types) + end)


CERTIFICATE, KEY = blocks("CERTIFICATE"), blocks("PRIVATE KEY")


@pytest.mark.parametrize("types", [["CERTIFICATE"], ["CERTIFICATE", "CERTIFICATE"], ["RSA PRIVATE KEY", "CERTIFICATE"]])
@pytest.mark.parametrize("key", ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"])
def test_a_certificate_and_a_key(types, key):
    assert pair_problem(blocks(*types), blocks("EC PARAMETERS", key)) == ""


@pytest.mark.parametrize(
    ("certificate", "why"),
    [
        (encoded("text"), NO_DATA.format("certificate")),
        ("not base64!", NO_DATA.format("certificate")),
        ("", NO_DATA.format("certificate")),
        (encoded("-----BEGIN CERTIFICATE-----\nZGVy\n-----END OTHER-----\n"), NO_DATA.format("certificate")),
        (KEY, "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may "
              "have been switched"),
        (blocks("EC PRIVATE KEY"), "tls: failed to find certificate PEM data in certificate input, but did find a private "
                                   "key; PEM inputs may have been switched"),
        (blocks("PRIVATE KEY", "PRIVATE KEY"),
         'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following '
         "types: [PRIVATE KEY PRIVATE KEY]"),
        (blocks("PUBLIC KEY"),
         'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following '
         "types: [PUBLIC KEY]"),
    ],
)  # fmt: skip
def test_what_is_no_certificate(certificate, why):
    assert pair_problem(certificate, KEY) == why
    assert pair_problem(certificate, "") == why, "the certificate is read first"


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", NO_DATA.format("key")),
        (encoded("text"), NO_DATA.format("key")),
        (CERTIFICATE, "tls: found a certificate rather than a key in the PEM for the private key"),
        (blocks("CERTIFICATE", "CERTIFICATE"),
         'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the '
         "following types: [CERTIFICATE CERTIFICATE]"),
        (blocks("EC PARAMETERS", "XPRIVATE KEY"),
         'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks of the '
         "following types: [EC PARAMETERS XPRIVATE KEY]"),
    ],
)  # fmt: skip
def test_what_is_no_key(key, why):
    assert pair_problem(CERTIFICATE, key) == why
