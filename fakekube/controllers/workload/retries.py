"""Retries of a key that fails: their delays, and the number of them (`maxRetries` of several controllers)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import current_run
from controllerlib.workqueue import BucketRateLimiter, ItemExponentialFailureRateLimiter, MaxOfRateLimiter, RateLimiter
from fakekube.controllers.workload.podcontrol import is_namespace_terminating

log: logging.Logger = logging.getLogger(__name__)

Reconcile = Callable[[Request], Awaitable[Result | None]]


def rate_limiter(first: float, longest: float) -> RateLimiter[Any]:
    """Retries after `first` to `longest` seconds, at most 10 per second in total."""
    return MaxOfRateLimiter(ItemExponentialFailureRateLimiter(first, longest), BucketRateLimiter())


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
