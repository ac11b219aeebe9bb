"""What `fakekube run` reports when its command has ended: findings, JUnit XML, the timeline, the least roles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from fakekube.harness.detectors.finding import Finding
from fakekube.server.process.listening import CannotServe, reason

Strictness = Literal["warn", "error", "off"]

#: The findings of one detector that are printed.
PRINTED = 10

#: Characters that XML 1.0 does not have.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
    suite = ElementTree.Element("testsuite", name="fakekube run")
    case = ElementTree.SubElement(
        suite, "testcase", classname="fakekube.run", name=_plain(" ".join(ended.command)), time=f"{ended.seconds:.3f}"
    )
    if ended.status:
        ElementTree.SubElement(case, "failure", message=f"the command ended with status {ended.status}")
    by_detector: dict[str, list[str]] = {}
    for one in findings:
        by_detector.setdefault(one.detector, []).append(str(one))
    for name, texts in by_detector.items():
        case = ElementTree.SubElement(suite, "testcase", classname="fakekube.findings", name=name, time="0")
        kind = "failure" if strictness == "error" else "system-out"
        made = ElementTree.SubElement(case, kind)
        made.text = _plain("\n".join(texts))
        if kind == "failure":
            made.set("message", _plain(texts[0]))
    failures = len(suite.findall("testcase/failure"))
    suite.attrib |= {"tests": str(len(suite)), "failures": str(failures), "errors": "0", "time": f"{ended.seconds:.3f}"}
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _plain(text: str) -> str:
    return _NOT_XML.sub("?", text)


def write(option: str, path: Path, text: str) -> None:
    """Write a report. Raises CannotServe."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotServe(f"--{option} {path}: {reason(error)}") from None
