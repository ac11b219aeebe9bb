"""How a real cluster is reached: a kubeconfig file and one of its contexts."""

from __future__ import annotations

import os
from pathlib import Path

from controllerlib.client import HttpTransport
from fakekube.struct import Struct


class NoBackend(Exception):
    """The backend cannot be used; the message says what is missing."""


class Connection(Struct, frozen=True):
    """A backend by name ("envtest", "cluster"), its kubeconfig file, and the context (None: the current one)."""

    backend: str
    kubeconfig: Path
    context: str | None = None

    def transport(self, **headers: str) -> HttpTransport:
        """A transport to the cluster; `headers` are sent with each request."""
        from controllerlib.client import from_kubeconfig

        return HttpTransport(credentials=from_kubeconfig(str(self.kubeconfig), self.context), headers=headers)


def existing(kubeconfig: str = "", context: str | None = None) -> Connection:
    """The cluster of a context of `kubeconfig`, else of KUBECONFIG, else of ~/.kube/config. Raises NoBackend."""
    named = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    paths = [Path(one).expanduser() for one in named.split(os.pathsep) if one]
    path = next((one for one in paths if one.is_file()), None)
    if path is None:
        raise NoBackend(f"backend cluster: there is no kubeconfig file {named}; set KUBECONFIG")
    made = Connection("cluster", path.resolve(), context)
    try:
        made.transport()
    except Exception as error:  # kubernetes.config raises various exceptions
        raise NoBackend(
            f"backend cluster: {path} cannot be used with context {context or '(current)'}: {error}"
        ) from None
    return made
