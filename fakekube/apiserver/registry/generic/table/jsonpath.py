"""JSONPath as printer columns use it (client-go `util/jsonpath`): a path that picks values out of an object.

Taken: `.field`, `['field']`, `[n]`, `[a:b:c]`, `[*]`, `.*`, `..`, unions `[a,b]`, filters `[?(@.type=="Ready")]`.
Missing keys give no value.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

Step = Callable[[list[Any]], list[Any]]
"""From the values found so far to those one step further. Raises NoValue."""


class InvalidPath(Exception):
    """The text is not a valid path, or columns cannot use it."""


class NoValue(Exception):
    """The object does not match the path: an index is out of bounds, or a filter applies to a value that is not a
    list."""


_TERMINATORS = " \t\r\n.,[]$@{}"
_QUOTED_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+?)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d.]+")

#: The operators of a filter.
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


class Path:
    """A parsed path. Raises InvalidPath."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str) -> None:
        self.text: str = text
        self._steps = _parse(text)

    def find(self, obj: Any) -> list[Any]:
        """Returns the values at the path, in order. Raises NoValue."""
        return _walk(self._steps, [obj])

    def __repr__(self) -> str:
        return f"<Path {self.text}>"


def _walk(steps: Sequence[Step], values: list[Any]) -> list[Any]:
    for step in steps:
        values = step(values)
    return values


def _parse(text: str) -> list[Step]:
    steps: list[Step] = []
    position = 0
    while position < len(text):
        step, position = _next(text, position)
        if step is not None:
            steps.append(step)
    return steps


def _next(text: str, position: int) -> tuple[Step | None, int]:
    """Returns the step at `position` (None: there is none), and the position of the next one."""
    char = text[position]
    if text.startswith("[?(", position):
        return _filter(text, position)
    if text.startswith("..", position):
        following = position + 2
        if following < len(text) and (text[following].isalnum() or text[following] == "_"):
            field, following = _field(text, following)
            return (lambda values: field(_descend(values))), following
        return _descend, following
    if char in " @$":
        return None, position + 1
    if char == "[":
        end = text.find("]", position)
        if end < 0:
            raise InvalidPath("unterminated array")
        return _subscript(text[position + 1 : end]), end + 1
    if char in "\"'":
        end = _closing_quote(text, position)
        return _literal(re.sub(r"\\(.)", r"\1", text[position + 1 : end])), end + 1
    if char == ".":
        return _field(text, position + 1)
    if match := _NUMBER.match(text, position):
        return _literal(_number(match[0])), match.end()
    for word, value in (("true", True), ("false", False)):
        if text.startswith(word, position):
            return _literal(value), position + len(word)
    raise InvalidPath(f"unrecognized character in action: {char}")


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise InvalidPath(f"cannot parse number {text}") from None


def _literal(value: Any) -> Step:
    return lambda values: [value] * len(values)


def _closing_quote(text: str, position: int) -> int:
    quote, end = text[position], position + 1
    while end < len(text):
        if text[end] == quote and text[end - 1] != "\\":
            return end
        end += 1
    raise InvalidPath("unterminated quoted string")


def _field(text: str, position: int) -> tuple[Step, int]:
    start = position
    while position < len(text) and text[position] not in _TERMINATORS:
        position += 2 if text[position] == "\\" else 1
    name = text[start:position].replace("\\", "")
    return (_all_of_them if name == "*" else _member(name)), position


def _member(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, list) else []


def _all_of_them(values: list[Any]) -> list[Any]:
    return [child for value in values for child in _children(value)]


def _descend(values: list[Any]) -> list[Any]:
    """Yields all values that contain others, each before its contents."""
    found = []
    for value in values:
        children = _children(value)
        if children:
            found += [value, *_descend(children)]
    return found


def _subscript(text: str) -> Step:
    if text == "*":
        text = ":"
    parts = text.split(",")
    if len(parts) > 1:
        steps = [_subscript(part.strip(" ")) for part in parts]
        return lambda values: [found for step in steps for found in step(values)]
    if quoted := _QUOTED_KEY.fullmatch(text):
        keys = _parse("." + quoted[1])
        return lambda values: _walk(keys, values)
    return _slice(text)


def _slice(text: str) -> Step:
    match = _SLICE.fullmatch(text)
    if match is None:
        raise InvalidPath(f"invalid array index {text}")
    start, stop, step = (part and part.lstrip(":") for part in match.groups())
    try:
        bounds = [int(part) if part else None for part in (start, stop, step)]
    except ValueError:
        raise InvalidPath(f"array index {text} is not a number") from None
    single = stop is None  # `[n]`: one item
    return lambda values: [found for value in values if value is not None for found in _cut(value, bounds, single)]


def _cut(value: Any, bounds: list[int | None], single: bool) -> list[Any]:
    if not isinstance(value, list):
        raise NoValue("is not array or slice")
    length = len(value)
    start = bounds[0] or 0
    start += length if start < 0 else 0
    if single:
        stop: int = start + 1
    else:
        stop = length if bounds[1] is None else bounds[1]
        stop += length if stop < 0 else 0
    if start == stop:
        return []
    if not 0 <= start < length or not 0 <= stop <= length or start > stop:
        raise NoValue("array index out of bounds")
    if bounds[2] is not None and bounds[2] <= 0:
        raise NoValue("step must be > 0")
    return value[start : stop : bounds[2]]


def _filter_end(text: str, position: int) -> int:
    """Returns the position of the filter's closing parenthesis, outside of quotes."""
    quote = ""
    while position < len(text):
        char = text[position]
        if quote:
            quote = "" if char == quote and text[position - 1] != "\\" else quote
        elif char in "\"'":
            quote = char
        elif char == ")":
            return position
        position += 1
    raise InvalidPath("unterminated filter")


def _filter(text: str, position: int) -> tuple[Step, int]:
    end = _filter_end(text, position + 3)
    if text[end + 1 : end + 2] != "]":
        raise InvalidPath("unclosed array expect ]")
    return _select(_test(text[position + 3 : end])), end + 2


def _test(text: str) -> Callable[[Any], bool]:
    comparison = _COMPARISON.fullmatch(text)
    if comparison is None:
        path = _parse(text)
        return lambda item: bool(_walk(path, [item]))
    left, right = _parse(comparison[1]), _parse(comparison[3])
    compare = OPERATORS.get(comparison[2])
    if compare is None:
        raise InvalidPath(f"unrecognized filter operator {comparison[2]}")
    return lambda item: _compared(compare, _walk(left, [item]), _walk(right, [item]))


def _compared(compare: Callable[[Any, Any], bool], left: list[Any], right: list[Any]) -> bool:
    if not left or not right:
        return False
    if len(left) > 1 or len(right) > 1:
        raise NoValue("can only compare one element at a time")
    try:
        return compare(left[0], right[0])
    except TypeError:
        raise NoValue("incompatible types for comparison") from None


def _select(test: Callable[[Any], bool]) -> Step:
    def step(values: list[Any]) -> list[Any]:
        found = []
        for value in values:
            if not isinstance(value, list):
                raise NoValue("is not array or slice and cannot be filtered")
            found += [item for item in value if test(item)]
        return found

    return step
