"""Watches: GET of a collection as a stream of events (`apiserver/pkg/storage/cacher`)."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fakekube.apiserver import conversion
from fakekube.apiserver.call import Call, Server, Step
from fakekube.apiserver.endpoints import representation
from fakekube.apiserver.endpoints.list import selection_of
from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.needs import Waiting
from fakekube.apiserver.registry.registration import Registration
from fakekube.apiserver.response import Response
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.storage.watch import Selection, Watch
from fakekube.apiserver.wire import gojson
from fakekube.apiserver.wire.options import ListOptions, parse_list_options, parse_resource_version
from fakekube.apiserver.wire.request import watching
from fakekube.apiserver.wire.selectors import FieldSelector, FieldTerm
from fakekube.apiserver.wire.status import StatusError, bad_request, expired, too_large_resource_version

#: A watch without timeoutSeconds lasts between this and twice as many seconds (`--min-request-timeout`).
MIN_REQUEST_TIMEOUT = 1800


def watch(call: Call) -> Step:
    """Watch the selected objects."""
    options = parse_list_options(call.request, watch=True, as_list=not watching(call.request))
    selection = selection_of(call, options)
    if call.info.watch_path and _path_name(call):
        selection = _one_name(call, options, selection)
    if call.converted is not None and selection.shown is not None:
        yield from conversion.read(call, call.server.store.collection(call.resource.collection).live.values())
    found = open_watch(call, options, selection)
    if call.converted is not None:
        yield from conversion.read(call, [event.entry for event in found.initial if event.type != "BOOKMARK"])
        found.conversion = _Conversion(call)
    return Response(watch=found)


class _Conversion:
    def __init__(self, call: Call) -> None:
        self._call = call

    def read(self, entries: Sequence[Entry]) -> Waiting:
        yield from conversion.read(self._call, entries)

    def forget(self) -> None:
        assert self._call.converted is not None, "a webhook converts the resource"
        self._call.converted.clear()


def _path_name(call: Call) -> str:
    """The name in a deprecated `/watch/` path."""
    parts = call.info.parts
    return parts[1] if len(parts) > 1 else ""


def _one_name(call: Call, options: ListOptions, selection: Selection) -> Selection:
    name = _path_name(call)
    if options.fields and options.fields.required("metadata.name") != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    terms = FieldSelector((*options.fields.terms, FieldTerm("metadata.name", True, name)))
    return replace(selection, terms=terms)


def open_watch(call: Call, options: ListOptions, selection: Selection) -> Watch:
    """A watch from the requested resourceVersion, with its initial events."""
    store = call.server.store
    try:
        revision = parse_resource_version(options.resource_version)
    except ValueError as error:
        raise StatusError(500, "", str(error)) from None
    initial = _wants_initial(options, revision)
    timeout = options.timeout_seconds
    if not timeout:
        fraction = call.context.fraction("watch-timeout", call.resource.collection)
        timeout = int(MIN_REQUEST_TIMEOUT * (1 + fraction))
    found = Watch(
        store,
        call.resource.collection,
        selection,
        representation.view(call),
        revision or store.revision,
        timeout=float(timeout),
        bookmarks=options.bookmarks,
        empty=_blank(call),
    )
    annotation = call.strategy.versioned_annotation
    if annotation:
        found.bookmark_metadata = {**found.bookmark_metadata, "annotations": {annotation: "0"}}
        found.end_annotations = {annotation: "0", **found.end_annotations}
    if not since(34):
        _as_before(found, call, options)
    if call.registration.version is not None:
        found.over = partial(_is_replaced, call.server, call.registration)
    if options.send_initial_events is not None and revision > store.revision:
        found.refused = too_large_resource_version(revision, store.revision)
    elif revision and not initial and not store.watchable(revision):
        found.refused = expired(f"too old resource version: {revision} ({max(store.compacted, store.watch_floor)})")
    elif initial and timeout > 0:
        stale = None if call.stale is None else store.cached(call.stale)
        found.revision = store.revision if stale is None else stale
        collection = store.collection(call.resource.collection)
        found.initial = [
            found.event("ADDED", entry)
            for _, entry in collection.scan(selection.prefix, "", stale)
            if selection.matches(entry)
        ]
        if options.bookmarks and options.send_initial_events:
            found.initial.append(found.bookmark(initial_events_end=True))
    return found


def _blank(call: Call) -> dict[str, Any]:
    """The fields of the object of a bookmark: those that Go encodes without a value, and numbers that the conversion
    from the internal version turns into pointers."""
    empty = call.registration.empty
    if call.resource.collection not in _COUNTED:
        return empty
    return {**empty, "spec": {"replicas": 0, **empty.get("spec", {})}}


#: Kinds whose internal version has a number of replicas that is no pointer.
_COUNTED = frozenset({"deployments.apps", "statefulsets.apps", "replicasets.apps"})

#: The annotation with an empty list of the kind, which clients of 1.32 and 1.33 start from.
BLUEPRINT = "kubernetes.io/initial-events-list-blueprint"


def _as_before(watch: Watch, call: Call, options: ListOptions) -> None:
    """Bookmarks as versions before 1.34 send them (`watchListTransformer`)."""
    if call.registration.unstructured:
        return
    watch.bookmark_metadata = {"creationTimestamp": None, **watch.bookmark_metadata}
    if since(32) and enabled("WatchList") and options.send_initial_events:
        resource = call.resource
        partial = "PartialObjectMetadata" in call.representation.shape
        kind = "PartialObjectMetadataList" if partial else resource.list_kind
        version = "meta.k8s.io/v1" if partial else resource.api_version
        blank: dict[str, object] = {"kind": kind, "apiVersion": version, "metadata": {}, "items": None}
        encoded = base64.b64encode(gojson.encode(blank) + b"\n").decode()
        watch.end_annotations = {**watch.end_annotations, BLUEPRINT: encoded}


def _is_replaced(server: Server, registration: Registration) -> bool:
    """Whether the definition of a custom resource has been changed or deleted since the watch began, which ends it."""
    resource = registration.resource
    served = server.catalog.find(resource.group, resource.version, resource.plural)
    return served is None or server.registration(served) is not registration


def _wants_initial(options: ListOptions, revision: int) -> bool:
    """Whether the watch begins with synthetic ADDED events: on request, or if it has no resourceVersion."""
    if options.send_initial_events is not None:
        return options.send_initial_events
    return revision == 0
