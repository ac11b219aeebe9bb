"""Keeps the code under test from other clusters: hides the environment's configuration, refuses connections elsewhere.

Without it, an operator that loads its own configuration would write to the cluster of the developer's kubeconfig.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from fakekube.harness.connecting.podenvironment import assumed_port, service_variables

#: The kubeconfig of an open cluster at which clients are not configured, and the address in it, which is refused.
NO_CLUSTER = Path(__file__).parents[2] / "data" / "use-the-fixture-fakekube_configured.yaml"
REFUSED = ("127.0.0.1", 1)

#: Where clients look for a kubeconfig without KUBECONFIG.
_DEFAULT = "~/.kube/config"

#: The modules that have read KUBECONFIG when they were imported, and the attribute that keeps it.
_READERS = (
    "kubernetes.config.kube_config",
    "kubernetes.aio.config.kube_config",
    "kubernetes_asyncio.config.kube_config",
)
_LOCATION = "KUBE_CONFIG_DEFAULT_LOCATION"

_SERVER = re.compile(r"""\bserver["']?\s*:\s*["']?\w+://([^\s"',/]+)""")

#: What KUBECONFIG was before a cluster hid it.
_hidden: dict[str, str | None] = {}


class OutsideConnection(ConnectionRefusedError):
    """Code under test connects to a server outside of the test."""


class Environment:
    """The variables that lead clients to a cluster. While hidden they lead nowhere."""

    def __init__(self) -> None:
        self._leave = ExitStack()

    def hide(self) -> None:
        """Let KUBECONFIG, and the in-cluster variables if they are set, name an address that is refused."""
        found = os.environ.get("KUBECONFIG")
        if found != str(NO_CLUSTER):  # else another tool has restored what it found during an earlier test
            _hidden["KUBECONFIG"] = found
        self._leave.callback(_restore, [reader for reader in _READERS if reader not in sys.modules])
        os.environ["KUBECONFIG"] = str(NO_CLUSTER)
        if "KUBERNETES_SERVICE_HOST" in os.environ:
            for name, value in service_variables(*REFUSED).items():
                self._leave.callback(_set_variable, name, os.environ.get(name))
                os.environ[name] = value
        for reader in _READERS:
            if (module := sys.modules.get(reader)) is not None:
                self._leave.callback(setattr, module, _LOCATION, getattr(module, _LOCATION, _DEFAULT))
                setattr(module, _LOCATION, str(NO_CLUSTER))

    def show(self) -> None:
        """Restore all of it."""
        self._leave.close()


def _restore(imported_since: Iterable[str] = ()) -> None:
    """Set KUBECONFIG as before, and what modules have read from it that were imported since."""
    before = _hidden.get("KUBECONFIG")
    _set_variable("KUBECONFIG", before)
    for reader in imported_since:
        if reader in sys.modules:
            setattr(sys.modules[reader], _LOCATION, before or _DEFAULT)


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def restore_leftover() -> None:
    """Called when a test is over: another tool, like `monkeypatch`, may have restored the hidden value after that."""
    if os.environ.get("KUBECONFIG") == str(NO_CLUSTER):
        _restore()


class OutsideConnections:
    """Refuses connections to other clusters and to other machines. `report` gets each refusal, once an address.

    A connection to a port that a client assumes for the API server, and at which nothing listens, is one of them.
    """

    def __init__(self, report: Callable[[OutsideConnection], None]) -> None:
        self._report = report
        self._reported: set[object] = set()
        self._clusters: dict[int, str] | None = None

    def check(self, sock: socket.socket, address: object) -> None:
        """Called before code under test connects to an address that the cluster does not serve.

        Raises OutsideConnection. Datagrams are not connections: some code connects them to find its own address.
        """
        if not isinstance(address, tuple) or not sock.type & socket.SOCK_STREAM:
            return
        host, port = str(address[0]), address[1]
        problem = self._problem(host, port)
        if problem is None:
            return
        error = OutsideConnection(errno.ECONNREFUSED, problem)
        if (host, port) not in self._reported:
            self._reported.add((host, port))
            self._report(error)
        raise error

    def _problem(self, host: str, port: int) -> str | None:
        if (host, port) == REFUSED:
            return (
                "a client loads its configuration (KUBECONFIG, ~/.kube/config or the variables of a pod), which is "
                "hidden while a cluster is open, and would have reached another cluster: use the fixture "
                "fakekube_configured, which points it at the cluster of the test"
            )
        if not _is_local(host):
            return (
                f"a connection would reach {host}:{port}, a server outside of the test: use the fixture "
                "fakekube_configured for clients of Kubernetes, and @pytest.mark.fakekube(real_connections=True) if "
                "the test needs that server"
            )
        if problem := assumed_port(host, port):
            return problem
        if self._clusters is None:
            self._clusters = dict(_clusters())
        if port in self._clusters:
            return (
                f"a connection would reach {host}:{port}, a cluster of {self._clusters[port]}: use the fixture "
                "fakekube_configured, and @pytest.mark.fakekube(real_connections=True) if the test needs that server"
            )
        return None


def _is_local(host: str) -> bool:
    """Whether an address, or a name, is one of this machine."""
    try:
        found = ipaddress.ip_address(socket.gethostbyname(host) if _is_name(host) else host.partition("%")[0])
    except OSError:
        return True  # it cannot be reached
    if found.is_loopback or found.is_unspecified:
        return True
    family = socket.AF_INET if found.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((str(found), 0))
        except OSError:
            return False
    return True


def _is_name(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return True
    return False


def _clusters() -> Iterator[tuple[int, str]]:
    """The ports of the clusters that the developer's kubeconfigs have on this machine, and the file of each.

    A name may be one of this machine, like `kubernetes.docker.internal`.
    """
    for text in [*(_hidden.get("KUBECONFIG") or "").split(os.pathsep), _DEFAULT]:
        try:
            content = Path(text).expanduser().read_text() if text else ""
        except (OSError, ValueError, RuntimeError):  # RuntimeError: no home directory
            continue
        for server in _SERVER.findall(content):
            host, _, port = server.rpartition(":")
            if port.isdigit() and (_is_name(host := host.strip("[]")) or _is_local(host)):
                yield int(port), text
