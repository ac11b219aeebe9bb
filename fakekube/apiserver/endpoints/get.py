"""GET of one object."""

from __future__ import annotations

from fakekube.apiserver import conversion
from fakekube.apiserver.call import Call, Step
from fakekube.apiserver.endpoints import representation
from fakekube.apiserver.response import Response, StoredObject
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.wire.options import parse_resource_version
from fakekube.apiserver.wire.status import StatusError, bad_request, not_found, too_large_resource_version


def get(call: Call) -> Response | Step:
    """Get the current object. Raises 504 if the requested resourceVersion is newer than the store's revision."""
    if call.request.option("resourceVersion"):
        check_requested_version(call)
    entry = call.stored() if call.stale is None else call.cached(call.stale)
    if entry is None:
        raise not_found(call.resource.qualified, call.info.name)
    return _answer(call, entry) if call.converted is None else _converted(call, entry)


def _converted(call: Call, entry: Entry) -> Step:
    yield from conversion.read(call, [entry])
    return _answer(call, entry)


def _answer(call: Call, entry: Entry) -> Response:
    return Response(body=StoredObject(entry, representation.view(call)))


def check_requested_version(call: Call) -> None:
    """Check that the store has the requested resourceVersion. Raises 400, 500 or 504."""
    requested = call.request.option("resourceVersion") or ""
    try:
        revision = parse_resource_version(requested)
    except ValueError as error:
        if not call.strategy.watch_cached:
            raise bad_request(f"invalid resource version: {error}") from None
        raise StatusError(500, "", str(error)) from None
    if revision > call.server.store.revision:
        cached = call.strategy.watch_cached
        raise too_large_resource_version(revision, call.server.store.revision, cached=cached)
