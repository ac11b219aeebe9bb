"""The `Warning` headers of a response, with the limits of the real server (`filters/warning.go`, `net/http.go`)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

#: The limit of the characters of all warnings of a response, and of each warning if they exceed it.
TOTAL_LIMIT = 4 * 1024
ITEM_LIMIT = 256


def header_values(texts: Iterable[str]) -> Sequence[str]:
    """The values of the `Warning` headers of a response; duplicates and texts with control characters are left out."""
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
