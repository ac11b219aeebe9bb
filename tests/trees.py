"""The syntax trees of both packages, read once for all tests that look at them."""

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("controllerlib", "fakekube")


@cache
def modules() -> dict[Path, ast.Module]:
    """The tree of each module, by its path from the root of the repository."""
    paths = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    trees = {path.relative_to(ROOT): ast.parse(path.read_text()) for path in paths}
    gc.freeze()  # the collections of other tests need not look at millions of nodes
    return trees
