"""The error of a plugin that rejects a write (`apiserver/pkg/admission.NewForbidden`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.wire.status import StatusError, forbidden

Object = dict[str, Any]


def refused(call: Call, obj: Object, why: str) -> StatusError:
    """A 403 error that names the object, or its generateName if it has no name yet."""
    meta = obj["metadata"]
    name = call.info.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return forbidden(call.resource.qualified, name, why)
