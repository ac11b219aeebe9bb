"""Strategies for schemas and values with the same meaning in Kubernetes and JSON Schema."""

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]

NAMES = ("a", "b", "c")
WHOLE = st.integers(-5, 5)
TEXT = st.text("ab9é ", max_size=4)
SIZE = st.integers(0, 3)
PATTERNS = st.sampled_from(["^a", "b$", "[0-9]+", "a.b", "^(a|b)*$"])

VALUES: st.SearchStrategy[Any] = st.recursive(
    WHOLE | st.booleans() | TEXT | st.sampled_from([0.5, -2.5, 2.0]) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*NAMES, "d"]), inner, max_size=3),
    max_leaves=8,
)

OBJECTS = st.dictionaries(st.sampled_from([*NAMES, "d"]), VALUES, max_size=4)


def _checks(kind: str) -> dict[str, st.SearchStrategy[Any]]:
    """Value validations for a type."""
    if kind == "string":
        return {
            "minLength": SIZE,
            "maxLength": SIZE,
            "pattern": PATTERNS,
            "enum": st.lists(TEXT, min_size=1, max_size=3),
        }
    if kind in ("integer", "number"):
        bounds = st.fixed_dictionaries({"minimum": WHOLE}, optional={"exclusiveMinimum": st.booleans()})
        upper = st.fixed_dictionaries({"maximum": WHOLE}, optional={"exclusiveMaximum": st.booleans()})
        return {
            "*lower": bounds,
            "*upper": upper,
            "multipleOf": st.integers(1, 3),
            "enum": st.lists(WHOLE, min_size=1, max_size=3),
        }
    if kind == "array":
        return {"minItems": SIZE, "maxItems": SIZE}
    if kind == "object":
        return {
            "minProperties": SIZE,
            "maxProperties": SIZE,
            "required": st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True),
        }
    return {}


@st.composite
def _asked(draw: st.DrawFn, kind: str) -> Schema:
    made: Schema = {}
    for key, values in _checks(kind).items():
        if draw(st.integers(0, 3)) == 0:
            made |= draw(values) if key.startswith("*") else {key: draw(values)}
    return made


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> Schema:
    """A structural schema of a value."""
    kinds = ["string", "integer", "number", "boolean", *(["array", "object"] if depth else [])]
    kind = draw(st.sampled_from(kinds))
    made: Schema = {"type": kind, **draw(_asked(kind))}
    if draw(st.integers(0, 4)) == 0:
        made["nullable"] = True
    if kind == "array":
        made["items"] = draw(schemas(depth=depth - 1))
    if kind == "object":
        made |= draw(_fields(depth))
    if draw(st.integers(0, 3)) == 0:
        combinator = draw(st.sampled_from(["allOf", "anyOf", "oneOf", "not"]))
        parts = draw(st.lists(_asked(kind), min_size=1, max_size=3))
        made[combinator] = parts[0] if combinator == "not" else parts
    return made


@st.composite
def _fields(draw: st.DrawFn, depth: int) -> Schema:
    if draw(st.booleans()):
        return {"additionalProperties": draw(schemas(depth=depth - 1))}
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
    return {"properties": {name: draw(schemas(depth=depth - 1)) for name in names}}


@st.composite
def roots(draw: st.DrawFn) -> Schema:
    """A schema of whole objects."""
    return {"type": "object", **draw(_asked("object")), **draw(_fields(3))}


def as_json_schema(schema: Schema) -> Schema:
    """The schema as JSON Schema (draft 2020-12).

    Null is only validated against type and enum, and no enum contains it (kube-openapi, `SchemaValidator.Validate`).
    """
    made = dict(schema)
    if made.pop("nullable", False) and "enum" not in made:
        return {"anyOf": [{"type": "null"}, as_json_schema(made)]}
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if made.pop(exclusive, False):
            made[exclusive] = made.pop(bound)
    for key in ("items", "not", "additionalProperties"):
        if isinstance(made.get(key), dict):
            made[key] = as_json_schema(made[key])
    for key in ("allOf", "anyOf", "oneOf"):
        if key in made:
            made[key] = [as_json_schema(one) for one in made[key]]
    if "properties" in made:
        made["properties"] = {name: as_json_schema(sub) for name, sub in made["properties"].items()}
    return made
