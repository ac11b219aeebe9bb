"""The estimated cost of rules; the expected costs are those of the real server."""

from typing import Any

import pytest

from fakekube.apiserver.crd.compilation import compile_rule, declare_self
from fakekube.apiserver.crd.structural import Structural
from fakekube.apiserver.registry.apiextensions.customresourcedefinition.celvalidation import over_budget

Schema = dict[str, Any]

NAMED: dict[str, Schema] = {
    "int-or-string": {"x-kubernetes-int-or-string": True},
    "duration": {"type": "string", "format": "duration"},
    "date": {"type": "string", "format": "date"},
    "date-time": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
}


def scalar(name: str) -> Schema:
    return NAMED.get(name) or {"type": name}


def limited(schema: Schema, key: str, most: int | None) -> Schema:
    return schema if most is None else {**schema, key: most}


def array(item: Schema, most: int | None) -> Schema:
    return limited({"type": "array", "items": item}, "maxItems", most)


def mapping(value: Schema, most: int | None) -> Schema:
    return limited({"type": "object", "additionalProperties": value}, "maxProperties", most)


def text(most: int | None, kind: str = "string") -> Schema:
    return limited(scalar(kind), "maxLength", most)


def obj(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def cost(schema: Schema, rule: str) -> int:
    structural = Structural(schema)
    declared = declare_self(structural, root=False)
    assert declared is not None
    compiled = compile_rule({"rule": rule}, structural, declared)
    assert not compiled.problem, compiled.problem
    return compiled.cost


BEYOND = 10_000_000

#: Schema by its limit, rule, cost without the limit (None: over the limit of a rule), limit, cost with the limit.
ROWS: list[tuple[Any, str, int | None, int, int]] = [
    (lambda n: array(scalar("number"), n), "self.all(x, true)", 4718591, 10, 32),
    (lambda n: array(scalar("string"), n), "self.all(x, true)", 3145727, 20, 62),
    (lambda n: array(scalar("boolean"), n), "self.all(x, true)", 1887437, 5, 17),
    (lambda n: array(array(scalar("number"), None), n), "self.all(x, true)", 3145727, 100, 302),
    (lambda n: mapping(scalar("number"), n), "self.all(x, true)", 1348169, 10, 32),
    (lambda n: mapping(scalar("string"), n), "self.all(x, true)", 1179647, 3, 11),
    (lambda n: mapping(scalar("boolean"), n), "self.all(x, true)", 943718, 100, 302),
    (text, "self.contains('test')", 314574, 10, 5),
    (text, "self.startsWith('test')", 2, 15, 2),
    (text, 'size(self + "hello") > size("hello")', 314578, 4, 7),
    (lambda n: array(scalar("number"), n), "self[1] == 0.0", 2, 5000, 2),
    (lambda n: array(scalar("string"), n), "self[1] == self[1]", 314577, 8, 314577),
    (lambda n: array(scalar("number"), n), "self.all(x, self.all(y, true))", None, 10, 352),
    (lambda n: array(scalar("number"), n), "self.all(x, self.all(y, self.all(z, true)))", None, 10, 3552),
    (text, 'self.matches("x")', 314574, 50, 22),
    (text, '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7),
    (text, 'self.matches("")', 1, 100, 1),
    (text, 'self == "x"', 2, 0, 1),
    (lambda n: text(n, "bytes"), 'self == b"x"', 2, 0, 1),
    (lambda n: array(scalar("number"), n), "self.all(x, x == 0.0)", 6291454, 3 * 1024 * 2048, 25165826),
    (lambda n: array(scalar("int-or-string"), n), "self.all(x, true)", 4718591, 10, 32),
    (lambda n: array(scalar("int-or-string"), n), "self[0] == 5", 3, 10, 3),
    (lambda n: array(scalar("boolean"), n), "self[0] == false", 2, 25, 2),
    (lambda n: array(array(scalar("number"), None), n), "self[0][0] == -1.0", 3, 51, 3),
    (lambda n: array(mapping(scalar("number"), None), n), "self.all(x, x.y == 25.2)", 6291452, 12, 74),
    (lambda n: array(mapping(scalar("number"), None), n), "self[0].x > 2.0", 4, 3000, 4),
    (lambda n: array(scalar("duration"), n), "self.all(x, true)", 2359295, 5, 17),
    (lambda n: array(scalar("duration"), n), "self[0].getHours() == 2", 4, 525, 4),
    (lambda n: array(scalar("date"), n), "self.all(x, true)", 725936, 15, 47),
    (lambda n: array(scalar("date"), n), "self[2].getDayOfMonth() == 13", 4, 42, 4),
    (lambda n: array(scalar("date-time"), n), "self.all(x, true)", 428963, 25, 77),
    (lambda n: mapping(scalar("int-or-string"), n), "self.all(x, true)", 1348169, 15, 47),
    (lambda n: mapping(mapping(scalar("number"), None), n), "self.all(x, true)", 1179647, 10, 32),
    (lambda n: mapping(array(scalar("number"), None), n), "self.all(x, true)", 1179647, 25, 77),
    (lambda n: mapping(scalar("duration"), n), "self.all(x, true)", 1048577, 5, 17),
    (lambda n: mapping(scalar("date"), n), "self.all(x, true)", 524288, 10, 32),
    (lambda n: mapping(scalar("date-time"), n), "self.all(x, true)", 349526, 25, 77),
    (text, "self.find('[0-9]+') == ''", 629147, 10, 11),
    (lambda n: array(text(n), n), "self.join(' ') == 'aa bb'", 329853068905, 10, 43),
    (lambda n: array(text(n), n), "self.isSorted() == true", 329854432052, 10, 52),
    (
        lambda n: obj(str=text(n), before=text(2), after=text(4)),
        "self.str.replace(self.before, self.after) == 'does not matter'", 629154, 4, 12,
    ),
    (lambda n: obj(str=text(n), separator=text(n)), "self.str.split(self.separator) == []", 629160, 10, 22),
    (text, "self.lowerAscii() == 'lower!'", 314575, 10, 6),
    (lambda n: mapping(scalar("integer"), n), "oldSelf.size() == self.size()", 5, 10, 5),
    (lambda n: mapping(scalar("date-time"), n), 'self["a"] == self["b"]', 8, 7, 8),
    (lambda n: mapping(scalar("duration"), n), 'self["c"] == self["d"]', 8, 42, 8),
    (lambda n: text(n) | {"enum": ["A", "B", "C", "LongValue"]}, "self.contains('A')", 2, 1000, 401),
    (lambda n: text(n, "int-or-string"), "isQuantity(self)", 314574, 20, 9),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "rule", "free", "limit", "bound"), ROWS, ids=[f"{i} {row[1]}" for i, row in enumerate(ROWS)]
)
def test_the_estimated_cost_of_a_rule(make: Any, rule: str, free: int | None, limit: int, bound: int) -> None:
    found = cost(make(None), rule)
    if free is None:
        assert found > BEYOND
    else:
        assert found == free
    assert cost(make(limit), rule) == bound


LIMIT = 3 * 1024 * 1024


@pytest.mark.parametrize(
    ("required", "defaults", "smallest"),
    [
        ((), (), 2),
        (("name",), (), 2 + len("name") + 2 + 4),
        (("name", "size"), (), 2 + len("name") + 2 + 4 + len("size") + 1 + 4),
        (("name", "size"), ("name",), 2 + len("size") + 1 + 4),  # a default fills it in
        (("name", "other"), (), 2 + len("name") + 2 + 4),
    ],
)
def test_items_of_a_list_are_as_small_as_their_required_fields_allow(required, defaults, smallest):
    """As many items as fit into a request are assumed (`model/schemas.go`, MinSerializedSize): 3 for each of them, 2 for the list."""
    item = {**obj(name=text(None), size={"type": "integer"}), "required": list(required)}
    for name in defaults:
        item["properties"][name] = {**item["properties"][name], "default": "a"}
    items = (LIMIT - 2) // (smallest + 1)
    assert cost(array(item, None), "self.all(x, true)") == 3 * items + 2


@pytest.mark.parametrize(
    ("cost", "factor"),
    [
        (1_000_001, "1.000001x"),
        (1_499_999, "1.499999x"),
        (1_500_000, "1.5x"),
        (2_340_000, "2.3x"),
        (100_000_000, "100.0x"),
        (100_000_001, "more than 100x"),
    ],
)
def test_how_far_a_cost_is_over_its_budget(cost: int, factor: str) -> None:
    text = over_budget("estimated rule cost", cost, 1_000_000)
    assert text.startswith(f"estimated rule cost exceeds budget by factor of {factor} (")


@pytest.mark.parametrize("make", [array, mapping], ids=["lists", "maps"])
def test_a_value_of_unknown_type_keeps_its_size(make):
    """`dyn` costs the same for values of any size."""
    schemas = [make(text(9), most) for most in (3, 50, 700)]
    costs = [[cost(schema, f"{named}.all(x, true)") for named in ("self", "dyn(self)")] for schema in schemas]
    assert len({other - plain for plain, other in costs}) == 1
    assert all(0 < other - plain < 20 for plain, other in costs)
