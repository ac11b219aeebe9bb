"""Failures as annotations of GitHub Actions: workflow commands that show them at a line of a changed file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def annotation(path: Path, line: int, title: str, message: str, environment: Mapping[str, str]) -> str:
    """The workflow command for an error at a line, from 1; empty outside of GitHub Actions.

    The path is relative to the workspace, which GITHUB_WORKSPACE names.
    """
    if environment.get("GITHUB_ACTIONS") != "true":
        return ""
    workspace = environment.get("GITHUB_WORKSPACE") or "/"
    file = path.relative_to(workspace) if path.is_relative_to(workspace) else path
    fields = {"file": file.as_posix(), "line": str(line), "title": title}
    return f"::error {','.join(f'{name}={_field(one)}' for name, one in fields.items())}::{_text(message)}"


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _field(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
