"""Runs the quick tests of the pure code with coverage and fails if too few of its branches are covered.

Pure is what an import contract keeps from waiting: every module that may not import asyncio.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent

#: Covered lines and branches of the pure code, in percent. It only rises.
LEAST = 95

TESTS = ["tests/apiserver", "tests/conformance", "tests/controllerlib", "tests/harness", "tests/server"]


def pure() -> list[str]:
    """The source files of the pure modules, as patterns for coverage."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    modules = {
        module
        for contract in config["tool"]["importlinter"]["contracts"]
        if "asyncio" in contract.get("forbidden_modules", ())
        for module in contract["source_modules"]
    }
    paths = [module.removesuffix(".*").removesuffix(".**").replace(".", "/") for module in sorted(modules)]
    return [f"{path}/*" if (ROOT / path).is_dir() else f"{path}.py" for path in paths]


def main() -> None:
    data = {**os.environ, "COVERAGE_FILE": str(ROOT / ".coverage")}
    run = ["pytest", "-q", "-n", "2", "--cov=fakekube", "--cov=controllerlib", "--cov-branch", "--cov-report=", *TESTS]
    gate = ["--skip-covered", "--sort=cover", f"--fail-under={LEAST}", f"--include={','.join(pure())}"]
    for command in (run, ["coverage", "report", *gate]):
        subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=data, check=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
