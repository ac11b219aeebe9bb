"""kubeconfig files: how clients find a server."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import yaml


def content(server: str, *, token: str = "", ca: bytes | None = None) -> dict[str, Any]:
    """One cluster, one user, one context, all called `fakekube`."""
    cluster: dict[str, Any] = {"server": server}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "fakekube", "cluster": cluster}],
        "users": [{"name": "fakekube", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "fakekube", "context": {"cluster": "fakekube", "user": "fakekube"}}],
        "current-context": "fakekube",
    }


def write(path: Path, server: str, *, token: str = "", ca: bytes | None = None) -> None:
    """Write a kubeconfig that only its owner can read. Raises OSError."""
    text = yaml.safe_dump(content(server, token=token, ca=ca), sort_keys=False)
    path.touch(mode=0o600)
    path.write_text(text)
