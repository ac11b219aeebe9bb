"""Why a test failed, as a short text: the place, and the first lines of the error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: The most lines and characters of one failure.
LINES, CHARACTERS = 25, 4_000

#: This package: a place in it says nothing about the test.
PACKAGE = Path(__file__).parents[2]


def failure_text(representation: Any, root: Path) -> str:
    """The error of a pytest report (its `longrepr`), as `tests/test_a.py:12: AssertionError: ...`.

    root: paths below it are shown relative to it. A place in an installed package is left out: an error that
    the plugin raises, as for a finding, has one there.
    """
    crash = getattr(representation, "reprcrash", None)
    if crash is None:
        return _short(str(representation).strip())
    path = Path(crash.path)
    if path.is_relative_to(PACKAGE) or "site-packages" in path.parts:
        return _short(crash.message)
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    return _short(f"{shown.as_posix()}:{crash.lineno}: {crash.message}")


def _short(text: str) -> str:
    lines = text[:CHARACTERS].splitlines()
    more = len(text.splitlines()) - LINES
    return "\n".join(lines[:LINES] + ([f"({more} more lines)"] if more > 0 else []))
