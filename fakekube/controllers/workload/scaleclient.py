"""The scale subresource of any kind (client-go: `scale.ScalesGetter`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Client

Object = Mapping[str, Any]


async def get_scale(client: Client, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
    """The scale of an object. Raises ApiError, also if the kind is not served or has no scale."""
    resource = await client.mapper.resource(api_version, kind)
    return await client.raw_get(resource.path(namespace, name, "scale"))


async def has_scale(client: Client, api_version: str, kind: str) -> bool:
    """Whether a kind has the scale subresource. Raises ApiError."""
    resource = await client.mapper.resource(api_version, kind)
    return "scale" in resource.subresources
