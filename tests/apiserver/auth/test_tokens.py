"""Tokens of service accounts: bound objects, expiry and reviews."""

import base64
import re
from datetime import timedelta
from types import SimpleNamespace

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from fakekube.apiserver.auth import jsonwebtoken, serviceaccounttoken
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.status import StatusError
from tests.apiserver.api import PODS, Api, pod

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
TOKEN = f"{ACCOUNTS}/a/token"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.fixture
def accounts(api):
    api.uid = api.ok("POST", ACCOUNTS, {"metadata": {"name": "a"}})["metadata"]["uid"]
    return api


def token(api, **spec):
    meta = spec.pop("metadata", {})
    return api.ok("POST", TOKEN, {"metadata": meta, "spec": spec})["status"]["token"]


def reviewed(api, token, **spec):
    return api.ok("POST", REVIEWS, {"spec": {"token": token, **spec}})["status"]


def problem(api, token, **spec):
    """The error of a review, without that of the authenticator of the loopback client, which comes first."""
    found = reviewed(api, token, **spec).get("error", "")
    return found.removeprefix("[invalid bearer token, ").removesuffix("]") if found.startswith("[") else found


def claims(token):
    return orjson.loads(jsonwebtoken.decoded(token.split(".")[1]))


def later(api, seconds):
    api.context.time += timedelta(seconds=seconds)


def test_the_user_of_a_token(accounts):
    found = reviewed(accounts, token(accounts))
    assert (found["authenticated"], found["audiences"]) == (True, [serviceaccounttoken.ISSUER])
    assert found["user"]["username"] == "system:serviceaccount:default:a"
    assert found["user"]["uid"] == accounts.uid
    assert found["user"]["groups"] == [
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    ]


@pytest.mark.parametrize(
    ("asked", "after", "good"),
    [(600, 599, True), (600, 660, True), (600, 661, False), (3600, 3660, True), (3600, 3661, False)],
)
def test_expired_tokens_are_accepted_for_one_more_minute(accounts, asked, after, good):
    made = token(accounts, expirationSeconds=asked)
    later(accounts, after)
    found = reviewed(accounts, made)
    assert found.get("authenticated", False) == good
    assert found.get("error", "") == ("" if good else "[invalid bearer token, service account token has expired]")


@pytest.mark.parametrize(
    ("wanted", "asked", "good", "error"),
    [
        pytest.param(["x"], ["x", "y"], ["x"], "", id="one-of-them"),
        pytest.param(["x", "y"], ["y", "x"], ["x", "y"], "", id="both"),
        pytest.param(
            ["x"], [], None,
            f'token audiences ["x"] is invalid for the target audiences ["{serviceaccounttoken.ISSUER}"]', id="not-the-server",
        ),
        pytest.param(
            [], ["x"], None,
            f'token audiences ["{serviceaccounttoken.ISSUER}"] is invalid for the target audiences ["x"]', id="only-the-server",
        ),
    ],
)  # fmt: skip
def test_audiences(accounts, wanted, asked, good, error):
    found = reviewed(accounts, token(accounts, audiences=wanted), audiences=asked)
    assert (found.get("audiences"), found.get("error", "")) == (
        good,
        f"[invalid bearer token, {error}]" if error else "",
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param(lambda made: "nonsense", "invalid bearer token", id="nonsense"),
        pytest.param(lambda made: "a.b.c", "invalid bearer token", id="other-issuer"),
        pytest.param(
            lambda made: made[:-4] + "AAAA",
            "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]",
            id="forged",
        ),
    ],
)
def test_malformed_tokens(accounts, change, error):
    assert reviewed(accounts, change(token(accounts))) == {"user": {}, "error": error}


def bound_to(api, kind, path, body):
    name = api.ok("POST", path, body)["metadata"]["name"]
    return {"apiVersion": "v1", "kind": kind, "name": name}


def own_pod(**more):
    return pod(spec={"serviceAccountName": "a", "containers": [{"name": "c", "image": "i"}], **more})


@pytest.mark.parametrize(
    ("kind", "path", "body", "extra"),
    [
        pytest.param("Pod", PODS, own_pod(), {"pod-name": ["a"]}, id="pod"),
        pytest.param("Secret", SECRETS, {"metadata": {"name": "s"}}, {}, id="secret"),
        pytest.param("Node", "/api/v1/nodes", {"metadata": {"name": "n"}}, {"node-name": ["n"]}, id="node"),
    ],
)
def test_a_bound_token_is_invalid_after_its_object_is_deleted(accounts, kind, path, body, extra):
    ref = bound_to(accounts, kind, path, body)
    made = token(accounts, boundObjectRef=ref)
    found = reviewed(accounts, made)["user"]["extra"]
    assert {key.split("/")[1]: value for key, value in found.items() if key.endswith("-name")} == extra
    accounts.ok("DELETE", f"{path}/{ref['name']}", {"gracePeriodSeconds": 0})
    assert problem(accounts, made) == "service account token has been invalidated"
    again = accounts.ok("POST", path, body)["metadata"]["uid"]
    word = kind.lower()
    assert problem(accounts, made) == (
        f"{word} UID ({again}) does not match service account {word} ref claim ({claims(made)['kubernetes.io'][word]['uid']})"
    )


def test_the_token_of_a_terminating_pod_is_valid_for_one_more_minute(accounts):
    ref = bound_to(accounts, "Pod", PODS, own_pod(nodeName="n"))
    made = token(accounts, boundObjectRef=ref)
    accounts.ok("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 30})
    later(accounts, 90)
    assert reviewed(accounts, made)["authenticated"]
    later(accounts, 1)
    assert problem(accounts, made) == "service account token has been invalidated"


def test_a_token_is_invalid_after_its_account_is_deleted(accounts):
    made = token(accounts)
    accounts.ok("DELETE", f"{ACCOUNTS}/a")
    assert problem(accounts, made) == 'serviceaccounts "a" not found'
    new = accounts.ok("POST", ACCOUNTS, {"metadata": {"name": "a"}})["metadata"]["uid"]
    assert problem(accounts, made) == f"service account UID ({new}) does not match claim ({accounts.uid})"


def test_tokens_of_kubelets_are_valid_for_a_year(accounts):
    ref = bound_to(accounts, "Pod", PODS, own_pod())
    made = token(accounts, boundObjectRef=ref, expirationSeconds=3607)
    found = claims(made)
    assert found["exp"] - found["iat"] == 365 * 24 * 3600
    assert found["kubernetes.io"]["warnafter"] - found["iat"] == 3607


@pytest.mark.parametrize(
    ("sent", "code", "message"),
    [
        pytest.param({"spec": {"expirationSeconds": 599}}, 422,
                     'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: '
                     "may not specify a duration less than 10 minutes", id="short"),
        pytest.param({"metadata": {"name": "b"}}, 422,
                     'TokenRequest.authentication.k8s.io "a" is invalid: metadata.name: Invalid value: "b": must match the '
                     "service account name if specified", id="other-name"),
        pytest.param({"metadata": {"namespace": "b"}}, 400,
                     "the namespace of the provided object does not match the namespace sent on the request", id="other-place"),
        pytest.param({"metadata": {"uid": "x"}}, 409,
                     'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "a": the UID in the token request '
                     "(x) does not match the UID of the service account (UID)", id="other-account"),
        pytest.param({"spec": {"boundObjectRef": {"kind": "Deployment", "apiVersion": "apps/v1", "name": "d"}}}, 400,
                     "cannot bind token to object of type apps/v1, Kind=Deployment", id="unbindable"),
        pytest.param({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "d"}}}, 404,
                     'pods "d" not found', id="no-pod"),
        pytest.param({"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s", "uid": "x"}}}, 409,
                     'Operation cannot be fulfilled on Secret "s": the UID in the bound object reference (x) does not match '
                     "the UID in record. The object might have been deleted and then recreated", id="another-secret"),
    ],
)  # fmt: skip
def test_invalid_requests(accounts, sent, code, message):
    accounts.ok("POST", SECRETS, {"metadata": {"name": "s"}})
    found = accounts.refused("POST", TOKEN, {"spec": {}, **sent})
    assert (found[0], found[2]) == (code, message.replace("UID)", f"{accounts.uid})"))


def test_a_pod_of_another_account(accounts):
    ref = bound_to(accounts, "Pod", PODS, pod(spec={"containers": [{"name": "c", "image": "i"}]}))
    assert accounts.refused("POST", TOKEN, {"spec": {"boundObjectRef": ref}})[2] == (
        'cannot bind token for serviceaccount "a" to pod running with different serviceaccount name.'
    )


def test_a_request_with_an_expired_token_is_unauthorized(accounts):
    made = token(accounts, expirationSeconds=600)
    apiserver, now = accounts.apiserver, accounts.context
    assert apiserver.user_of(f"Bearer {made}", now).name == "system:serviceaccount:default:a"
    later(accounts, 661)
    with pytest.raises(StatusError) as refused:
        apiserver.user_of(f"Bearer {made}", now)
    assert refused.value.code == 401


def test_static_tokens_are_valid_for_the_audience_of_the_server(api):
    api.apiserver.tokens = {"t": User("jane")}
    assert reviewed(api, "t")["user"]["username"] == "jane"
    assert reviewed(api, "t", audiences=["x"]) == {"user": {}, "error": "invalid bearer token"}


# --- signatures --------------------------------------------------------------------------------------------------------


def header(token):
    return orjson.loads(jsonwebtoken.decoded(token.split(".")[0]))


def key_set(api):
    answer = api.answer("GET", "/openid/v1/jwks")
    return orjson.loads(answer.body.encode())["keys"]


def test_the_published_key_verifies_the_signature_of_a_token(accounts):
    made = token(accounts)
    [published] = key_set(accounts)
    assert header(made) == {"alg": "RS256", "kid": published["kid"]}
    numbers = [int.from_bytes(jsonwebtoken.decoded(published[name])) for name in ("e", "n")]
    text, _, signature = made.rpartition(".")
    RSAPublicNumbers(*numbers).public_key().verify(jsonwebtoken.decoded(signature), text.encode(), PKCS1v15(), SHA256())


def test_the_claims_of_a_token_are_in_the_order_of_go_jose(accounts):
    names = [
        name.decode() for name in re.findall(rb'"([a-z.]+)":', jsonwebtoken.decoded(token(accounts).split(".")[1]))
    ]
    assert names == [
        "aud",
        "exp",
        "iat",
        "iss",
        "jti",
        "kubernetes.io",
        "namespace",
        "serviceaccount",
        "name",
        "uid",
        "nbf",
        "sub",
    ]


@pytest.mark.parametrize(
    ("header", "error"),
    [
        pytest.param({"alg": "RS256", "kid": "zzz"}, "invalid signature, no keys found", id="unknown-key"),
        pytest.param({"alg": "RS256"}, "go-jose/go-jose: error in cryptographic primitive", id="no-key"),
        pytest.param({"alg": "none"}, "go-jose/go-jose: error in cryptographic primitive", id="unsigned"),
    ],
)
def test_a_token_with_another_header_is_refused(accounts, header, error):
    made = token(accounts)
    forged = ".".join([jsonwebtoken.encoded(orjson.dumps(header)), *made.split(".")[1:]])
    assert reviewed(accounts, forged)["error"] == f"[invalid bearer token, {error}]"


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()], ids=lambda curve: curve.name)
def test_elliptic_keys_sign_and_verify(curve):
    pem = ec.generate_private_key(curve).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    keys = jsonwebtoken.KeySet(lambda: pem)
    made = keys.sign({"sub": "a"})
    assert keys.claims(made) == {"sub": "a"}
    assert keys.verifying[0].jwk()["alg"] == header(made)["alg"]
    with pytest.raises(jsonwebtoken.BadToken):
        jsonwebtoken.KeySet(jsonwebtoken.generated_key).claims(made)


def test_the_derived_key_is_valid_and_the_same_each_time():
    made = jsonwebtoken.derived_key()
    key = load_pem_private_key(made, None)  # checks the primes and the exponents
    assert key.key_size == jsonwebtoken.KEY_BITS
    assert jsonwebtoken.derived_key() == made


def test_public_keys_replace_the_signing_key_in_verification():
    first, second = jsonwebtoken.generated_key(), jsonwebtoken.generated_key()
    keys = jsonwebtoken.KeySet(lambda: first, [second])
    assert [key.id for key in keys.verifying] == [jsonwebtoken.KeySet(lambda: second).verifying[0].id]
    with pytest.raises(jsonwebtoken.BadToken, match="no keys found"):
        keys.claims(keys.sign({}))


def test_known_signatures_are_forgotten_at_a_limit(monkeypatch):
    monkeypatch.setattr(jsonwebtoken, "CACHE_LIMIT", 2)
    pem = jsonwebtoken.generated_key()
    keys = jsonwebtoken.KeySet(lambda: pem)
    made = [keys.sign({"sub": str(i)}) for i in range(5)]
    for _ in range(2):
        assert [keys.claims(one)["sub"] for one in made] == list("01234")
    with pytest.raises(jsonwebtoken.BadToken):
        keys.claims(made[0][:-4] + "AAAA")


def test_tokens_of_one_seed_are_equal(accounts):
    other = Api()
    other.ok("POST", ACCOUNTS, {"metadata": {"name": "a"}})
    assert token(other) == token(accounts)


# --- discovery ---------------------------------------------------------------------------------------------------------


def test_the_openid_configuration(api):
    api.apiserver.address = "127.0.0.1:6443"
    answer = api.answer("GET", "/.well-known/openid-configuration")
    assert (answer.content_type, answer.headers) == ("application/json", {"Cache-Control": "public, max-age=3600"})
    assert orjson.loads(answer.body.encode()) == {
        "issuer": serviceaccounttoken.ISSUER,
        "jwks_uri": "https://127.0.0.1:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


def test_the_key_set(api):
    answer = api.answer("GET", "/openid/v1/jwks/")
    assert (answer.content_type, answer.headers) == (
        "application/jwk-set+json",
        {"Cache-Control": "public, max-age=3600"},
    )
    [key] = key_set(api)
    assert [*key] == ["use", "kty", "kid", "alg", "n", "e"]
    assert key["e"] == "AQAB"


@pytest.mark.parametrize(
    ("method", "accept", "code", "message"),
    [
        ("POST", "", 405, "the server does not allow this method on the requested resource"),
        ("HEAD", "", 405, "the server does not allow this method on the requested resource"),
        ("GET", "application/json", 406, "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json"),
        ("GET", "application/*", 406, "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json"),
    ],
)
def test_the_key_set_has_one_representation(api, method, accept, code, message):
    found = api.answer(method, "/openid/v1/jwks", accept=accept)
    assert (found.status, found.body.to_object()["message"]) == (code, message)


def test_the_discovery_role_allows_the_paths():
    api = Api(authorization_mode="RBAC")
    account = User("system:serviceaccount:default:a", groups=("system:serviceaccounts",))
    for path in ("/.well-known/openid-configuration", "/openid/v1/jwks"):
        assert api.answer("GET", path, user=account).status == 200
        assert api.answer("GET", path, user=User("alice")).status == 403
        assert path in api.ok("GET", "/")["paths"]


# --- tokens in Secrets -------------------------------------------------------------------------------------------------


def legacy(api, **changes):
    """A token as kube-controller-manager puts it into a Secret; the Secret has it."""
    prefix = "kubernetes.io/serviceaccount/"
    own = {"namespace": "default", "secret.name": "s", "service-account.name": "a", "service-account.uid": api.uid}
    claims = {"iss": "kubernetes/serviceaccount", "sub": "system:serviceaccount:default:a"}
    claims.update({prefix + key: value for key, value in own.items()})
    claims.update({key if key in claims else prefix + key: value for key, value in changes.items()})
    made = api.apiserver.issuer.keys.sign({key: value for key, value in claims.items() if value})
    data = {"token": base64.b64encode(made.encode()).decode()}
    api.ok("POST", SECRETS, {"metadata": {"name": "s"}, "data": data})
    return made


def test_a_token_of_a_secret(accounts):
    found = reviewed(accounts, legacy(accounts))
    assert (found["authenticated"], found["audiences"]) == (True, [serviceaccounttoken.ISSUER])
    assert found["user"] == {
        "username": "system:serviceaccount:default:a",
        "uid": accounts.uid,
        "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    }


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"sub": ""}, "sub claim is missing"),
        ({"namespace": ""}, "namespace claim is missing"),
        ({"secret.name": ""}, "secretName claim is missing"),
        ({"service-account.name": "b"}, "sub claim is invalid"),
        ({"secret.name": "t"}, "Token has been invalidated"),
        ({"service-account.uid": "u"}, "ServiceAccount UID (UID) does not match claim (u)"),
    ],
)
def test_a_token_of_a_secret_with_other_claims(accounts, changes, error):
    assert problem(accounts, legacy(accounts, **changes)) == error.replace("UID)", f"{accounts.uid})", 1)


def test_a_token_of_a_secret_is_valid_as_long_as_the_secret_has_it(accounts):
    made = legacy(accounts)
    api, change = accounts, {"content_type": "application/merge-patch+json"}
    api.ok(
        "PATCH", f"{SECRETS}/s", {"metadata": {"labels": {serviceaccounttoken.INVALID_SINCE: "2026-01-01"}}}, **change
    )
    assert problem(api, made).startswith(
        "the token in secret default/s for service account default/a has been marked invalid."
    )
    api.ok("PATCH", f"{SECRETS}/s", {"data": {"token": "eA=="}}, **change)
    assert problem(api, made) == "Token does not match server's copy"
    api.ok("DELETE", f"{SECRETS}/s")
    assert problem(api, made) == "Token has been invalidated"


@pytest.mark.parametrize(
    ("curve", "name", "size"),
    [(ec.SECP256R1(), "P-256", 32), (ec.SECP384R1(), "P-384", 48), (ec.SECP521R1(), "P-521", 66)],
)
def test_the_numbers_of_an_elliptic_key_have_the_size_of_its_curve(curve, name, size):
    """RFC 7518, 3.4 and 6.2.1: also numbers that begin with zeros."""
    pem = ec.derive_private_key(5, curve).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    keys = jsonwebtoken.KeySet(lambda: pem)
    shown = keys.verifying[0].jwk()
    numbers = ec.derive_private_key(5, curve).public_key().public_numbers()
    assert shown["crv"] == name
    for member, number in (("x", numbers.x), ("y", numbers.y)):
        raw = jsonwebtoken.decoded(shown[member])
        assert (len(raw), int.from_bytes(raw, "big")) == (size, number)
    assert len(jsonwebtoken.decoded(keys.sign({}).split(".")[2])) == 2 * size


@pytest.mark.parametrize(
    ("claims", "error"),
    [
        ({"nbf": 100 + serviceaccounttoken.LEEWAY}, ""),
        ({"nbf": 101 + serviceaccounttoken.LEEWAY}, "service account token is not valid yet"),
        ({"exp": 100 - serviceaccounttoken.LEEWAY}, ""),
        ({"exp": 99 - serviceaccounttoken.LEEWAY}, "service account token has expired"),
        ({"iat": 100 + serviceaccounttoken.LEEWAY}, ""),
        ({"iat": 101 + serviceaccounttoken.LEEWAY}, "service account token is issued in the future"),
        ({}, ""),
    ],
)
def test_the_times_of_a_token(claims, error):
    try:
        serviceaccounttoken._check_times(claims, 100)
        found = ""
    except jsonwebtoken.BadToken as problem:
        found = str(problem)
    assert found == error


@pytest.mark.parametrize(("seconds", "until"), [(600, "00:10:00"), (3600, "01:00:00"), (7200, "02:00:00")])
def test_the_status_of_a_token_has_its_expiry(accounts, seconds, until):
    found = accounts.ok("POST", TOKEN, {"spec": {"expirationSeconds": seconds}})
    assert found["status"]["expirationTimestamp"] == f"2026-01-01T{until}Z"
    assert claims(found["status"]["token"])["iat"] == 1767225600


class Objects:
    """A store of the given objects."""

    def __init__(self, **objects):
        self.objects = objects

    def get(self, collection, path):
        found = self.objects.get(f"{collection}_{path}")
        return None if found is None else SimpleNamespace(object=found)


ON_NODE = {"spec": {"nodeName": "n"}}
NODE = {"metadata": {"uid": "u"}}


@pytest.mark.parametrize(
    ("claim", "objects", "expected"),
    [
        ("pod", {"pods_p": ON_NODE, "nodes_n": NODE}, {"name": "n", "uid": "u"}),
        ("pod", {"pods_p": ON_NODE}, {"name": "n"}),
        ("pod", {"pods_p": {"spec": {}}, "nodes_n": NODE}, None),
        ("pod", {"pods_p": {}}, None),
        ("pod", {"nodes_n": NODE}, None),
        ("secret", {"pods_p": ON_NODE, "nodes_n": NODE}, None),
    ],
)
def test_the_node_of_a_token_is_that_of_its_pod(claim, objects, expected):
    bound = serviceaccounttoken.BoundObjectReference(claim, "pods", "p", "p", "u")
    assert serviceaccounttoken._node_of(Objects(**objects), bound) == expected
