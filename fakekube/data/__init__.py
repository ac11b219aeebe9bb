"""Data that was recorded from a real API server, or generated from published definitions."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

import orjson


@cache
def load(name: str) -> Any:
    """A data file of this package, decoded."""
    return orjson.loads(read(name))


def read(name: str) -> bytes:
    """The content of a data file of this package."""
    return resources.files(__name__).joinpath(name).read_bytes()
