"""TLS handshakes between clients and servers of the bubble, in memory: what they exchange then is not encrypted."""

from __future__ import annotations

import ssl

#: More round trips than any handshake takes.
MAX_FLIGHTS = 10


def succeeds(client: object, server: object, hostname: str | None) -> bool:
    """Whether the handshake would succeed. `client`: an SSLContext, or True for the default one."""
    if not isinstance(server, ssl.SSLContext):
        return False
    context = client if isinstance(client, ssl.SSLContext) else ssl.create_default_context()
    try:
        perform(context, server, hostname)
    except (ssl.SSLError, ValueError):
        return False
    return True


def perform(client: ssl.SSLContext, server: ssl.SSLContext, hostname: str | None) -> None:
    """Raises SSLError, ValueError as the handshake over a connection does."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=hostname),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(MAX_FLIGHTS):
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)
        if not ends:
            return
    raise ssl.SSLError("the handshake does not end")
