"""The files of the page at `/_fakekube/`. They have nothing of the cluster, which the page asks the control API for."""

from __future__ import annotations

from collections.abc import Mapping

from fakekube import webpages
from fakekube.server.controldoor import PREFIX, Answered

#: What the page may load: its own files, and the API of its server. Nothing is evaluated, framed or sent elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}  # fmt: skip

#: The files by their path below PREFIX. Look and elements are those of the timeline.
FILES: Mapping[str, str] = {
    "": "server/page.html",
    "page/base.css": "timeline/page.css",
    "page/server.css": "server/server.css",
    "page/element.js": "timeline/element.js",
    **{
        f"page/{name}.js": f"server/{name}.js"
        for name in ("asking", "longlist", "objects", "records", "steering", "app")
    },
}

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def file_of(path: str) -> Answered | None:
    """The file at a path, if it is one of the page."""
    name = FILES.get(path.removeprefix(PREFIX))
    if name is None or not path.startswith(PREFIX):
        return None
    media = _TYPES[name.rpartition(".")[2]]
    return Answered(200, webpages.read(name).encode(), f"{media}; charset=utf-8", headers=HEADERS)
