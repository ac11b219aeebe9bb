"""A timeline as one self-contained HTML page."""

from __future__ import annotations

from importlib.resources import files

#: The most entries of a page.
LAST = 5_000

#: The place of the document in the template.
_PLACE = "/*DOCUMENT*/"

#: What would end the script or start a comment in it, and how JSON can write it.
_ESCAPES: dict[str, str | int | None] = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def page(document: str) -> str:
    """The page with a document, which is JSON. It requests nothing from elsewhere."""
    template = files("fakekube.harness.records").joinpath("page.html").read_text(encoding="utf-8")
    head, tail = template.split(_PLACE)
    return f"{head}{document.translate(str.maketrans(_ESCAPES))}{tail}"
