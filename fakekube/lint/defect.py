"""What is wrong with a manifest, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Level = Literal["error", "warning", "skipped"]

_UNKNOWN = re.compile(r'(unknown|duplicate) field "([^"]*)"')
_OF_KIND = re.compile(r'^\w+ in version "[^"]*" cannot be handled as a \w+: ')
_STRICT = "strict decoding error: "


@dataclass(frozen=True, slots=True)
class Defect:
    """A defect of an object (`KIND/NAME`, "" for a file) in a line of a file. `versions`: of Kubernetes, if not all."""

    file: str
    line: int
    object: str
    field: str
    message: str
    level: Level = "error"
    versions: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        level = "" if self.level == "error" else self.level
        parts = [part for part in (place, self.object, level, self.field, self.message) if part]
        text = ": ".join(parts)
        return f"{text} [{', '.join(self.versions)}]" if self.versions else text

    @property
    def text(self) -> str:
        """The field and the message."""
        return f"{self.field}: {self.message}" if self.field else self.message


def of_status(at: Defect, status: Mapping[str, Any]) -> Iterator[Defect]:
    """The defects that a rejected request names; `at` has their place."""
    message = str(status.get("message", status))
    causes = (status.get("details") or {}).get("causes") or ()
    if status.get("reason") == "Invalid" and causes:
        for cause in causes:
            yield replace(at, field=str(cause.get("field", "")), message=str(cause.get("message", "")))
    elif _STRICT in message and (found := _UNKNOWN.findall(message.partition(_STRICT)[2])):
        for what, field in found:
            yield replace(at, field=field, message=f"{what} field")
    else:
        yield replace(at, message=_OF_KIND.sub("", message))


def merged(by_version: Mapping[str, Sequence[Defect]]) -> list[Defect]:
    """The defects of all versions in the order of their places; `versions` is set for those of some only."""
    found: dict[Defect, list[str]] = {}
    for version, defects in by_version.items():
        for one in dict.fromkeys(defects):
            found.setdefault(one, []).append(version)
    made = (
        one if len(versions) == len(by_version) else replace(one, versions=tuple(versions))
        for one, versions in found.items()
    )
    return sorted(made, key=lambda one: (one.file, one.line))


def errors(defects: Iterable[Defect]) -> int:
    """The number of errors among them."""
    return sum(one.level == "error" for one in defects)
