"""Giving up on a key that fails again and again (`maxRetries` of several controllers)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from controllerlib import ApiError, Request, Result
from controllerlib.controller import current_run
from fakekube.controllers.workload.podcontrol import is_namespace_terminating

log: logging.Logger = logging.getLogger(__name__)

Reconcile = Callable[[Request], Awaitable[Result | None]]


def limited(reconcile: Reconcile, retries: int) -> Reconcile:
    """`reconcile`, whose errors are dropped after `retries` failures in a row, or if the namespace is terminating."""

    async def reconciled(request: Request) -> Result | None:
        try:
            return await reconcile(request)
        except Exception as error:
            run = current_run()
            if isinstance(error, ApiError) and is_namespace_terminating(error):
                return None
            if run is None or run.failures < retries:
                raise
            log.error("dropping %s out of the queue", request, exc_info=error)
            return None

    return reconciled
