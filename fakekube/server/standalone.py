"""A server in its own process and in real time, for `fakekube serve` and `fakekube run`."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fakekube.apiserver.admission.enablement import enabled_plugins
from fakekube.apiserver.auth.authentication import authenticated, parse_token_file
from fakekube.apiserver.auth.jsonwebtoken import KeySet, generated_key
from fakekube.apiserver.auth.serviceaccounttoken import ISSUER, Issuer
from fakekube.apiserver.features import RefusedGates, parse_gates
from fakekube.apiserver.needs import Service
from fakekube.apiserver.registry.core.service.ranges import DEFAULT_RANGE, BadRange
from fakekube.apiserver.user import ADMIN, User
from fakekube.server import bootstrap, kubeconfig, manifests
from fakekube.server.certificates import Authority, Credentials
from fakekube.server.direct import DirectTransport
from fakekube.server.http import HttpServer, listen
from fakekube.server.httpconnection import HeldWrites
from fakekube.server.initialobjects import ClusterOptions
from fakekube.server.persistence.datadir import DataDir
from fakekube.server.persistence.datarecovery import keep, recover
from fakekube.server.process.auditlog import audit_log
from fakekube.server.process.listening import EVERY_ADDRESS, LOOPBACK, CannotServe, reason, taken
from fakekube.server.process.requestmetrics import RequestMetrics
from fakekube.server.random import SystemRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import Clock, SystemClock
from fakekube.server.webhookclient import base_url
from fakekube.struct import Struct, field

if TYPE_CHECKING:
    from fakekube.server.tlsconnection import RequestingContext


#: The authorization mode that denies nothing.
ALL = "AlwaysAllow"

#: The revision of a new server is the time since then in units of 100 µs: above that of any earlier server, as none
#: writes faster.
REVISIONS_SINCE = datetime(2024, 1, 1, tzinfo=UTC)
REVISIONS_PER_SECOND = 10_000

#: What to do about `kubectl logs` and the like.
ADVICE = "simulated nodes answer it: start the server with --nodes 1 (and --stages FILE for what containers print)"


class Options(Struct, frozen=True):
    """What to serve and where; the fields are named as on the command line."""

    port: int = 0
    bind_address: str = "127.0.0.1"
    token_auth_file: Path | None = None
    authorization_mode: str = ALL
    kubeconfig: Path | None = None
    wait_file: Path | None = None
    user: tuple[str, ...] = ()
    manifests: tuple[Path, ...] = ()
    tls: bool = False
    tls_san: tuple[str, ...] = ()
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
    control: str = "off"
    data_dir: Path | None = None
    fsync: Literal["off", "commit"] = "off"
    audit_policy_file: Path | None = None
    audit_log_path: Path | None = None
    faults: Path | None = None

    def remove_wait_file(self) -> None:
        """Remove the file that says that the server is ready, if there is one."""
        if self.wait_file is not None:
            self.wait_file.unlink(missing_ok=True)


class Running(Struct, frozen=True):
    """A listening server and what clients need to connect. `loaded`: the number of objects from manifests.

    `authority`: the CA of its certificate, None without TLS. `client`: the administrator's certificate, if clients have
    no token. `users`: the credentials of the users of `--user` in a kubeconfig.
    """

    server: HttpServer
    authority: Authority | None
    tokens: dict[str, User]
    loaded: int
    client: Credentials | None
    users: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def administrators(self) -> Sequence[str]:
        """The tokens of superusers."""
        return [token for token, user in self.tokens.items() if "system:masters" in user.groups]

    @property
    def ca(self) -> bytes | None:
        """The certificate of the CA, PEM; None without TLS."""
        return self.authority.certificate if self.authority else None

    @property
    def token(self) -> str:
        """The first token of a superuser in the file, else the first token."""
        return next(iter([*self.administrators, *self.tokens]), "")

    def write_kubeconfig(self, path: Path) -> None:
        """Raises CannotServe."""
        try:
            url = self.server.url
            kubeconfig.write(path, url, token=self.token, ca=self.ca, client=self.client, users=self.users)
        except OSError as error:
            raise CannotServe(f"--kubeconfig {path}: {reason(error)}") from None

    def environment(self, folder: Path) -> dict[str, str]:
        """The environment of a process whose clients connect to the server, with a kubeconfig in `folder`.

        Raises CannotServe.
        """
        path = folder / "kubeconfig"
        self.write_kubeconfig(path)
        return {**os.environ, "KUBECONFIG": str(path), "FAKEKUBE_URL": self.server.url}


@asynccontextmanager
async def running(
    options: Options, sock: socket.socket | None = None, clock: Clock | None = None
) -> AsyncIterator[Running]:
    """A server with its manifests loaded, which listens until the context ends. Raises CannotServe.

    `sock`: what `taken` has returned for the address; None: it is taken now. `clock`: None is that of the machine.
    """
    data = DataDir(options.data_dir, options.fsync) if options.data_dir is not None else None
    async with _opened(data), _running(options, sock, clock, data) as found:
        yield found


@asynccontextmanager
async def _opened(data: DataDir | None) -> AsyncIterator[None]:
    try:
        yield
    finally:
        if data is not None:
            data.close()


@asynccontextmanager
async def _running(
    options: Options, sock: socket.socket | None, clock: Clock | None, data: DataDir | None
) -> AsyncIterator[Running]:
    users = _users(options.user, data)
    tokens = _tokens(options.token_auth_file)
    is_local = options.bind_address in LOOPBACK
    if options.authorization_mode != ALL and not (tokens or users or options.tls):
        why = "needs --token-auth-file or --tls: without them requests are denied"
        raise CannotServe(f"--authorization-mode {options.authorization_mode} {why}")
    if options.token_auth_file is None and ((users and not options.tls) or (options.control == "on" and not is_local)):
        tokens[_token(data, "administrator")] = ADMIN
    authority = _authority(data) if options.tls else None
    tls = _tls(options, authority)
    async with AsyncExitStack() as serving:
        sock = serving.enter_context(sock or taken(options.bind_address, options.port))
        options.remove_wait_file()  # that of an earlier server
        known = tokens | {token: user for user, token in users.values()}
        runner, is_new, held = _runner(options, known, clock or SystemClock(), sock.getsockname()[1], data)
        serving.enter_context(audit_log(options.audit_policy_file, options.audit_log_path))(runner)
        runner.webhooks.services |= _services(options.webhook_service)
        runner.publish_authentication(_client_ca(options, authority))
        loaded = await _load(runner, options.manifests if is_new else ())
        server = await serving.enter_async_context(listen(runner, options.bind_address, tls=tls, sock=sock, held=held))
        client = authority.administrator() if authority and options.token_auth_file is None else None
        found = Running(server, authority, tokens, loaded, client, _credentials(options, users))
        if options.kubeconfig:
            found.write_kubeconfig(options.kubeconfig)
        if options.wait_file is not None:
            _write_wait_file(options.wait_file, server.url)
            serving.callback(options.remove_wait_file)
        yield found


def _credentials(options: Options, users: Mapping[str, tuple[User, str]]) -> dict[str, Mapping[str, Any]]:
    """What a kubeconfig has of each user. kubectl sends no tokens over plain HTTP, but it does impersonate there."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, (user, token) in users.items():
        acting = {"as": name, "as-groups": list(user.groups)}
        found[name] = {"token": token, **(acting if not options.tls and options.authorization_mode == ALL else {})}
    return found


def _write_wait_file(path: Path, url: str) -> None:
    try:
        kubeconfig.replace(path, f"{url}\n")
    except OSError as error:
        raise CannotServe(f"--wait-file {path}: {reason(error)}") from None


def _users(texts: Sequence[str], data: DataDir | None) -> dict[str, tuple[User, str]]:
    """The users of `--user NAME=GROUP,...` and their new tokens, by name. Raises CannotServe."""
    found: dict[str, tuple[User, str]] = {}
    for text in texts:
        name, _, groups = text.partition("=")
        if not name or name in found or name == "fakekube":
            why = "the name is empty" if not name else "the name is taken"
            raise CannotServe(f"--user {text}: {why} (example: alice=dev,ops)")
        user = User(name, groups=tuple(one.strip() for one in groups.split(",") if one.strip()))
        found[name] = (authenticated(user), _token(data, name))
    return found


def _tls(options: Options, authority: Authority | None) -> RequestingContext | None:
    path = options.client_ca_file
    if authority is None:
        if path is not None:
            raise CannotServe("--client-ca-file needs --tls: without it clients present no certificates")
        if options.tls_san:
            raise CannotServe("--tls-san needs --tls: without it the server has no certificate")
        return None
    names = [*_names(options.bind_address), *options.tls_san]
    try:
        return authority.requesting_context(names, client_ca=path.read_bytes() if path is not None else b"")
    except OSError as error:
        raise CannotServe(f"--client-ca-file {path}: {reason(error)}") from None
    except ValueError:
        raise CannotServe(f"--client-ca-file {path}: the file has no certificates") from None


def _token(data: DataDir | None, name: str) -> str:
    """A new token, or the one that this user has had in the data directory."""

    def made() -> bytes:
        return secrets.token_urlsafe(24).encode()

    return (data.kept(f"token:{name}", made) if data is not None else made()).decode()


def _authority(data: DataDir | None) -> Authority:
    """A new certificate authority, or that of the data directory."""
    if data is None:
        return Authority()
    certificate, key = data.get("ca.crt"), data.get("ca.key")
    if certificate is not None and key is not None:
        return Authority.of(certificate, key)
    made = Authority()
    data.set("ca.crt", made.certificate)
    data.set("ca.key", made.key)
    return made


def _runner(
    options: Options, tokens: dict[str, User], clock: Clock, port: int, data: DataDir | None
) -> tuple[ServerRunner, bool, HeldWrites | None]:
    """The runner of a server, which knows the port that it will listen on, whether its state is new, and what holds its
    connections.

    Raises CannotServe.
    """
    random = SystemRandom()
    address = EVERY_ADDRESS.get(options.bind_address, options.bind_address)
    try:
        apiserver = bootstrap.api_server(
            clock.now(),
            random,
            authorization_mode=options.authorization_mode,
            history_window=options.history_window,
            version=options.kubernetes_version,
            issuer=_issuer(options, data),
            admission_plugins=_plugins(options),
            feature_gates=parse_gates(options.feature_gates),
            options=ClusterOptions(options.service_cluster_ip_range, address, port, config_maps=True),
        )
    except BadRange as problem:
        raise CannotServe(str(problem)) from None
    except RefusedGates as problem:
        raise CannotServe(f"--feature-gates {','.join(options.feature_gates)}: {problem}") from None
    is_new = data is None or not recover(apiserver, data)
    if is_new:
        apiserver.store.begin_at(first_revision(clock.now()))
    apiserver.kubelet.advice = ADVICE
    runner = ServerRunner(apiserver, clock, random, tokens=tokens)
    RequestMetrics(runner)
    return runner, is_new, keep(runner, data, options.remove_wait_file) if data is not None else None


def first_revision(now: datetime) -> int:
    """The revision of a server that starts now, so that watches from the life of an earlier server get 410."""
    return int((now - REVISIONS_SINCE).total_seconds() * REVISIONS_PER_SECOND)


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


def _issuer(options: Options, data: DataDir | None) -> Issuer:
    """The issuer of service account tokens; without a signing key it makes one of its own. Raises CannotServe."""
    path = options.service_account_signing_key_file
    new = generated_key if data is None else partial(data.kept, "service-account.key", generated_key)
    make = new if path is None else partial(_read, "service-account-signing-key-file", path)
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
    """Load manifests into the server; returns the number of objects. Raises CannotServe with all that is wrong."""
    transport = DirectTransport(runner, headers={"User-Agent": "fakekube/manifests"})
    placed, unreadable = manifests.read_all(sources)
    stored, refused = await manifests.load_all(runner.apiserver, transport, placed)
    if problems := [*unreadable, *refused]:
        raise CannotServe("\n".join(f"--manifests {one}" for one in problems))
    return stored


def _names(bind_address: str) -> Sequence[str]:
    """The host names of the server's certificate."""
    own = socket.gethostname() if bind_address in EVERY_ADDRESS else bind_address
    return ["localhost", "127.0.0.1", "::1", own]
