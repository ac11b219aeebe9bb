"""The hash of a pod template, as a label value (`controller.ComputeHash`).

kube-controller-manager hashes Go's print of the internal struct. This hash has the same alphabet and length, and is
equal exactly for equal templates, but its values are others.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import orjson

#: Letters and digits without vowels and what looks like them (apimachinery: rand.SafeEncodeString).
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def template_hash(template: Mapping[str, Any], collisions: int | None = None) -> str:
    """The hash of a template; `collisions` is the collisionCount of the owner's status."""
    text = orjson.dumps(template, option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        text += collisions.to_bytes(8, "little")
    return safe_encoded(str(zlib.crc32(text)))


def safe_encoded(text: str) -> str:
    """A text with each character replaced by one of the alphabet."""
    return "".join(_ALPHABET[ord(one) % len(_ALPHABET)] for one in text)
