"""The validation of values against a schema, in the real server's words and order (`kube-openapi/pkg/validation`).

Two passes: `Values.accepts` answers quickly that a value is certainly valid; only what it does not vouch for is looked
at by `Values.check`, which knows every error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakekube.apiserver.crd.correlatedobject import Correlation
from fakekube.apiserver.schema import stringformats
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.gojson import go_json
from fakekube.apiserver.wire.goprint import go_quote, quoted
from fakekube.apiserver.wire.goregexp import BadPattern, compiled
from fakekube.apiserver.wire.status import FieldError, field_not_supported, field_required

Node = Mapping[str, Any]
Accepts = Callable[[Any], bool]

_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class Problem:
    """One error before it has a place in the object. `name`: its path; None: the error names no field."""

    kind: str
    name: str | None
    message: str
    value: Any = None
    limit: Any = None


@dataclass(slots=True)
class Result:
    """Errors, each message once, and how many checks passed: what tells the best of several alternatives."""

    problems: list[Problem] = field(default_factory=list)
    matches: int = 0
    _told: set[str] = field(default_factory=set)

    def merge(self, other: Result) -> None:
        self.add(*other.problems)
        self.matches += other.matches

    def add(self, *problems: Problem) -> None:
        for one in problems:
            if one.message not in self._told:
                self._told.add(one.message)
                self.problems.append(one)


def _type_of(value: Any) -> tuple[str, str]:
    """The JSON type of a value, and the format that Go's type has."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, int):
        return "integer", "int64"
    if isinstance(value, float):
        return "number", "float64"
    if isinstance(value, str):
        return "string", ""
    return ("array", "") if isinstance(value, list) else ("object", "")


def wrong_type(name: str, wanted: str, found: str) -> Problem:
    message = f"{name} in body must be of type {wanted}: {go_quote(found)}"
    return Problem("type", name, message, found)


class Values:
    """What a node of a schema asks of its values.

    `literal`: formats are taken as they stand and int-or-string says nothing of the type, as the server has it
    where it checks defaults.
    """

    __slots__ = (
        "accepts",
        "additional",
        "all_of",
        "any_of",
        "enum",
        "format",
        "items",
        "negated",
        "node",
        "nullable",
        "one_of",
        "pattern",
        "properties",
        "required",
        "types",
    )

    def __init__(self, node: Node, *, literal: bool = False) -> None:
        self.node = node
        kind = node.get("type") or ""
        self.types: tuple[str, ...] = (kind,) if kind else ()
        if node.get("x-kubernetes-int-or-string") and not literal:
            self.types = ("integer", "string")
        self.format = _format(node.get("format") or "", self.types, literal)
        self.nullable = bool(node.get("nullable"))
        self.enum: Sequence[Any] = node.get("enum") or ()
        self.required: Sequence[str] = node.get("required") or ()
        self.pattern: str = node.get("pattern") or ""

        def below(key: str) -> list[Values]:
            return [Values(one, literal=literal) for one in node.get(key) or ()]

        self.all_of, self.any_of, self.one_of = below("allOf"), below("anyOf"), below("oneOf")
        negated, items, additional = node.get("not"), node.get("items"), node.get("additionalProperties")
        self.negated = Values(negated, literal=literal) if isinstance(negated, Mapping) else None
        self.items = Values(items, literal=literal) if isinstance(items, Mapping) else None
        self.additional: Values | bool | None = (
            Values(additional, literal=literal) if isinstance(additional, Mapping) else additional
        )
        properties: Node = node.get("properties") or {}
        self.properties = {name: Values(sub, literal=literal) for name, sub in properties.items()}
        self.accepts = _accepts(self)

    # --- every error --------------------------------------------------------------------------------------------------

    def check(self, value: Any, path: str = "", known: Correlation | None = None) -> Result:
        """All that is wrong with a value; what did not change since `known` is let be (ratcheting)."""
        if known is None:
            return self._check(value, path, None)
        result = self._check(value, path, known)
        return Result([], result.matches) if result.problems and known.unchanged() else result

    def _check(self, value: Any, path: str, known: Correlation | None) -> Result:
        result = Result()
        if value is None:
            result.merge(self._type(value, path))
            result.merge(self._common(value, path))
            return result
        steps = [self._type] if self.types or self.format else []
        for step in steps:
            result.merge(step(value, path))
            result.matches += 1
        result.merge(self._combined(value, path, known))
        result.matches += 1
        if isinstance(value, str):
            result.merge(self._string(value, path))
            result.matches += 1
            if self.format and stringformats.known(self.format):
                result.merge(self._formatted(value, path))
                result.matches += 1
        elif isinstance(value, list):
            result.merge(self._list(value, path, known))
            result.matches += 1
        elif isinstance(value, int | float) and not isinstance(value, bool):
            result.merge(self._number(value, path))
            result.matches += 1
        result.merge(self._common(value, path))
        result.matches += 1
        if isinstance(value, dict):
            result.merge(self._object(value, path, known))
            result.matches += 1
        result.matches += 1
        return result

    def _type(self, value: Any, path: str) -> Result:
        types, form = self.types, self.format
        if value is None:
            if types and not self.nullable:
                return Result([wrong_type(path, ",".join(types), "null")])
            return Result(matches=1)
        found, go_format = _type_of(value)
        integral = found == "number" and value.is_integer() and abs(value) <= 2**53 and "integer" in types
        fits = found in types or integral or (found == "integer" and "number" in types)
        textual = isinstance(value, str | list)
        if not textual and form and not (fits or go_format == form):
            return Result([wrong_type(path, form, go_format)])
        if textual and form and not ("number" in types or "integer" in types):
            return Result(matches=1)
        if not fits:
            return Result([wrong_type(path, ",".join(types), found)])
        return Result(matches=1)

    def _common(self, value: Any, path: str) -> Result:
        if not self.enum or (value is not None and any(_is_choice(value, one) for one in self.enum)):
            return Result()
        return Result(
            [
                Problem(
                    "enum", path, f"{path} in body should be one of {goprint.plain(list(self.enum))}", value, self.enum
                )
            ]
        )

    def _string(self, value: str, path: str) -> Result:
        longest, shortest = self.node.get("maxLength"), self.node.get("minLength")
        if longest is not None and len(value) > longest:
            message = f"{path} in body should be at most {longest} chars long"
            return Result([Problem("too long", path, message, value, longest)])
        if shortest is not None and len(value) < shortest:
            message = f"{path} in body should be at least {shortest} chars long"
            return Result([Problem("invalid", path, message, value)])
        if self.pattern:
            try:
                if compiled(self.pattern).search(value) is not None:
                    return Result()
                shown = self.pattern
            except BadPattern as problem:
                shown = f"{self.pattern}, but pattern is invalid: {problem}"
            return Result([Problem("invalid", path, f"{path} in body should match '{shown}'", value)])
        return Result()

    def _formatted(self, value: str, path: str) -> Result:
        check = stringformats.known(self.format)
        if check is None or check(value):
            return Result()
        return Result(
            [Problem("type", path, f"{path} in body must be of type {self.format}: {go_quote(value)}", value)]
        )

    def _number(self, value: float, path: str) -> Result:
        node, result = self.node, Result()
        result.add(*self._out_of_range(value, "Checked", path))
        for key, label in (
            ("multipleOf", "MultipleOf"),
            ("minimum", "Minimum boundary"),
            ("maximum", "Maximum boundary"),
        ):
            bound = node.get(key)
            if bound is None:
                continue
            strange = self._out_of_range(bound, label, path)
            result.add(*strange)
            whole = not strange and isinstance(value, int)
            problem = _bounded(key, value, int(bound) if whole else float(bound), node, path)
            if problem is not None:
                result.add(problem)
        result.matches += 1
        return result

    def _out_of_range(self, value: float, label: str, path: str) -> list[Problem]:
        """Whether a number is one of the schema's type and format."""
        kind = self.types[0] if len(self.types) == 1 else ""
        form = self.format if kind in ("integer", "number") else ""
        if kind != "integer":
            return []
        limit = 2**31 if form == "int32" else _INT64
        if float(value).is_integer() and -limit <= value < limit:
            return []
        what = f"with format {form}" if form else "(default format)"
        return [Problem("invalid", None, f"{label} value must be of type {kind} {what} in {path}")]

    def _list(self, value: list[Any], path: str, known: Correlation | None) -> Result:
        result, node = Result(), self.node
        if self.items is not None:
            for i, item in enumerate(value):
                result.merge(self.items.check(item, f"{path}[{i}]", known.index(i) if known else None))
        size, fewest, most = len(value), node.get("minItems"), node.get("maxItems")
        if fewest is not None and size < fewest:
            result.add(Problem("invalid", path, f"{path} in body should have at least {fewest} items", size))
        if most is not None and size > most:
            result.add(Problem("too many", path, f"{path} in body should have at most {most} items", size, most))
        result.matches += 1
        return result

    def _object(self, value: Mapping[str, Any], path: str, known: Correlation | None) -> Result:
        result, node = Result(), self.node
        size, fewest, most = len(value), node.get("minProperties"), node.get("maxProperties")
        if fewest is not None and size < fewest:
            result.add(Problem("invalid", path, f"{path} in body should have at least {fewest} properties", size))
        if most is not None and size > most:
            result.add(Problem("too many", path, f"{path} in body should have at most {most} properties", size, most))
        others = [key for key in value if key not in self.properties]
        if self.additional is False:
            for key in others:
                result.add(Problem("invalid", path, f"{path}.{key} in body is a forbidden property", key))
        elif isinstance(self.additional, Values):
            for key in others:
                result.merge(self.additional.check(value[key], f"{path}.{key}", _below(known, path, key)))
        for key, sub in self.properties.items():
            if key in value:
                here = f"{path}.{key}" if path else key
                result.merge(sub.check(value[key], here, _below(known, path, key)))
        for key in self.required:
            if key not in value:
                result.add(Problem("required", f"{path}.{key}", f"{path}.{key} in body is required"))
        return result

    def _combined(self, value: Any, path: str, known: Correlation | None) -> Result:
        result = Result()
        if self.any_of:
            self._any_of(value, path, known, result)
        if self.one_of:
            self._one_of(value, path, known, result)
        if self.all_of:
            results = [one._check(value, path, known) for one in self.all_of]
            for one in results:
                result.merge(one)
            passed = sum(not one.problems for one in results)
            if passed != len(results):
                more = "" if passed else ". None validated"
                result.add(Problem("invalid", None, f"{go_quote(path)} must validate all the schemas (allOf){more}"))
        if self.negated is not None and not self.negated._check(value, path, known).problems:
            result.add(Problem("invalid", None, f"{go_quote(path)} must not validate the schema (not)"))
        result.matches += 1
        return result

    def _any_of(self, value: Any, path: str, known: Correlation | None, result: Result) -> None:
        best: Result | None = None
        for alternative in self.any_of:
            found = alternative._check(value, path, known)
            if not found.problems:
                result.merge(found)
                return
            if best is None or found.matches > best.matches:
                best = found
        result.add(Problem("invalid", None, f"{go_quote(path)} must validate at least one schema (anyOf)"))
        if best is not None:
            result.merge(best)

    def _one_of(self, value: Any, path: str, known: Correlation | None, result: Result) -> None:
        results = [alternative._check(value, path, known) for alternative in self.one_of]
        passed = [one for one in results if not one.problems]
        if len(passed) == 1:
            result.merge(passed[0])
            return
        what = f"Found {len(passed)} valid alternatives" if passed else "Found none valid"
        message = f"{go_quote(path)} must validate one and only one schema (oneOf). {what}"
        result.add(Problem("invalid", None, message))
        if not passed:
            best = results[0]
            for one in results[1:]:
                best = one if one.matches > best.matches else best
            result.merge(best)


def _format(name: str, types: tuple[str, ...], literal: bool) -> str:
    """A format as far as it is looked at (`StripUnsupportedFormatsPostProcess`)."""
    if literal or not name:
        return name
    kind = types[0] if len(types) == 1 else ""
    if kind in ("", "string"):
        return name if stringformats.known(name) else ""
    return name if name in NUMBER_FORMATS.get(kind, ()) else ""


NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def _below(known: Correlation | None, path: str, key: str) -> Correlation | None:
    if known is None or (not path and key in ("apiVersion", "kind")):
        return None
    return known.key(key)


def _is_choice(value: Any, choice: Any) -> bool:
    """Equal, after a conversion of numbers to the choice's type."""
    if isinstance(value, bool) or isinstance(choice, bool):
        return value is choice
    if isinstance(value, int | float) and isinstance(choice, int | float):
        return int(value) == choice if isinstance(choice, int) else float(value) == choice
    return type(value) is type(choice) and bool(value == choice)


def _bounded(key: str, value: float, bound: float, node: Node, path: str) -> Problem | None:
    shown = goprint.plain(bound)
    if key == "multipleOf":
        if bound <= 0:
            return Problem("invalid", path, f"factor MultipleOf declared for {path} must be positive: {shown}", bound)
        if _is_multiple(value, bound):
            return None
        return Problem("invalid", path, f"{path} in body should be a multiple of {shown}", value)
    least = key == "minimum"
    exclusive = bool(node.get("exclusiveMinimum" if least else "exclusiveMaximum"))
    beyond = value < bound if least else value > bound
    if not beyond and not (exclusive and value == bound):
        return None
    word = ("greater" if least else "less") + " than" + ("" if exclusive else " or equal to")
    return Problem("invalid", path, f"{path} in body should be {word} {shown}", value)


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    quotient = 1 / factor * value if factor < 1 else value / factor
    if abs(quotient) > 2**53:
        return False
    nearest = round(quotient)
    return abs(quotient - nearest) < 1e-9 * max(1.0, abs(quotient))


# --- errors of the API -----------------------------------------------------------------------------------------------


def field_errors(problems: Sequence[Problem], root: str = "") -> list[FieldError]:
    """As causes of a Status; `root` is where the value stands."""
    return [_field_error(one, root) for one in problems]


def _field_error(one: Problem, root: str) -> FieldError:
    name = (one.name or "").removeprefix(".")
    path = f"{root}.{name}" if root and name else root or name or "<nil>"
    if one.kind == "required":
        return field_required(path)
    if one.kind == "enum":
        choices = [choice if isinstance(choice, str) else go_json(choice) for choice in one.limit]
        return field_not_supported(path, one.value, choices)
    if one.kind == "too long":
        unit = "byte" if one.limit == 1 else "bytes"
        return FieldError(path, "FieldValueTooLong", f"Too long: may not be more than {one.limit} {unit}")
    if one.kind == "too many":
        unit = "item" if one.limit == 1 else "items"
        return FieldError(path, "FieldValueTooMany", f"Too many: {one.value}: must have at most {one.limit} {unit}")
    value = "" if one.value is None else one.value
    shown = goprint.number(value) if isinstance(value, float) else quoted(value)
    reason = "FieldValueTypeInvalid" if one.kind == "type" else "FieldValueInvalid"
    return FieldError(path, reason, f"Invalid value: {shown}: {one.message}")


# --- quickly ---------------------------------------------------------------------------------------------------------


def _accepts(values: Values) -> Accepts:
    """A function that says True of values which are certainly valid."""
    exact = _exact(values)
    extra = [*(one.accepts for one in values.all_of)]
    if values.any_of:
        extra.append(_any(tuple(one.accepts for one in values.any_of)))
    if values.one_of or values.negated is not None:
        extra.append(lambda value: not values._check(value, "", None).problems)
    if not extra:
        return exact
    return lambda value: exact(value) and all(one(value) for one in extra)


def _any(alternatives: tuple[Accepts, ...]) -> Accepts:
    return lambda value: any(one(value) for one in alternatives)


def _exact(values: Values) -> Accepts:
    node, kind = values.node, values.types
    if kind == ("integer", "string") and not values.enum and not values.format and not _LIMITS & node.keys():
        return _nullable(_int_or_string) if values.nullable else _int_or_string
    make = _MAKERS.get(kind[0]) if len(kind) == 1 else None
    if make is None or (values.format and kind[0] not in NUMBER_FORMATS and kind != ("string",)):
        return lambda value: not values._check(value, "", None).problems
    inner = make(values, node)
    return _nullable(inner) if values.nullable and not values.enum else inner


#: What bounds a number or a text.
_LIMITS = frozenset({"minimum", "maximum", "multipleOf", "minLength", "maxLength", "pattern"})


def _int_or_string(value: Any) -> bool:
    return type(value) is str or (type(value) is int and -_INT64 <= value < _INT64)


def _nullable(inner: Accepts) -> Accepts:
    return lambda value: value is None or inner(value)


def _string_accepts(values: Values, node: Node) -> Accepts:
    longest, shortest = node.get("maxLength"), node.get("minLength") or 0
    tests: list[Accepts] = []
    if values.enum:
        choices = frozenset(one for one in values.enum if isinstance(one, str))
        tests.append(lambda value: value in choices)
    if longest is not None or shortest:
        most = longest if longest is not None else float("inf")
        tests.append(lambda value: shortest <= len(value) <= most)
    if values.pattern:
        tests.append(_matches(values.pattern))
    known = stringformats.known(values.format) if values.format else None
    if known is not None:
        tests.append(known)
    if not tests:
        return lambda value: type(value) is str
    if len(tests) == 1:
        only = tests[0]
        return lambda value: type(value) is str and only(value)
    return lambda value: type(value) is str and all(test(value) for test in tests)


def _matches(pattern: str) -> Accepts:
    try:
        search = compiled(pattern).search
    except BadPattern:
        return lambda value: False
    return lambda value: search(value) is not None


def _number_accepts(values: Values, node: Node) -> Accepts:
    kind = values.types[0]
    if values.enum or "multipleOf" in node or (kind == "integer" and not _whole_bounds(node)):
        return lambda value: type(value) in (int, float) and not values._check(value, "", None).problems
    least, most = _range(values, node)
    if kind == "integer":
        return lambda value: type(value) is int and least <= value <= most
    if least == -float("inf") and most == float("inf"):
        return lambda value: type(value) is int or type(value) is float
    return lambda value: type(value) in (int, float) and least < value < most


def _whole_bounds(node: Node) -> bool:
    return all(float(node[key]).is_integer() for key in ("minimum", "maximum") if key in node)


def _range(values: Values, node: Node) -> tuple[float, float]:
    """What is surely within the bounds, both ends included; of numbers, without them."""
    whole = values.types[0] == "integer"
    limit = (2**31 if values.format == "int32" else _INT64) if whole else float("inf")
    least, most = -limit, limit - 1 if whole else limit
    if "minimum" in node:
        least = max(least, int(node["minimum"]) + bool(node.get("exclusiveMinimum")) if whole else node["minimum"])
    if "maximum" in node:
        most = min(most, int(node["maximum"]) - bool(node.get("exclusiveMaximum")) if whole else node["maximum"])
    return least, most


def _boolean_accepts(values: Values, node: Node) -> Accepts:
    if values.enum:
        return lambda value: type(value) is bool and value in values.enum
    return lambda value: type(value) is bool


def _list_accepts(values: Values, node: Node) -> Accepts:
    fewest, most = node.get("minItems") or 0, node.get("maxItems")
    largest = most if most is not None else float("inf")
    if values.enum:
        return lambda value: False
    item = values.items.accepts if values.items is not None else None

    def accepts(value: Any) -> bool:
        if type(value) is not list or not fewest <= len(value) <= largest:
            return False
        return item is None or all(map(item, value))

    return accepts


def _object_accepts(values: Values, node: Node) -> Accepts:
    fewest, most = node.get("minProperties") or 0, node.get("maxProperties")
    largest = most if most is not None else float("inf")
    required, fields = tuple(values.required), {name: sub.accepts for name, sub in values.properties.items()}
    additional = values.additional
    if values.enum or additional is False:
        return lambda value: False
    other = additional.accepts if isinstance(additional, Values) else None

    def accepts(value: Any) -> bool:
        if type(value) is not dict or not fewest <= len(value) <= largest:
            return False
        for key in required:
            if key not in value:
                return False
        for key, item in value.items():
            test = fields.get(key, other)
            if test is not None and not test(item):
                return False
        return True

    return accepts


_MAKERS: Mapping[str, Callable[[Values, Node], Accepts]] = {
    "string": _string_accepts,
    "integer": _number_accepts,
    "number": _number_accepts,
    "boolean": _boolean_accepts,
    "array": _list_accepts,
    "object": _object_accepts,
}
