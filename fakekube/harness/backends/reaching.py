"""Gives clients the address and the credentials of a real cluster."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from fakekube.apiserver.user import User
from fakekube.harness.backends.connection import Connection

Object = dict[str, Any]

#: Fields of a kubeconfig that name files, relative to it.
_FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


class Reaching:
    """Files and clients that are removed and closed with the cluster."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._leave = ExitStack()
        self._kubeconfig: Path | None = None

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig file of the connection, or a copy whose current context is that of the connection."""
        if self._kubeconfig is None:
            self._kubeconfig = self._connection.kubeconfig
            if self._connection.context is not None:
                folder = self._leave.enter_context(tempfile.TemporaryDirectory(prefix="fakekube-"))
                self._kubeconfig = Path(folder, "kubeconfig")
                self._kubeconfig.touch(mode=0o600)
                self._kubeconfig.write_text(yaml.safe_dump(self._in_context(self._connection.context)))
        return self._kubeconfig

    def _in_context(self, context: str) -> Object:
        path = self._connection.kubeconfig
        config: Object = yaml.safe_load(path.read_text())
        for kind in ("cluster", "user"):
            for one in config.get(f"{kind}s") or ():
                entry = one.get(kind) or {}
                entry.update({name: str(path.parent / entry[name]) for name in _FILES if entry.get(name)})
        return {**config, "current-context": context}

    def api_client(self, user: User | None) -> Any:
        """An official `kubernetes.client.ApiClient`."""
        from kubernetes import client, config

        configuration = client.Configuration()
        path, context = str(self._connection.kubeconfig), self._connection.context
        config.load_kube_config(path, context=context, client_configuration=configuration)
        made = self._leave.enter_context(client.ApiClient(configuration))
        for name, value in self.impersonation(user).items():
            made.set_default_header(name, value)
        return made

    @staticmethod
    def impersonation(user: User | None) -> Mapping[str, str]:
        """The headers with which a request is made as a user. Raises ValueError for several groups."""
        if user is None:
            return {}
        groups = [one for one in user.groups if not one.startswith(("system:authenticated", "system:serviceaccounts"))]
        if len(groups) > 1:
            raise ValueError(f"user={user!r}: on a real cluster a user is impersonated, with one group at most")
        return {"Impersonate-User": user.name, **({"Impersonate-Group": groups[0]} if groups else {})}

    def run(self, argv: Sequence[str], options: Mapping[str, Any], *, in_coroutine: bool) -> Any:
        """Run a command with KUBECONFIG. Returns a CompletedProcess, which in a coroutine must be awaited."""
        if isinstance(argv, str):
            raise TypeError(f"run_process({argv!r}): pass a list, {argv.split()!r}")
        if not argv:
            raise ValueError("run_process([]): the list names a program and its arguments")
        env = {**os.environ, **(options.get("env") or {}), "KUBECONFIG": str(self.kubeconfig)}
        settings = {"text": True, "capture_output": True, "check": False, **options, "env": env}
        work = partial(subprocess.run, list(argv), **settings)
        return asyncio.get_running_loop().run_in_executor(None, work) if in_coroutine else work()

    def close(self) -> None:
        self._leave.close()
