"""Tokens of service accounts: their claims, and the users that they authenticate (`pkg/serviceaccount/claims.go`)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime

from fakekube.apiserver.auth.jsonwebtoken import BadToken, KeySet, issuer_of
from fakekube.apiserver.auth.serviceaccount import groups_of, user_name
from fakekube.apiserver.resource import Object
from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.user import AUTHENTICATED, User
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import not_found
from fakekube.struct import Struct

ISSUER = "https://kubernetes.default.svc.cluster.local"

#: The issuer of tokens in Secrets, which kube-controller-manager makes (`pkg/serviceaccount/legacy.go`).
LEGACY_ISSUER = "kubernetes/serviceaccount"

#: The label of a Secret whose token kube-controller-manager has found unused for a year.
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"

#: Kinds of objects that a token can be bound to -> collection and name of the claim.
BINDABLE = {"Pod": ("pods", "pod"), "Secret": ("secrets", "secret"), "Node": ("nodes", "node")}

#: The tolerance for the validity of a token and for the deletion of its bound object (seconds; go-jose).
LEEWAY = 60

#: The lifetime that kubelets request for tokens of pods, and its extension to a year (seconds).
EXTENDED, EXTENSION = 60 * 60 + 7, 365 * 24 * 60 * 60

_EXTRA = "authentication.kubernetes.io/"


class Issuer(Struct, frozen=True):
    """The issuer of tokens: its names, the first of which it uses, its keys, and the audiences of the server.

    The fields are kube-apiserver's `--service-account-issuer`, `--service-account-key-file` and `--api-audiences`.
    """

    keys: KeySet
    names: tuple[str, ...] = (ISSUER,)
    audiences: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def own_audiences(self) -> tuple[str, ...]:
        """The audiences of the server: the issuers unless given."""
        return self.audiences or self.names

    def issued(self, token: str) -> bool:
        """Whether a token names this issuer. The signature is not verified."""
        return issuer_of(token) in (*self.names, LEGACY_ISSUER)


class BoundObjectReference(Struct, frozen=True):
    """The object that a token is bound to; the token becomes invalid when the object is deleted."""

    claim: str
    collection: str
    path: str
    name: str
    uid: str


def mint(
    issuer: Issuer,
    store: Store,
    account: Object,
    *,
    audiences: Sequence[str],
    issued: int,
    seconds: int,
    id: str,
    bound: BoundObjectReference | None,
) -> str:
    """Issues a token for a service account, valid for `seconds` from `issued` (Unix time)."""
    own = set(audiences) <= set(issuer.own_audiences)
    extended = own and bound is not None and bound.claim == "pod" and seconds == EXTENDED
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
        "aud": list(audiences),
        "exp": issued + (EXTENSION if extended else seconds),
        "iat": issued,
        "iss": issuer.name,
        "jti": id,
        "kubernetes.io": private,
        "nbf": issued,
        "sub": user_name(meta["namespace"], meta["name"]),
    }
    return issuer.keys.sign(claims)


def _node_of(store: Store, bound: BoundObjectReference) -> Object | None:
    if bound.claim != "pod":
        return None
    pod = store.get("pods", bound.path)
    name = ((pod.object.get("spec") or {}).get("nodeName") if pod is not None else "") or ""
    node = store.get("nodes", name) if name else None
    if not name:
        return None
    return {"name": name, "uid": node.object["metadata"]["uid"]} if node is not None else {"name": name}


def unix(moment: str) -> int:
    """The Unix time of an RFC 3339 time in whole seconds."""
    return int(datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp())


def user_of(
    issuer: Issuer, store: Store, token: str, now: int, audiences: Sequence[str] = ()
) -> tuple[User, list[str]]:
    """The user of a token, and the requested audiences that it is valid for
    (`pkg/serviceaccount.jwtTokenAuthenticator`, `validator.Validate`).

    Raises BadToken, and StatusError if the service account does not exist.
    """
    claims = issuer.keys.claims(token)
    legacy = claims.get("iss") == LEGACY_ISSUER
    good = _common_audiences(issuer, claims, audiences)
    if legacy:
        return _legacy_user(store, token, claims), good
    _check_times(claims, now)
    return _bound_user(store, claims, now), good


def _common_audiences(issuer: Issuer, claims: Object, wanted: Sequence[str]) -> list[str]:
    """The audiences of the token that are requested. Raises BadToken if there are none."""
    given = claims.get("aud") or issuer.own_audiences
    wanted = wanted or issuer.own_audiences
    of_token = [given] if isinstance(given, str) else given
    good = [one for one in of_token if one in wanted]
    if not good:
        raise BadToken(f"token audiences {_listed(of_token)} is invalid for the target audiences {_listed(wanted)}")
    return good


def _check_times(claims: Object, now: int) -> None:
    """Raises BadToken if the token is not valid at `now`, with go-jose's tolerance."""
    if now < claims.get("nbf", 0) - LEEWAY:
        raise BadToken("service account token is not valid yet")
    if now > claims.get("exp", now) + LEEWAY:
        raise BadToken("service account token has expired")
    if now < claims.get("iat", 0) - LEEWAY:
        raise BadToken("service account token is issued in the future")


def _bound_user(store: Store, claims: Object, now: int) -> User:
    """The user of a token of the TokenRequest API, whose service account and bound object exist."""
    private = claims.get("kubernetes.io") or {}
    namespace, account = private.get("namespace", ""), {"name": "", "uid": "", **(private.get("serviceaccount") or {})}
    found = store.get("serviceaccounts", f"{namespace}/{account['name']}")
    if found is None:
        raise not_found("serviceaccounts", account["name"])
    meta = found.object["metadata"]
    if meta["uid"] != account["uid"]:
        raise BadToken(f"service account UID ({meta['uid']}) does not match claim ({account['uid']})")
    if _gone(meta, now):
        raise BadToken(f"service account {namespace}/{account['name']} has been deleted")
    extra = {f"{_EXTRA}credential-id": (f"JTI={claims['jti']}",)} if claims.get("jti") else {}
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
    return User(user_name(namespace, account["name"]), account["uid"], (*groups_of(namespace), AUTHENTICATED), extra)


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


def _listed(values: Sequence[str]) -> str:
    return f"[{' '.join(map(go_quote, values))}]"


def _legacy_user(store: Store, token: str, claims: Object) -> User:
    """The user of a token in a Secret of the type `kubernetes.io/service-account-token` (`legacyValidator.Validate`).

    The label that records the last use of the token is not written.
    """
    names = ("namespace", "secret.name", "service-account.name", "service-account.uid")
    claimed = [str(claims.get(f"kubernetes.io/serviceaccount/{name}") or "") for name in names]
    said = ("namespace", "secretName", "serviceAccountName", "serviceAccountUID")
    missing = [f"{word} claim is missing" for word, value in zip(said, claimed, strict=True) if not value]
    if missing or not claims.get("sub"):
        raise BadToken(missing[0] if claims.get("sub") else "sub claim is missing")
    namespace, secret_name, name, uid = claimed
    if claims["sub"] != user_name(namespace, name):
        raise BadToken("sub claim is invalid")
    secret = store.get("secrets", f"{namespace}/{secret_name}")
    if secret is None or secret.object["metadata"].get("deletionTimestamp"):
        raise BadToken("Token has been invalidated")
    if (secret.object.get("data") or {}).get("token") != base64.b64encode(token.encode()).decode():
        raise BadToken("Token does not match server's copy")
    account = store.get("serviceaccounts", f"{namespace}/{name}")
    if account is None:
        raise not_found("serviceaccounts", name)
    meta = account.object["metadata"]
    if meta.get("deletionTimestamp"):
        raise BadToken(f"ServiceAccount {namespace}/{name} has been deleted")
    if meta["uid"] != uid:
        raise BadToken(f"ServiceAccount UID ({meta['uid']}) does not match claim ({uid})")
    if (secret.object["metadata"].get("labels") or {}).get(INVALID_SINCE):
        raise BadToken(
            f"the token in secret {namespace}/{secret_name} for service account {namespace}/{name} has been marked "
            "invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the "
            f"'{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
        )
    return User(user_name(namespace, name), uid, (*groups_of(namespace), AUTHENTICATED))
