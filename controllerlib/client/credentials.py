"""Client credentials from a kubeconfig or a pod's service account.

The official `kubernetes` package reads the files and runs exec plugins; it is imported on first use. Beyond what it
does, as in client-go: token files and certificates are read again when they change, an exec plugin is run again after a
401, and impersonation is supported.
"""

import asyncio
import logging
import os
import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controllerlib.client.proxies import proxy_for
from controllerlib.clock import Clock, SystemClock

_log = logging.getLogger(__name__)

#: Seconds after which a refreshable token is read again (client-go: 1 minute for token files).
_REFRESH = 60.0


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """The origin of a configuration, and settings that `kubernetes.client.Configuration` does not hold.

    `load` creates the configuration again. `token_file` contains the token and may change. `proxy` is the proxy's URL;
    "" means that of the environment. `headers` are sent with every request.
    """

    load: Callable[[], Any]
    token_file: str = ""
    proxy: str = ""
    headers: Sequence[tuple[str, str]] = field(default=())


class Credentials:
    """Address, TLS settings, proxy and authentication headers of one server (client-go: rest.Config)."""

    generation: int

    def __init__(self, configuration: Any, *, source: ConfigSource | None = None, clock: Clock | None = None) -> None:
        """`configuration`: a `kubernetes.client.Configuration`. ValueError if the proxy is neither HTTP nor HTTPS."""
        self._configuration, self._source = configuration, source
        self._clock: Clock = clock or SystemClock()
        self._fresh_until = 0.0
        self._rejected = False
        self._headers: Sequence[tuple[str, str]] = ()
        self._files = _state_of_files(configuration)
        self.url: str = configuration.host.rstrip("/")
        self.proxy: str | None = _proxy(configuration, source)
        self.proxy_headers: Mapping[str, str] = getattr(configuration, "proxy_headers", None) or {}
        self.tls_server_name: str | None = getattr(configuration, "tls_server_name", None)
        #: Incremented when the certificates change; connections made before must be closed.
        self.generation = 0

    def __repr__(self) -> str:
        return f"<Credentials {self.url}>"

    def tls(self) -> ssl.SSLContext | None:
        """Return the TLS settings; None for plain HTTP. OSError if a file is missing."""
        if not self.url.startswith("https"):
            return None
        configuration = self._configuration
        data = getattr(configuration, "ca_cert_data", None)
        text = data.decode() if isinstance(data, bytes) else data
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert, cadata=text)
        if not configuration.verify_ssl or configuration.assert_hostname is False:
            context.check_hostname = False
        if not configuration.verify_ssl:
            context.verify_mode = ssl.CERT_NONE
        if configuration.cert_file:
            context.load_cert_chain(configuration.cert_file, configuration.key_file)
        return context

    async def headers(self) -> Sequence[tuple[str, str]]:
        """Return the headers for authentication and impersonation.

        Refreshable credentials are refreshed in a thread, once a minute and after `expire`. If that fails the previous
        ones remain valid; PermissionError if there are none or the server rejected them.
        """
        now = self._clock.monotonic()
        if now >= self._fresh_until:
            await asyncio.get_running_loop().run_in_executor(None, self._refresh)
            self._fresh_until = now + _REFRESH
        return self._headers

    def expire(self) -> None:
        """Refresh the credentials before the next request, because the server rejected them."""
        self._fresh_until, self._rejected = 0.0, True

    def _refresh(self) -> None:
        try:
            headers = self._load()
        except Exception as error:  # kubernetes.config raises various exceptions
            if not self._headers or self._rejected:
                raise PermissionError(f"getting credentials: {error}") from error
            _log.error("unable to refresh credentials, using the previous ones: %s", error)
            return
        self._headers, self._rejected = headers, False
        files = _state_of_files(self._configuration)
        if files != self._files:
            self._files = files
            self.generation += 1

    def _load(self) -> Sequence[tuple[str, str]]:
        if self._rejected and self._source is not None:
            self._configuration = self._source.load()
        elif self._configuration.refresh_api_key_hook is not None:
            self._configuration.refresh_api_key_hook(self._configuration)
        return (*self._authorization(), *(self._source.headers if self._source else ()))

    def _authorization(self) -> Sequence[tuple[str, str]]:
        configuration = self._configuration
        if self._source is not None and self._source.token_file:
            return [("Authorization", f"Bearer {Path(self._source.token_file).read_text().strip()}")]
        for name in ("BearerToken", "authorization"):
            key = configuration.api_key.get(name)
            if key:
                prefix = configuration.api_key_prefix.get(name)
                value = f"{prefix} {key}" if prefix else key
                return [("Authorization", value if " " in value else f"Bearer {value}")]
        if configuration.username:
            pair = f"{configuration.username}:{configuration.password or ''}"
            return [("Authorization", f"Basic {b64encode(pair.encode()).decode()}")]
        return ()


def from_kubeconfig(path: str | None = None, context: str | None = None, *, clock: Clock | None = None) -> Credentials:
    """Return the credentials of a kubeconfig file (default: KUBECONFIG, then ~/.kube/config).

    Raises kubernetes.config.ConfigException if it cannot be used or its exec plugin returns no credentials.
    """
    from kubernetes import client, config

    file = path or os.environ.get("KUBECONFIG") or "~/.kube/config"

    def load() -> Any:
        configuration = client.Configuration()
        config.load_kube_config(config_file=file, context=context, client_configuration=configuration)
        if "exec" in user and not configuration.api_key and not configuration.cert_file:
            raise config.ConfigException(f"exec: {user['exec'].get('command')} returned no credentials")
        return configuration

    cluster, user, folder = _entries(file, context)
    token_file = os.path.join(folder, user["tokenFile"]) if user.get("tokenFile") else ""
    source = ConfigSource(load, token_file, cluster.get("proxy-url") or "", _impersonation(user))
    return Credentials(load(), source=source, clock=clock)


def in_cluster_config(*, clock: Clock | None = None) -> Credentials:
    """Return the credentials of the pod's service account; kubernetes.config.ConfigException outside a cluster."""
    from kubernetes import client, config

    def load() -> Any:
        configuration = client.Configuration()
        config.load_incluster_config(client_configuration=configuration)
        return configuration

    return Credentials(load(), source=ConfigSource(load), clock=clock)


def get_config() -> Credentials:
    """Return the credentials of the file in KUBECONFIG, of the pod's service account, or of ~/.kube/config.

    The first of them that exists is used (controller-runtime: config.GetConfig).
    """
    from kubernetes import config

    if os.environ.get("KUBECONFIG"):
        return from_kubeconfig()
    try:
        return in_cluster_config()
    except config.ConfigException:
        return from_kubeconfig()


def _entries(file: str, context: str | None) -> tuple[Mapping[str, Any], Mapping[str, Any], str]:
    """Return cluster and user of a context of the merged files, and the directory of the user's file."""
    from kubernetes.config.kube_config import KubeConfigMerger

    merged = KubeConfigMerger(file).config
    if merged is None:
        return {}, {}, ""  # load_kube_config raises the error
    entry = merged["contexts"].get_with_name(context or merged["current-context"])["context"]
    cluster, _ = _entry(merged, "cluster", entry)
    return cluster, *_entry(merged, "user", entry)


def _entry(merged: Any, kind: str, context: Any) -> tuple[Mapping[str, Any], str]:
    """Return the cluster or user of a context, and the directory of its file; both empty if it does not exist."""
    if f"{kind}s" not in merged or kind not in context:
        return {}, ""
    found = merged[f"{kind}s"].get_with_name(context[kind], safe=True)
    if found is None or not found.value.get(kind):
        return {}, ""
    entry: Mapping[str, Any] = found.value[kind]
    return entry, os.path.dirname(os.path.abspath(found.path))


def _impersonation(user: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return the impersonation headers of a kubeconfig's user (client-go: transport.ImpersonationConfig)."""
    if not user.get("as"):
        return ()
    extra = user.get("as-user-extra") or {}
    return [
        ("Impersonate-User", user["as"]),
        *([("Impersonate-Uid", user["as-uid"])] if user.get("as-uid") else []),
        *(("Impersonate-Group", group) for group in user.get("as-groups") or ()),
        *((f"Impersonate-Extra-{key}", value) for key, values in extra.items() for value in values),
    ]


def _proxy(configuration: Any, source: ConfigSource | None) -> str | None:
    """Return the proxy of the kubeconfig or of the environment; for a bare configuration only its own."""
    url: str = configuration.host
    if source is not None:
        proxy = source.proxy or proxy_for(url, os.environ)
    else:
        own = {f"{url.partition(':')[0]}_proxy": configuration.proxy or ""}
        proxy = proxy_for(url, {**own, "no_proxy": getattr(configuration, "no_proxy", None) or ""})
    if proxy and not proxy.startswith(("http://", "https://")):
        raise ValueError(f"only HTTP and HTTPS proxies can be used, not {proxy}")
    return proxy or None


def _state_of_files(configuration: Any) -> Sequence[tuple[str, int, int]]:
    """Return name, modification time and size of the certificate files, to detect changes."""
    names = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    stats = [(name, os.stat(name)) for name in names if name and os.path.exists(name)]
    return [(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats]
