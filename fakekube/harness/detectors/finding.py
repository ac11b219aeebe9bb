"""Findings: what detectors report, the warning and the error that they become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect that a detector has found.

    detector: its name. text: what happened, in one or two sentences. at: the virtual time of the first occurrence.
    who: the operator, controller or client. times: how often it occurred.
    """

    detector: str
    text: str
    at: datetime
    who: str = ""
    times: int = 1

    def __str__(self) -> str:
        who = f"{self.who}: " if self.who else ""
        more = f" ({self.times} times)" if self.times > 1 else ""
        return f"[{self.detector}] {who}{self.text}{more}"


class FindingError(AssertionError):
    """A detector at level `error` has found something. `findings` has all of them."""

    findings: Sequence[Finding]

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        first, *more = dict.fromkeys(one.detector for one in self.findings)
        each = " for each" if more else ""
        super().__init__(
            f"{listed(self.findings)}\n"
            f'(to allow what is intended: fakekube.findings.allow("{first}", reason=...){each}, or the marker '
            f'@pytest.mark.fakekube(detect={{"{first}": "off"}}); see docs/desks/findings.md)'
        )


class FindingWarning(UserWarning):
    """A detector at level `warn` has found something."""


#: The findings of one detector that are listed; more would hide those of others.
LISTED = 10


def listed(findings: Iterable[Finding]) -> str:
    """The findings, one a line, and how many more there are of a detector that has many."""
    return "\n".join(shortened(findings))


def shortened(findings: Iterable[Finding]) -> Sequence[str]:
    """The texts of the first findings of each detector, and how many more there are."""
    times: Counter[str] = Counter()
    texts = []
    for one in findings:
        times[one.detector] += 1
        if times[one.detector] <= LISTED:
            texts.append(str(one))
    more = ((name, count - LISTED) for name, count in times.items() if count > LISTED)
    return [*texts, *(f"[{name}] and {count:,} more, which `fakekube.findings` has" for name, count in more)]
