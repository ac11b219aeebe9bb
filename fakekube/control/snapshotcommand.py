"""The command `fakekube snapshot`: the state of a running server in a file."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

URL = "http://127.0.0.1:8001"

_AT = click.option("--server", metavar="URL", help=f"Address of the server.  [default: $FAKEKUBE_URL, or {URL}]")
_KUBECONFIG = click.option(
    "--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="Its kubeconfig: address, credentials, CA."
)


@click.group()
def snapshot() -> None:
    """Save and restore the state of a running server."""


class _Server(NamedTuple):
    url: str
    headers: Mapping[str, str] = {}
    trust: ssl.SSLContext | None = None

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """Raises ClickException."""
        headers = {**self.headers, **({"Content-Type": "application/json"} if body is not None else {})}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_fakekube/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.trust) as answer:
                found: bytes = answer.read()
                return found
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            try:
                text = json.loads(text)["message"]
            except (ValueError, KeyError, TypeError):
                text = f"{error.code}: the server at {self.url} has no control API"
            raise click.ClickException(text) from None
        except OSError as error:
            raise click.ClickException(f"{self.url}: {getattr(error, 'reason', error)}") from None


def _server(url: str | None, kubeconfig: Path | None) -> _Server:
    if kubeconfig is None:
        return _Server((url or os.environ.get("FAKEKUBE_URL") or URL).rstrip("/"))
    from controllerlib.client import from_kubeconfig

    try:
        credentials = from_kubeconfig(str(kubeconfig))
        headers = dict(asyncio.run(credentials.headers()))
        return _Server((url or credentials.url).rstrip("/"), headers, credentials.tls())
    except Exception as problem:  # kubernetes.config raises various exceptions
        raise click.ClickException(f"--kubeconfig {kubeconfig}: {problem}") from None


def _write(path: Path, content: bytes) -> None:
    from fakekube.server import kubeconfig

    try:
        kubeconfig.replace(path, content.decode())
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None


@snapshot.command()
@click.argument("file", type=click.Path(path_type=Path))
@_AT
@_KUBECONFIG
def save(file: Path, server: str | None, kubeconfig: Path | None) -> None:
    """Save all objects to FILE, a line of JSON for each."""
    _write(file, _server(server, kubeconfig).ask("GET", "/state"))


@snapshot.command()
@click.argument("file", type=click.Path(path_type=Path))
@_AT
@_KUBECONFIG
@click.option("--clean", is_flag=True, help="Without status, and without what servers set and allocate.")
def export(file: Path, server: str | None, kubeconfig: Path | None, clean: bool) -> None:
    """Write the objects that have changed since the start to FILE, as YAML for any cluster."""
    _write(file, _server(server, kubeconfig).ask("GET", f"/state.yaml?clean={'true' if clean else 'false'}"))


@snapshot.command()
@click.argument("file", type=click.Path(path_type=Path))
@_AT
@_KUBECONFIG
def restore(file: Path, server: str | None, kubeconfig: Path | None) -> None:
    """Return to the state of FILE: what `save` has written, or YAML."""
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    try:
        found = json.loads(_server(server, kubeconfig).ask("PUT", "/state", {"text": text}))
    except click.ClickException as error:
        raise click.ClickException(f"{file}: {error.message}") from None
    click.echo(f"{found['objects']} objects")
