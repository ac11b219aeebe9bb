"""What the cluster's own controllers log of reconciles that fail.

A conflict, and a cache that is behind, belong to how controllers work: the key is tried again at once, and upstream
logs them only when asked for more. Other errors of the API, and those that the controllers define, are a line; what
else fails has a traceback.
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from controllerlib.client import ApiError, is_conflict
from fakekube.controllers.lister import StaleCache


class SyncLog(logging.LoggerAdapter[logging.Logger]):
    """A logger of failed reconciles."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        error = kwargs.get("exc_info")
        if isinstance(error, Exception) and _is_expected(error):
            level = logging.DEBUG if isinstance(error, StaleCache) or is_conflict(error) else logging.WARNING
            msg, args, kwargs = f"{msg}: %s", (*args, error), {**kwargs, "exc_info": None}
        super().log(level, msg, *args, **kwargs)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        return msg, kwargs


def _is_expected(error: Exception) -> bool:
    return isinstance(error, ApiError | OSError) or type(error).__module__.startswith("fakekube.controllers.")


SYNC_LOG = SyncLog(logging.getLogger("fakekube.controllers"))
