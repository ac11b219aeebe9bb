"""Points the configuration of an operator at the cluster, for every client, without a change in the operator.

Clients read `KUBECONFIG`, some when they are imported; in a pod they read the files of its service account and connect
over TLS. All of it is restored at the end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

#: Where modules keep `KUBECONFIG`, which they have read when they were imported: the official client, the asyncio
#: clients, and operators with a client of their own that is written after it.
_DEFAULT_LOCATION = "KUBE_CONFIG_DEFAULT_LOCATION"

#: Modules with the paths of a service account's token and certificate authority.
_IN_CLUSTER = (
    "kubernetes.config.incluster_config",
    "kubernetes.aio.config.incluster_config",
    "kubernetes_asyncio.config.incluster_config",
)

#: Modules whose `Configuration` keeps a default, which `load_kube_config` and `load_incluster_config` set.
_CONFIGURATIONS = (
    "kubernetes.client.configuration",
    "kubernetes.aio.client.configuration",
    "kubernetes_asyncio.client.configuration",
)

_MISSING = object()


@contextmanager
def configured(kubeconfig: Path, account: Path, host: str, port: int) -> Iterator[None]:
    """Clients use `kubeconfig`; in a pod, the service account in `account` and the server at this address."""
    with ExitStack() as undo:
        _set_environment(
            {"KUBECONFIG": str(kubeconfig), "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port)},
            undo.callback,
        )
        for name, module in tuple(sys.modules.items()):
            if _DEFAULT_LOCATION in getattr(module, "__dict__", ()):
                _set(name, _DEFAULT_LOCATION, str(kubeconfig), undo)
        for name in _IN_CLUSTER:
            # they are imported with the package, in which a test has no say
            _set(name, "SERVICE_TOKEN_FILENAME", str(account / "token"), undo)
            _set(name, "SERVICE_CERT_FILENAME", str(account / "ca.crt"), undo)
        _set("lightkube.config.kubeconfig", "SERVICE_ACCOUNT", str(account), undo)
        for name in _CONFIGURATIONS:
            kind = getattr(sys.modules.get(name), "Configuration", None)
            if kind is not None:
                undo.callback(setattr, kind, "_default", getattr(kind, "_default", None))
        _forget_connections()
        undo.callback(_forget_connections)
        yield


def _set_environment(values: Mapping[str, str], undo: Callable[..., Any]) -> None:
    for name, value in values.items():
        before = os.environ.get(name)
        undo(_restore_environment, name, before)
        os.environ[name] = value


def _restore_environment(name: str, before: str | None) -> None:
    if before is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = before


def _set(module: str, name: str, value: object, undo: ExitStack) -> None:
    """Set an attribute of a module if it is imported. What is imported later reads the environment."""
    found = sys.modules.get(module)
    if found is not None and (before := getattr(found, name, _MISSING)) is not _MISSING:
        undo.callback(setattr, found, name, before)
        setattr(found, name, value)


def _forget_connections() -> None:
    """kr8s keeps its connections by their arguments, which are the same for two clusters."""
    api = getattr(sys.modules.get("kr8s._api"), "Api", None)
    if api is not None:
        api._instances.clear()
