"""What an exploration changes while the process runs (`--after`): a step for each file, in the order of their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fakekube.server import manifests
from fakekube.server.manifests import ManifestError, Server
from fakekube.server.process.listening import CannotServe

Object = dict[str, Any]

#: Files whose names end so name what is deleted.
DELETING = "delete"

#: The media types of server-side apply and of other bodies.
APPLY, JSON = "application/apply-patch+yaml", "application/json"


class Call(NamedTuple):
    """A request for the Kubernetes API."""

    method: str
    path: str
    content_type: str = JSON
    body: Object | None = None


class Step(NamedTuple):
    """The requests of one file."""

    name: str
    calls: Sequence[Call]


def steps_of(server: Server, sources: Sequence[Path]) -> Sequence[Step]:
    """The steps of files and directories. Raises CannotServe, which names the file."""
    found: list[Step] = []
    try:
        for file in [one for source in sources for one in manifests.files_of(source)]:
            placed, problems = manifests.placed_in(file.read_text(), str(file))
            if problems:
                raise CannotServe(f"--after {problems[0]}")
            deletes = file.stem.endswith(DELETING)
            found.append(Step(file.name, [_call(server, where, obj, deletes=deletes) for where, obj in placed]))
    except (ManifestError, OSError, UnicodeDecodeError) as problem:
        raise CannotServe(f"--after {problem}") from None
    return found


def _call(server: Server, where: str, obj: Object, *, deletes: bool) -> Call:
    api_version, kind, meta = obj.get("apiVersion", ""), obj.get("kind", ""), obj.get("metadata") or {}
    resource = server.catalog.find_kind(api_version, kind)
    if resource is None:
        unknown = manifests.no_kind(api_version, kind, list(server.catalog.resources()))
        raise CannotServe(f"--after {where}: {unknown}")
    collection = manifests.collection_path(resource, meta.get("namespace") or "default")
    name = meta.get("name")
    if deletes and name:
        return Call("DELETE", f"{collection}/{name}")
    if not name:
        return Call("POST", collection, JSON, obj)
    return Call("PATCH", f"{collection}/{name}?fieldManager=explore&force=true", APPLY, obj)
