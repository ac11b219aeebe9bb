"""Representations of objects in responses: full, PartialObjectMetadata or Table (`handlers/response.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.generic.table.columns import Printer
from fakekube.apiserver.registry.generic.table.convert import TableMaker, check_include
from fakekube.apiserver.response import Body, Document, StoredList
from fakekube.apiserver.storage.store import Entry
from fakekube.apiserver.storage.watch import View, partial_view

Object = dict[str, Any]


def view(call: Call, printer: Printer | None = None) -> View:
    """The view of objects in the response. `printer` prints tables (None: the resource's). Raises 400."""
    representation = call.representation
    if representation.shape.startswith("PartialObjectMetadata"):
        return partial_view(representation.shape_version)
    if representation.shape == "Table":
        return _table_view(_table(call, printer))
    return call.view


def listed(call: Call, metadata: Object, entries: Sequence[Entry]) -> Body:
    """A list of the resource's objects."""
    resource, shape = call.resource, call.representation.shape
    if shape == "Table":
        return Document(_table(call).of_list(metadata, entries))
    if shape:
        return StoredList(view(call), "PartialObjectMetadataList", metadata, entries, named=True, nullable=True)
    return StoredList(view(call), resource.list_kind, metadata, entries, named=call.registration.unstructured)


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
        in_version=call.registration.unstructured,
    )
