"""The controller that deletes old CertificateSigningRequests (`certificates/cleaner`)."""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import FuncSource, HandlerFuncs, RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.signingrequests.requests import ACCOUNT, API_VERSION, KIND
from fakekube.controllers.workload.podstate import moment

_log = logging.getLogger(__name__)

#: Seconds between checks.
INTERVAL = 3600.0

#: How long a request is kept that is decided, and one that is pending.
DECIDED, PENDING = timedelta(hours=1), timedelta(hours=24)

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller that deletes old requests, which checks all of them every hour."""
    client = context.client(ACCOUNT)
    requests = context.kind(API_VERSION, KIND)

    async def reconcile(request: Request) -> Result:
        for one in requests.list():
            if is_old(one, context.now()):
                try:
                    await client.delete(API_VERSION, KIND, one["metadata"]["name"])
                except ApiError as error:
                    _log.warning("could not delete a certificate request", extra={"error": str(error)})
        return Result(requeue_after=INTERVAL)

    builder = context.controller("certificatesigningrequest-cleaner-controller")
    builder.watches(API_VERSION, KIND, HandlerFuncs()).watches_raw_source(FuncSource(_begin)).complete(reconcile)


def is_old(request: Object, now: datetime) -> bool:
    """Whether a request was decided an hour ago, is pending for a day, or has a certificate that has expired."""
    status = request.get("status") or {}
    issued = status.get("certificate") or ""
    conditions = status.get("conditions") or ()
    if not conditions:
        return _is_past(request["metadata"].get("creationTimestamp"), PENDING, now)
    for condition in conditions:
        kind, decided = condition.get("type"), condition.get("lastUpdateTime")
        if kind in ("Denied", "Failed") and _is_past(decided, DECIDED, now):
            return True
        expired = bool(issued) and _has_expired(issued, now)
        if kind == "Approved" and (expired or _is_past(decided, DECIDED if issued else PENDING, now)):
            return True
    return False


def _is_past(time: str | None, period: timedelta, now: datetime) -> bool:
    since = moment(time)
    return since is not None and now - since > period


def _has_expired(certificate: str, now: datetime) -> bool:
    from cryptography import x509

    try:
        return now > x509.load_pem_x509_certificate(base64.b64decode(certificate)).not_valid_after_utc
    except ValueError:
        return False


def _begin(queue: RequestQueue) -> None:
    queue.add(Request("", "all requests"))
