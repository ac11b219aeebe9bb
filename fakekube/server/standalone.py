"""A server in its own process and in real time, for `fakekube serve` and `fakekube run`."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fakekube.apiserver.admission.enablement import enabled_plugins
from fakekube.apiserver.auth.authentication import parse_token_file
from fakekube.apiserver.auth.jsonwebtoken import KeySet, generated_key
from fakekube.apiserver.auth.serviceaccounttoken import ISSUER, Issuer
from fakekube.apiserver.features import RefusedGates, parse_gates
from fakekube.apiserver.needs import Service
from fakekube.apiserver.registry.core.service.ranges import DEFAULT_RANGE, BadRange
from fakekube.apiserver.user import User
from fakekube.server import bootstrap, kubeconfig, manifests
from fakekube.server.certificates import Authority, Credentials
from fakekube.server.direct import DirectTransport
from fakekube.server.http import EVERY_ADDRESS, HttpServer, listen, listening
from fakekube.server.initialobjects import ClusterOptions
from fakekube.server.random import SystemRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import SystemClock
from fakekube.server.webhookclient import base_url

if TYPE_CHECKING:
    from fakekube.server.tlsconnection import RequestingContext


class CannotServe(Exception):
    """The options cannot be satisfied; the message names the option."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to serve and where; the fields are named as on the command line."""

    port: int = 0
    bind_address: str = "127.0.0.1"
    token_auth_file: Path | None = None
    authorization_mode: str = "AlwaysAllow"
    kubeconfig: Path | None = None
    manifests: tuple[Path, ...] = ()
    tls: bool = False
    client_ca_file: Path | None = None
    history_window: int = 20_000
    kubernetes_version: str = bootstrap.KUBERNETES_VERSION
    service_cluster_ip_range: str = DEFAULT_RANGE
    webhook_service: tuple[str, ...] = ()
    service_account_issuer: tuple[str, ...] = ()
    service_account_key_file: tuple[Path, ...] = ()
    service_account_signing_key_file: Path | None = None
    api_audiences: tuple[str, ...] = ()
    enable_admission_plugins: tuple[str, ...] = ()
    disable_admission_plugins: tuple[str, ...] = ()
    feature_gates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Running:
    """A listening server and what clients need to connect. `loaded`: the number of objects from manifests.

    `authority`: the CA of its certificate, None without TLS. `client`: the administrator's certificate, if clients have
    no token.
    """

    server: HttpServer
    authority: Authority | None
    tokens: dict[str, User]
    loaded: int
    client: Credentials | None

    @property
    def ca(self) -> bytes | None:
        """The certificate of the CA, PEM; None without TLS."""
        return self.authority.certificate if self.authority else None

    @property
    def token(self) -> str:
        """The first token of a superuser in the file, else the first token."""
        powerful = [token for token, user in self.tokens.items() if "system:masters" in user.groups]
        return next(iter([*powerful, *self.tokens]), "")

    def write_kubeconfig(self, path: Path) -> None:
        """Raises CannotServe."""
        try:
            kubeconfig.write(path, self.server.url, token=self.token, ca=self.ca, client=self.client)
        except OSError as error:
            raise CannotServe(f"--kubeconfig {path}: {reason(error)}") from None


@asynccontextmanager
async def running(options: Options) -> AsyncIterator[Running]:
    """A server with its manifests loaded, which listens until the context ends. Raises CannotServe."""
    tokens = _tokens(options.token_auth_file)
    if options.authorization_mode != "AlwaysAllow" and not (tokens or options.tls):
        why = "needs --token-auth-file or --tls: without them requests are denied"
        raise CannotServe(f"--authorization-mode {options.authorization_mode} {why}")
    authority = Authority() if options.tls else None
    tls = _tls(options, authority)
    async with AsyncExitStack() as serving:
        try:
            sock = serving.enter_context(listening(options.bind_address, options.port))
        except OSError as error:
            raise CannotServe(f"cannot listen on {options.bind_address}:{options.port}: {reason(error)}") from None
        runner = _runner(options, tokens, sock.getsockname()[1])
        runner.webhooks.services |= _services(options.webhook_service)
        runner.publish_authentication(_client_ca(options, authority))
        loaded = await _load(runner, options.manifests)
        server = await serving.enter_async_context(listen(runner, options.bind_address, tls=tls, sock=sock))
        client = authority.administrator() if authority and not tokens else None
        found = Running(server, authority, tokens, loaded, client)
        if options.kubeconfig:
            found.write_kubeconfig(options.kubeconfig)
        yield found


def _tls(options: Options, authority: Authority | None) -> RequestingContext | None:
    path = options.client_ca_file
    if authority is None:
        if path is not None:
            raise CannotServe("--client-ca-file needs --tls: without it clients present no certificates")
        return None
    names = _names(options.bind_address)
    try:
        return authority.requesting_context(names, client_ca=path.read_bytes() if path is not None else b"")
    except OSError as error:
        raise CannotServe(f"--client-ca-file {path}: {reason(error)}") from None
    except ValueError:
        raise CannotServe(f"--client-ca-file {path}: the file has no certificates") from None


def _runner(options: Options, tokens: dict[str, User], port: int) -> ServerRunner:
    """The runner of a new server, which knows the port that it will listen on. Raises CannotServe."""
    clock, random = SystemClock(), SystemRandom()
    address = EVERY_ADDRESS.get(options.bind_address, options.bind_address)
    try:
        apiserver = bootstrap.api_server(
            clock.now(),
            random,
            authorization_mode=options.authorization_mode,
            history_window=options.history_window,
            version=options.kubernetes_version,
            issuer=_issuer(options),
            admission_plugins=_plugins(options),
            feature_gates=parse_gates(options.feature_gates),
            options=ClusterOptions(options.service_cluster_ip_range, address, port, config_maps=True),
        )
    except BadRange as problem:
        raise CannotServe(str(problem)) from None
    except RefusedGates as problem:
        raise CannotServe(f"--feature-gates {','.join(options.feature_gates)}: {problem}") from None
    return ServerRunner(apiserver, clock, random, tokens=tokens)


def _client_ca(options: Options, authority: Authority | None) -> str:
    """The certificates (PEM) that client certificates are verified with."""
    own = authority.certificate.decode() if authority is not None else ""
    return (options.client_ca_file.read_text() if options.client_ca_file is not None else "") + own


def _services(texts: Sequence[str]) -> dict[Service, str]:
    """The Services of `--webhook-service NAMESPACE/NAME=URL` and their URLs. Raises CannotServe."""
    found: dict[Service, str] = {}
    for text in texts:
        name, _, url = text.partition("=")
        namespace, _, name = name.partition("/")
        service = Service(namespace, name, 0)
        try:
            if not (namespace and name):
                raise ValueError("the Service is not in the form NAMESPACE/NAME")
            if service in found:
                raise ValueError(f"the Service has an address already, {found[service]}")
            found[service] = base_url(url)
        except ValueError as problem:
            example = "default/my-webhook=https://127.0.0.1:9443"
            raise CannotServe(f"--webhook-service {text}: {problem} (example: {example})") from None
    return found


def _plugins(options: Options) -> frozenset[str]:
    try:
        return enabled_plugins(options.enable_admission_plugins, options.disable_admission_plugins)
    except ValueError as problem:
        raise CannotServe(f"--{problem}") from None


def _issuer(options: Options) -> Issuer:
    """The issuer of service account tokens; without a signing key it makes one of its own. Raises CannotServe."""
    path = options.service_account_signing_key_file
    make = generated_key if path is None else partial(_read, "service-account-signing-key-file", path)
    public = [_read("service-account-key-file", one) for one in options.service_account_key_file]
    keys = KeySet(make, public)
    if path is not None or public:
        try:
            keys.sign({})
            _ = keys.verifying
        except ValueError as problem:
            raise CannotServe(f"--service-account-signing-key-file, --service-account-key-file: {problem}") from None
    return Issuer(keys, options.service_account_issuer or (ISSUER,), options.api_audiences)


def _read(option: str, path: Path) -> bytes:
    """Raises CannotServe."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise CannotServe(f"--{option} {path}: {reason(error)}") from None


def _tokens(path: Path | None) -> dict[str, User]:
    if path is None:
        return {}
    try:
        with path.open(newline="") as lines:
            tokens = parse_token_file(lines)
    except OSError as error:
        raise CannotServe(f"--token-auth-file {path}: {error.strerror}") from None
    except ValueError as error:
        raise CannotServe(f"--token-auth-file {path}: {error}") from None
    if not tokens:
        raise CannotServe(f"--token-auth-file {path}: the file has no tokens")
    return tokens


async def _load(runner: ServerRunner, sources: Sequence[Path]) -> int:
    """Load manifests into the server; returns the number of objects."""
    transport = DirectTransport(runner)
    try:
        return sum([len(await manifests.load(runner.apiserver, transport, manifests.read(one))) for one in sources])
    except manifests.ManifestError as error:
        raise CannotServe(f"--manifests {error}") from None


def _names(bind_address: str) -> Sequence[str]:
    """The host names of the server's certificate."""
    own = socket.gethostname() if bind_address in EVERY_ADDRESS else bind_address
    return ["localhost", "127.0.0.1", "::1", own]


def reason(error: OSError) -> str:
    """The operating system's message for an error (asyncio adds to it)."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror or error)
