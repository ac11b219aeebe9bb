"""Printer columns of custom kinds."""

import pytest

from fakekube.apiserver.registry.custom.table import DEFAULT_COLUMNS, printer
from fakekube.apiserver.registry.generic.table.ages import Ages

AGES = Ages("2026-01-01T01:00:00Z")


def cell(type, value):
    columns = printer([{"name": "C", "type": type, "jsonPath": ".value"}])
    return columns.cells({"metadata": {"name": "a"}, "value": value}, AGES)[1]


@pytest.mark.parametrize(
    ("type", "value", "shown"),
    [
        pytest.param("string", "x", "x", id="a-text"),
        pytest.param("string", 3, "3", id="a-number-as-text"),
        pytest.param("string", 1.5, "1.5", id="a-fraction-as-text"),
        pytest.param("string", 1e20, "100000000000000000000", id="a-large-number-as-text"),
        pytest.param("string", 1e21, "1e+21", id="a-larger-number-as-text"),
        pytest.param("string", 0.0001, "0.0001", id="a-small-number-as-text"),
        pytest.param("string", 0.00001, "1e-05", id="a-smaller-number-as-text"),
        pytest.param("string", 0.0, "0", id="zero-as-text"),
        pytest.param("string", True, "true", id="a-boolean-as-text"),
        pytest.param("string", {"b": [1], "a": None}, '{"a":null,"b":[1]}', id="a-map-as-text"),
        pytest.param("string", None, "<no value>", id="a-null-as-text"),
        pytest.param("integer", 3, 3, id="an-integer"),
        pytest.param("integer", 3.9, 3, id="a-fraction-as-integer"),
        pytest.param("integer", "3", None, id="a-text-as-integer"),
        pytest.param("integer", True, None, id="a-boolean-as-integer"),
        pytest.param("number", 1.5, 1.5, id="a-number"),
        pytest.param("number", [1], None, id="a-list-as-number"),
        pytest.param("boolean", False, False, id="a-boolean"),
        pytest.param("boolean", "true", None, id="a-text-as-boolean"),
        pytest.param("date", "2026-01-01T00:00:00Z", "60m", id="a-date"),
        pytest.param("date", "", "<unknown>", id="an-empty-date"),
        pytest.param("date", "soon", "<invalid>", id="a-text-as-date"),
        pytest.param("date", 5, None, id="a-number-as-date"),
        pytest.param("object", {}, None, id="a-type-that-columns-have-not"),
    ],
)
def test_cells_of_each_type(type, value, shown):
    found = cell(type, value)
    assert (found, found is True, found is False) == (shown, shown is True, shown is False)


def test_columns_have_the_names_and_types_that_are_declared():
    declared = [{"name": "Size", "type": "integer", "format": "int32", "priority": 1, "jsonPath": ".spec.size"}]
    assert [column.to_object() for column in printer(declared).columns[1:]] == [
        {
            "name": "Size",
            "type": "integer",
            "format": "int32",
            "priority": 1,
            "description": "Custom resource definition column (in JSONPath format): .spec.size",
        }
    ]


def test_the_default_column_is_the_age():
    found = printer(DEFAULT_COLUMNS)
    assert [column.name for column in found.columns] == ["Name", "Age"]
    assert found.cells({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}, AGES) == ["a", "60m"]
    assert found.cells({"metadata": {}}, AGES) == ["", None]


def test_a_path_without_a_match_gives_an_empty_cell():
    found = printer([{"name": "C", "type": "string", "jsonPath": ".spec[3]"}])
    assert found.cells({"metadata": {"name": "a"}, "spec": []}, AGES) == ["a", None]


def test_columns_end_at_an_invalid_path():
    declared = [
        {"name": "A", "type": "string", "jsonPath": ".a"},
        {"name": "B", "type": "string", "jsonPath": ".b["},
        {"name": "C", "type": "string", "jsonPath": ".c"},
    ]
    assert [column.name for column in printer(declared).columns] == ["Name", "A"]
