"""CEL expressions: rules of a definition show in their messages what expressions return."""

from __future__ import annotations

from tests.differential import definitions
from tests.differential.celexpressions import expression
from tests.differential.scenario import MERGE_PATCH, Draw, Object, Scenario, create, patch

FIELDS: Object = {
    "s": {"type": "string", "maxLength": 20},
    "i": {"type": "integer"},
    "d": {"type": "number"},
    "b": {"type": "boolean"},
    "ss": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 9}},
    "ii": {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
    "m": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "integer"}},
    "t": {"type": "string", "format": "date-time", "maxLength": 40},
    "u": {"type": "string", "format": "duration", "maxLength": 20},
    "y": {"type": "string", "format": "byte", "maxLength": 20},
    "is": {"x-kubernetes-int-or-string": True},
    "o": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}, "n": {"type": "integer"}}},
    "set": {
        "type": "array",
        "maxItems": 5,
        "items": {"type": "string", "maxLength": 9},
        "x-kubernetes-list-type": "set",
    },
}

VARIABLES = {
    "string": ("self.s", "self.ss[0]", "self.o.a", "string(self.t)", "self.set[0]"),
    "int": ("self.i", "self.ii[1]", "self.o.n", "self.m.a", "size(self.ss)"),
    "double": ("self.d",),
    "bool": ("self.b", "has(self.o)", "has(self.m.a)", "self.s in self.set"),
    "strings": ("self.ss", "self.set", "self.set + self.ss"),
    "ints": ("self.ii",),
    "map": ("self.m",),
    "timestamp": ("self.t",),
    "duration": ("self.u",),
    "bytes": ("self.y",),
}

VALUES: Object = {
    "s": ("a", "", "abc", "10", "ä", "1.2.3.4"),
    "i": (0, 1, -3, 9223372036854775807, 42),
    "d": (0.5, -1, 1e21, 3),
    "b": (True, False),
    "ss": (["a", "b"], [], ["x", "x", "y"]),
    "ii": ([1, 2], [3, 1, 2], []),
    "m": ({"a": 1}, {"a": 1, "b": -2}, {}),
    "t": ("2020-01-01T00:00:00Z", "2024-02-29T12:34:56.789+02:00"),
    "u": ("1h", "90s", "1ms"),
    "y": ("YQ==", "/w=="),
    "is": (1, "a", "50%"),
    "o": ({"a": "x", "n": 2}, {"n": 2}, {}),
    "set": (["a", "b"], ["b"]),
}

KINDS = (
    "string",
    "int",
    "double",
    "bool",
    "strings",
    "ints",
    "map",
    "timestamp",
    "duration",
    "uint",
    "quantity",
    "ip",
    "semver",
    "bytes",
    "optint",
)


def scenario(draw: Draw, namespace: str) -> Scenario:
    """Definitions with expressions that may be wrong, which are only tried, then one with an object."""
    tried = [
        create(definitions.DEFINITIONS, _definition(draw, namespace, draw.number(1, 4), 0.12), ("dryRun", "All"))
        for _ in range(draw.number(3, 5))
    ]
    steps = [
        *tried,
        *definitions.defined(namespace, _definition(draw, namespace, 5, 0.0)),
        create(definitions.collection(namespace), definitions.gadget(namespace, "a", {"spec": _values(draw)})),
        create(definitions.collection(namespace), definitions.gadget(namespace, "b", {"spec": _values(draw)})),
        create(
            definitions.collection(namespace),
            definitions.gadget(namespace, "c", {"spec": _values(draw)}),
            ("dryRun", "All"),
        ),
        patch(f"{definitions.collection(namespace)}/a", MERGE_PATCH, {"spec": _values(draw)}),
    ]
    return Scenario(steps, [definitions.path(namespace)])


def _values(draw: Draw) -> Object:
    return {name: draw.one(values) for name, values in VALUES.items() if draw.chance(0.85)}


def _definition(draw: Draw, namespace: str, rules: int, wrong: float) -> Object:
    spec = {
        "type": "object",
        "properties": FIELDS,
        "x-kubernetes-validations": [_rule(draw, wrong) for _ in range(rules)],
    }
    return definitions.definition(namespace, {"type": "object", "properties": {"spec": spec}})


def _rule(draw: Draw, wrong: float) -> Object:
    """A rule whose message shows the value of an expression, or one that is itself drawn."""
    depth = draw.number(1, 3) if wrong else 1
    if draw.chance(0.4):
        return {"rule": expression(draw, "bool", VARIABLES, depth, wrong)}
    kind = draw.one(KINDS)
    drawn = expression(draw, kind, VARIABLES, depth, wrong)
    return {"rule": "self.i == -12345", "messageExpression": _SHOWN.get(kind, "string({})").format(drawn)}


#: How a value is turned into a text.
_SHOWN = {
    "strings": "'%s'.format([{}])",
    "ints": "'%s'.format([{}])",
    "map": "'%s'.format([{}])",
    "optint": "'%s'.format([{}.orValue(7)])",
    "string": "'<' + {} + '>'",
    "semver": "string({}.major())",
    "quantity": "string({}.asApproximateFloat())",
    "bytes": "string(size({}))",
}
