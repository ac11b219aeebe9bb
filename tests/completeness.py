"""How completely a package is typed, as `pyright --verifytypes` reports it for a library with `py.typed`."""

import functools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Completeness:
    """The share of exported symbols whose type is known, and why the others are not."""

    score: float
    #: Exported symbols with a partially unknown or ambiguous type, each with pyright's first message.
    incomplete: tuple[str, ...]


@functools.cache
def report(package: str) -> Completeness:
    """Runs pyright on `package` as it is in this working tree; imports of other libraries are ignored."""
    options = ["--pythonpath", sys.executable, "--verifytypes", package, "--ignoreexternal", "--outputjson"]
    with tempfile.TemporaryDirectory() as elsewhere:  # a project's own configuration is ignored
        run = subprocess.run(
            [sys.executable, "-m", "pyright", *options],
            cwd=elsewhere,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,  # it fails below 100 %
        )
    try:
        found = json.loads(run.stdout)["typeCompleteness"]
    except (ValueError, KeyError) as error:
        raise RuntimeError(f"pyright --verifytypes {package} failed: {run.stderr or run.stdout}") from error
    incomplete = [symbol for symbol in found["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
    return Completeness(found["completenessScore"], tuple(map(_described, incomplete)))


def _described(symbol: dict[str, object]) -> str:
    diagnostics = symbol["diagnostics"]
    assert isinstance(diagnostics, list)
    message = diagnostics[0]["message"].splitlines()[0] if diagnostics else "the type of a member is incomplete"
    return f"{symbol['name']}: {message}"
