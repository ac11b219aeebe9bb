"""Every valid object has a row with a cell for each column."""

import random

import pytest

from fakekube.apiserver.registry.builtin import printer_of
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.schema import decode
from fakekube.server import bootstrap

VERSION = bootstrap.KUBERNETES_VERSION
SCHEMAS = bootstrap._schemas(VERSION)
RESOURCES = [r for r in bootstrap._resources(VERSION) if SCHEMAS.of_kind(r.group, r.version, r.kind)]
AGES = Ages("2026-01-01T00:00:00Z")

WORDS = (
    "", "a", "b.c", "é", "True", "Unknown", "Ready", "Complete", "Failed", "Suspended", "SchedulingGated", "Running",
    "ReadWriteOnce", "LoadBalancer", "ExternalName", "cpu", "Resource", "External", "Utilization", "10.0.0.1",
)  # fmt: skip
SCALARS = {
    "string": WORDS,
    "boolean": (True, False),
    "int32": (0, 1, -1, 2**31 - 1),
    "int64": (0, 1, -1, 2**63 - 1),
    "integer": (0, 1, -1),
    "double": (0, 0.5, -3),
    "bytes": ("", "YQ=="),
    "quantity": ("0", "1Gi", "500m", "-1", "1e30", 1.5),
    "int-or-string": (0, 5, "10%", "http"),
    "time": ("2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
             "9999-12-31T23:00:00-05:00"),
    "microtime": ("2026-01-01T00:00:00.000001Z", "0001-01-01T00:00:00.000000Z"),
    "any": (None, 1, "a", {"a": 1}),
}  # fmt: skip


def draw(chance, schema, depth=0):
    if schema.type == "object":
        often = 0.7 if depth < 3 else 0.3
        return {key: draw(chance, field, depth + 1) for key, field in schema.fields.items() if chance.random() < often}
    if schema.type == "list":
        return [draw(chance, schema.items, depth + 1) for _ in range(chance.randrange(3))]
    if schema.type == "map":
        return {chance.choice(WORDS): draw(chance, schema.values, depth + 1) for _ in range(chance.randrange(3))}
    return chance.choice(schema.enum or SCALARS[schema.type])


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: f"{r.qualified}-{r.version}")
def test_any_object_has_a_row(resource):
    chance = random.Random(resource.qualified)
    schema = SCHEMAS.of_kind(resource.group, resource.version, resource.kind)
    printer = printer_of(resource.qualified, resource.kind)
    empty = len(printer.cells({"metadata": {}}, AGES))
    for _ in range(40):
        obj = {"metadata": {}, **decode.decode(schema, draw(chance, schema), [])}
        cells = printer.cells(obj, AGES)
        assert len(cells) == empty
        assert all(type(cell) in (str, int, bool) for cell in cells), cells
        assert all(condition["type"] for condition in printer.conditions(obj))
