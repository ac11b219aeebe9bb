"""The controller of tokens in Secrets: fills them, and deletes them with their accounts (`tokens_controller.go`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from controllerlib import ApiError, Result
from controllerlib.client import is_conflict, is_not_found, retry_on_conflict
from controllerlib.controller import HandlerFuncs, Predicate, RequestQueue, of_object
from controllerlib.wait import Backoff
from fakekube.apiserver.auth.serviceaccount import user_name
from fakekube.apiserver.auth.serviceaccounttoken import LEGACY_ISSUER
from fakekube.controllers.context import USER_AGENT, ControllerContext
from fakekube.controllers.core.legacytokens import ACCOUNT_NAME, ACCOUNT_UID, is_token
from fakekube.controllers.objectevents import object_events

#: kube-controller-manager: --concurrent-serviceaccount-token-syncs, for each of the two kinds.
WORKERS = 10

#: How often a request is retried.
MOST_RETRIES = 10

#: The retries of the removal of a reference (RemoveTokenBackoff).
REMOVAL = Backoff(duration=0.1, jitter=1.0, steps=10)

_CLAIM = "kubernetes.io/serviceaccount/"

#: The user of kube-controller-manager itself: this controller makes the tokens of the others' accounts.
USER = "system:kube-controller-manager"

Object = Mapping[str, Any]


class Item(NamedTuple):
    """An account or a Secret, at one uid. A Secret has its account as well, whose uid may be ""."""

    what: Literal["account", "secret"]
    namespace: str
    name: str
    uid: str
    account: str = ""
    account_uid: str = ""

    def __str__(self) -> str:
        return f"{self.what} {self.namespace}/{self.name}"


def add(context: ControllerContext) -> None:
    """Add the controller of tokens in Secrets; without a key to sign tokens with there is none."""
    if context.settings.sign_token is not None:
        TokenSecretController(context, context.settings.sign_token).add()


class TokenSecretController:
    """Gives Secrets of service accounts a token, the CA and the namespace, as long as the account exists."""

    def __init__(self, context: ControllerContext, sign: Callable[[dict[str, Any]], str]) -> None:
        self._context, self._sign = context, sign
        self._client = context.client("", user=USER, user_agent=f"{USER_AGENT}/tokens-controller")
        self._accounts = context.kind("v1", "ServiceAccount")
        self._secrets = context.kind("v1", "Secret")
        self._ca = _encoded(context.settings.root_ca)

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller("serviceaccount-token-controller")
        builder.with_request_type(Item).with_options(max_concurrent_reconciles=WORKERS, use_priority_queue=False)
        builder.watches("v1", "ServiceAccount", _handler(_item_of_account))
        builder.watches("v1", "Secret", _handler(_item_of_secret), predicates=[tokens_only()])
        builder.complete(self.reconcile)

    async def reconcile(self, item: Item) -> Result | None:
        """Retries an item MOST_RETRIES times."""
        try:
            if item.what == "account":
                await self._sync_account(item)
            else:
                await self._sync_secret(item)
        except (ApiError, OSError):
            queue = self._context.manager.controllers["serviceaccount-token-controller"].queue
            if queue.num_requeues(item) < MOST_RETRIES:
                raise
        return None

    async def _sync_account(self, item: Item) -> None:
        """Delete the tokens of an account that is gone."""
        if await self._account(item.namespace, item.name, item.uid, live=False) is not None:
            return
        for secret in self._secrets.list(item.namespace):
            annotations = secret["metadata"].get("annotations") or {}
            if is_token(secret) and (annotations.get(ACCOUNT_NAME), annotations.get(ACCOUNT_UID)) == (
                item.name,
                item.uid,
            ):
                await self._delete(item.namespace, secret["metadata"]["name"], secret["metadata"]["uid"])

    async def _sync_secret(self, item: Item) -> None:
        if not item.account:
            return
        secret = self._secrets.get(item.namespace, item.name)
        if secret is None or secret["metadata"]["uid"] != item.uid:
            if await self._account(item.namespace, item.account, item.account_uid, live=False) is not None:
                await self._remove_reference(item)
            return
        account = await self._account(item.namespace, item.account, item.account_uid, live=True)
        if account is None:
            await self._delete(item.namespace, item.name, item.uid)
        else:
            await self._fill(account, secret)

    async def _account(self, namespace: str, name: str, uid: str, *, live: bool) -> Object | None:
        """The account of a name and uid ("": any), from the cache or else from the server; None if there is none."""
        known = self._accounts.get(namespace, name)
        if known is not None and uid in ("", known["metadata"]["uid"]):
            return known
        if not live:
            return None
        try:
            found = await self._client.get("v1", "ServiceAccount", name, namespace)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise
        return found if uid in ("", found["metadata"]["uid"]) else None

    async def _delete(self, namespace: str, name: str, uid: str) -> None:
        try:
            await self._client.delete("v1", "Secret", name, namespace, uid=uid)
        except ApiError as error:
            if not is_not_found(error) and not is_conflict(error):
                raise

    # --- the data of a Secret

    def _missing(self, secret: Object) -> frozenset[str]:
        """The keys that the Secret does not have, or has with another CA."""
        data = secret.get("data") or {}
        missing = {key for key in ("namespace", "token") if not data.get(key)}
        if self._ca and data.get("ca.crt") != self._ca:
            missing.add("ca.crt")
        return frozenset(missing)

    async def _fill(self, account: Object, cached: Object) -> None:
        if not self._missing(cached):
            return
        meta = cached["metadata"]
        try:
            live = await self._client.get("v1", "Secret", meta["name"], meta["namespace"])
        except ApiError as error:
            if is_not_found(error):
                return
            raise
        missing = self._missing(live)
        if not missing or live["metadata"]["resourceVersion"] != meta["resourceVersion"]:
            return  # an event about the change follows
        try:
            await self._client.update(self._filled(account, live, missing))
        except ApiError as error:
            if not is_conflict(error) and not is_not_found(error):
                raise

    def _filled(self, account: Object, secret: Object, missing: frozenset[str]) -> dict[str, Any]:
        meta, owner = secret["metadata"], account["metadata"]
        data = dict(secret.get("data") or {})
        if "ca.crt" in missing:
            data["ca.crt"] = self._ca
        if "namespace" in missing:
            data["namespace"] = _encoded(meta["namespace"])
        if "token" in missing:
            data["token"] = _encoded(self._sign(legacy_claims(account, secret)))
        annotations = {**(meta.get("annotations") or {}), ACCOUNT_NAME: owner["name"], ACCOUNT_UID: owner["uid"]}
        return {**secret, "metadata": {**meta, "annotations": annotations}, "data": data}

    async def _remove_reference(self, item: Item) -> None:
        """Remove a Secret that is gone from those of its account."""

        async def attempt() -> None:
            try:
                account = await self._client.get("v1", "ServiceAccount", item.account, item.namespace)
                left = [one for one in account.get("secrets") or () if one.get("name") != item.name]
                same = item.account_uid in ("", account["metadata"]["uid"])
                if same and len(left) != len(account.get("secrets") or ()):
                    await self._client.update({**account, "secrets": left})
            except ApiError as error:
                if not is_not_found(error):
                    raise

        context = self._context
        await retry_on_conflict(attempt, REMOVAL, clock=context.clock, random=context.manager.random)


def legacy_claims(account: Object, secret: Object) -> dict[str, Any]:
    """The claims of a token in a Secret, which does not expire (`pkg/serviceaccount/legacy.go`)."""
    meta = account["metadata"]
    return {
        "iss": LEGACY_ISSUER,
        f"{_CLAIM}namespace": meta["namespace"],
        f"{_CLAIM}secret.name": secret["metadata"]["name"],
        f"{_CLAIM}service-account.name": meta["name"],
        f"{_CLAIM}service-account.uid": meta["uid"],
        "sub": user_name(meta["namespace"], meta["name"]),
    }


def tokens_only() -> Predicate:
    """Accepts Secrets with tokens."""
    return of_object(is_token)


def _item_of_account(obj: Object) -> Item:
    meta = obj["metadata"]
    return Item("account", meta["namespace"], meta["name"], meta["uid"])


def _item_of_secret(obj: Object) -> Item:
    meta = obj["metadata"]
    annotations = meta.get("annotations") or {}
    account, uid = annotations.get(ACCOUNT_NAME) or "", annotations.get(ACCOUNT_UID) or ""
    return Item("secret", meta["namespace"], meta["name"], meta["uid"], account, uid)


def _handler(item_of: Callable[[Object], Item]) -> HandlerFuncs:
    def handle(obj: Object, queue: RequestQueue) -> None:
        queue.add(item_of(obj))

    return object_events(handle, deleted=handle)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
