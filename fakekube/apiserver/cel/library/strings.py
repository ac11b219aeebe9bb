"""The functions for strings (`cel-go/ext/strings.go`, version 2) and regular expressions (`library/regex.go`)."""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.cel.library.overload import Overload, overload
from fakekube.apiserver.cel.values import OVER_BUDGET, CelError, OverBudget
from fakekube.apiserver.wire.goregexp import BadPattern, compiled

#: The limit of the characters of a result.
SIZE_LIMIT = 16 * 1024 * 1024

_SPACE = " \t\n\v\f\r\u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def char_at(text: str, i: int) -> str:
    if not 0 <= i <= len(text):
        raise CelError(f"index out of range: {i}")
    return text[i : i + 1]


def index_of(text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise CelError(f"index out of range: {offset}")
    if not part:
        return min(offset, len(text))
    return text.find(part, offset) if offset < len(text) else -1


def last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        return text.rfind(part) if part else len(text)
    if offset < 0:
        raise CelError(f"index out of range: {offset}")
    if not part:
        return min(offset, len(text))
    return text.rfind(part, 0, offset + len(part)) if offset < len(text) else -1


def lower_ascii(text: str) -> str:
    return re.sub(r"[A-Z]+", lambda match: match[0].lower(), text)


def upper_ascii(text: str) -> str:
    return re.sub(r"[a-z]+", lambda match: match[0].upper(), text)


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    times = text.count(old) if count < 0 else min(count, text.count(old))
    _allow(len(text) + times * len(new))
    return text.replace(old, new, count)


def _allow(size: int) -> None:
    """Raises OverBudget for a result that is larger than any request."""
    if size > SIZE_LIMIT:
        raise OverBudget(OVER_BUDGET)


def split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if not separator:
        return list(text) if count < 0 or count >= len(text) else [*text[: count - 1], text[count - 1 :]]
    return text.split(separator, count - 1 if count > 0 else -1)


def substring(text: str, start: int, end: int | None = None) -> str:
    size = len(text)
    if end is None:
        if not 0 <= start <= size:
            raise CelError(f"index out of range: {start}")
        return text[start:]
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for i in (start, end):
        if not 0 <= i <= size:
            raise CelError(f"index out of range: {i}")
    return text[start:end]


def join(items: list[Any], separator: str = "") -> str:
    _allow(len(separator) * len(items))
    return separator.join(items)


_QUOTES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def quote(text: str) -> str:
    return '"' + "".join(_QUOTES.get(char, char) for char in text) + '"'


def escape_key(text: str) -> str:
    """A key as a part of a JSON Pointer."""
    return text.replace("~", "~0").replace("/", "~1")


# --- regular expressions ---------------------------------------------------------------------------------------------


def find(text: str, pattern: str) -> str:
    match = _compiled(pattern).search(text)
    return match.group() if match else ""


def find_all(text: str, pattern: str, count: int = -1) -> list[str]:
    found: list[str] = []
    for match in _compiled(pattern).finditer(text):
        if 0 <= count <= len(found):
            break
        found.append(match.group())
    return found


def _compiled(pattern: str) -> Any:
    try:
        return compiled(pattern)
    except BadPattern as problem:
        raise CelError(f"Illegal regex: {problem}") from None


OVERLOADS: list[Overload] = [
    overload("charAt", "string_char_at_int", "string.(int) -> string", char_at),
    overload("indexOf", "string_index_of_string", "string.(string) -> int", index_of),
    overload("indexOf", "string_index_of_string_int", "string.(string, int) -> int", index_of),
    overload("lastIndexOf", "string_last_index_of_string", "string.(string) -> int", last_index_of),
    overload("lastIndexOf", "string_last_index_of_string_int", "string.(string, int) -> int", last_index_of),
    overload("lowerAscii", "string_lower_ascii", "string.() -> string", lower_ascii),
    overload("upperAscii", "string_upper_ascii", "string.() -> string", upper_ascii),
    overload("replace", "string_replace_string_string", "string.(string, string) -> string", replace),
    overload("replace", "string_replace_string_string_int", "string.(string, string, int) -> string", replace),
    overload("split", "string_split_string", "string.(string) -> list(string)", split),
    overload("split", "string_split_string_int", "string.(string, int) -> list(string)", split),
    overload("substring", "string_substring_int", "string.(int) -> string", substring),
    overload("substring", "string_substring_int_int", "string.(int, int) -> string", substring),
    overload("trim", "string_trim", "string.() -> string", lambda text: text.strip(_SPACE)),
    overload("strings.quote", "strings_quote", "(string) -> string", quote),
    overload("jsonpatch.escapeKey", "string_jsonpatch_escapeKey", "(string) -> string", escape_key),
    overload("join", "list_join", "list(string).() -> string", join),
    overload("join", "list_join_string", "list(string).(string) -> string", join),
    overload("find", "string_find_string", "string.(string) -> string", find),
    overload("findAll", "string_find_all_string", "string.(string) -> list(string)", find_all),
    overload("findAll", "string_find_all_string_int", "string.(string, int) -> list(string)", find_all),
]
