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

from fakekube.harness.connecting.podenvironment import service_variables
from fakekube.virtualtime.patches.importhook import IMPORTS

#: Where modules keep `KUBECONFIG`, which they have read when they were imported: the official client, the asyncio
#: clients, and operators with a client of their own that is written after it.
_DEFAULT_LOCATION = "KUBE_CONFIG_DEFAULT_LOCATION"

#: Modules with the paths of a service account's token and certificate authority.
_IN_CLUSTER = (
    "kubernetes.config.incluster_config",
    "kubernetes.aio.config.incluster_config",
    "kubernetes_asyncio.config.incluster_config",
)

#: The module of lightkube with the path of a service account's files.
_LIGHTKUBE = "lightkube.config.kubeconfig"

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
        _set_environment({"KUBECONFIG": str(kubeconfig), **service_variables(host, port)}, undo.callback)
        for name, module in tuple(sys.modules.items()):
            if _DEFAULT_LOCATION in getattr(module, "__dict__", ()):
                _set(name, _DEFAULT_LOCATION, str(kubeconfig), undo)
        undo.callback(IMPORTS.listen(lambda module: _set_account(module.__name__, account, undo)))
        for name in (*_IN_CLUSTER, _LIGHTKUBE):
            _set_account(name, account, undo)
        undo.callback(_restore_defaults, {name: _default(name) for name in _CONFIGURATIONS})
        _forget_connections()
        undo.callback(_forget_connections)
        yield


def _set_account(module: str, account: Path, undo: ExitStack) -> None:
    """Let a module, if it is one of those that read the files of a service account, read those in `account`."""
    if module in _IN_CLUSTER:
        _set(module, "SERVICE_TOKEN_FILENAME", str(account / "token"), undo)
        _set(module, "SERVICE_CERT_FILENAME", str(account / "ca.crt"), undo)
    elif module == _LIGHTKUBE:
        _set(module, "SERVICE_ACCOUNT", str(account), undo)


def _default(module: str) -> Any:
    return getattr(getattr(sys.modules.get(module), "Configuration", None), "_default", None)


def _restore_defaults(before: Mapping[str, Any]) -> None:
    """Restore the default configuration of each module; a module that was imported since had none."""
    for name, default in before.items():
        kind = getattr(sys.modules.get(name), "Configuration", None)
        if kind is not None:
            kind._default = default


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
    """Set an attribute of a module if it is imported."""
    found = sys.modules.get(module)
    if found is not None and (before := getattr(found, name, _MISSING)) is not _MISSING:
        undo.callback(setattr, found, name, before)
        setattr(found, name, value)


def _forget_connections() -> None:
    """kr8s keeps its connections by their arguments, which are the same for two clusters."""
    instances = getattr(getattr(sys.modules.get("kr8s._api"), "Api", None), "_instances", None)
    if instances is not None:
        instances.clear()
