"""Tokens of service accounts: bound objects, expiry and reviews."""

from datetime import timedelta

import orjson
import pytest

from fakekube.apiserver.auth import serviceaccount
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.status import StatusError
from tests.apiserver.api import PODS, pod

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


def claims(token):
    return orjson.loads(serviceaccount._decoded(token.split(".")[1]))


def later(api, seconds):
    api.context.time += timedelta(seconds=seconds)


def test_the_user_of_a_token(accounts):
    found = reviewed(accounts, token(accounts))
    assert (found["authenticated"], found["audiences"]) == (True, [serviceaccount.ISSUER])
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
    assert found.get("error", "") == ("" if good else "service account token has expired")


@pytest.mark.parametrize(
    ("wanted", "asked", "good", "error"),
    [
        pytest.param(["x"], ["x", "y"], ["x"], "", id="one-of-them"),
        pytest.param(["x", "y"], ["y", "x"], ["x", "y"], "", id="both"),
        pytest.param(
            ["x"], [], None,
            f'token audiences ["x"] is invalid for the target audiences ["{serviceaccount.ISSUER}"]', id="not-the-server",
        ),
        pytest.param(
            [], ["x"], None,
            f'token audiences ["{serviceaccount.ISSUER}"] is invalid for the target audiences ["x"]', id="only-the-server",
        ),
    ],
)  # fmt: skip
def test_audiences(accounts, wanted, asked, good, error):
    found = reviewed(accounts, token(accounts, audiences=wanted), audiences=asked)
    assert (found.get("audiences"), found.get("error", "")) == (good, error)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param(lambda made: "nonsense", "invalid bearer token", id="nonsense"),
        pytest.param(lambda made: "a.b.c", "invalid bearer token", id="other-issuer"),
        pytest.param(lambda made: made[:-4] + "AAAA", "go-jose/go-jose: error in cryptographic primitive", id="forged"),
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
    assert reviewed(accounts, made)["error"] == "service account token has been invalidated"
    again = accounts.ok("POST", path, body)["metadata"]["uid"]
    word = kind.lower()
    assert reviewed(accounts, made)["error"] == (
        f"{word} UID ({again}) does not match service account {word} ref claim ({claims(made)['kubernetes.io'][word]['uid']})"
    )


def test_the_token_of_a_terminating_pod_is_valid_for_one_more_minute(accounts):
    ref = bound_to(accounts, "Pod", PODS, own_pod(nodeName="n"))
    made = token(accounts, boundObjectRef=ref)
    accounts.ok("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 30})
    later(accounts, 90)
    assert reviewed(accounts, made)["authenticated"]
    later(accounts, 1)
    assert reviewed(accounts, made)["error"] == "service account token has been invalidated"


def test_a_token_is_invalid_after_its_account_is_deleted(accounts):
    made = token(accounts)
    accounts.ok("DELETE", f"{ACCOUNTS}/a")
    assert reviewed(accounts, made)["error"] == 'serviceaccounts "a" not found'
    new = accounts.ok("POST", ACCOUNTS, {"metadata": {"name": "a"}})["metadata"]["uid"]
    assert reviewed(accounts, made)["error"] == f"service account UID ({new}) does not match claim ({accounts.uid})"


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
    assert apiserver.user_of(f"Bearer {made}", now.now).name == "system:serviceaccount:default:a"
    later(accounts, 661)
    with pytest.raises(StatusError) as refused:
        apiserver.user_of(f"Bearer {made}", now.now)
    assert refused.value.code == 401


def test_static_tokens_are_valid_for_the_audience_of_the_server(api):
    api.apiserver.tokens = {"t": User("jane")}
    assert reviewed(api, "t")["user"]["username"] == "jane"
    assert reviewed(api, "t", audiences=["x"]) == {"user": {}, "error": "invalid bearer token"}
