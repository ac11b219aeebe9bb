"""The front ends of pages: HTML, CSS and JavaScript, which need no build step and no network."""

from __future__ import annotations

from importlib import resources


def read(name: str) -> str:
    """The text of a file of this package, by its path in it: `timeline/page.html`."""
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")
