"""The lowest version of each dependency that is allowed, locked in `tests/lowest.txt`.

`python -m tests.lowest` writes the lock again after a bound has changed; it needs `pip install uv`. The bounds of the
project itself hold even where a tool of the tests requires a newer version, so the lock is installed with `--no-deps`.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "tests" / "lowest.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

HEAD = """\
# The lowest versions that pyproject.toml allows: python -m tests.lowest writes this file. Install it with --no-deps, because
# some tools of the tests require newer versions of these than fakekube does.
"""


def lower_bound(requirement: Requirement) -> str:
    """The lowest version that a requirement allows. Raises ValueError if it has none."""
    for one in requirement.specifier:
        if one.operator in (">=", "=="):
            return one.version
    raise ValueError(f"{requirement} has no lower bound")


def bounds() -> dict[str, str]:
    """The lowest version of each direct dependency: of the project, and of its tests."""
    found: dict[str, str] = {}
    for text in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]:
        requirement = Requirement(text)
        found.setdefault(normal(requirement.name), lower_bound(requirement))
    return found


def normal(name: str) -> str:
    """The name of a distribution in the form of PEP 503."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder, "own.txt")
        lines = [f"{one.name}=={lower_bound(one)}" for one in map(Requirement, PROJECT["dependencies"])]
        own.write_text("\n".join([*lines, ""]))
        options = ["--resolution=lowest-direct", "--universal", "--python-version=3.11", "--only-binary=:all:"]
        command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--extra=test", *options]
        done = subprocess.run(
            [*command, f"--override={own}", "pyproject.toml"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
    if done.returncode:
        sys.exit(done.returncode)
    LOCK.write_text(HEAD + done.stdout)


if __name__ == "__main__":
    main()
