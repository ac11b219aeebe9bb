"""Representations of objects in responses: full, PartialObjectMetadata or Table (`handlers/response.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.generic.table.columns import Printer
from fakekube.apiserver.registry.generic.table.convert import TableMaker, check_include
from fakekube.apiserver.response import Body, Document, Made, Response, StoredList, StoredObject
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.storage.watch import View, partial_view
from fakekube.apiserver.wire.codec import JSON, YAML
from fakekube.apiserver.wire.negotiation import PROTOBUF_STREAM, refuse_stream
from fakekube.apiserver.wire.status import StatusError, not_acceptable

Object = dict[str, Any]


def view(call: Call, printer: Printer | None = None) -> View:
    """The view of objects in the response. `printer` prints tables (None: the resource's). Raises 400."""
    representation = call.representation
    if not representation.shape:
        return call.view
    if representation.shape.startswith("PartialObjectMetadata"):
        return partial_view(representation.shape_version, call.strategy.versioned_annotation)
    if representation.shape == "Table":
        return _table_view(_table(call, printer))
    return call.view


def listed(call: Call, metadata: Object, entries: Sequence[Entry]) -> Body:
    """A list of the resource's objects."""
    resource, shape = call.resource, call.representation.shape
    if shape == "Table":
        return Made(partial(_table(call).of_list, metadata, entries))
    if shape:
        return StoredList(view(call), "PartialObjectMetadataList", metadata, entries, named=True, nullable=True)
    return StoredList(view(call), resource.list_kind, metadata, entries, named=call.registration.unstructured)


def represented(call: Call, response: Response) -> Response:
    """The response in the negotiated representation. Raises 406, or 500 for a custom resource, if it is not possible.

    A write has taken place nevertheless, as in kube-apiserver (`transformResponseObject`).
    """
    shown, body = call.representation, response.body
    if response.watch is not None and shown.media_type == YAML:
        raise refuse_stream()
    if shown.shape.startswith("PartialObjectMetadata") and (response.watch is None or shown.shape.endswith("List")):
        response.body = _partial(call, body)
    if shown.media_type != JSON and response.content_type == JSON:  # a log is text
        response.content_type = shown.media_type if response.watch is None else PROTOBUF_STREAM
    return response


def _partial(call: Call, body: Body | None) -> Body | None:
    shown = call.representation
    if not isinstance(body, Document | StoredObject | StoredList):
        return body
    if isinstance(body, Document):
        if body.object["kind"] == "Status":
            return body
        api_version = f"meta.k8s.io/{shown.shape_version}"
        body = Document(
            {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": body.object["metadata"]}
        )
    listing = isinstance(body, StoredList)
    if shown.shape == "PartialObjectMetadata" and listing:
        raise not_acceptable(f"you requested {shown.shape}, but the requested object is a list (*{_go_type(call)}List)")
    if shown.shape == "PartialObjectMetadataList" and not listing:
        if call.registration.unstructured and call.info.subresource != "scale":
            raise StatusError(500, "", "content is not a list")
        raise not_acceptable(f"you requested {shown.shape}, but the requested object is not a list (*{_go_type(call)})")
    return body


def _go_type(call: Call) -> str:
    resource, unstructured = call.resource, call.registration.unstructured
    if call.info.subresource == "scale":
        return "v1.Scale" if unstructured else "autoscaling.Scale"
    if unstructured:
        return "unstructured.Unstructured"
    return f"{resource.group.partition('.')[0] or 'core'}.{resource.kind}"


def _table_view(maker: TableMaker) -> View:
    """A view that shows each object as a Table. Encodings are not shared, because ages change with time."""
    api_version = f"meta.k8s.io/{maker.version}"
    following = View(api_version, "Table", maker.row_of, shared=False)
    return View(api_version, "Table", maker.of_object, shared=False, following=following)


def _table(call: Call, printer: Printer | None = None) -> TableMaker:
    include = call.request.option("includeObject") or ""
    problem = check_include(include)
    if problem is not None:
        raise problem
    resource, own = call.resource, call.view
    sub = resource.subresources.get(call.info.subresource)
    return TableMaker(
        printer or call.registration.printer(sub.kind if sub else ""),
        call.representation.shape_version,
        include,
        lambda: call.context.micro,
        own.to_object,
        call.strategy.versioned_annotation,
        in_version=call.registration.unstructured,
    )
