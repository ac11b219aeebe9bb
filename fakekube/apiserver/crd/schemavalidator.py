"""Validates values against a schema, with the real server's errors in its order (`kube-openapi/pkg/validation`).

Validation has two passes: `SchemaValidator.accepts` accepts most valid values quickly; `SchemaValidator.check`
validates the others and finds all errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from fakekube.apiserver.crd.correlatedobject import CorrelatedObject
from fakekube.apiserver.crd.quickvalidation import INT64, NUMBER_FORMATS, acceptance
from fakekube.apiserver.crd.validationresult import ValidationProblem, ValidationResult, wrong_type
from fakekube.apiserver.features import since
from fakekube.apiserver.schema import stringformats
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.gojson import WholeFloat
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.goregexp import BadPattern, compiled

Node = Mapping[str, Any]


def _type_of(value: Any) -> tuple[str, str]:
    """The JSON type of a value, and the format of its Go type."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, float | WholeFloat):
        return "number", "float64"
    if isinstance(value, int):
        return "integer", "int64"
    if isinstance(value, str):
        return "string", ""
    return ("array", "") if isinstance(value, list) else ("object", "")


class SchemaValidator:
    """Validates the values of a schema node. The validators of its descendants are created when they are used.

    `literal`: formats are used unchanged and int-or-string does not set the type, as in the validation of defaults.
    """

    def __init__(self, node: Node, *, literal: bool = False) -> None:
        self.node: Mapping[str, Any] = node
        self.literal: bool = literal
        kind = node.get("type") or ""
        self.types: tuple[str, ...] = (kind,) if kind else ()
        if node.get("x-kubernetes-int-or-string") and not literal:
            self.types = ("integer", "string")
        self.format: str = _format(node.get("format") or "", self.types, literal)
        self.nullable: bool = bool(node.get("nullable"))
        self.enum: Sequence[Any] = node.get("enum") or ()
        self.required: Sequence[str] = node.get("required") or ()
        self.pattern: str = node.get("pattern") or ""

    @cached_property
    def all_of(self) -> list[SchemaValidator]:
        return self._several("allOf")

    @cached_property
    def any_of(self) -> list[SchemaValidator]:
        return self._several("anyOf")

    @cached_property
    def one_of(self) -> list[SchemaValidator]:
        return self._several("oneOf")

    @cached_property
    def negated(self) -> SchemaValidator | None:
        return self._one("not")

    @cached_property
    def items(self) -> SchemaValidator | None:
        return self._one("items")

    @cached_property
    def additional(self) -> SchemaValidator | bool | None:
        given = self.node.get("additionalProperties")
        return given if isinstance(given, bool) else self._one("additionalProperties")

    @cached_property
    def properties(self) -> dict[str, SchemaValidator]:
        given: Node = self.node.get("properties") or {}
        return {name: SchemaValidator(sub, literal=self.literal) for name, sub in given.items()}

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        """A predicate that is true only for values that are certainly valid."""
        return acceptance(self)

    def _several(self, key: str) -> list[SchemaValidator]:
        return [SchemaValidator(one, literal=self.literal) for one in self.node.get(key) or ()]

    def _one(self, key: str) -> SchemaValidator | None:
        given = self.node.get(key)
        return SchemaValidator(given, literal=self.literal) if isinstance(given, dict) else None

    # --- all errors --------------------------------------------------------------------------------------------------

    def check(self, value: Any, path: str = "", known: CorrelatedObject | None = None) -> ValidationResult:
        """All errors of a value. Values that are unchanged according to `known` have none (ratcheting)."""
        if known is None:
            return self._check(value, path, None)
        result = self._check(value, path, known)
        return ValidationResult([], result.matches) if result.problems and known.unchanged() else result

    def is_valid(self, value: Any) -> bool:
        return not self._check(value, "", None).problems

    def _check(self, value: Any, path: str, known: CorrelatedObject | None) -> ValidationResult:
        result = ValidationResult()
        if value is None:
            result.merge(self._type(value, path))
            result.merge(self._common(value, path))
            return result
        steps = [self._type] if self.types or self.format else []
        for step in steps:
            result.merge(step(value, path))
            result.matches += 1
        result.merge(self._combined(value, path))
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

    def _type(self, value: Any, path: str) -> ValidationResult:
        types, form = self.types, self.format
        if value is None:
            if types and not self.nullable:
                return ValidationResult([wrong_type(path, ",".join(types), "null")])
            return ValidationResult(matches=1)
        found, go_format = _type_of(value)
        integral = found == "number" and "integer" in types and _is_nearly_integer(value)
        fits = found in types or integral or (found == "integer" and "number" in types)
        textual = isinstance(value, str | list)
        if not textual and form and not (fits or go_format == form):
            return ValidationResult([wrong_type(path, form, go_format)])
        if textual and form and not ("number" in types or "integer" in types):
            return ValidationResult(matches=1)
        if not fits:
            return ValidationResult([wrong_type(path, ",".join(types), found)])
        return ValidationResult(matches=1)

    def _common(self, value: Any, path: str) -> ValidationResult:
        if not self.enum or (value is not None and any(_is_choice(value, one) for one in self.enum)):
            return ValidationResult()
        return ValidationResult(
            [
                ValidationProblem(
                    "enum", path, f"{path} in body should be one of {goprint.plain(list(self.enum))}", value, self.enum
                )
            ]
        )

    def _string(self, value: str, path: str) -> ValidationResult:
        longest, shortest = self.node.get("maxLength"), self.node.get("minLength")
        if longest is not None and len(value) > longest:
            message = f"{path} in body should be at most {longest} chars long"
            return ValidationResult([ValidationProblem("too long", path, message, value, longest)])
        if shortest is not None and len(value) < shortest:
            message = f"{path} in body should be at least {shortest} chars long"
            return ValidationResult([ValidationProblem("invalid", path, message, value)])
        if self.pattern:
            try:
                if compiled(self.pattern).search(value) is not None:
                    return ValidationResult()
                shown = self.pattern
            except BadPattern as problem:
                shown = f"{self.pattern}, but pattern is invalid: {problem}"
            return ValidationResult(
                [ValidationProblem("invalid", path, f"{path} in body should match '{shown}'", value)]
            )
        return ValidationResult()

    def _formatted(self, value: str, path: str) -> ValidationResult:
        check = stringformats.known(self.format)
        if check is None or check(value):
            return ValidationResult()
        return ValidationResult(
            [ValidationProblem("type", path, f"{path} in body must be of type {self.format}: {go_quote(value)}", value)]
        )

    def _number(self, value: float, path: str) -> ValidationResult:
        node, result = self.node, ValidationResult()
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
            whole = not strange and isinstance(value, int) and not isinstance(value, WholeFloat)
            problem = _bounded(
                key, float(value) if strange else value, int(bound) if whole else float(bound), node, path
            )
            if problem is not None:
                result.add(problem)
        result.matches += 1
        return result

    def _out_of_range(self, value: float, label: str, path: str) -> list[ValidationProblem]:
        """The error of a number that is out of range for the type and format."""
        kind = self.types[0] if len(self.types) == 1 else ""
        form = self.format if kind in ("integer", "number") else ""
        if not kind or not since(35) or not _exceeds(value, kind, form):
            return []
        what = f"with format {form}" if form else "(default format)"
        return [ValidationProblem("invalid", None, f"{label} value must be of type {kind} {what} in {path}")]

    def _list(self, value: list[Any], path: str, known: CorrelatedObject | None) -> ValidationResult:
        result, node = ValidationResult(), self.node
        if self.items is not None:
            for i, item in enumerate(value):
                result.merge(self.items.check(item, f"{path}[{i}]", known.index(i) if known else None))
        size, fewest, most = len(value), node.get("minItems"), node.get("maxItems")
        if fewest is not None and size < fewest:
            result.add(ValidationProblem("invalid", path, f"{path} in body should have at least {fewest} items", size))
        if most is not None and size > most:
            result.add(
                ValidationProblem("too many", path, f"{path} in body should have at most {most} items", size, most)
            )
        result.matches += 1
        return result

    def _object(self, value: Mapping[str, Any], path: str, known: CorrelatedObject | None) -> ValidationResult:
        result, node = ValidationResult(), self.node
        size, fewest, most = len(value), node.get("minProperties"), node.get("maxProperties")
        if fewest is not None and size < fewest:
            result.add(
                ValidationProblem("invalid", path, f"{path} in body should have at least {fewest} properties", size)
            )
        if most is not None and size > most:
            result.add(
                ValidationProblem("too many", path, f"{path} in body should have at most {most} properties", size, most)
            )
        others = [key for key in value if key not in self.properties]
        if self.additional is False:
            for key in others:
                result.add(ValidationProblem("invalid", path, f"{path}.{key} in body is a forbidden property", key))
        elif isinstance(self.additional, SchemaValidator):
            for key in others:
                result.merge(self.additional.check(value[key], f"{path}.{key}", _below(known, path, key)))
        for key, sub in self.properties.items():
            if key in value:
                here = f"{path}.{key}" if path else key
                result.merge(sub.check(value[key], here, _below(known, path, key)))
        for key in self.required:
            if key not in value:
                result.add(ValidationProblem("required", f"{path}.{key}", f"{path}.{key} in body is required"))
        return result

    def _combined(self, value: Any, path: str) -> ValidationResult:
        """The errors of the logical junctors, within which unchanged values are validated too."""
        result = ValidationResult()
        if self.any_of:
            self._any_of(value, path, result)
        if self.one_of:
            self._one_of(value, path, result)
        if self.all_of:
            results = [one._check(value, path, None) for one in self.all_of]
            for one in results:
                result.merge(one)
            passed = sum(not one.problems for one in results)
            if passed != len(results):
                more = "" if passed else ". None validated"
                result.add(
                    ValidationProblem("invalid", None, f"{go_quote(path)} must validate all the schemas (allOf){more}")
                )
        if self.negated is not None and not self.negated._check(value, path, None).problems:
            result.add(ValidationProblem("invalid", None, f"{go_quote(path)} must not validate the schema (not)"))
        result.matches += 1
        return result

    def _any_of(self, value: Any, path: str, result: ValidationResult) -> None:
        best: ValidationResult | None = None
        for alternative in self.any_of:
            found = alternative._check(value, path, None)
            if not found.problems:
                result.merge(found)
                return
            if best is None or found.matches > best.matches:
                best = found
        result.add(ValidationProblem("invalid", None, f"{go_quote(path)} must validate at least one schema (anyOf)"))
        if best is not None:
            result.merge(best)

    def _one_of(self, value: Any, path: str, result: ValidationResult) -> None:
        results = [alternative._check(value, path, None) for alternative in self.one_of]
        passed = [one for one in results if not one.problems]
        if len(passed) == 1:
            result.merge(passed[0])
            return
        what = f"Found {len(passed)} valid alternatives" if passed else "Found none valid"
        message = f"{go_quote(path)} must validate one and only one schema (oneOf). {what}"
        result.add(ValidationProblem("invalid", None, message))
        if not passed:
            best = results[0]
            for one in results[1:]:
                best = one if one.matches > best.matches else best
            result.merge(best)


#: The smallest number that is not rounded to one of the format `float`.
FLOAT32 = 2.0**128 - 2.0**103


def _exceeds(value: float, kind: str, form: str) -> bool:
    """Whether a number is none of a type and format."""
    if kind == "integer":
        limit = 2**31 if form == "int32" else INT64
        return (
            not float(value).is_integer() or not -limit <= value < limit or (type(value) is float and value == -INT64)
        )
    return form == "float" and abs(value) >= FLOAT32


def _format(name: str, types: tuple[str, ...], literal: bool) -> str:
    """The format if it is supported (`StripUnsupportedFormatsPostProcess`)."""
    if literal or not name:
        return name
    kind = types[0] if len(types) == 1 else ""
    if kind in ("", "string") or not since(36):
        return name if stringformats.known(name) else ""
    return name if name in NUMBER_FORMATS.get(kind, ()) else ""


def _below(known: CorrelatedObject | None, path: str, key: str) -> CorrelatedObject | None:
    if known is None or (not path and key in ("apiVersion", "kind")):
        return None
    return known.key(key)


def _is_choice(value: Any, choice: Any) -> bool:
    """Whether a value equals a choice, after conversion of numbers to its type."""
    if isinstance(value, bool) or isinstance(choice, bool):
        return value is choice
    if isinstance(value, int | float) and isinstance(choice, int | float):
        return int(value) == choice if isinstance(choice, int) else float(value) == choice
    return type(value) is type(choice) and bool(value == choice)


def _bounded(key: str, value: float, bound: float, node: Node, path: str) -> ValidationProblem | None:
    shown = goprint.plain(bound)
    if key == "multipleOf":
        if bound <= 0:
            return ValidationProblem(
                "invalid", path, f"factor MultipleOf declared for {path} must be positive: {shown}", bound
            )
        if _is_multiple(value, bound):
            return None
        return ValidationProblem("invalid", path, f"{path} in body should be a multiple of {shown}", value)
    if type(value) is int and abs(bound) < 2**63:
        bound = int(bound)  # as `MaximumNativeType` does for integers
        shown = goprint.plain(bound)
    least = key == "minimum"
    exclusive = bool(node.get("exclusiveMinimum" if least else "exclusiveMaximum"))
    beyond = value < bound if least else value > bound
    if not beyond and not (exclusive and value == bound):
        return None
    word = ("greater" if least else "less") + " than" + ("" if exclusive else " or equal to")
    return ValidationProblem("invalid", path, f"{path} in body should be {word} {shown}", value)


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    return _is_nearly_integer(1 / factor * value if factor < 1 else value / factor)


def _is_nearly_integer(value: float) -> bool:
    """Whether a float is an integer that JSON can exchange (go-openapi `swag/conv`, IsFloat64AJSONInteger)."""
    if not abs(value) < 2**53:
        return False
    nearest = round(value)
    return value == nearest or abs(value - nearest) < 1e-9 * abs(nearest)
