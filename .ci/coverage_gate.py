"""Runs the quick tests below the given paths with coverage and fails if too few branches of the pure code are covered.

Pure is what an import contract keeps from waiting: every module that may not import asyncio. Only its lines are
recorded, so that the tests run almost as fast as without coverage.
"""

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

#: Covered lines and branches of the pure code, in percent. It only rises.
LEAST = 96


def pure() -> list[str]:
    """The source files of the pure modules, as patterns for coverage."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    modules = {
        module
        for contract in config["tool"]["importlinter"]["contracts"]
        if "asyncio" in contract.get("forbidden_modules", ())
        for module in contract["source_modules"]
    }
    paths = [ROOT / module.removesuffix(".*").removesuffix(".**").replace(".", "/") for module in sorted(modules)]
    return [f"{path}/*" if path.is_dir() else f"{path}.py" for path in paths]


def main(directory: str, tests: list[str]) -> None:
    config = Path(directory, "coveragerc")
    config.write_text("\n    ".join(["[run]\nbranch = true\ninclude =", *pure()]) + "\n")
    data = {**os.environ, "COVERAGE_FILE": str(Path(directory, "coverage"))}
    run = ["pytest", "-q", "-n", "2", "--cov", f"--cov-config={config}", "--cov-report=", *tests]
    gate = ["coverage", "report", f"--rcfile={config}", "--skip-covered", "--sort=cover", f"--fail-under={LEAST}"]
    for command in (run, gate):
        subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=data, check=True)


if __name__ == "__main__":
    try:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary, sys.argv[1:])
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
