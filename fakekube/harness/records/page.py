"""A timeline, or two beside each other, as one self-contained HTML page."""

from __future__ import annotations

from fakekube import webpages

#: The most entries of a page; of two timelines, the most lines.
LAST = 5_000

#: What would end the script or start a comment in it, and how JSON can write it.
_ESCAPES: dict[str, str | int | None] = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def page(document: str, *, compares: bool = False) -> str:
    """The page with a document, which is JSON. It requests nothing from elsewhere.

    compares: whether it is the document of a comparison, which has a style and a script of its own besides.
    """
    names = ["page", "comparison"] if compares else ["page"]
    style, script = ("".join(_asset(f"{name}.{suffix}") for name in names) for suffix in ("css", "js"))
    parts = {"STYLE": style, "DOCUMENT": document.translate(str.maketrans(_ESCAPES)), "SCRIPT": f"{script}start();\n"}
    found = ""
    tail = _asset("page.html")
    for name, text in parts.items():
        head, tail = tail.split(f"/*{name}*/")
        found += head + text
    return found + tail


def _asset(name: str) -> str:
    return webpages.read(f"timeline/{name}")
