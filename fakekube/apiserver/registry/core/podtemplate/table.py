"""Table cells of pod templates, on their own and in other kinds."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import NAME, Printer, columns, get, joined, name_of, wide
from fakekube.apiserver.registry.generic.table.labels import labels_cell

Object = dict[str, Any]


def container_cells(obj: Object, path: str) -> list[str]:
    """Returns two cells: the names and the images of a pod template's containers."""
    found = get(obj, f"{path}.spec.containers", ())
    return [joined([one.get(field) or "" for one in found]) for field in ("name", "image")]


def count_at(obj: Object, path: str) -> int:
    return get(obj, path, 0)  # type: ignore[no-any-return]


def _pod_template(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), *container_cells(obj, "template"), labels_cell(get(obj, "template.metadata.labels"))]


TEMPLATE_COLUMNS = (wide("Containers"), wide("Images"))

SELECTED_COLUMNS = (*TEMPLATE_COLUMNS, wide("Selector"))

PRINTER = Printer(columns(NAME, "Containers", "Images", "Pod Labels"), _pod_template)
