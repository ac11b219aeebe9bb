"""A host and a port in one text (Go: `net.JoinHostPort`)."""


def join_host_port(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
