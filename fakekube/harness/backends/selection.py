"""Chooses the backend of a test run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fakekube.clustersettings import SETTINGS
from fakekube.harness.backends import connection as connections
from fakekube.harness.backends.connection import Connection, NoBackend
from fakekube.harness.backends.controlplane import ControlPlane
from fakekube.harness.backends.realcluster import QUIET, RealCluster
from fakekube.harness.members import skip

__all__ = ["NoBackend", "cluster_of", "connected"]

BACKENDS = ("fakekube", "envtest", "cluster")


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
    for name_of_setting, value in settings.items():
        setting = SETTINGS.get(name_of_setting)
        if setting is None or not (setting.metadata["portable"] or value == setting.default):
            skip("fakekube's own server", f"{name_of_setting}={value!r}", connection.backend)
    try:
        quiet = float(options.get("quiet") or QUIET)
    except ValueError:
        raise NoBackend(f"--fakekube-quiet={options['quiet']}: pass a number of seconds") from None
    return RealCluster(connection, name=name, quiet=quiet, keep_definitions=bool(options.get("keep_crds")))
