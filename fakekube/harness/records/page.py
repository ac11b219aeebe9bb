"""A timeline, or two beside each other, as one self-contained HTML page."""

from __future__ import annotations

from fakekube import webpages

#: The most entries of a page; of two timelines, the most lines.
LAST = 5_000

#: The modules of the page's script, and the one that a page of two timelines has besides.
MODULES = ("element", "text", "entries", "state", "lanes", "rows", "details", "main")
COMPARISON = "comparison"

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
    more = [COMPARISON] if compares else []
    parts = {
        "STYLE": "".join(webpages.read(f"timeline/{name}.css") for name in ("page", *more)),
        "DOCUMENT": document.translate(str.maketrans(_ESCAPES)),
        "SCRIPT": webpages.bundle([f"timeline/{name}.js" for name in (*MODULES, *more)]) + "start();\n",
    }
    found = ""
    tail = webpages.read("timeline/page.html")
    for name, text in parts.items():
        head, tail = tail.split(f"/*{name}*/")
        found += head + text
    return found + tail
