"""Service accounts as users, and their tokens (`pkg/serviceaccount`).

A token is a JWT with the same claims as in the real server. It is signed with HMAC-SHA256 and a secret key of the
cluster, so that clients can read the claims but need a TokenReview to verify the signature.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from fakekube.apiserver.resource import Object
from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.user import AUTHENTICATED, User
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import not_found

ISSUER = "https://kubernetes.default.svc.cluster.local"
PREFIX = "system:serviceaccount:"
ALL = "system:serviceaccounts"

_HEADER = {"alg": "HS256", "typ": "JWT"}

#: Kinds of objects that a token can be bound to -> collection and name of the claim.
BINDABLE = {"Pod": ("pods", "pod"), "Secret": ("secrets", "secret"), "Node": ("nodes", "node")}

#: The tolerance for the validity of a token and for the deletion of its bound object (seconds; go-jose).
LEEWAY = 60

#: The lifetime that kubelets request for tokens of pods, and its extension to a year (seconds).
EXTENDED, EXTENSION = 60 * 60 + 7, 365 * 24 * 60 * 60


class BadToken(Exception):
    """An invalid service account token; the message is the real server's."""


_EXTRA = "authentication.kubernetes.io/"


def user_name(namespace: str, name: str) -> str:
    return f"{PREFIX}{namespace}:{name}"


def groups_of(namespace: str) -> tuple[str, ...]:
    """The groups of the service accounts of a namespace."""
    return (ALL, f"{ALL}:{namespace}")


def split(user: str) -> tuple[str, str] | None:
    """The namespace and name of a service account user; None for any other user."""
    if not user.startswith(PREFIX):
        return None
    namespace, colon, name = user.removeprefix(PREFIX).partition(":")
    return (namespace, name) if colon and namespace and name and ":" not in name else None


def user_named(name: str) -> User:
    """The user with a name, and with the groups that the name implies."""
    account = split(name)
    groups = groups_of(account[0]) if account is not None else ()
    return User(name, groups=(*groups, AUTHENTICATED))


@dataclass(frozen=True, slots=True)
class BoundObjectReference:
    """The object that a token is bound to; the token becomes invalid when the object is deleted."""

    claim: str
    collection: str
    path: str
    name: str
    uid: str


def mint(
    store: Store,
    account: Object,
    *,
    audiences: list[str],
    issued: int,
    seconds: int,
    id: str,
    bound: BoundObjectReference | None,
) -> str:
    """Issues a token for a service account, valid for `seconds` from `issued` (Unix time)."""
    extended = bound is not None and bound.claim == "pod" and seconds == EXTENDED and audiences == [ISSUER]
    meta = account["metadata"]
    private: Object = {
        "namespace": meta["namespace"],
        "serviceaccount": {"name": meta["name"], "uid": meta["uid"]},
    }
    if bound is not None:
        private[bound.claim] = {"name": bound.name, "uid": bound.uid}
        node = _node_of(store, bound)
        if node:
            private["node"] = node
    if extended:
        private["warnafter"] = issued + seconds
    claims: Object = {
        "aud": audiences,
        "exp": issued + (EXTENSION if extended else seconds),
        "iat": issued,
        "iss": ISSUER,
        "jti": id,
        "kubernetes.io": private,
        "nbf": issued,
        "sub": user_name(meta["namespace"], meta["name"]),
    }
    text = f"{_encoded(orjson.dumps(_HEADER))}.{_encoded(orjson.dumps(claims))}"
    return f"{text}.{_encoded(_signature(store, text))}"


def _node_of(store: Store, bound: BoundObjectReference) -> Object | None:
    if bound.claim != "pod":
        return None
    pod = store.get("pods", bound.path)
    name = ((pod.object.get("spec") or {}).get("nodeName") if pod is not None else "") or ""
    node = store.get("nodes", name) if name else None
    if not name:
        return None
    return {"name": name, "uid": node.object["metadata"]["uid"]} if node is not None else {"name": name}


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _signature(store: Store, text: str) -> bytes:
    """Signs a text with the key of the cluster, which is the UID of the namespace kube-system."""
    root = store.get("namespaces", "kube-system")
    key = root.object["metadata"]["uid"] if root is not None else ""
    return hmac.digest(key.encode(), text.encode(), hashlib.sha256)


def unix(moment: str) -> int:
    """The Unix time of an RFC 3339 time in whole seconds."""
    return int(datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())


def user_of(store: Store, token: str, now: int, audiences: list[str] | None = None) -> tuple[User, list[str]]:
    """The user of a token, and the requested audiences that it is valid for
    (`pkg/serviceaccount.jwtTokenAuthenticator`, `validator.Validate`).

    Raises BadToken, and StatusError if the service account does not exist.
    """
    claims = _claims(store, token)
    wanted = audiences or [ISSUER]
    good = [one for one in claims["aud"] if one in wanted]
    if not good:
        raise BadToken(
            f"token audiences {_listed(claims['aud'])} is invalid for the target audiences {_listed(wanted)}"
        )
    if now > claims["exp"] + LEEWAY:
        raise BadToken("service account token has expired")
    if now < claims["nbf"] - LEEWAY:
        raise BadToken("service account token is not valid yet")
    private = claims["kubernetes.io"]
    namespace, account = private["namespace"], private["serviceaccount"]
    found = store.get("serviceaccounts", f"{namespace}/{account['name']}")
    if found is None:
        raise not_found("serviceaccounts", account["name"])
    meta = found.object["metadata"]
    if meta["uid"] != account["uid"]:
        raise BadToken(f"service account UID ({meta['uid']}) does not match claim ({account['uid']})")
    if _gone(meta, now):
        raise BadToken(f"service account {namespace}/{account['name']} has been deleted")
    extra = {f"{_EXTRA}credential-id": (f"JTI={claims['jti']}",)}
    for collection, claim in BINDABLE.values():
        bound = private.get(claim)
        if bound is None:
            continue
        if claim != "node" or "pod" not in private:
            _check_bound(store, collection, claim, bound, namespace, now)
        if claim != "secret":
            extra[f"{_EXTRA}{claim}-name"] = (bound["name"],)
            if "uid" in bound:
                extra[f"{_EXTRA}{claim}-uid"] = (bound["uid"],)
    return User(claims["sub"], account["uid"], (*groups_of(namespace), AUTHENTICATED), extra), good


def _check_bound(store: Store, collection: str, claim: str, bound: Object, namespace: str, now: int) -> None:
    path = bound["name"] if claim == "node" else f"{namespace}/{bound['name']}"
    found = store.get(collection, path)
    if found is None:
        raise BadToken("service account token has been invalidated")
    meta = found.object["metadata"]
    if meta["uid"] != bound["uid"]:
        what = f"service account {claim} ref claim"
        raise BadToken(f"{claim} UID ({meta['uid']}) does not match {what} ({bound['uid']})")
    if _gone(meta, now):
        raise BadToken("service account token has been invalidated")


def _gone(meta: Object, now: int) -> bool:
    deleted: str = meta.get("deletionTimestamp") or ""
    return bool(deleted) and unix(deleted) < now - LEEWAY


def _listed(values: list[str]) -> str:
    return f"[{' '.join(map(go_quote, values))}]"


def is_ours(token: str) -> bool:
    """Whether the issuer of a token is this cluster. The signature is not verified."""
    parts = token.split(".")
    if len(parts) != 3:
        return False
    try:
        claims = orjson.loads(_decoded(parts[1]))
    except ValueError:
        return False
    return isinstance(claims, dict) and claims.get("iss") == ISSUER


def _claims(store: Store, token: str) -> Object:
    """The claims of a token. Raises BadToken if the signature is invalid."""
    text, _, signature = token.rpartition(".")
    try:
        signed = hmac.compare_digest(_decoded(signature), _signature(store, text))
    except ValueError:
        signed = False
    if not signed:
        raise BadToken("go-jose/go-jose: error in cryptographic primitive")
    claims: Object = orjson.loads(_decoded(text.partition(".")[2]))
    return claims
