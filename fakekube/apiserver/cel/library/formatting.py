"""`string.format`: its syntax, and the texts of its arguments (`cel-go/ext/formatting.go`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakekube.apiserver.cel.library.overload import Overload, overload
from fakekube.apiserver.cel.library.typeconversions import to_string
from fakekube.apiserver.cel.types import Type
from fakekube.apiserver.cel.values import OVER_BUDGET, CelError, Duration, OverBudget, Timestamp, kind_of
from fakekube.apiserver.wire.goprint import go_quote
from fakekube.struct import Struct

#: The limit of the digits of one argument.
PRECISION_LIMIT = 1_000_000

_DEFAULT_PRECISION = 6
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Clause(Struct, frozen=True):
    """A formatting clause such as `%.2f`."""

    verb: str
    precision: int | None = None


class Verb(Struct, frozen=True):
    """The types that a verb accepts, and the error for the others."""

    kinds: frozenset[str]
    problem: str

    def refusal(self, kind: str) -> CelError:
        return CelError(f"error during formatting: {self.problem}, was given {kind}")


def _verb(kinds: str, problem: str) -> Verb:
    return Verb(frozenset(kinds.split()), problem)


_HEX = _verb("int uint string bytes", "only integers, byte buffers, and strings can be formatted as hex")

#: The types are those that the static check accepts. At run time, strings are doubles only if they name one.
VERBS: Mapping[str, Verb] = {
    "s": _verb(
        "list map int uint double bool string google.protobuf.Timestamp bytes google.protobuf.Duration type null_type",
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
        "timestamps",
    ),
    "d": _verb("int uint", "decimal clause can only be used on integers"),
    "f": _verb("double string", "fixed-point clause can only be used on doubles"),
    "e": _verb("double string", "scientific clause can only be used on doubles"),
    "b": _verb("int uint bool", "only integers and bools can be formatted as binary"),
    "x": _HEX,
    "X": _HEX,
    "o": _verb("int uint", "octal clause can only be used on integers"),
}


# --- syntax ----------------------------------------------------------------------------------------------------------


def interpolate(text: str, size: int, formatted: Callable[[int, Clause], str], *, arguments_first: bool = True) -> str:
    """Replaces the clauses of a text by `formatted(index of the argument, clause)`. Raises CelError.

    `size` is the number of arguments. `arguments_first`: a missing argument is reported before an incomplete clause,
    as at run time.
    """
    found: list[str] = []
    at = used = 0
    while at < len(text):
        percent = text.find("%", at)
        if percent < 0:
            break
        found.append(text[at:percent])
        at = percent + 1
        if text[at : at + 1] == "%":
            found.append("%")
            at += 1
            continue
        if arguments_first and used >= size:
            raise CelError(f"index {used} out of range")
        if at == len(text):
            raise CelError("unexpected end of string")
        if used >= size:
            raise CelError(f"index {used} out of range")
        clause, at = _clause(text, at)
        found.append(formatted(used, clause))
        used += 1
    return "".join(found) + text[at:]


def _clause(text: str, at: int) -> tuple[Clause, int]:
    """Parses a clause after its percent sign. Returns it and the offset of its end."""
    problem = "could not parse formatting clause: "
    precision: int | None = None
    if text[at] == ".":
        match = re.compile(r"[0-9]*").match(text, at + 1)
        assert match is not None
        at = match.end()
        wrong = f"{problem}error while parsing precision: "
        if at == len(text):
            raise CelError(f"{wrong}could not find end of precision specifier")
        precision = int(match[0]) if match[0] and len(match[0]) < 20 else None
        if precision is None or precision >= 2**63:
            why = "value out of range" if match[0] else "invalid syntax"
            converting = "error while converting precision to integer: strconv.Atoi: parsing"
            raise CelError(f"{wrong}{converting} {go_quote(match[0])}: {why}")
    if text[at] not in VERBS:
        byte = chr(text[at].encode()[0])
        raise CelError(f'{problem}unrecognized formatting clause "{byte}"')
    return Clause(text[at], precision), at + 1


# --- the texts of values ---------------------------------------------------------------------------------------------


def format(text: str, args: Sequence[Any]) -> str:
    """Formats a text: `'%d of %s'.format([1, x])`. Raises CelError."""

    def formatted(i: int, clause: Clause) -> str:
        value = args[i]
        if kind_of(value) not in VERBS[clause.verb].kinds or not _is_double(clause.verb, value):
            raise VERBS[clause.verb].refusal(kind_of(value))
        try:
            return _FORMATTERS[clause.verb](clause, value)
        except OverBudget:
            raise
        except CelError as problem:
            raise CelError(f"error during formatting: {problem}") from None

    return interpolate(text, len(args), formatted)


def _is_double(verb: str, value: Any) -> bool:
    return verb not in "fe" or not isinstance(value, str) or value in ("NaN", "Infinity", "-Infinity")


def _text(clause: Clause, value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    if isinstance(value, dict):
        rows = sorted((_key(key), _nested(item)) for key, item in value.items())
        return f"{{{', '.join(f'{key}:{item}' for key, item in rows)}}}"
    if value is None:
        return "null"
    if isinstance(value, Type):
        return value.name
    try:
        return to_string(value)
    except CelError as problem:
        raise CelError(f"could not convert argument {go_quote(str(problem))} to string") from None


def _key(key: Any) -> str:
    if not isinstance(key, str | int):
        raise CelError(f"no formatting function for map key of type {kind_of(key)}")
    return go_quote(key) if isinstance(key, str) else to_string(key)


def _nested(value: Any) -> str:
    """A value inside of a list or map: strings are quoted, and doubles have six decimals."""
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bytes):
        return f"b{go_quote(_text(Clause('s'), value))}"
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else go_quote(to_string(value))
    if isinstance(value, Timestamp):
        return f'timestamp("{value}")'
    if isinstance(value, Duration):
        return f'duration("{value}")'
    if kind_of(value) not in VERBS["s"].kinds:
        raise CelError(f"no formatting function for {kind_of(value)}")
    return _text(Clause("s"), value)


def _decimal(clause: Clause, value: Any) -> str:
    return str(int(value))


def _number_text(value: Any) -> tuple[float, str]:
    """A double, and its text if it is not finite."""
    number = float(value.replace("Infinity", "inf")) if isinstance(value, str) else value
    if math.isnan(number):
        return number, "NaN"
    return number, "" if math.isfinite(number) else "∞" if number > 0 else "-∞"


def _fixed(clause: Clause, value: Any) -> str:
    """A double with grouped digits, as `golang.org/x/text/message` formats it for English."""
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    if precision > PRECISION_LIMIT:
        raise OverBudget(OVER_BUDGET)
    number, special = _number_text(value)
    return special or f"{number or 0.0:,.{precision}f}"


def _scientific(clause: Clause, value: Any) -> str:
    """A double in scientific notation. The precision is a minimum width; there are always six decimals."""
    width = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    if width > PRECISION_LIMIT:
        raise OverBudget(OVER_BUDGET)
    number, special = _number_text(value)
    mantissa, _, exponent = f"{number or 0.0:.6e}".partition("e")
    made = special or f"{mantissa}×10{exponent.lstrip('+').translate(_SUPERSCRIPTS)}"
    return made.rjust(width)


def _binary(clause: Clause, value: Any) -> str:
    return f"{int(value):b}"


def _hexadecimal(clause: Clause, value: Any) -> str:
    if isinstance(value, str | bytes):
        made = (value.encode() if isinstance(value, str) else value).hex()
    else:
        made = f"{int(value):x}"
    return made.upper() if clause.verb == "X" else made


def _octal(clause: Clause, value: Any) -> str:
    return f"{int(value):o}"


_FORMATTERS: Mapping[str, Callable[[Clause, Any], str]] = {
    "s": _text,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hexadecimal,
    "X": _hexadecimal,
    "o": _octal,
}

OVERLOADS: list[Overload] = [overload("format", "string_format", "string.(list(dyn)) -> string", format)]
