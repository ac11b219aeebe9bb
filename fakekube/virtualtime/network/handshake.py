"""Decides whether a TLS handshake between a client and a server on the loop would succeed; pipes are not encrypted."""

from __future__ import annotations

import ssl

#: More round trips than any handshake takes.
MAX_FLIGHTS = 10


def succeeds(client: object, server: object, hostname: str | None) -> bool:
    """Perform the handshake in memory. `client`: an SSLContext, or True for the default one."""
    if not isinstance(server, ssl.SSLContext):
        return False
    context = client if isinstance(client, ssl.SSLContext) else ssl.create_default_context()
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        context.wrap_bio(to_client, to_server, server_hostname=hostname),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(MAX_FLIGHTS):
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except (ssl.SSLError, ValueError):
                return False
            ends.remove(end)
        if not ends:
            return True
    return False
