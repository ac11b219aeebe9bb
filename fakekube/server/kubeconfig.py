"""Writes kubeconfig files."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import Any

import yaml


def content(
    server: str, *, token: str = "", ca: bytes | None = None, client: tuple[bytes, bytes] | None = None
) -> dict[str, Any]:
    """A kubeconfig with one cluster, user and context, each named `fakekube`.

    `client`: the certificate and the private key of the user, PEM.
    """
    user = {"token": token} if token else {}
    if client is not None:
        user["client-certificate-data"] = base64.b64encode(client[0]).decode()
        user["client-key-data"] = base64.b64encode(client[1]).decode()
    cluster: dict[str, Any] = {"server": server}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fakekube", "cluster": cluster}],
        "users": [{"name": "fakekube", "user": user}],
        "contexts": [{"name": "fakekube", "context": {"cluster": "fakekube", "user": "fakekube"}}],
        "current-context": "fakekube",
    }


def write(
    path: Path, server: str, *, token: str = "", ca: bytes | None = None, client: tuple[bytes, bytes] | None = None
) -> None:
    """Write a kubeconfig atomically, readable only by its owner. Raises OSError."""
    text = yaml.safe_dump(content(server, token=token, ca=ca, client=client), sort_keys=False)
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
