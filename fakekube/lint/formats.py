"""The formats of `fakekube lint`: text, JSON, JUnit XML, annotations of GitHub, SARIF."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from fakekube import junitxml
from fakekube.junitxml import Case
from fakekube.lint.defect import Defect, errors

#: How SARIF and GitHub call a level.
_SARIF = {"error": "error", "warning": "warning", "skipped": "note"}
_GITHUB = {"error": "error", "warning": "warning", "skipped": "notice"}


def text(defects: Sequence[Defect], objects: int) -> str:
    """A line for each defect, and a summary."""
    count = errors(defects)
    summary = f"{objects} objects, {count} error{'' if count == 1 else 's'}"
    return "\n".join([*map(str, defects), summary, ""])


def as_json(defects: Sequence[Defect], objects: int) -> str:
    found = {"objects": objects, "errors": errors(defects), "defects": [asdict(one) for one in defects]}
    return json.dumps(found, indent=2) + "\n"


def junit(defects: Sequence[Defect], objects: int) -> str:
    """A test case for each object that has errors, and one for all others."""
    by_object: dict[tuple[str, int, str], list[Defect]] = {}
    for one in defects:
        if one.level == "error":
            by_object.setdefault((one.file, one.line, one.object), []).append(one)
    cases = [
        Case(file, f"{name or file}:{line}", found[0].text, "\n".join(map(str, found)))
        for (file, line, name), found in by_object.items()
    ]
    return junitxml.document("fakekube lint", [*cases, Case("fakekube.lint", f"{objects} objects")])


def github(defects: Sequence[Defect], objects: int) -> str:
    """Workflow commands, which GitHub shows at the lines of a pull request."""
    lines = []
    for one in defects:
        place = f"file={_property(one.file)},line={max(1, one.line)},title={_property(one.object or one.file)}"
        lines.append(f"::{_GITHUB[one.level]} {place}::{_data(one.text)}\n")
    return "".join(lines)


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")


def sarif(defects: Sequence[Defect], objects: int) -> str:
    """SARIF 2.1.0."""
    results = [
        {
            "ruleId": "manifest",
            "level": _SARIF[one.level],
            "message": {"text": f"{one.object}: {one.text}" if one.object else one.text},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": one.file},
                        "region": {"startLine": max(1, one.line)},
                    }
                }
            ],
        }
        for one in defects
    ]
    driver = {"name": "fakekube lint", "rules": [{"id": "manifest"}]}
    found = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(found, indent=2) + "\n"


FORMATS: Mapping[str, Callable[[Sequence[Defect], int], str]] = {
    "text": text, "json": as_json, "junit": junit, "github": github, "sarif": sarif,
}  # fmt: skip
