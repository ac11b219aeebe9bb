"""The result of validating a value against a schema (`kube-openapi/pkg/validation/validate/result.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.wire import goprint
from fakekube.apiserver.wire.gojson import go_json
from fakekube.apiserver.wire.goprint import go_quote, quoted
from fakekube.apiserver.wire.status import FieldError, field_not_supported, field_required, field_too_many
from fakekube.struct import Struct, field


class ValidationProblem(Struct, frozen=True):
    """An error with a path relative to the validated value (`name`; None: the error has no field)."""

    kind: str
    name: str | None
    message: str
    value: Any = None
    limit: Any = None


class ValidationResult(Struct):
    """The errors without duplicate messages, and the number of passed checks, which ranks alternatives."""

    problems: list[ValidationProblem] = field(default_factory=list)
    matches: int = 0
    _messages: set[str] = field(default_factory=set)

    def merge(self, other: ValidationResult) -> None:
        self.add(*other.problems)
        self.matches += other.matches

    def add(self, *problems: ValidationProblem) -> None:
        for one in problems:
            if one.message not in self._messages:
                self._messages.add(one.message)
                self.problems.append(one)


def wrong_type(name: str, wanted: str, found: str) -> ValidationProblem:
    message = f"{name} in body must be of type {wanted}: {go_quote(found)}"
    return ValidationProblem("type", name, message, found)


def field_errors(problems: Sequence[ValidationProblem], root: str = "") -> list[FieldError]:
    """The field errors of a Status; `root` is the path of the validated value."""
    return [_field_error(one, root) for one in problems]


def _field_error(one: ValidationProblem, root: str) -> FieldError:
    name = (one.name or "").removeprefix(".")
    path = f"{root}.{name}" if root and name else root or name or "<nil>"
    if one.kind == "required":
        return field_required(path)
    if one.kind == "enum":
        choices = [choice if isinstance(choice, str) else go_json(choice) for choice in one.limit]
        return field_not_supported(path, one.value, choices)
    if one.kind == "too long":
        unit = "byte" if one.limit == 1 else "bytes"
        if not since(32):
            return FieldError(path, "FieldValueTooLong", f"Too long: may not be longer than {one.limit}")
        return FieldError(path, "FieldValueTooLong", f"Too long: may not be more than {one.limit} {unit}")
    if one.kind == "too many":
        return field_too_many(path, one.value, one.limit)
    value = "" if one.value is None else one.value
    shown = goprint.number(value) if isinstance(value, float) else quoted(value)
    reason = "FieldValueTypeInvalid" if one.kind == "type" else "FieldValueInvalid"
    return FieldError(path, reason, f"Invalid value: {shown}: {one.message}")
