"""Reads manifests: files, directories, kustomizations, and text."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from fakekube.harness.arguments import is_text_of_manifests
from fakekube.server import manifests
from fakekube.server.manifests import KUSTOMIZATIONS, ManifestError

Object = dict[str, Any]

Manifests = str | Path | IO[str] | IO[bytes]
"""A file, a directory, the text of YAML or JSON, or an open file or pipe."""

#: Programs that build a kustomization; the directory is the last argument.
_BUILDERS = (("kustomize", "build"), ("kubectl", "kustomize"))

_SECONDS = 120.0


def read(sources: Sequence[Manifests]) -> list[Object]:
    """All objects of the sources. Raises ManifestError naming the source, TypeError."""
    if not sources:
        raise TypeError("load() needs at least one path, or the text of manifests")
    return [obj for source in sources for obj in _read_one(source)]


def _read_one(source: Manifests) -> list[Object]:
    if isinstance(source, str) and is_text_of_manifests(source):
        return manifests.parsed(source, "the text")
    if isinstance(source, str | Path):
        path = Path(source)
        if path.name in KUSTOMIZATIONS and path.is_file():
            path = path.parent
        if any((path / name).is_file() for name in KUSTOMIZATIONS):
            return manifests.parsed(_built(path), f"the output of kustomize for {path}")
        return manifests.read(path)
    if hasattr(source, "read"):
        found = source.read()
        name = getattr(source, "name", "the pipe")
        return manifests.parsed(found.decode() if isinstance(found, bytes) else found, str(name))
    raise TypeError(f"load({source!r}): pass paths, text of YAML or JSON, or open files; apply() takes objects")


def _built(path: Path) -> str:
    """The output of kustomize for a directory."""
    command = next((builder for builder in _BUILDERS if shutil.which(builder[0])), None)
    if command is None:
        raise ManifestError(
            f"{path}: this is a kustomization, and neither kustomize nor kubectl is installed; install one of them, or "
            "pass the output of `kustomize build` as text"
        )
    shown = " ".join((*command, str(path)))
    try:
        done = subprocess.run([*command, str(path)], capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ManifestError(f"`{shown}` has not ended after {_SECONDS:g} s") from None
    if done.returncode:
        raise ManifestError(f"`{shown}` failed with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout
