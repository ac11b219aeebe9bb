"""The command line: `fakekube serve` and `fakekube run`."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from fakekube import bootstrap, kubeconfig, manifests
from fakekube.certificates import Authority
from fakekube.chance import SystemChance
from fakekube.clock import SystemClock
from fakekube.controlplane import ControlPlane
from fakekube.core.apiserver import AUTHORIZERS
from fakekube.core.authentication import User, parse_token_file
from fakekube.core.versions import UnknownVersion
from fakekube.server import EVERY_ADDRESS, HttpServer, listen
from fakekube.transport import DirectTransport


@dataclass(frozen=True, slots=True)
class Options:
    """What both commands take to make a server."""

    port: int
    bind_address: str
    token_auth_file: Path | None
    authorization_mode: str
    kubeconfig: Path | None
    manifests: tuple[Path, ...]
    tls: bool
    history_window: int
    kubernetes_version: str


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens, and what a client needs to know to reach it."""

    server: HttpServer
    ca: bytes | None
    tokens: dict[str, User]
    loaded: int

    @property
    def token(self) -> str:
        """A token of the file: the first of a superuser, else the first."""
        powerful = [token for token, user in self.tokens.items() if "system:masters" in user.groups]
        return next(iter([*powerful, *self.tokens]), "")


def _tokens(path: Path | None) -> dict[str, User]:
    if path is None:
        return {}
    try:
        with path.open(newline="") as lines:
            tokens = parse_token_file(lines)
    except OSError as error:
        raise click.ClickException(f"--token-auth-file {path}: {error.strerror}") from None
    except ValueError as error:
        raise click.ClickException(f"--token-auth-file {path}: {error}") from None
    if not tokens:
        raise click.ClickException(f"--token-auth-file {path}: the file has no tokens")
    return tokens


@asynccontextmanager
async def _running(options: Options) -> AsyncIterator[Running]:
    """A server with its manifests loaded, listening."""
    tokens = _tokens(options.token_auth_file)
    if options.authorization_mode == "RBAC" and not tokens:
        raise click.ClickException(
            "--authorization-mode RBAC needs --token-auth-file: without it nobody may do anything"
        )
    clock, chance = SystemClock(), SystemChance()
    core = bootstrap.api_server(
        clock.now(),
        chance,
        authorization_mode=options.authorization_mode,
        history_window=options.history_window,
        version=options.kubernetes_version,
    )
    plane = ControlPlane(core, clock, chance, tokens=tokens)
    loaded = 0
    try:
        for source in options.manifests:
            loaded += len(manifests.apply(core, DirectTransport(plane), manifests.read(source)))
    except manifests.ManifestError as error:
        raise click.ClickException(f"--manifests {error}") from None
    authority = Authority() if options.tls else None
    tls = authority.server_context(_names(options.bind_address)) if authority else None
    async with AsyncExitStack() as listening:
        try:
            server = await listening.enter_async_context(listen(plane, options.bind_address, options.port, tls=tls))
        except OSError as error:
            raise click.ClickException(
                f"cannot listen on {options.bind_address}:{options.port}: {_reason(error)}"
            ) from None
        running = Running(server, authority.certificate if authority else None, tokens, loaded)
        if options.kubeconfig:
            _write_kubeconfig(options.kubeconfig, running)
        yield running


def _names(bind_address: str) -> Sequence[str]:
    """What clients may call the server, and its certificate therefore names."""
    names = ["localhost", "127.0.0.1", "::1", bind_address]
    if bind_address in EVERY_ADDRESS:
        names[3:] = [socket.gethostname()]
    return names


def _reason(error: OSError) -> str:
    """What the operating system says of an error (asyncio adds to it)."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror or error)


def _write_kubeconfig(path: Path, running: Running) -> None:
    try:
        kubeconfig.write(path, running.server.url, token=running.token, ca=running.ca)
    except OSError as error:
        raise click.ClickException(f"--kubeconfig {path}: {_reason(error)}") from None


def _known_version(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        return bootstrap.version_of(value)
    except UnknownVersion as problem:
        raise click.BadParameter(str(problem)) from None


def _server_options(command: click.decorators.FC) -> click.decorators.FC:
    for option in reversed(
        (
            click.option("--bind-address", default="127.0.0.1", show_default=True, help="Address to listen on."),
            click.option(
                "--token-auth-file",
                type=click.Path(path_type=Path),
                help='CSV of bearer tokens: token,user,uid,"group1,group2".',
            ),
            click.option(
                "--authorization-mode",
                type=click.Choice(list(AUTHORIZERS)),
                default="AlwaysAllow",
                show_default=True,
                help="Who may do what.",
            ),
            click.option(
                "--manifests",
                multiple=True,
                type=click.Path(path_type=Path),
                help="File or directory of manifests to load at start; may be given several times.",
            ),
            click.option("--tls", is_flag=True, help="Serve HTTPS, with a certificate authority of the server's own."),
            click.option(
                "--history-window",
                default=20_000,
                show_default=True,
                type=click.IntRange(1),
                help="How many changes watches can read back; older ones answer 410 Gone.",
            ),
            click.option(
                "--kubernetes-version",
                default=bootstrap.KUBERNETES_VERSION,
                show_default=True,
                callback=_known_version,
                help="Minor version whose kinds and fields are served.",
            ),
        )
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="fakekube")
def main() -> None:
    """A Kubernetes API server for tests."""


@main.command()
@click.option(
    "--port", default=8001, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="Write a kubeconfig for this server to FILE.", metavar="FILE"
)
@_server_options
def serve(
    port: int,
    kubeconfig: Path | None,
    bind_address: str,
    token_auth_file: Path | None,
    authorization_mode: str,
    manifests: tuple[Path, ...],
    tls: bool,
    history_window: int,
    kubernetes_version: str,
) -> None:
    """Serve the Kubernetes API until interrupted."""
    options = Options(
        port,
        bind_address,
        token_auth_file,
        authorization_mode,
        kubeconfig,
        manifests,
        tls,
        history_window,
        kubernetes_version,
    )
    asyncio.run(_serve(options))


async def _serve(options: Options) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with _running(options) as running:
        for line in _greeting(running, options):
            click.echo(line)
        sys.stdout.flush()
        await stop.wait()
        click.echo("stopping")


def _greeting(running: Running, options: Options) -> list[str]:
    url = running.server.url
    version = bootstrap.version_info(options.kubernetes_version)["gitVersion"]
    lines = [f"fakekube serves the Kubernetes API {version} at {url}"]
    if running.loaded:
        lines.append(f"  loaded {running.loaded} objects from {', '.join(map(str, options.manifests))}")
    if options.kubeconfig:
        lines.append(f"  kubectl --kubeconfig {options.kubeconfig} get namespaces")
    elif running.ca is None and not running.token:
        lines.append(f"  kubectl --server {url} get namespaces")
    else:
        lines.append("  give --kubeconfig FILE to get a kubeconfig with the certificate authority and a token")
    if options.bind_address not in ("127.0.0.1", "localhost", "::1") and options.authorization_mode == "AlwaysAllow":
        lines.append("  warning: everybody who reaches this address may do everything")
    lines.append("  Ctrl-C stops it")
    return lines


@main.command(context_settings={"ignore_unknown_options": True})
@_server_options
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    bind_address: str,
    token_auth_file: Path | None,
    authorization_mode: str,
    manifests: tuple[Path, ...],
    tls: bool,
    history_window: int,
    kubernetes_version: str,
    command: tuple[str, ...],
) -> None:
    """Run COMMAND against a fresh server, with KUBECONFIG set, and return its status.

    Example: fakekube run --manifests deploy/ -- ./smoke.sh
    """
    options = Options(
        0, bind_address, token_auth_file, authorization_mode, None, manifests, tls, history_window, kubernetes_version
    )
    sys.exit(asyncio.run(_run(options, command)))


async def _run(options: Options, command: Sequence[str]) -> int:
    signals = _Signals()
    with tempfile.TemporaryDirectory(prefix="fakekube-") as folder:
        async with _running(options) as running:
            path = Path(folder, "kubeconfig")
            _write_kubeconfig(path, running)
            env = {**os.environ, "KUBECONFIG": str(path), "FAKEKUBE_URL": running.server.url}
            try:
                process = await asyncio.create_subprocess_exec(*command, env=env)
            except FileNotFoundError:
                click.echo(f"fakekube run: {command[0]}: command not found", err=True)
                return 127
            except OSError as error:
                click.echo(f"fakekube run: {command[0]}: {_reason(error).lower()}", err=True)
                return 126
            signals.go_to(process)
            status = await process.wait()
            return 128 - status if status < 0 else status


class _Signals:
    """A signal to us is meant for the command: it is passed on, also one that came before there was a command."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._early: list[signal.Signals] = []
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._came, number)

    def go_to(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        for number in self._early:
            self._came(number)

    def _came(self, number: signal.Signals) -> None:
        if self._process is None:
            self._early.append(number)
        elif self._process.returncode is None and not (number == signal.SIGINT and _at_terminal()):
            self._process.send_signal(number)


def _at_terminal() -> bool:
    """Whether Ctrl-C comes from a terminal, which tells the command itself."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
