"""Runs kube-apiserver and etcd binaries, found and started as controller-runtime's envtest does
(`pkg/envtest/server.go`, `pkg/internal/testing/controlplane`)."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from fakekube.harness.backends.connection import Connection, NoBackend
from fakekube.server import kubeconfig
from fakekube.server.certificates import Authority
from fakekube.server.systemclock import SystemClock

#: The directory of the binaries unless KUBEBUILDER_ASSETS is set, and the variables that name one binary.
DEFAULT_ASSETS = "/usr/local/kubebuilder/bin"
VARIABLES = {"etcd": "TEST_ASSET_ETCD", "kube-apiserver": "TEST_ASSET_KUBE_APISERVER"}

#: Real seconds in which each of the two has to be ready, and has to end.
_START, _STOP = 120.0, 20.0

#: How often readiness is checked, in seconds.
_INTERVAL = 0.05

#: The flags of envtest that do not depend on addresses and files.
_ETCD = ("--unsafe-no-fsync=true",)
_API_SERVER = (
    "--service-cluster-ip-range=10.0.0.0/24",
    "--allow-privileged=true",
    "--disable-admission-plugins=ServiceAccount",
    "--authorization-mode=RBAC",
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
)


def binary(name: str, environment: Mapping[str, str]) -> Path:
    """The path of a binary (`internal/testing/process.BinPathFinder`). Raises NoBackend."""
    named = environment.get(VARIABLES[name])
    assets = environment.get("KUBEBUILDER_ASSETS") or DEFAULT_ASSETS
    path = Path(named) if named else Path(assets, name)
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise NoBackend(
            f"backend envtest: there is no executable {path}; set KUBEBUILDER_ASSETS to a directory with etcd and "
            "kube-apiserver (`setup-envtest use -p path` prints one)"
        )
    return path


class ControlPlane:
    """An etcd and a kube-apiserver with data of their own, on free ports of 127.0.0.1. A context manager."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        environment = os.environ if environment is None else environment
        self._etcd, self._api_server = (binary(name, environment) for name in VARIABLES)
        self._leave = ExitStack()
        self._clock = SystemClock()

    def __enter__(self) -> Connection:
        with ExitStack() as undo:
            made = tempfile.mkdtemp(prefix="fakekube-envtest-")
            undo.callback(shutil.rmtree, made, ignore_errors=True)
            folder = Path(made)
            storage = self._run_etcd(undo, folder)
            connection = self._run_api_server(undo, folder, storage)
            self._leave = undo.pop_all()
        atexit.register(self._leave.close)
        return connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        atexit.unregister(self._leave.close)
        self._leave.close()

    def _run_etcd(self, undo: ExitStack, folder: Path) -> str:
        url, peer = f"http://127.0.0.1:{_free_port()}", f"http://127.0.0.1:{_free_port()}"
        flags = [f"--data-dir={folder / 'etcd'}", f"--listen-client-urls={url}", f"--advertise-client-urls={url}"]
        peers = [
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
        ]
        process = undo.enter_context(_Process([str(self._etcd), *_ETCD, *flags, *peers], folder / "etcd.log"))
        process.wait_until_ready(f"{url}/health", None, self._clock)
        return url

    def _run_api_server(self, undo: ExitStack, folder: Path, storage: str) -> Connection:
        files = _write_keys(folder)
        port = _free_port()
        flags = [
            f"--etcd-servers={storage}",
            f"--secure-port={port}",
            f"--tls-cert-file={files['tls.crt']}",
            f"--tls-private-key-file={files['tls.key']}",
            f"--client-ca-file={files['ca.crt']}",
            f"--service-account-issuer=https://127.0.0.1:{port}/",
            f"--service-account-key-file={files['sa.key']}",
            f"--service-account-signing-key-file={files['sa.key']}",
        ]
        command = [str(self._api_server), *_API_SERVER, *flags]
        process = undo.enter_context(_Process(command, folder / "kube-apiserver.log"))
        url, path = f"https://127.0.0.1:{port}", folder / "kubeconfig"
        client = (files["admin.crt"].read_bytes(), files["admin.key"].read_bytes())
        kubeconfig.write(path, url, ca=files["ca.crt"].read_bytes(), client=client)
        process.wait_until_ready(f"{url}/readyz", files, self._clock)
        return Connection("envtest", path)


class _Process:
    """A program that writes a log file. A context manager that ends it: SIGTERM, then SIGKILL."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command, self._log = command, log

    def __enter__(self) -> Self:
        self._output: IO[bytes] = self._log.open("wb")
        # a session of its own: Ctrl-C ends the tests first
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._output, start_new_session=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    def wait_until_ready(self, url: str, files: Mapping[str, Path] | None, clock: SystemClock) -> None:
        """Wait until a GET of `url` is answered with 200. Raises NoBackend with the end of the log."""
        deadline = clock.monotonic() + _START
        while not _answers(url, files):
            ended = self._process.poll() is not None
            if ended or clock.monotonic() > deadline:
                what = f"ended with status {self._process.returncode}" if ended else f"was not ready in {_START:g} s"
                raise NoBackend(f"backend envtest: {self._command[0]} {what}:\n{self._tail()}")
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_INTERVAL)

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])


def _answers(url: str, files: Mapping[str, Path] | None) -> bool:
    import ssl

    context = None
    if files is not None:
        context = ssl.create_default_context(cafile=str(files["ca.crt"]))
        context.load_cert_chain(files["admin.crt"], files["admin.key"])
    try:
        with urllib.request.urlopen(url, timeout=5, context=context) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _write_keys(folder: Path) -> Mapping[str, Path]:
    """The certificates of the server and of the administrator, and the key of service account tokens."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    authority = Authority()
    server, admin = authority.server_credentials(), authority.administrator()
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    contents = {
        "ca.crt": authority.certificate,
        "tls.crt": server.certificate,
        "tls.key": server.key,
        "admin.crt": admin.certificate,
        "admin.key": admin.key,
        "sa.key": key,
    }
    for name, content in contents.items():
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)
    return {name: folder / name for name in contents}


def _free_port() -> int:
    """A port that is free at present; as in envtest, nothing reserves it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
