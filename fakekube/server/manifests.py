"""Manifests from files into a server: what `kubectl apply -f DIR` would do, without kubectl."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from fakekube.apiserver.apiserver import ApiServer
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.wire import codec

Object = dict[str, Any]

SUFFIXES = (".yaml", ".yml", ".json")

#: What others may need goes first.
_FIRST = {"Namespace": 0, "CustomResourceDefinition": 1}


class ManifestError(Exception):
    """A manifest that cannot be loaded; the message names the file."""


class Requests(Protocol):
    """How manifests reach the server."""

    def request_now(
        self, method: str, path: str, *, query: Sequence[tuple[str, str]] = (), headers: Any = ..., body: Any = None
    ) -> tuple[int, Any, Any]: ...


def read(source: str | Path) -> list[Object]:
    """The objects of a file, or of all YAML and JSON files below a directory, in the order of their names.

    Raises ManifestError.
    """
    path = Path(source)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        if not files:
            raise ManifestError(f"{path}: no manifests here (looked for {', '.join(SUFFIXES)})")
    elif path.exists():
        files = [path]
    else:
        raise ManifestError(f"{path}: no such file or directory")
    found: list[Object] = []
    for file in files:
        try:
            found += codec.load_manifests(file.read_text())
        except (ValueError, OSError, codec.SyntaxProblem) as error:
            raise ManifestError(f"{file}: {error}") from None
        except Exception as error:  # PyYAML has no common base for what its reader and scanner raise
            raise ManifestError(f"{file}: {error}") from None
    return found


def ordered(objects: Iterable[Object]) -> list[Object]:
    """Namespaces, then definitions, then the rest as given."""
    return sorted(objects, key=lambda obj: _FIRST.get(obj.get("kind", ""), 2))


def collection_path(resource: Resource, namespace: str | None) -> str:
    """The path of a kind's collection in a namespace; of all namespaces where that is None."""
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    if namespace is None or not resource.namespaced:
        return f"{root}/{resource.plural}"
    return f"{root}/namespaces/{namespace}/{resource.plural}"


def apply(
    server: ApiServer, requests: Requests, objects: Iterable[Object], *, namespace: str = "default"
) -> list[Object]:
    """Create each object, or replace it where it is there; answers them as stored. ManifestError names the object.

    What others noted in the metadata of an object that is there stays: labels, annotations, finalizers, owners.
    """
    return [_apply_one(server, requests, obj, namespace) for obj in ordered(objects)]


def _apply_one(server: ApiServer, requests: Requests, obj: Object, namespace: str) -> Object:
    api_version, kind = obj.get("apiVersion", ""), obj.get("kind", "")
    meta = obj.get("metadata") or {}
    shown = f"{kind} {meta.get('name', '')!r}"
    resource = server.catalog.find_kind(api_version, kind)
    if resource is None:
        raise ManifestError(f"{shown}: {no_kind(api_version, kind, list(server.catalog.resources()))}")
    collection = collection_path(resource, meta.get("namespace") or namespace)
    code, _, body = requests.request_now("POST", collection, body=obj)
    if code == 409 and meta.get("name"):
        path = f"{collection}/{meta['name']}"
        _, _, existing = requests.request_now("GET", path)
        code, _, body = requests.request_now("PUT", path, body={**obj, "metadata": _over(existing["metadata"], meta)})
    if code >= 400:
        raise ManifestError(f"{shown}: {body.get('message', body)}")
    result: Object = body
    return result


def _over(existing: Object, meta: Object) -> Object:
    """The metadata of an object that replaces another: what it does not speak of is as it was."""
    merged = {key: {**(existing.get(key) or {}), **(meta.get(key) or {})} for key in ("labels", "annotations")}
    return {**existing, **meta, **merged, "resourceVersion": existing["resourceVersion"]}


def no_kind(api_version: Any, kind: Any, served: Collection[Resource]) -> str:
    """The cluster has no such kind: what may have been meant."""
    said = f"the cluster has no kind {kind!r} in {api_version!r}"
    if guess := _meant(api_version, kind, served):
        return f"{said}: did you mean {guess}?"
    return f"{said}: is its CustomResourceDefinition applied?"


def _meant(api_version: Any, kind: Any, served: Collection[Resource]) -> str:
    known = {(one.api_version, one.kind) for one in served}
    if (kind, api_version) in known:
        return f"{kind!r}, {api_version!r} (the apiVersion goes first)"
    names = [one for one in served if str(kind).lower() in (one.kind.lower(), one.plural, one.singular)]
    for one in names:
        if one.api_version == api_version:
            return repr(one.kind)
    others = sorted({f"{one.kind!r} in {one.api_version!r}" for one in names})
    return " or ".join(others)
