"""Loads manifests from files into a server, as `kubectl apply -f DIR` does."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fakekube.apiserver.resource import Resource
from fakekube.apiserver.wire import codec, goyaml
from fakekube.server.direct import DirectTransport

Object = dict[str, Any]

SUFFIXES = (".yaml", ".yml", ".json")

#: The names of a kustomization file (kustomize `api/konfig`).
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")

#: The kinds that others depend on are created first.
_FIRST = {"Namespace": 0, "CustomResourceDefinition": 1}


#: The answers to a create of an object that may exist: 422 where it names an address or a port that it has already.
_MAY_EXIST = (409, 422)


class ManifestError(Exception):
    """A manifest that cannot be loaded; the message names the file."""


class Kinds(Protocol):
    """The kinds that a server serves."""

    def find_kind(self, api_version: str, kind: str) -> Resource | None: ...

    def resources(self) -> Iterable[Resource]: ...


class Server(Protocol):
    """The part of a server that finds kinds."""

    @property
    def catalog(self) -> Kinds: ...


class Ask(NamedTuple):
    """A request to send."""

    method: str
    path: str
    body: Object | None = None


Steps = Generator[Ask, tuple[int, Any], list[Object]]
"""Yields requests and is resumed with the status code and the body of each answer."""


def parsed(text: str, name: str) -> list[Object]:
    """The objects of the text of manifests. Raises ManifestError with `name`, which says where the text is from."""
    try:
        return list(codec.load_manifests(text))
    except (ValueError, goyaml.YamlProblem, goyaml.TooDeep) as error:
        raise ManifestError(f"{name}: {error}") from None


def read(source: str | Path) -> list[Object]:
    """The objects of a file, or of all YAML and JSON files below a directory, sorted by path. Raises ManifestError."""
    found: list[Object] = []
    for file in files_of(Path(source)):
        try:
            found += codec.load_manifests(file.read_text())
        except (ValueError, OSError, goyaml.YamlProblem, goyaml.TooDeep) as error:
            hint = ": load() builds kustomizations, apply() does not" if file.name in KUSTOMIZATIONS else ""
            raise ManifestError(f"{file}: {error}{hint}") from None
    return found


def files_of(path: Path) -> list[Path]:
    """A file, or the YAML and JSON files below a directory, sorted by path. Raises ManifestError."""
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        if not files:
            raise ManifestError(f"{path}: no manifests in this directory (looked for {', '.join(SUFFIXES)})")
        return files
    if not path.exists():
        raise ManifestError(f"{path}: no such file or directory")
    return [path]


class Placed(NamedTuple):
    """An object and where it stands: FILE:LINE."""

    where: str
    object: Object


def read_all(sources: Iterable[Path]) -> tuple[list[Placed], list[str]]:
    """The objects of files and directories, and a message for each that cannot be read."""
    found: list[Placed] = []
    problems: list[str] = []
    for source in sources:
        try:
            files = files_of(source)
        except ManifestError as error:
            problems.append(str(error))
            continue
        for file in files:
            try:
                some, wrong = placed_in(file.read_text(), str(file))
            except (UnicodeDecodeError, OSError) as error:
                some, wrong = [], [f"{file}: {error}"]
            found += some
            problems += wrong
    return found, problems


def placed_in(text: str, name: str) -> tuple[list[Placed], list[str]]:
    """The objects of the text of a file, and a message for each that cannot be read."""
    found: list[Placed] = []
    problems: list[str] = []
    try:
        for line, obj in codec.placed_manifests(text):
            where = f"{name}:{line}"
            if isinstance(obj, ValueError):
                problems.append(f"{where}: {obj}{_how_to_build(Path(name))}")
            else:
                found.append(Placed(where, obj))
    except (ValueError, goyaml.YamlProblem, goyaml.TooDeep) as error:
        problems.append(f"{name}: {error}")
    return found, problems


def _how_to_build(file: Path) -> str:
    named = file.name in KUSTOMIZATIONS
    return f" (a kustomization: load the output of `kubectl kustomize {file.parent}`)" if named else ""


def ordered(objects: Iterable[Object]) -> list[Object]:
    """Namespaces first, then CustomResourceDefinitions, then the rest in the given order."""
    return sorted(objects, key=_rank)


def _rank(obj: Object) -> int:
    return _FIRST.get(obj.get("kind", ""), 2)


def collection_path(resource: Resource, namespace: str | None) -> str:
    """The path of a collection in a namespace, or in all namespaces (None)."""
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    if namespace is None or not resource.namespaced:
        return f"{root}/{resource.plural}"
    return f"{root}/namespaces/{namespace}/{resource.plural}"


def apply(server: Server, objects: Iterable[Object], *, namespace: str = "default") -> Steps:
    """Create each object, or replace it if it exists. The result is what the server answers for each.

    Labels, annotations, finalizers and owners that an existing object has are kept. Raises ManifestError, which names
    the object.
    """
    made: list[Object] = []
    for obj in ordered(objects):
        answer = yield from _apply_one(server, obj, namespace)
        made.append(answer)
    return made


def _apply_one(server: Server, obj: Object, namespace: str) -> Generator[Ask, tuple[int, Any], Object]:
    api_version, kind = obj.get("apiVersion", ""), obj.get("kind", "")
    meta = obj.get("metadata") or {}
    shown = f"{kind} {meta.get('name', '')!r}"
    resource = server.catalog.find_kind(api_version, kind)
    if resource is None:
        raise ManifestError(f"{shown}: {no_kind(api_version, kind, list(server.catalog.resources()))}")
    collection = collection_path(resource, meta.get("namespace") or namespace)
    code, body = yield Ask("POST", collection, obj)
    if code in _MAY_EXIST and meta.get("name"):
        path = f"{collection}/{meta['name']}"
        found, existing = yield Ask("GET", path)
        if found == 200:
            code, body = yield Ask("PUT", path, {**obj, "metadata": _over(existing["metadata"], meta)})
    if code >= 400:
        raise ManifestError(f"{shown}: {body.get('message', body)}")
    result: Object = body
    return result


async def load(server: Server, transport: DirectTransport, objects: Iterable[Object]) -> list[Object]:
    """`apply` over a transport; waits for the webhooks that match. Raises ManifestError."""
    steps = apply(server, objects)
    try:
        ask = next(steps)
        while True:
            code, _, body = await transport.request(ask.method, ask.path, body=ask.body)
            ask = steps.send((code, body))
    except StopIteration as end:
        found: list[Object] = end.value
        return found


async def load_all(server: Server, transport: DirectTransport, placed: Iterable[Placed]) -> tuple[int, list[str]]:
    """Load each object in the order of `apply`; the number of those that are stored, and a message for each other."""
    problems: list[str] = []
    stored = 0
    for where, obj in sorted(placed, key=lambda one: _rank(one.object)):
        try:
            stored += len(await load(server, transport, [obj]))
        except ManifestError as error:
            hint = _how_to_build(Path(where.rpartition(":")[0]))
            problems.append(f"{where}: {error}{hint}")
    return stored, problems


def _over(existing: Object, meta: Object) -> Object:
    """The metadata of an object that replaces another: fields that it does not set are kept, and its identity."""
    merged = {key: {**(existing.get(key) or {}), **(meta.get(key) or {})} for key in ("labels", "annotations")}
    identity = {key: existing[key] for key in ("uid", "resourceVersion")}
    return {**existing, **meta, **merged, **identity}


def no_kind(api_version: Any, kind: Any, served: Collection[Resource]) -> str:
    """The message for an unknown kind, with a suggestion."""
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
    if not names and (near := get_close_matches(str(kind), {one.kind for one in served}, 1, cutoff=0.8)):
        names = [one for one in served if one.kind == near[0]]
    others = sorted({f"{one.kind!r} in {one.api_version!r}" for one in names})
    return " or ".join(others)
