"""The proxy for a URL by the environment's variables (golang.org/x/net/http/httpproxy)."""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """Return the proxy in HTTP_PROXY or HTTPS_PROXY, unless NO_PROXY matches the host or it is a loopback address."""
    parts = urlsplit(url)
    proxy = _variable(environment, f"{parts.scheme}_proxy")
    if not proxy or not _is_proxied(parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0), environment):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name) or ""


def _is_proxied(host: str, port: int, environment: Mapping[str, str]) -> bool:
    if host == "localhost" or _is_loopback(host):
        return False
    entries = (entry.strip().lower() for entry in _variable(environment, "no_proxy").split(","))
    return not any(entry and is_excepted(entry, host, port) for entry in entries)


def is_excepted(entry: str, host: str, port: int) -> bool:
    """Return whether one entry of NO_PROXY matches a host.

    An entry is `*`, a network, an address, a domain (which includes its subdomains), or a domain with a leading dot
    (only its subdomains); addresses and domains may have a port.
    """
    if entry == "*":
        return True
    if "/" in entry:
        return _is_in(host, entry)
    name, wanted = _split_port(entry)
    if wanted and wanted != port:
        return False
    if _is_address(name):
        return _is_address(host) and ip_address(name) == ip_address(host)
    name = name.removeprefix("*")
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, int]:
    """Split off the port; 0 if there is none."""
    if _is_address(entry.strip("[]")):
        return entry.strip("[]"), 0
    name, _, port = entry.rpartition(":")
    return (name.strip("[]"), int(port)) if name and port.isdigit() else (entry, 0)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return _is_address(host) and ip_address(host).is_loopback


def _is_in(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
