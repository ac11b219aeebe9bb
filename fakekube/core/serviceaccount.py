"""Service accounts as users, and their tokens (`pkg/serviceaccount`).

A token is a JWT with the claims of the real server's. It is signed with HMAC-SHA256 and a key that is the cluster's
own: whoever reads the claims finds all of them, whoever wants to check the signature asks with a TokenReview.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from fakekube.core.authentication import AUTHENTICATED, User
from fakekube.core.store import Store

Object = dict[str, Any]

ISSUER = "https://kubernetes.default.svc.cluster.local"
PREFIX = "system:serviceaccount:"
ALL = "system:serviceaccounts"

_HEADER = {"alg": "HS256", "typ": "JWT"}

#: What a token may be bound to: (apiVersion, kind) -> collection and name of the claim.
BINDABLE = {("v1", "Pod"): ("pods", "pod"), ("v1", "Secret"): ("secrets", "secret"), ("v1", "Node"): ("nodes", "node")}

_EXTRA = "authentication.kubernetes.io/"


def user_name(namespace: str, name: str) -> str:
    return f"{PREFIX}{namespace}:{name}"


def groups_of(namespace: str) -> tuple[str, ...]:
    """The groups of every service account of a namespace."""
    return (ALL, f"{ALL}:{namespace}")


def split(user: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user; None for any other user."""
    if not user.startswith(PREFIX):
        return None
    namespace, colon, name = user.removeprefix(PREFIX).partition(":")
    return (namespace, name) if colon and namespace and name and ":" not in name else None


@dataclass(frozen=True, slots=True)
class Bound:
    """What a token is bound to; it ends with that."""

    claim: str
    collection: str
    path: str
    name: str
    uid: str


def mint(
    store: Store, account: Object, *, audiences: list[str], issued: int, seconds: int, id: str, bound: Bound | None
) -> str:
    """A token for a service account, from `issued` (Unix seconds) for `seconds`."""
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
    claims: Object = {
        "aud": audiences,
        "exp": issued + seconds,
        "iat": issued,
        "iss": ISSUER,
        "jti": id,
        "kubernetes.io": private,
        "nbf": issued,
        "sub": user_name(meta["namespace"], meta["name"]),
    }
    text = f"{_encoded(orjson.dumps(_HEADER))}.{_encoded(orjson.dumps(claims))}"
    return f"{text}.{_encoded(_signature(store, text))}"


def _node_of(store: Store, bound: Bound) -> Object | None:
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
    """The key is the cluster's own: it comes from the uid of its first namespace."""
    root = store.get("namespaces", "kube-system")
    key = root.object["metadata"]["uid"] if root is not None else ""
    return hmac.digest(key.encode(), text.encode(), hashlib.sha256)


def unix(moment: str) -> int:
    """An RFC 3339 time of whole seconds in Unix time."""
    return int(datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())


def looks_like_one(token: str) -> bool:
    return token.count(".") == 2


def user_of(store: Store, token: str, now: int, audiences: list[str] | None = None) -> User | None:
    """The user of a token; None for one that is forged, over, or of what is no longer there."""
    claims = _claims(store, token)
    if claims is None or not claims["nbf"] <= now < claims["exp"]:
        return None
    if not set(claims["aud"]) & set(audiences or [ISSUER]):
        return None
    private = claims["kubernetes.io"]
    namespace, account = private["namespace"], private["serviceaccount"]
    stands = store.get("serviceaccounts", f"{namespace}/{account['name']}")
    if stands is None or stands.object["metadata"]["uid"] != account["uid"]:
        return None
    extra = {f"{_EXTRA}credential-id": (f"JTI={claims['jti']}",)}
    for collection, claim in BINDABLE.values():
        bound = private.get(claim)
        if bound is None:
            continue
        if "uid" in bound and (claim != "node" or "pod" not in private):
            path = bound["name"] if claim == "node" else f"{namespace}/{bound['name']}"
            found = store.get(collection, path)
            if found is None or found.object["metadata"]["uid"] != bound["uid"]:
                return None
        if claim != "secret":
            extra[f"{_EXTRA}{claim}-name"] = (bound["name"],)
            if "uid" in bound:
                extra[f"{_EXTRA}{claim}-uid"] = (bound["uid"],)
    return User(claims["sub"], account["uid"], (*groups_of(namespace), AUTHENTICATED), extra)


def _claims(store: Store, token: str) -> Object | None:
    text, _, signature = token.rpartition(".")
    try:
        if not hmac.compare_digest(_decoded(signature), _signature(store, text)):
            return None
        claims: Object = orjson.loads(_decoded(text.partition(".")[2]))
    except ValueError:
        return None
    return claims
