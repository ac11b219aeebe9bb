"""The controller that removes unused tokens of old clusters (`legacy_serviceaccount_token_cleaner.go`).

Only Secrets that an account lists are removed: Kubernetes made them by itself before 1.24.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import FuncSource, HandlerFuncs, RequestQueue
from fakekube.apiserver.auth.podreferences import secret_names
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.workload.podstate import moment

ACCOUNT_NAME, ACCOUNT_UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
LAST_USED, INVALID_SINCE = "kubernetes.io/legacy-token-last-used", "kubernetes.io/legacy-token-invalid-since"

#: The ConfigMap of kube-system that has since when the use of tokens is recorded.
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"

#: Seconds between checks.
INTERVAL = 24 * 60 * 60.0

#: How long a token must be unused (kube-controller-manager: --legacy-service-account-token-clean-up-period).
UNUSED = timedelta(days=365)

Object = Mapping[str, Any]


def is_token(secret: Object) -> bool:
    """Whether a Secret has the token of a service account."""
    return secret.get("type") == "kubernetes.io/service-account-token"


def add(context: ControllerContext) -> None:
    """Add the cleaner of legacy tokens."""
    LegacyTokenCleaner(context).add()


class LegacyTokenCleaner:
    """Marks tokens as invalid that were not used for a year, and deletes them after another one."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("legacy-service-account-token-cleaner")
        self._accounts = context.kind("v1", "ServiceAccount")
        self._secrets = context.kind("v1", "Secret")
        self._pods = context.kind("v1", "Pod")

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller("legacy-serviceaccount-token-cleaner-controller")
        for kind in ("ServiceAccount", "Secret", "Pod"):
            builder.watches("v1", kind, HandlerFuncs())
        builder.watches_raw_source(FuncSource(_begin)).complete(self.reconcile)

    async def reconcile(self, request: Request) -> Result:
        """Check all tokens; the server is not asked anything if none is old enough."""
        now = self._context.now().astimezone(UTC)
        candidates = [one for one in self._secrets.list() if self._is_unused(one, now)]
        if candidates and await self._is_tracked(now):
            for secret in candidates:
                await self._clean(secret, now)
        return Result(requeue_after=INTERVAL)

    def _is_unused(self, secret: Object, now: datetime) -> bool:
        meta = secret["metadata"]
        created = moment(meta.get("creationTimestamp"))
        old = created is not None and created < now - UNUSED
        if not is_token(secret) or not old or meta.get("deletionTimestamp"):
            return False
        last_used = (meta.get("labels") or {}).get(LAST_USED)
        if last_used is not None and (not _is_date(last_used) or last_used >= _oldest(now)):
            return False
        account = self._account(secret)
        listed = [one.get("name") for one in (account or {}).get("secrets") or ()]
        if meta["name"] not in listed:
            return False
        return all(meta["name"] not in secret_names(dict(pod)) for pod in self._pods.list(meta["namespace"]))

    def _account(self, secret: Object) -> Object | None:
        annotations = secret["metadata"].get("annotations") or {}
        account = self._accounts.get(secret["metadata"]["namespace"], annotations.get(ACCOUNT_NAME) or "")
        uid = annotations.get(ACCOUNT_UID)
        return account if account is not None and uid in (None, "", account["metadata"]["uid"]) else None

    async def _is_tracked(self, now: datetime) -> bool:
        """Whether the use of tokens is recorded for long enough."""
        try:
            tracking = await self._client.get("v1", "ConfigMap", TRACKING, "kube-system")
        except ApiError:
            return False
        since = (tracking.get("data") or {}).get("since", "")
        if not _is_date(since):
            return False
        begun = datetime.combine(date.fromisoformat(since), datetime.min.time(), UTC) + timedelta(days=1)
        return now >= begun + UNUSED

    async def _clean(self, secret: Object, now: datetime) -> None:
        """Mark a token as invalid, or delete it if it is marked for long enough. Errors wait for the next check."""
        meta = secret["metadata"]
        since = (meta.get("labels") or {}).get(INVALID_SINCE, "")
        with suppress(ApiError):
            if not _is_date(since):
                labels = {INVALID_SINCE: now.date().isoformat()}
                identity = {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}
                patch = {"kind": "Secret", "apiVersion": "v1", "metadata": {**identity, "labels": labels}}
                await self._client.patch(patch, patch)
            elif since < _oldest(now):
                version = meta["resourceVersion"]
                await self._client.delete("v1", "Secret", meta["name"], meta["namespace"], resource_version=version)


def _begin(queue: RequestQueue) -> None:
    queue.add(Request("", "legacy tokens"))


def _oldest(now: datetime) -> str:
    return (now - UNUSED).date().isoformat()


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
