"""The names and identities that a container runtime (containerd) gives to images and containers."""

from __future__ import annotations

import hashlib
from functools import lru_cache

#: The size of every image, in bytes.
IMAGE_SIZE = 50_000_000


@lru_cache(maxsize=4096)
def normalized(image: str) -> str:
    """The full name of an image: `nginx` is docker.io/library/nginx:latest."""
    name, at, digest = image.partition("@")
    registry, slash, path = name.partition("/")
    if not slash:
        registry, path = "docker.io", f"library/{name}"
    elif "." not in registry and ":" not in registry and registry != "localhost":
        registry, path = "docker.io", name
    if at:
        return f"{registry}/{path}@{digest}"
    return f"{registry}/{path}" if ":" in path else f"{registry}/{path}:latest"


@lru_cache(maxsize=4096)
def image_id(image: str) -> str:
    """The image by a digest, which is that of its name."""
    full = normalized(image)
    if "@" in full:
        return full
    repository = full.rpartition(":")[0]
    return f"{repository}@sha256:{hashlib.sha256(full.encode()).hexdigest()}"


def container_id(uid: str, name: str, restarts: int) -> str:
    """The identity of a container of a pod, a different one after each restart."""
    return f"containerd://{hashlib.sha256(f'{uid}/{name}/{restarts}'.encode()).hexdigest()}"
