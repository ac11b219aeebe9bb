"""Label and field selectors (apimachinery: pkg/labels, pkg/fields)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r"\s*(?P<not>!)?\s*(?P<key>[^\s,!=<>()]+)\s*(?P<rest>.*)", re.S)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement on a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether `labels` satisfy it; a missing label satisfies `!=` and `notin`."""
        value = labels.get(self.key)
        if self.operator == "exists":
            return value is not None
        if self.operator == "!exists":
            return value is None
        if self.operator == "in":
            return value is not None and value in self.values
        if self.operator == "notin":
            return value is None or value not in self.values
        if value is None:
            return False
        try:
            left, right = int(value), int(self.values[0])
        except ValueError:
            return False
        return left > right if self.operator == "gt" else left < right


@dataclass(frozen=True, slots=True)
class Selector:
    """Selects objects that satisfy all requirements; without any, all objects. `nothing` selects no object.

    Source: apimachinery, labels.Selector.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def is_everything(self) -> bool:
        """Whether every object is selected, so that labels need not be evaluated."""
        return not self.nothing and not self.requirements

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Return whether an object with these labels is selected."""
        return not self.nothing and all(requirement.matches(labels or {}) for requirement in self.requirements)


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def parse_selector(text: str) -> Selector:
    """Parse a label selector such as `a=b,c!=d,e in (f,g),h,!i`; raises ValueError (labels.Parse)."""
    return Selector(tuple(_requirement(part) for part in _split(text)))


def selector_from_set(labels: Mapping[str, str]) -> Selector:
    """Return the selector of these values (`matchLabels`; labels.SelectorFromSet)."""
    return Selector(tuple(Requirement(key, "in", (value,)) for key, value in labels.items()))


def label_selector_as_selector(selector: Mapping[str, Any] | None) -> Selector:
    """Convert a LabelSelector: None selects nothing, an empty one everything (metav1.LabelSelectorAsSelector)."""
    if selector is None:
        return NOTHING
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!exists"}
    listed = [
        Requirement(row["key"], operators[row["operator"]], tuple(row.get("values") or ()))
        for row in selector.get("matchExpressions") or ()
    ]
    return Selector((*selector_from_set(selector.get("matchLabels") or {}).requirements, *listed))


def _split(text: str) -> Sequence[str]:
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def _requirement(part: str) -> Requirement:
    match = _TOKEN.fullmatch(part)
    if match is None:
        raise ValueError(f"unable to parse requirement: {part!r}")
    key, rest = match["key"], match["rest"].strip()
    if match["not"]:
        if rest:
            raise ValueError(f"unable to parse requirement: {part!r}")
        return Requirement(key, "!exists")
    if not rest:
        return Requirement(key, "exists")
    for sign, operator in (("==", "in"), ("!=", "notin"), ("=", "in"), (">", "gt"), ("<", "lt")):
        if rest.startswith(sign):
            return Requirement(key, operator, (rest[len(sign) :].strip(),))
    word = re.fullmatch(r"(in|notin)\s*\((.*)\)", rest, re.S)
    if word is None:
        raise ValueError(f"unable to parse requirement: {part!r}")
    return Requirement(key, word[1], tuple(value.strip() for value in word[2].split(",")))


def parse_field_selector(text: str) -> Sequence[tuple[str, str, bool]]:
    """Parse a field selector into (path, value, whether it must be equal); raises ValueError."""
    found = []
    for part in _split(text):
        for sign, equal in (("!=", False), ("==", True), ("=", True)):
            path, found_sign, value = part.partition(sign)
            if found_sign:
                found.append((path.strip(), value.strip(), equal))
                break
        else:
            raise ValueError(f"invalid field selector: {part!r}")
    return found
