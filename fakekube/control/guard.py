"""Who may use the control API: clients of this machine, and elsewhere those with the administrator's token.

A page in a browser of this machine is none of them: it cannot name the server by an address of its own (DNS rebinding),
and its requests to another origin are recognized by their headers.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from fakekube.apiserver.auth.authentication import bearer_token
from fakekube.apiserver.wire.status import StatusError


class Guard:
    """Admits requests. `is_local`: the server listens on a loopback address only. `tokens`: of administrators."""

    def __init__(self, *, is_local: bool, tokens: Iterable[str] = ()) -> None:
        self._is_local, self._tokens = is_local, tuple(tokens)

    def check(self, method: str, headers: Mapping[str, str], peer: str) -> None:
        """Raises 401, 403 or 415 for a request that is not admitted."""
        host, origin = headers.get("host", ""), headers.get("origin", "")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise _refused("requests of other sites are not admitted")
        if origin and (origin == "null" or urlsplit(origin).netloc.lower() != host.lower()):
            raise _refused(f"requests of the origin {origin} are not admitted")
        media = headers.get("content-type", "").partition(";")[0].strip()
        # `curl -d` says that it sends a form; a page in a browser cannot pretend to be curl without being asked first
        if media and media != "application/json" and not headers.get("user-agent", "").startswith("curl/"):
            text = f"the control API reads application/json, not {media}: set the header Content-Type"
            raise StatusError(415, "UnsupportedMediaType", text)
        if self._has_token(headers):
            return
        if not self._is_local or not is_loopback(peer):
            raise StatusError(
                401, "Unauthorized", "the control API needs the token of the administrator, which --kubeconfig has"
            )
        if not _names_this_machine(host):
            raise _refused(f"the host {host!r} is not admitted without a token: use 127.0.0.1 or localhost")

    def _has_token(self, headers: Mapping[str, str]) -> bool:
        given = bearer_token(headers.get("authorization")).encode()
        found = False
        for token in self._tokens:
            found |= hmac.compare_digest(given, token.encode())
        return found


def _refused(why: str) -> StatusError:
    return StatusError(403, "Forbidden", f"control API: {why}")


def is_loopback(address: str) -> bool:
    """Whether an address is one of this machine's loopback interface."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return bool((mapped or found).is_loopback)


def _names_this_machine(host: str) -> bool:
    """Whether a Host header has a name of the loopback interface, which no DNS server can give to another one."""
    name = urlsplit(f"//{host}").hostname or ""
    return name == "localhost" or is_loopback(name)
