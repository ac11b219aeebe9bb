"""The errors of Go's `encoding/base64`, which messages quote with their position."""

from __future__ import annotations

_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
STANDARD = frozenset(_LETTERS + b"+/")
URL_SAFE = frozenset(_LETTERS + b"-_")

_NEWLINES = frozenset(b"\r\n")
_PADDING = ord("=")


def illegal_byte(text: str, alphabet: frozenset[int] = STANDARD, *, padded: bool = True) -> int | None:
    """The position of the first byte that Go's decoder rejects; None if the text is valid.

    Newlines are skipped. The position of an incomplete group is that of its first byte, counted from the end.
    """
    data = text.encode("utf-8", "surrogatepass")
    taken = 0  # the characters of the current group
    for at, byte in enumerate(data):
        if byte in _NEWLINES:
            continue
        if byte in alphabet:
            taken = (taken + 1) % 4
        elif byte == _PADDING and padded and taken >= 2:
            return _illegal_end(data, at, missing=3 - taken)
        else:
            return at
    return len(data) - taken if taken and (padded or taken == 1) else None


def _illegal_end(data: bytes, at: int, *, missing: int) -> int | None:
    """The error in what follows the padding at a position, of which `missing` characters have to follow."""
    following = _after_newlines(data, at + 1)
    if missing:
        if following == len(data):
            return following
        if data[following] != _PADDING:
            return following - 1
        following = _after_newlines(data, following + 1)
    return following if following < len(data) else None


def _after_newlines(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _NEWLINES:
        at += 1
    return at
