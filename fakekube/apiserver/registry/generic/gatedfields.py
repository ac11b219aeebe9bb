"""Fields of features that are off: writes drop them unless the stored object has them (`dropDisabledFields`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.features import enabled

Object = dict[str, Any]

#: The gate of fields whose feature has been removed.
REMOVED = ""


def without_disabled(gated: Mapping[str, str], new: Object, old: Object | None = None) -> Object:
    """The new object without the fields whose gates are off. `gated` maps `SECTION.FIELD` to the gate."""
    for path, gate in gated.items():
        section, _, field = path.partition(".")
        fields = new.get(section) or {}
        if field not in fields or (gate != REMOVED and enabled(gate)):
            continue
        if old is None or (old.get(section) or {}).get(field) in (None, [], {}):
            new = {**new, section: {name: value for name, value in fields.items() if name != field}}
    return new
