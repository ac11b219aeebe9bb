"""JSON Web Tokens: the keys that sign and verify them, and their compact form (`pkg/serviceaccount/jwt.go`, go-jose).

`cryptography` is imported when a key is first used: most clusters never issue a token.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from fakekube.apiserver.resource import Object
from fakekube.struct import Struct

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    PublicKey = RSAPublicKey | EllipticCurvePublicKey

#: The number of tokens whose signatures are known to be valid.
CACHE_LIMIT = 1024

#: Bits of an elliptic curve -> algorithm and name of the curve.
_CURVES = {256: ("ES256", "P-256"), 384: ("ES384", "P-384"), 521: ("ES512", "P-521")}

KEY_BITS = 2048

#: Each prime of the derived key: the name that is hashed, and how far the prime lies above the hash. So nothing has to
#: search for primes.
_PRIMES = {"fakekube p": 232, "fakekube q": 964}
_EXPONENT = 65537

CRYPTO_FAILURE = "go-jose/go-jose: error in cryptographic primitive"


class BadToken(Exception):
    """An invalid token; the message is the real server's."""


class VerificationKey(Struct, frozen=True):
    """A public key and its ID, which is the hash of the key (`keyIDFromPublicKey`)."""

    id: str
    key: PublicKey
    algorithm: str

    def verifies(self, text: bytes, signature: bytes) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

        try:
            if isinstance(self.key, rsa.RSAPublicKey):
                self.key.verify(signature, text, padding.PKCS1v15(), _hash(self.algorithm))
            else:
                self.key.verify(_der_signature(signature), text, ec.ECDSA(_hash(self.algorithm)))
        except (InvalidSignature, ValueError):
            return False
        return True

    def jwk(self) -> Object:
        """The key as a JSON Web Key, with the members in go-jose's order."""
        from cryptography.hazmat.primitives.asymmetric import rsa

        numbers = self.key.public_numbers()
        common = {"kid": self.id, "alg": self.algorithm}
        if isinstance(numbers, rsa.RSAPublicNumbers):
            return {"use": "sig", "kty": "RSA", **common, "n": _number(numbers.n), "e": _number(numbers.e)}
        size = (self.key.key_size + 7) // 8
        curve = _CURVES[self.key.key_size][1]
        x, y = _number(numbers.x, size), _number(numbers.y, size)
        return {"use": "sig", "kty": "EC", "kid": self.id, "crv": curve, "alg": self.algorithm, "x": x, "y": y}


class KeySet:
    """The key that signs tokens, and the public keys that verify them.

    `private` returns the private key (PEM) and is called when a key is first needed. `public` are further public keys
    (PEM); if there are any, the signing key verifies only if it is among them. Raises ValueError for unsuitable keys.
    """

    def __init__(self, private: Callable[[], bytes], public: Sequence[bytes] = ()) -> None:
        self._load, self._public = private, public
        self._valid: dict[str, Object] = {}

    @cached_property
    def _private(self) -> Any:
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        # the check of an RSA key takes longer than all else that happens to a token
        return load_pem_private_key(self._load(), None, unsafe_skip_rsa_key_validation=True)

    @cached_property
    def _signing(self) -> VerificationKey:
        return _verification_key(self._private.public_key())

    @cached_property
    def verifying(self) -> Sequence[VerificationKey]:
        """The public keys."""
        return [_loaded_public(pem) for pem in self._public] or [self._signing]

    def sign(self, claims: Object) -> str:
        """The token with these claims, in compact form."""
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

        key = self._signing
        header = {"alg": key.algorithm, "kid": key.id}
        text = f"{encoded(orjson.dumps(header))}.{encoded(orjson.dumps(claims, option=orjson.OPT_SORT_KEYS))}"
        if isinstance(self._private, rsa.RSAPrivateKey):
            signature = self._private.sign(text.encode(), padding.PKCS1v15(), _hash(key.algorithm))
        else:
            signature = _raw_signature(self._private.sign(text.encode(), ec.ECDSA(_hash(key.algorithm))), key)
        return f"{text}.{encoded(signature)}"

    def claims(self, token: str) -> Object:
        """The claims of a token, which must not be changed. Raises BadToken if none of the keys has signed it."""
        known = self._valid.get(token)
        if known is not None:
            return known
        if len(self._valid) >= CACHE_LIMIT:
            self._valid.clear()
        found = self._valid[token] = self._verified(token)
        return found

    def _verified(self, token: str) -> Object:
        text, _, signature = token.rpartition(".")
        head, _, payload = text.partition(".")
        id = _json(head).get("kid") or ""
        keys = [key for key in self.verifying if not id or key.id == id]
        if not keys:
            raise BadToken("invalid signature, no keys found")
        algorithm, signed = _json(head).get("alg"), decoded(signature)
        if not any(key.algorithm == algorithm and key.verifies(text.encode(), signed) for key in keys):
            raise BadToken(CRYPTO_FAILURE)
        return _json(payload)


def generated_key() -> bytes:
    """A new RSA private key, PEM."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(_EXPONENT, KEY_BITS)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def derived_key() -> bytes:
    """The RSA private key of test servers, PEM. It is the same for everyone, and therefore public."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    p, q = (_hashed(name) + above for name, above in _PRIMES.items())
    d = pow(_EXPONENT, -1, (p - 1) * (q - 1))
    crt = rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q)
    numbers = rsa.RSAPrivateNumbers(p, q, d, *crt, rsa.RSAPublicNumbers(_EXPONENT, p * q))
    key = numbers.private_key(unsafe_skip_rsa_key_validation=True)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _hashed(name: str) -> int:
    """An odd number of half the bits of a key, whose two highest bits are set."""
    size = KEY_BITS // 2
    return int.from_bytes(hashlib.shake_256(name.encode()).digest(size // 8), "big") | 3 << (size - 2) | 1


def issuer_of(token: str) -> str:
    """The issuer that a token names; "" if it is not a token. The signature is not verified."""
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        _json(parts[0])
        decoded(parts[2])
        found = _json(parts[1]).get("iss")
    except ValueError:
        return ""
    return found if isinstance(found, str) else ""


def encoded(data: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    """Raises ValueError unless the text is base64 for URLs without padding."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _json(text: str) -> Object:
    found = orjson.loads(decoded(text))
    if not isinstance(found, dict):
        raise ValueError("the JSON is not an object")
    return found


def _loaded_public(pem: bytes) -> VerificationKey:
    """The public key of a PEM file with a public key, a private key or a certificate. Raises ValueError."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

    if b"PRIVATE KEY-----" in pem:
        return _verification_key(load_pem_private_key(pem, None).public_key())
    if b"BEGIN CERTIFICATE-----" in pem:
        return _verification_key(x509.load_pem_x509_certificate(pem).public_key())
    return _verification_key(load_pem_public_key(pem))


def _verification_key(key: Any) -> VerificationKey:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    id = encoded(hashlib.sha256(der).digest())
    if isinstance(key, rsa.RSAPublicKey):
        return VerificationKey(id, key, "RS256")
    if isinstance(key, ec.EllipticCurvePublicKey) and key.key_size in _CURVES:
        return VerificationKey(id, key, _CURVES[key.key_size][0])
    raise ValueError("the key is neither RSA nor ECDSA on the curves P-256, P-384 and P-521")


def _hash(algorithm: str) -> Any:
    from cryptography.hazmat.primitives import hashes

    found = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
    return found[algorithm[2:]]


def _raw_signature(der: bytes, key: VerificationKey) -> bytes:
    """Both numbers of an ECDSA signature in the size of the curve (RFC 7518)."""
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    size = (key.key.key_size + 7) // 8
    return b"".join(number.to_bytes(size, "big") for number in decode_dss_signature(der))


def _der_signature(raw: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    half = len(raw) // 2
    return encode_dss_signature(int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big"))


def _number(value: int, size: int = 0) -> str:
    return encoded(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))
