"""The front ends of pages: HTML, CSS and JavaScript modules, which need no build step and no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources

_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./[\w-]+\.js\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const |let |function )", re.MULTILINE)


def read(name: str) -> str:
    """The text of a file of this package, by its path in it: `timeline/page.html`."""
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def bundle(names: Sequence[str]) -> str:
    """Several modules as one, in an order in which each follows those that it imports.

    Their imports and exports are left out: they have one scope, so no two have a name in common.
    """
    return "".join(_EXPORT.sub("", _IMPORT.sub("", read(name))) for name in names)
