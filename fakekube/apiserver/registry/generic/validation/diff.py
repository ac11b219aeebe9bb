"""What differs between two specs, as text (apimachinery `util/diff`)."""

from __future__ import annotations

import difflib
from typing import Any

from fakekube.apiserver.registry.generic.validation import gostructs


def struct_diff(struct: str, before: Any, after: Any) -> str:
    """A unified diff of two values of Go's struct as indented JSON."""
    old, new = (gostructs.marshal(gostructs.as_go(struct, one), indent=1).split("\n") for one in (before, after))
    lines = list(difflib.unified_diff(old, new, lineterm=""))
    return "".join(f"{line}\n" for line in lines[2:])
