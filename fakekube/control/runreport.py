"""What `fakekube run` reports when its command has ended: findings, JUnit XML, the timeline, the least roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from fakekube import junitxml
from fakekube.harness.detectors.finding import Finding
from fakekube.junitxml import Case
from fakekube.server.process.listening import CannotServe, reason

Strictness = Literal["warn", "error", "off"]

#: The findings of one detector that are printed.
PRINTED = 10


class Reports(NamedTuple):
    """What to report. `rbac`: the file for the least roles of each user."""

    findings: Strictness = "warn"
    junit: Path | None = None
    timeline: Path | None = None
    rbac: Mapping[str, Path] = {}


class Ended(NamedTuple):
    """A command that has ended, after so many seconds."""

    command: Sequence[str]
    status: int
    seconds: float


def files_of(texts: Sequence[str]) -> dict[str, Path]:
    """The files of `--rbac-report USER=FILE`. Raises CannotServe."""
    found: dict[str, Path] = {}
    for text in texts:
        user, _, path = text.partition("=")
        if not user or not path:
            raise CannotServe(f"--rbac-report {text}: pass USER=FILE (example: alice=alice.yaml)")
        found[user] = Path(path)
    return found


def status_of(ended: Ended, findings: Sequence[Finding], strictness: Strictness) -> int:
    """The exit status: that of the command, or 1 if it has succeeded and findings are errors."""
    return ended.status or int(strictness == "error" and bool(findings))


def lines(findings: Sequence[Finding]) -> list[str]:
    """The findings as text, one a line; of each detector the first ones."""
    if not findings:
        return []
    times: dict[str, int] = {}
    found = [f"fakekube run: {len(findings)} finding{'s' if len(findings) > 1 else ''} about the clients:"]
    for one in findings:
        times[one.detector] = times.get(one.detector, 0) + 1
        if times[one.detector] <= PRINTED:
            found.append(f"  {one}")
    more = ((name, count - PRINTED) for name, count in times.items() if count > PRINTED)
    return [*found, *(f"  [{name}] and {count} more" for name, count in more)]


def junit(ended: Ended, findings: Sequence[Finding], strictness: Strictness) -> str:
    """A JUnit report: a test case for the command, and one for each detector that has found something."""
    status = f"the command ended with status {ended.status}" if ended.status else None
    cases = [Case("fakekube.run", " ".join(ended.command), status, seconds=ended.seconds)]
    by_detector: dict[str, list[str]] = {}
    for one in findings:
        by_detector.setdefault(one.detector, []).append(str(one))
    for name, texts in by_detector.items():
        failure = texts[0] if strictness == "error" else None
        cases.append(Case("fakekube.findings", name, failure, "\n".join(texts), seconds=0))
    return junitxml.document("fakekube run", cases, ended.seconds)


def write(option: str, path: Path, text: str) -> None:
    """Write a report. Raises CannotServe."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotServe(f"--{option} {path}: {reason(error)}") from None
