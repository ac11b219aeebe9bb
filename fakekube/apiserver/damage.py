"""How the body of an answer arrives at its client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fakekube.struct import Struct

#: How the body of an answer arrives: the connection closes in the middle of it; it is complete HTTP but ends in the
#: middle of the JSON; a proxy answers with an HTML page instead.
BROKEN_BODIES = ("cut", "truncated", "malformed")

#: What arrives instead of a body that is "malformed".
MALFORMED = b"<html>\r\n<head><title>Sign in</title></head>\r\n<body>Sign in to this network</body>\r\n</html>\r\n"


class Damage(Struct, frozen=True):
    """How the body of an answer arrives: `kind` is one of BROKEN_BODIES or "" (whole), `delay` seconds after its first
    half.

    held: waits until the answer may arrive at all (None: it is not held).
    """

    kind: str = ""
    delay: float = 0.0
    held: Callable[[], Awaitable[object]] | None = None


def damaged(kind: str, body: bytes) -> bytes:
    """The body that arrives instead; that of "cut" is the part before the connection closes."""
    if kind == "malformed":
        return MALFORMED
    return body[: len(body) // 2] if kind else body
