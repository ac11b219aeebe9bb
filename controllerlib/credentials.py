"""Who we are to an API server: what the official client's configuration says, as plain values (kubeconfig, in-cluster).

The official `kubernetes` package reads the files and runs exec plugins; nothing of it is imported before it is needed.
"""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from controllerlib.clock import Clock, SystemClock

#: Seconds after which a token that can be refreshed is asked for again (client-go: 1 minute for token files).
_REFRESH = 60.0


class Credentials:
    """Address, TLS and the Authorization header of one server."""

    def __init__(self, configuration: Any, *, clock: Clock | None = None) -> None:
        """`configuration`: a `kubernetes.client.Configuration`."""
        self._configuration = configuration
        self._clock: Clock = clock or SystemClock()
        self._fresh_until = 0.0
        self._headers: dict[str, str] = {}
        self.url: str = configuration.host.rstrip("/")
        self.proxy: str | None = configuration.proxy or None
        self.tls_server_name: str | None = getattr(configuration, "tls_server_name", None)

    def tls(self) -> ssl.SSLContext | None:
        """The TLS settings; None for plain HTTP. Raises OSError when a file is missing."""
        if not self.url.startswith("https"):
            return None
        configuration = self._configuration
        data = getattr(configuration, "ca_cert_data", None)
        text = data.decode() if isinstance(data, bytes) else data
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=text)
        if not configuration.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, configuration.key_file)
        return context

    async def headers(self) -> Mapping[str, str]:
        """The Authorization header; a token that can be refreshed is, in a thread (exec plugins run a program)."""
        now = self._clock.monotonic()
        if not self._headers or now >= self._fresh_until:
            hook = self._configuration.refresh_api_key_hook
            if hook is not None:
                await asyncio.get_running_loop().run_in_executor(None, hook, self._configuration)
            self._headers = self._read()
            self._fresh_until = now + _REFRESH
        return self._headers

    def expire(self) -> None:
        """The server did not accept it: ask again before the next request."""
        self._fresh_until = 0.0

    def _read(self) -> dict[str, str]:
        configuration = self._configuration
        for name in ("BearerToken", "authorization"):
            key = configuration.api_key.get(name)
            if key:
                prefix = configuration.api_key_prefix.get(name)
                value = f"{prefix} {key}" if prefix else key
                return {"Authorization": value if " " in value else f"Bearer {value}"}
        if configuration.username:
            pair = f"{configuration.username}:{configuration.password or ''}"
            return {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        return {}


def from_kubeconfig(path: str | None = None, context: str | None = None) -> Credentials:
    """Those of a kubeconfig file (default: KUBECONFIG, then ~/.kube/config) and one of its contexts."""
    from kubernetes import client, config

    configuration = client.Configuration()
    config.load_kube_config(config_file=path, context=context, client_configuration=configuration)
    return Credentials(configuration)


def in_cluster() -> Credentials:
    """Those of the pod's service account; raises kubernetes.config.ConfigException outside a cluster."""
    from kubernetes import client, config

    configuration = client.Configuration()
    config.load_incluster_config(client_configuration=configuration)
    return Credentials(configuration)


def found() -> Credentials:
    """Those of the cluster we run in, or else of the kubeconfig file (controller-runtime: GetConfig)."""
    from kubernetes import config

    try:
        return in_cluster()
    except config.ConfigException:
        return from_kubeconfig()
