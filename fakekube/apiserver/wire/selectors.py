"""Parses and evaluates label and field selectors (apimachinery `pkg/labels`, `pkg/fields`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.wire import integers
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.apiserver.wire.status import StatusError, bad_request
from fakekube.struct import Struct

Labels = Mapping[str, str]


class Requirement(Struct, frozen=True):
    """One requirement of a label selector. `operator` is one of in, notin, =, ==, !=, exists, !, gt, lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


def _compare(value: str | None, values: tuple[str, ...], greater: bool) -> bool:
    try:
        have, want = integers.parse_int(value or ""), integers.parse_int(values[0])
    except ValueError:
        return False
    return have > want if greater else have < want


#: Operator -> its predicate over the value of a label (None: the object does not have the label).
OPERATORS: dict[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "in": lambda value, values: value is not None and value in values,
    "=": lambda value, values: value is not None and value in values,
    "==": lambda value, values: value is not None and value in values,
    "notin": lambda value, values: value is None or value not in values,
    "!=": lambda value, values: value is None or value not in values,
    "exists": lambda value, values: value is not None,
    "!": lambda value, values: value is None,
    "gt": lambda value, values: _compare(value, values, True),
    "lt": lambda value, values: _compare(value, values, False),
}


class LabelSelector(Struct, frozen=True):
    """Selects the objects that meet all requirements; without any, every object."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels) -> bool:
        for one in self.requirements:  # noqa: SIM110 - a generator for each object would take twice as long
            if not OPERATORS[one.operator](labels.get(one.key), one.values):
                return False
        return True

    def __bool__(self) -> bool:
        return bool(self.requirements)


EVERYTHING = LabelSelector()

_SPECIAL = "=!(),<>"
_BLANKS = " \t\r\n"
_TOKEN = re.compile(rf"[{_BLANKS}]*(?:(==|!=|[=!(),<>])|([^{_BLANKS}=!(),<>]+))")


class _Parser:
    """A recursive descent parser with one token of lookahead (`labels.Parser`)."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        while match := _TOKEN.match(text, position):
            self.tokens.append(match[1] or match[2])
            position = match.end()
        self.position = 0

    def look(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def next(self) -> str:
        token = self.look()
        self.position += 1
        return token

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            token = self.look()
            if token == "":
                return found
            if token == "!" or token[0] not in _SPECIAL:
                found.append(self.requirement())
                separator = self.next()
                if separator == "":
                    return found
                if separator != ",":
                    raise bad_request(f"found '{separator}', expected: ',' or 'end of string'")
                following = self.look()
                if following != "!" and (following == "" or following[0] in _SPECIAL):
                    raise bad_request(f"found '{following}', expected: identifier after ','")
            else:
                raise bad_request(f"found '{token}', expected: !, identifier, or 'end of string'")

    def requirement(self) -> Requirement:
        negated = self.look() == "!"
        if negated:
            self.next()
        key = self.next()
        if key == "" or key[0] in _SPECIAL:
            raise _unparsable(f"found '{key}', expected: identifier")
        if problems := names.qualified_name_problems(key):
            raise _unparsable(f"<nil>: Invalid value: {go_quote(key)}: {'; '.join(problems)}")
        if self.look() in ("", ","):
            return Requirement(key, "!" if negated else "exists")
        if negated:
            return Requirement(key, "!")
        operator = self.operator()
        values = self.set() if operator in ("in", "notin") else (self.value(),)
        return _checked(key, operator, values)

    def operator(self) -> str:
        token = self.next()
        token = {">": "gt", "<": "lt"}.get(token, token)
        if token not in ("in", "notin", "=", "==", "!=", "gt", "lt"):
            raise _unparsable(f"found '{token}', expected: in, notin, =, ==, !=, gt, lt")
        return token

    def value(self) -> str:
        token = self.look()
        if token in ("", ","):
            return ""
        if token[0] in _SPECIAL:
            raise _unparsable(f"found '{token}', expected: identifier")
        return self.next()

    def set(self) -> tuple[str, ...]:
        token = self.next()
        if token != "(":
            raise _unparsable(f"found '{token}' expected: '('")
        values: list[str] = []
        if self.look() == ")":
            self.next()
            return ("",)
        while True:
            token = self.next()
            if token == ",":
                # an empty element: before this comma, between two commas, or before the closing parenthesis
                if not values or self.look() in (",", ")"):
                    values.append("")
                continue
            if token == ")":
                return tuple(sorted(set(values)))
            if token == "" or token[0] in _SPECIAL:
                expected = "',', or identifier" if values else "',', ')' or identifier"
                raise _unparsable(f"found '{token}', expected: {expected}")
            values.append(token)
            if self.look() not in (",", ")"):
                raise _unparsable(f"found '{self.look()}', expected: ',' or ')'")


def _unparsable(why: str) -> StatusError:
    return bad_request(f"unable to parse requirement: {why}")


def _checked(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    if operator in ("gt", "lt"):
        try:
            integers.parse_int(values[0])
        except ValueError:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _unparsable(f"values[0]: Invalid value: {go_quote(values[0])}: {detail}") from None
    for i, value in enumerate(values):
        if problems := names.label_value_problems(value):
            raise _unparsable(f"values[{i}][{key}]: Invalid value: {go_quote(value)}: {'; '.join(problems)}")
    return Requirement(key, operator, values)


def parse_labels(text: str) -> LabelSelector:
    """Parses a label selector. Raises 400 BadRequest."""
    if not text.strip(_BLANKS):
        return EVERYTHING
    return LabelSelector(tuple(_Parser(text).parse()))


class FieldTerm(Struct, frozen=True):
    """`field` equals `value`, or differs from it."""

    field: str
    equal: bool
    value: str


class FieldSelector(Struct, frozen=True):
    """Selects the objects that meet all terms. The strategy of a kind defines its fields."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, fields: Callable[[str], str]) -> bool:
        return all((fields(term.field) == term.value) is term.equal for term in self.terms)

    def required(self, field: str) -> str | None:
        """The value that the selector requires of `field`, if any (`RequiresExactMatch`)."""
        for term in self.terms:
            if term.field == field and term.equal:
                return term.value
        return None

    def __bool__(self) -> bool:
        return bool(self.terms)


NO_FIELDS = FieldSelector()
_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


def parse_fields(text: str) -> FieldSelector:
    """Parses a field selector; `\\` escapes `,`, `=` and itself in values. Raises 400 BadRequest."""
    terms = []
    for part in _split(text):
        if not part:
            continue
        match = _TERM.fullmatch(part)
        if not match:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        field, value = match[1], _unescape(match[3])
        if field or value:  # a term of an operator alone selects everything (`hasTerm.Transform`)
            terms.append(FieldTerm(field, match[2] != "!=", value))
    return FieldSelector(tuple(terms))


def _split(text: str) -> list[str]:
    parts, current, escaped = [], "", False
    for char in text:
        if char == "," and not escaped:
            parts.append(current)
            current = ""
            continue
        current += char
        escaped = char == "\\" and not escaped
    return [*parts, current]


def _unescape(value: str) -> str:
    out, escaped = "", False
    for char in value:
        if escaped:
            if char not in "\\,=":
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{char}")
            out += char
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            out += char
    if escaped:
        raise bad_request("invalid field selector: invalid escape sequence: \\")
    return out


#: Operator of a `LabelSelector` in an object -> the operator in a query.
_IN_OBJECTS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def of_object(selector: Mapping[str, Any]) -> LabelSelector | None:
    """The selector of a `meta/v1.LabelSelector`, as a Deployment has one; None if it has an unknown operator."""
    found = [Requirement(key, "=", (value,)) for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or ():
        operator = _IN_OBJECTS.get(expression.get("operator") or "")
        if operator is None:
            return None
        found.append(Requirement(expression.get("key") or "", operator, tuple(expression.get("values") or ())))
    return LabelSelector(tuple(found))
