"""Who we are to an API server: what the official client's configuration says, as plain values (kubeconfig, in-cluster).

The official `kubernetes` package reads the files and runs exec plugins; nothing of it is imported before it is needed.
Where it stops short of client-go, this goes on: token files and certificates are read again when they change, a program
is run again when the server did not accept what it gave, and impersonation is honoured.
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

#: Seconds after which a token that can be refreshed is asked for again (client-go: 1 minute for token files).
_REFRESH = 60.0


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """Where a configuration comes from, beyond what it says itself.

    `load` makes it anew. `token_file`: holds the token, and may change. `proxy`: to go through; "": as the environment
    says. `headers` go with every request.
    """

    load: Callable[[], Any]
    token_file: str = ""
    proxy: str = ""
    headers: Sequence[tuple[str, str]] = field(default=())


class Credentials:
    """Address, TLS, proxy and the headers that say who we are, for one server (client-go: rest.Config)."""

    generation: int

    def __init__(self, configuration: Any, *, source: ConfigSource | None = None, clock: Clock | None = None) -> None:
        """`configuration`: a `kubernetes.client.Configuration`. ValueError for a proxy that cannot be used."""
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
        #: goes up when the certificates changed: connections made before are to be given up
        self.generation = 0

    def __repr__(self) -> str:
        return f"<Credentials {self.url}>"

    def tls(self) -> ssl.SSLContext | None:
        """The TLS settings; None for plain HTTP. Raises OSError when a file is missing."""
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
        """Authorization, and whom to impersonate. What can be refreshed is, in a thread: once a minute, and after
        `expire`. What cannot be refreshed stays as it was; PermissionError when there is nothing, or it was refused.
        """
        now = self._clock.monotonic()
        if now >= self._fresh_until:
            await asyncio.get_running_loop().run_in_executor(None, self._refresh)
            self._fresh_until = now + _REFRESH
        return self._headers

    def expire(self) -> None:
        """The server did not accept it: ask again before the next request."""
        self._fresh_until, self._rejected = 0.0, True

    def _refresh(self) -> None:
        try:
            headers = self._load()
        except Exception as error:  # a file that is gone, a program that failed: whatever kubernetes.config raises
            if not self._headers or self._rejected:
                raise PermissionError(f"getting credentials: {error}") from error
            _log.error("unable to refresh credentials, going on with what there is: %s", error)
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
    """Those of a kubeconfig file (default: KUBECONFIG, then ~/.kube/config) and one of its contexts.

    Raises kubernetes.config.ConfigException when it cannot be used, also when its exec plugin gives nothing.
    """
    from kubernetes import client, config

    file = path or os.environ.get("KUBECONFIG") or "~/.kube/config"

    def load() -> Any:
        configuration = client.Configuration()
        config.load_kube_config(config_file=file, context=context, client_configuration=configuration)
        if "exec" in user and not configuration.api_key and not configuration.cert_file:
            raise config.ConfigException(f"exec: {user['exec'].get('command')} gave no credentials")
        return configuration

    cluster, user, folder = _entries(file, context)
    token_file = os.path.join(folder, user["tokenFile"]) if user.get("tokenFile") else ""
    source = ConfigSource(load, token_file, cluster.get("proxy-url") or "", _impersonation(user))
    return Credentials(load(), source=source, clock=clock)


def in_cluster_config(*, clock: Clock | None = None) -> Credentials:
    """Those of the pod's service account; raises kubernetes.config.ConfigException outside a cluster."""
    from kubernetes import client, config

    def load() -> Any:
        configuration = client.Configuration()
        config.load_incluster_config(client_configuration=configuration)
        return configuration

    return Credentials(load(), source=ConfigSource(load), clock=clock)


def get_config() -> Credentials:
    """Those of a kubeconfig that KUBECONFIG names, of the cluster we run in, or of ~/.kube/config, in this order.

    As controller-runtime's GetConfig looks for them.
    """
    from kubernetes import config

    if os.environ.get("KUBECONFIG"):
        return from_kubeconfig()
    try:
        return in_cluster_config()
    except config.ConfigException:
        return from_kubeconfig()


def _entries(file: str, context: str | None) -> tuple[Mapping[str, Any], Mapping[str, Any], str]:
    """Cluster and user of a context as the (merged) files have them, and the folder of the user's file."""
    from kubernetes.config.kube_config import KubeConfigMerger

    merged = KubeConfigMerger(file).config
    if merged is None:
        return {}, {}, ""  # load_kube_config has better words for that
    entry = merged["contexts"].get_with_name(context or merged["current-context"])["context"]
    cluster, _ = _entry(merged, "cluster", entry)
    return cluster, *_entry(merged, "user", entry)


def _entry(merged: Any, kind: str, context: Any) -> tuple[Mapping[str, Any], str]:
    """What a context names, and the folder of its file; nothing when it names nothing that is there."""
    if f"{kind}s" not in merged or kind not in context:
        return {}, ""
    found = merged[f"{kind}s"].get_with_name(context[kind], safe=True)
    if found is None or not found.value.get(kind):
        return {}, ""
    entry: Mapping[str, Any] = found.value[kind]
    return entry, os.path.dirname(os.path.abspath(found.path))


def _impersonation(user: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Whom a kubeconfig's user wants to be taken for (client-go: transport.ImpersonationConfig)."""
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
    """The proxy to go through: the kubeconfig's, or else the environment's; of a bare configuration its own."""
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
    """Name, time and size of the certificates; other ones, or later ones, are other certificates."""
    names = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    stats = [(name, os.stat(name)) for name in names if name and os.path.exists(name)]
    return [(name, stat.st_mtime_ns, stat.st_size) for name, stat in stats]
