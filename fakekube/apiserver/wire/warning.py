"""Warnings in the headers of an answer, within the limits of the real server (`filters/warning.go`, `net/http.go`)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

#: Characters of all warnings of one answer; beyond that each is cut to so many.
TOTAL_LIMIT = 4 * 1024
ITEM_LIMIT = 256


def header_values(texts: Iterable[str]) -> Sequence[str]:
    """The values of an answer's `Warning` headers: each text once; one with control characters is left out."""
    wanted = [text for text in dict.fromkeys(texts) if text]
    shown, written = [], 0
    for text in filter(_can_be_sent, wanted):
        shown.append(text)
        written += len(text)
        if written > TOTAL_LIMIT:
            return [_value(text) for text in _truncated(wanted)]
    return [_value(text) for text in shown]


def _truncated(wanted: Sequence[str]) -> Iterable[str]:
    written = 0
    for text in (text[:ITEM_LIMIT] for text in wanted):
        if written >= TOTAL_LIMIT:
            return
        if _can_be_sent(text):
            written += len(text)
            yield text


def _can_be_sent(text: str) -> bool:
    return not any(unicodedata.category(char) in ("Cc", "Cs") for char in text)


def _value(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{escaped}"'
