"""Golden files: the expected state of a cluster, which tests compare and an option of pytest writes."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from pathlib import Path

from fakekube.struct import Struct

#: The option of pytest that writes golden files.
OPTION = "--fakekube-update-golden"

_HEAD = f"# The expected state, as `pytest {OPTION}` writes it. Uids, times and other values that change are masked.\n"

_PACKAGE = str(Path(__file__).parents[2])

#: The most lines of a difference in an error.
_LINES = 200


class GoldenFiles(Struct):
    """Where golden files are: relative to `folder` (None: to the file of the caller), and whether they are written."""

    folder: Path | None = None
    update: bool = False

    def path(self, name: str | Path) -> Path:
        """Raises TypeError."""
        if not isinstance(name, str | Path) or not str(name):
            raise TypeError(f"state.assert_golden(path={name!r}): pass the path of a golden file, like 'golden.yaml'")
        return (self.folder or _folder_of_caller()) / name

    def check(self, path: Path, state: str, shown: str) -> None:
        """Compares the state with the file, or writes the file. Raises AssertionError with the differences.

        `shown` is how the test names the file.
        """
        text = _HEAD + state
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
            return
        if not path.exists():
            raise AssertionError(
                f"{path} does not exist: run `pytest {OPTION}` to write it, review it and commit it. It would be:\n"
                f"{_shortened(text.splitlines())}"
            )
        expected = path.read_text()
        if _content(expected) == _content(text):
            return
        lines = difflib.unified_diff(_content(expected), _content(text), f"{shown} (expected)", "the cluster", "", "")
        raise AssertionError(
            f"the state differs from {path}; if it is right, run `pytest {OPTION}` to write it again:\n"
            f"{_shortened([line.rstrip() for line in lines])}"
        )


def _content(text: str) -> list[str]:
    """The lines without comments at the top, which are not part of the state."""
    lines = text.splitlines()
    while lines and (lines[0].startswith("#") or not lines[0].strip()):
        del lines[0]
    return lines


def _shortened(lines: Sequence[str]) -> str:
    more = len(lines) - _LINES
    return "\n".join([*lines[:_LINES], *([f"... {more} more lines"] if more > 0 else [])])


def _folder_of_caller() -> Path:
    """The folder of the nearest calling file outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return Path(frame.f_code.co_filename).parent
