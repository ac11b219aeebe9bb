"""Chooses the backend of a test run."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fakekube.harness.backends import connection as connections
from fakekube.harness.backends.connection import Connection, NoBackend
from fakekube.harness.backends.controlplane import ControlPlane
from fakekube.harness.backends.realcluster import QUIET, RealCluster
from fakekube.harness.backends.unsupported import skip

__all__ = ["NoBackend", "cluster_of", "connected"]

BACKENDS = ("fakekube", "envtest", "cluster")

#: Arguments of FakeKube that mean nothing to a real cluster; with any other one the test is skipped.
_WITHOUT_EFFECT = frozenset(
    {"seed", "rbac", "stepped", "wall_clock", "transport", "history_window", "patience", "detect", "real_connections"}
)


@contextmanager
def connected(backend: str, context: str | None) -> Iterator[Connection]:
    """The connection to a backend other than "fakekube". Raises NoBackend."""
    if backend == "envtest":
        with ControlPlane() as connection:
            yield connection
    elif backend == "cluster":
        yield connections.existing(context=context or None)
    else:
        raise NoBackend(f"--fakekube-backend={backend}: choose {', '.join(BACKENDS)}")


def cluster_of(
    connection: Connection, settings: Mapping[str, Any], name: str, options: Mapping[str, Any]
) -> RealCluster:
    """The cluster of a test, which is not open. Raises NoBackend; skips a test whose settings need fakekube."""
    from fakekube.harness.cluster import FakeKube

    for setting, value in settings.items():
        default = inspect.signature(FakeKube).parameters[setting].default if _is_setting(setting) else None
        if setting not in _WITHOUT_EFFECT and value != default:
            skip("fakekube's own server", f"{setting}={value!r}", connection.backend)
    try:
        quiet = float(options.get("quiet") or QUIET)
    except ValueError:
        raise NoBackend(f"--fakekube-quiet={options['quiet']}: pass a number of seconds") from None
    return RealCluster(connection, name=name, quiet=quiet, keep_definitions=bool(options.get("keep_crds")))


def _is_setting(name: str) -> bool:
    from fakekube.harness.cluster import FakeKube

    return name in inspect.signature(FakeKube).parameters
