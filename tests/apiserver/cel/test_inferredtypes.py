"""The types that the checker infers (`cel-go/checker`): what is common to items, branches and arguments."""

import pytest

from fakekube.apiserver.cel.checker import Checker, check
from fakekube.apiserver.cel.macros import BINDINGS
from fakekube.apiserver.cel.parser import parse
from fakekube.apiserver.cel.tree import BadExpression
from fakekube.apiserver.cel.types import DYN, INT, STRING, list_of, map_of

VARIABLES = {"x": DYN, "y": DYN, "m": map_of(STRING, INT), "l": list_of(INT), "s": STRING}


def type_of(source):
    """The type before the validators of Kubernetes, which allow no literals of mixed types."""
    checker = Checker(VARIABLES)
    node = parse(source, BINDINGS)
    checker.check(node)
    if checker.issues:
        raise BadExpression(source, checker.issues)
    checker.finalize(node)
    return str(node.type)


TYPES = {
    # items of lists and maps: the most general of the types that are assignable to each other, else dyn
    "[1, 2]": "list(int)",
    "[1, 'a']": "list(dyn)",
    "[1, dyn('a')]": "list(dyn)",
    "[dyn(1), 2]": "list(dyn)",
    "[1, x, 'a']": "list(dyn)",
    "[]": "list(dyn)",
    "[[], [1]]": "list(list(int))",
    "[[1], []]": "list(list(int))",
    "[[1], ['a']]": "list(dyn)",
    "[[1], [x]]": "list(list(dyn))",
    "[[x], [1]]": "list(list(dyn))",
    "[null, 1]": "list(dyn)",
    "[null, timestamp(0)]": "list(timestamp)",
    "[timestamp(0), null]": "list(null)",
    "[type(1), type('a')]": "list(type(int))",
    "{}": "map(dyn, dyn)",
    "{'a': 1}": "map(string, int)",
    "{'a': 1, 'b': 'x'}": "map(string, dyn)",
    "{1: 1, 'a': 1}": "map(dyn, int)",
    "{'a': [], 'b': [1]}": "map(string, list(int))",
    "{'a': {}, 'b': m}": "map(string, map(string, int))",
    "[?optional.of(1), 2]": "list(int)",
    "{?'a': optional.of(1)}": "map(string, int)",
    # branches
    "true ? 1 : 2": "int",
    "true ? 1 : dyn('a')": "dyn",
    "true ? dyn(1) : 2": "dyn",
    "true ? x : 2": "dyn",
    "true ? [1] : []": "list(int)",
    "true ? [] : [1]": "list(int)",
    "true ? [] : []": "list(dyn)",
    "true ? [x] : [1]": "list(dyn)",
    "true ? [1] : [x]": "list(dyn)",
    "true ? null : timestamp(0)": "null",
    "true ? timestamp(0) : null": "timestamp",
    "true ? {} : m": "map(string, int)",
    "true ? {'a': x} : m": "map(string, dyn)",
    "true ? m : {'a': x}": "map(string, dyn)",
    "true ? optional.none() : optional.of(1)": "optional_type(int)",
    "true ? optional.of(x) : optional.of(1)": "optional_type(dyn)",
    # type parameters of functions
    "[1] + []": "list(int)",
    "[] + [1]": "list(int)",
    "[1] + [x]": "list(dyn)",
    "[] + []": "list(dyn)",
    "l[0]": "int",
    "m['a']": "int",
    "m.a": "int",
    "x[0]": "dyn",
    "x.a": "dyn",
    "[m][0].a": "int",
    "l[?0]": "optional_type(int)",
    "m[?'a']": "optional_type(int)",
    "m.?a": "optional_type(int)",
    "x.?a": "optional_type(dyn)",
    "optional.of(m).a": "optional_type(int)",
    "optional.of(m)['a']": "optional_type(int)",
    "optional.of(l)[0]": "optional_type(int)",
    "optional.none()": "optional_type(dyn)",
    "optional.none().orValue(1)": "int",
    "optional.of(1).or(optional.none())": "optional_type(int)",
    "optional.of(1).value()": "int",
    "[1].indexOf(1)": "int",
    "[[1]].flatten()": "list(int)",
    "[optional.of(1)].unwrapOpt()": "list(int)",
    "type(1)": "type(int)",
    "type(l)": "type(list(int))",
    "1 == 1": "bool",
    "1 in l": "bool",
    "size(l)": "int",
    # several overloads that fit: dyn unless they agree
    "x + y": "dyn",
    "x + 1": "int",
    "1 + x": "int",
    "x + 'a'": "string",
    "-x": "dyn",
    "x - 1": "int",
    "x < y": "bool",
    "x.size()": "int",
    "x && y": "bool",
    "string(x)": "string",
    # macros
    "l.map(i, i + 1)": "list(int)",
    "l.map(i, string(i))": "list(string)",
    "l.map(i, i > 0, i)": "list(int)",
    "l.filter(i, i > 0)": "list(int)",
    "m.map(k, k)": "list(string)",
    "m.filter(k, true)": "list(string)",
    "[].map(i, i)": "list(dyn)",
    "x.map(i, i)": "list(dyn)",
    "l.all(i, i > 0)": "bool",
    "l.exists(i, i > 0)": "bool",
    "l.exists_one(i, i > 0)": "bool",
    "m.transformMap(k, v, string(v))": "map(string, string)",
    "m.transformList(k, v, v)": "list(int)",
    "l.transformMap(i, v, s)": "map(int, string)",
    "l.sortBy(i, -i)": "list(int)",
    "cel.bind(a, [1], a + [2])": "list(int)",
    "has(m.a)": "bool",
    "optional.of(1).optMap(i, string(i))": "optional_type(string)",
    "optional.of(1).optFlatMap(i, optional.of(s))": "optional_type(string)",
}


@pytest.mark.parametrize("source", TYPES)
def test_the_type_of_an_expression(source):
    assert type_of(source) == TYPES[source]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"),
        ("[1] + ['a']", "found no matching overload for '_+_' applied to '(list(int), list(string))'"),
        ("true ? 1 : 'a'", "found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
        ("1 ? 1 : 2", "found no matching overload for '_?_:_' applied to '(int, int, int)'"),
        ("1 == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("1 in ['a']", "found no matching overload for '@in' applied to '(int, list(string))'"),
        ("null == 1", "found no matching overload for '_==_' applied to '(null, int)'"),
        ("[] in [1]", "found no matching overload for '@in' applied to '(list(dyn), list(int))'"),
        ("l['a']", "found no matching overload for '_[_]' applied to '(list(int), string)'"),
        ("m[1]", "found no matching overload for '_[_]' applied to '(map(string, int), int)'"),
        ("'a'.size(1)", "found no matching overload for 'size' applied to 'string.(int)'"),
        ("1 && true", "expected type 'bool' but found 'int'"),
        ("!1", "found no matching overload for '!_' applied to '(int)'"),
        ("s.a", "type 'string' does not support field selection"),
        ("1.all(i, true)", "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"),
        ("l.all(i, i)", "expected type 'bool' but found 'int'"),
        ("nope", "undeclared reference to 'nope' (in container '')"),
        ("a.b.C{}", "undeclared reference to 'a.b.C' (in container '')"),
        ("nope()", "undeclared reference to 'nope' (in container '')"),
        ("l.nope()", "undeclared reference to 'nope' (in container '')"),
        ("[?1]", "expected type 'optional_type(int)' but found 'int'"),
        ("{?'a': 1}", "expected type 'optional_type(int)' but found 'int'"),
        ("[1, 2].map(i, nope)", "undeclared reference to 'nope' (in container '')"),
    ],
)  # fmt: skip
def test_an_expression_without_a_type(source, why):
    with pytest.raises(BadExpression) as raised:
        type_of(source)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("1", ()),
        ("x + y", ("x", "y")),
        ("l.all(x, x > 0)", ("l",)),
        ("l.all(i, x == i)", ("l", "x")),
        ("x.map(x, x)", ("x",)),
        ("cel.bind(s, 1, s)", ()),
        ("has(m.a) && m.a > 0", ("m",)),
    ],
)
def test_the_variables_of_an_expression(source, used):
    """A name that a macro declares hides a variable."""
    assert check(source, parse(source, BINDINGS), VARIABLES)[1] == set(used)


@pytest.mark.parametrize("before", [None, INT])
def test_a_failed_match_leaves_no_binding(before):
    """Type parameters are bound again and again while arguments are matched; a failure undoes all of it."""
    checker = Checker({})
    unknown, other = checker.variable(), checker.variable()
    if before is not None:
        assert checker.assignable(unknown, before)
    bound = dict(checker.bound)
    assert not checker.all_assignable((unknown, unknown, other, INT), (INT, DYN, STRING, STRING))
    assert checker.bound == bound
    assert not checker.all_assignable((unknown,), (INT, INT))
    assert checker.all_assignable((unknown, unknown, other), (INT, DYN, STRING))
    assert (checker.known(unknown), checker.known(other)) == (DYN, STRING)


def test_a_type_parameter_is_never_bound_to_a_type_that_contains_it():
    checker = Checker({})
    unknown = checker.variable()
    assert not checker.assignable(list_of(unknown), unknown)
    assert not checker.assignable(unknown, map_of(STRING, list_of(unknown)))
    assert checker.assignable(unknown, unknown)
    assert checker.known(unknown) == unknown
    assert checker.known(list_of(unknown), final=True) == list_of(DYN)
