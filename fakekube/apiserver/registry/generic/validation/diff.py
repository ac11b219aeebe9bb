"""What differs between two specs, as text (apimachinery `util/diff`)."""

from __future__ import annotations

import difflib
import json
from typing import Any


def spec_diff(before: Any, after: Any) -> str:
    """A unified diff of the two as indented JSON."""
    old, new = (json.dumps(one, indent=1, ensure_ascii=False).splitlines() for one in (before, after))
    lines = list(difflib.unified_diff(old, new, lineterm=""))
    return "".join(f"{line}\n" for line in lines[2:])
