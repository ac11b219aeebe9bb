"""Objects and lists as `meta.k8s.io` Tables, with of each object what the client wants of it (`asTable`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import Printer
from fakekube.apiserver.schema.objectmeta import without_annotation
from fakekube.apiserver.storage.store import Entry, parted
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, bad_request
from fakekube.struct import Struct

Object = dict[str, Any]

INCLUDES = ("Metadata", "Object", "None", "")

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def check_include(asked: str) -> StatusError | None:
    """Returns the error of an `includeObject` parameter, or None."""
    if asked in INCLUDES:
        return None
    return bad_request(
        f"Unable to convert to Table as requested: includeObject: Invalid value: {go_quote(asked)}: "
        "must be 'Metadata', 'Object', 'None', or empty"
    )


class TableMaker(Struct, frozen=True):
    """Makes the tables of one request.

    `version` is that of the Table (`v1`, `v1beta1`); `include` says what rows contain of their objects; `whole`
    converts an object to the version of the request. `without` is an annotation that the metadata of rows does not
    have. `in_version`: cells are made from that version, not from the stored one.
    """

    printer: Printer
    version: str
    include: str
    now: Callable[[], str]
    whole: Callable[[Entry], Object]
    without: str = ""
    in_version: bool = False

    def of_object(self, entry: Entry) -> Object:
        """Returns a table with one row."""
        return {**self.row_of(entry), "columnDefinitions": self._headers()}

    def row_of(self, entry: Entry) -> Object:
        """Returns the same without column definitions, which a watch sends only once."""
        rows = [self._row(entry, Ages(self.now()))]
        return {"metadata": _revision(entry.object), "columnDefinitions": None, "rows": rows}

    def of_list(self, metadata: Object, entries: Sequence[Entry]) -> Generator[None, None, Object]:
        """Returns a table with a row for each object, which is made in parts."""
        ages, ordered = Ages(self.now()), self.printer.order(entries)
        rows: list[Object] = []
        for part in parted(ordered):
            if rows:
                yield
            rows += [self._row(entry, ages) for entry in part]
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{self.version}",
            "metadata": {key: value for key, value in metadata.items() if value != ""},
            "columnDefinitions": self._headers(),
            "rows": None if self.printer.null_rows and not rows else rows,
        }

    def _headers(self) -> list[Object]:
        return [column.to_object() for column in self.printer.columns]

    def _row(self, entry: Entry, ages: Ages) -> Object:
        printed = self.whole(entry) if self.in_version else entry.object
        row: Object = {"cells": self.printer.cells(printed, ages)}
        conditions = self.printer.conditions(entry.object)
        if conditions:
            row["conditions"] = conditions
        return row | {"object": self._included(entry)}

    def _included(self, entry: Entry) -> Object | None:
        if self.include == "Object":
            return self.whole(entry)
        obj = entry.object
        annotations = obj["metadata"].get("annotations") or {}
        if self.include == "None" and annotations.get(INITIAL_EVENTS_END) != "true":
            return None
        return {
            "kind": "PartialObjectMetadata",
            "apiVersion": f"meta.k8s.io/{self.version}",
            "metadata": without_annotation(obj["metadata"], self.without) if self.without else obj["metadata"],
        }


def _revision(obj: Object) -> Object:
    revision = obj["metadata"].get("resourceVersion")
    return {"resourceVersion": revision} if revision else {}
