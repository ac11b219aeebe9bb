"""POST to a collection (`endpoints/handlers/create.go`)."""

from __future__ import annotations

from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import ownership
from fakekube.apiserver.endpoints.write import Write, read_body, write
from fakekube.apiserver.wire.options import parse_write_options


def create(call: Call) -> Step:
    """Create the object in the body."""
    options = parse_write_options(call.request, "CreateOptions")
    obj = read_body(call, call, options)
    return (yield from write(call, Write(options, lambda _: ownership.created(call, obj, options), named=False)))
