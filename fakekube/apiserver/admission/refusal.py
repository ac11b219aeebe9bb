"""How a plugin of admission refuses a write (`apiserver/pkg/admission.NewForbidden`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.wire.status import StatusError, forbidden

Object = dict[str, Any]


def refused(call: Call, obj: Object, why: str) -> StatusError:
    """403; an object that has no name yet goes by the one that its own is made from."""
    meta = obj["metadata"]
    name = call.info.name or meta.get("name") or meta.get("generateName") or "Unknown"
    return forbidden(call.resource.qualified, name, why)
