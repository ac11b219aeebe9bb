"""The environment variables of the Service `kubernetes`, which a kubelet sets in each container."""

from __future__ import annotations

import _socket
import errno
import os
import socket
from collections.abc import Mapping

#: The ports of API servers that clients assume without these variables: of the Service, and of kube-apiserver.
ASSUMED_PORTS = (443, 6443)


def service_variables(host: str, port: int) -> Mapping[str, str]:
    """The variables of the Service at an address (kubelet: `pkg/kubelet/envvars`).

    The names of some contain the port of the Service, which is 443, also where `port` is another.
    """
    url = f"tcp://{host}:{port}"
    return {
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": str(port),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
        "KUBERNETES_PORT": url,
        "KUBERNETES_PORT_443_TCP": url,
        "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
        "KUBERNETES_PORT_443_TCP_PORT": str(port),
        "KUBERNETES_PORT_443_TCP_ADDR": host,
    }


def assumed_port(host: str, port: int) -> str:
    """Why a connection to an assumed port of the API server's host is refused; "" for other connections, and if a
    server listens there."""
    served = os.environ.get("KUBERNETES_SERVICE_PORT")
    if host != os.environ.get("KUBERNETES_SERVICE_HOST") or port not in ASSUMED_PORTS or str(port) == served:
        return ""
    if _listens(host, port):
        return ""
    return (
        f"a client connects to {host}:{port}, where nothing listens: it takes the host from KUBERNETES_SERVICE_HOST "
        f"and assumes the port. The API server is at {host}:{served}: take the port from KUBERNETES_SERVICE_PORT (or "
        "KUBERNETES_SERVICE_PORT_HTTPS), when the operator starts and not when its module is imported"
    )


def _listens(host: str, port: int) -> bool:
    probe = _socket.socket(  # its methods are not patched
        socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM
    )
    try:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) != errno.ECONNREFUSED
    finally:
        probe.close()
