"""What `race` writes, wherever it is copied: it is no difference between two runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from fakekube.simulation.atoms import MARK

#: The mark and its value in a text that is no JSON: `fakekube.dev/race=1`, `fakekube.dev/race: "1"`.
_IN_TEXT = re.compile(rf"""[,;&]?[ \t]*["']?{re.escape(MARK)}["']?(?:\s*[:=]\s*["']?1["']?)?[,;&]?[ \t]*\n?""")


def has_mark(value: Any) -> bool:
    """Whether a value, a part of it or a text in it contains the mark."""
    if isinstance(value, str):
        return MARK in value
    if isinstance(value, Mapping):
        return any(has_mark(name) or has_mark(one) for name, one in value.items())
    return isinstance(value, list | tuple) and any(map(has_mark, value))


def without_mark(value: Any) -> Any:
    """The value without the mark: keys, items of lists, and texts, also JSON in a text.

    What contains nothing but the mark is left out, too, as a writer leaves out what is empty.
    """
    if not has_mark(value):
        return value
    if isinstance(value, Mapping):
        kept = ((name, without_mark(one)) for name, one in value.items() if not has_mark(name))
        return {name: one for name, one in kept if one not in ({}, []) or not has_mark(value[name])}
    if isinstance(value, list | tuple):
        return [without_mark(one) for one in value if not _names_mark(one)]
    return _text_without(str(value))


def _names_mark(item: Any) -> bool:
    """Whether an item of a list is the mark: its name, or an entry of that name."""
    return item == MARK or (isinstance(item, Mapping) and MARK in (item.get("name"), item.get("key")))


def _text_without(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError:
        return _IN_TEXT.sub("", text)
    if isinstance(found, str):
        return _IN_TEXT.sub("", found)
    return _sorted(without_mark(found), text)


def normalized(text: str) -> str:
    """A JSON text in one form, so that it can be compared with one whose mark was removed; others as they are."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if not isinstance(found, dict | list):
        return text
    return _sorted(found, text)


def _sorted(value: Any, text: str) -> str:
    """JSON with sorted keys, and the whitespace that the original text ends with."""
    return json.dumps(value, sort_keys=True) + text[len(text.rstrip()) :]
