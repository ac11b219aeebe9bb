"""Writes kubeconfig files."""

from __future__ import annotations

import base64
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml


def content(
    server: str,
    *,
    token: str = "",
    ca: bytes | None = None,
    client: tuple[bytes, bytes] | None = None,
    users: Mapping[str, Mapping[str, Any]] = {},
) -> dict[str, Any]:
    """A kubeconfig with one cluster, user and context, each named `fakekube`, and a context for each other user.

    `client`: the certificate and the private key of the user, PEM. `users`: the credentials of the others by name.
    """
    user = {"token": token} if token else {}
    if client is not None:
        user["client-certificate-data"] = base64.b64encode(client[0]).decode()
        user["client-key-data"] = base64.b64encode(client[1]).decode()
    cluster: dict[str, Any] = {"server": server}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    elif server.startswith("http://"):
        cluster["insecure-skip-tls-verify"] = True  # without it, client-node refuses plain HTTP
    found = {"fakekube": user, **{name: dict(credentials) for name, credentials in users.items()}}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fakekube", "cluster": cluster}],
        "users": [{"name": name, "user": value} for name, value in found.items()],
        "contexts": [{"name": name, "context": {"cluster": "fakekube", "user": name}} for name in found],
        "current-context": "fakekube",
    }


def write(
    path: Path,
    server: str,
    *,
    token: str = "",
    ca: bytes | None = None,
    client: tuple[bytes, bytes] | None = None,
    users: Mapping[str, Mapping[str, Any]] = {},
) -> None:
    """Write a kubeconfig (`content`) atomically, readable only by its owner. Raises OSError."""
    replace(path, yaml.safe_dump(content(server, token=token, ca=ca, client=client, users=users), sort_keys=False))


def replace(path: Path, text: str) -> None:
    """Write a file that appears with its whole text, readable only by its owner. Raises OSError."""
    path = path.resolve()
    if path.exists() and not path.is_file():  # a pipe, /dev/stdout
        path.write_text(text)
        return
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
