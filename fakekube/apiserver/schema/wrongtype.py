"""Errors of values of a wrong type, and how they show numbers."""

from __future__ import annotations

import re

from fakekube.apiserver.features import since
from fakekube.apiserver.wire import gojson


class WrongType(Exception):
    """A value of the wrong type; the message is that of Go's JSON decoder.

    `unstructured` is the message where Go converts a map instead (`DefaultUnstructuredConverter`).
    """

    def __init__(self, text: str, unstructured: str = "") -> None:
        super().__init__(text)
        self.unstructured: str = unstructured or text


_TYPE_PROBLEM = re.compile(r"(json: .+?) into Go (?:value|struct field [^. ]+)(?:\.(\S*))? of type (.*)")


def within(problem: WrongType, place: str) -> WrongType:
    """The error of a type that has its own decoder, as the decoder of the object that contains it words it."""
    found = _TYPE_PROBLEM.fullmatch(str(problem))
    if found is None:
        return problem
    what, path, kind = found.groups()
    below = f".{path}" if path and since(35) else ""
    return WrongType(f"{what} into {place}{below} of type {kind}", str(problem))


class SentNumber(float):
    """A number in JSON that is not a 64-bit integer, with its text: errors quote it as it was sent."""

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> SentNumber:
        made = super().__new__(cls, text)
        made.text = text
        return made


def number_text(value: float) -> str:
    """The number as it was sent, if that is known."""
    return value.text if isinstance(value, SentNumber) else gojson.encode(value).decode()
