"""Reads and writes objects for the test itself, by direct calls that do not wait."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from controllerlib import ApiError
from controllerlib.client import Writable, from_status
from fakekube.apiserver.resource import Resource
from fakekube.harness.arguments import (
    check_values,
    is_text_of_manifests,
    items_of,
    selector,
    written,
)
from fakekube.harness.keywords import DeleteOptions, check_names
from fakekube.harness.records.entry import ObjectKey
from fakekube.server import manifests
from fakekube.server.direct import Answer, DirectTransport
from fakekube.server.runner import ServerRunner, Suspended, WouldWait
from fakekube.virtualtime import Deadlock

Object = dict[str, Any]

Source = str | Path | Writable | Iterable[Writable]
"""A file, a directory, an object (a dict or a model of the official client), or several objects."""

R = TypeVar("R", bound=Callable[..., Answer])

#: The User-Agent of the test's own requests.
TEST_AGENT = "test"


class Kinds(manifests.Kinds, Protocol):
    """The kinds that a server serves."""

    def find_remote_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of a kind that an aggregated API server serves."""


def resource_in(catalog: Kinds, api_version: str, kind: str) -> Resource:
    """The resource of a kind, which an aggregated API server may serve. Raises LookupError for an unknown kind."""
    found = catalog.find_kind(api_version, kind) or catalog.find_remote_kind(api_version, kind)
    if found is None:
        raise LookupError(manifests.no_kind(api_version, kind, list(catalog.resources())))
    return found


def key_in(catalog: Kinds, api_version: str, kind: str, namespace: str, name: str) -> ObjectKey:
    """The key of an object. Raises LookupError for a kind that the catalog does not have."""
    found = resource_in(catalog, api_version, kind)
    return ObjectKey(found.group, found.plural, namespace if found.namespaced else "", name)


class Server(Protocol):
    """The part of a server that finds kinds."""

    @property
    def catalog(self) -> Kinds: ...


class DirectRequests:
    """Answers the requests of the test by direct calls."""

    def __init__(self, runner: ServerRunner, drive: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._drive = drive
        self._transport = DirectTransport(runner, headers={"User-Agent": TEST_AGENT}, always=True)

    def __call__(self, method: str, path: str, **more: Any) -> Answer:
        """The answer to a request. Raises WouldWait if it needs to wait where the test cannot."""
        found = self._transport.begin(method, path, **more)
        if not isinstance(found, Suspended):
            return found
        try:
            answer: Answer = self._drive(self._transport.complete(found))
            return answer
        except (WouldWait, Deadlock):
            found.abandon()
            raise WouldWait(
                f"{method} {path} must wait for a webhook or a fault: in an async test use a client "
                f"(`controllerlib.Client(fakekube.access.transport())`), or restrict the fault to user agents other "
                f"than {TEST_AGENT!r}"
            ) from None


class Objects:
    """The objects of a server. All returned objects are copies.

    `answer` sends a request: method, path and the options of a transport. `namespace` is that of objects without one.
    """

    def __init__(self, server: Server, answer: Callable[..., Answer], namespace: str = "default") -> None:
        self._apiserver, self._answer, self._namespace = server, answer, namespace

    def route(self, make: Callable[[Callable[..., Answer]], R]) -> R:
        """Send requests through `make(send)` from now on, which is returned; it sends them on with `send`."""
        made = make(self._answer)
        self._answer = made
        return made

    def apply(self, *sources: Source) -> builtins.list[Object]:
        """Create objects or replace them. Raises ManifestError naming the object and the problem."""
        if not sources:
            raise TypeError("apply() needs at least one file, directory or object")
        objects: builtins.list[Object] = []
        for source in sources:
            if isinstance(source, str) and is_text_of_manifests(source):
                raise manifests.ManifestError(
                    f"apply() got the text of manifests, {source[:30]!r}...: pass the path of a file, or "
                    "`apply(yaml.safe_load_all(text))`"
                )
            if isinstance(source, str | Path):
                objects += manifests.read(source)
            elif isinstance(source, Iterable) and not (
                isinstance(source, Mapping | bytes) or hasattr(source, "to_dict")
            ):
                for one in source:
                    objects += items_of(written("apply", one))
            else:
                objects += items_of(written("apply", source))
        steps = manifests.apply(self._apiserver, objects, namespace=self._namespace)
        try:
            ask = next(steps)
            while True:
                code, _, body = self._answer(ask.method, ask.path, body=ask.body)
                ask = steps.send((code, body))
        except StopIteration as end:
            found: builtins.list[Object] = end.value
            return found

    def create(self, value: Writable) -> Object:
        obj = written("create", value)
        resource = self.resource(obj["apiVersion"], obj["kind"])
        namespace = (obj.get("metadata") or {}).get("namespace") or self._namespace
        return self._call("POST", manifests.collection_path(resource, namespace), body=obj)

    def get(self, api_version: str, kind: str, name: str, namespace: str) -> Object:
        return self._call("GET", self._path(api_version, kind, name, namespace))

    def exists(self, api_version: str, kind: str, name: str, namespace: str) -> bool:
        try:
            self.get(api_version, kind, name, namespace)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return False
        return True

    def list(
        self, api_version: str, kind: str, namespace: str | None, label_selector: Any = "", field_selector: Any = ""
    ) -> Sequence[Object]:
        """The objects of a namespace, or of all (None), each with its apiVersion and kind."""
        resource = self.resource(api_version, kind)
        if not isinstance(namespace, str | None) or namespace == "":
            raise ValueError(f"namespace={namespace!r}: pass the name of a namespace, or None for all")
        path = manifests.collection_path(resource, namespace)
        labels, of_fields = selector("label_selector", label_selector), selector("field_selector", field_selector)
        pairs = [("labelSelector", labels), ("fieldSelector", of_fields)]
        body = self._call("GET", path, query=[(k, v) for k, v in pairs if v])
        return [{"apiVersion": api_version, "kind": kind, **item} for item in body["items"]]

    def update(self, value: Writable, subresource: str) -> Object:
        obj = written("update", value)
        meta = obj.get("metadata") or {}
        path = self._path(obj["apiVersion"], obj["kind"], meta.get("name", ""), meta.get("namespace"))
        return self._call("PUT", _below(path, subresource), body=obj)

    def patch(self, api_version: str, kind: str, name: str, patch: Any, namespace: str, subresource: str) -> Object:
        path = self._path(api_version, kind, name, namespace)
        check_values("patch", patch)
        media = "application/json-patch+json" if isinstance(patch, builtins.list) else "application/merge-patch+json"
        return self._call("PATCH", _below(path, subresource), headers={"Content-Type": media}, body=patch)

    def delete(self, api_version: str, kind: str, name: str, namespace: str, options: DeleteOptions) -> Object:
        check_names("delete", options, DeleteOptions)
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
        return self._call("DELETE", self._path(api_version, kind, name, namespace), body=body)

    def resource(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind, which an aggregated API server may serve. Raises LookupError for an unknown kind."""
        if not isinstance(api_version, str) or not isinstance(kind, str):
            raise TypeError(f"api_version={api_version!r}, kind={kind!r}: both must be text")
        return resource_in(self._apiserver.catalog, api_version, kind)

    def _path(self, api_version: str, kind: str, name: str, namespace: str | None) -> str:
        if not name:
            raise ValueError(f"name={name!r}: the name of a {kind} must not be empty")
        if not isinstance(name, str) or not isinstance(namespace, str | None):
            raise TypeError(f"name={name!r}, namespace={namespace!r}: both must be text")
        if "/" in name:
            raise ValueError(f"name={name!r}: pass the namespace as a separate argument, after the name")
        return f"{manifests.collection_path(self.resource(api_version, kind), namespace or self._namespace)}/{name}"

    def _call(self, method: str, path: str, **more: Any) -> Object:
        code, _, body = self._answer(method, path, **more)
        if code >= 400:
            raise from_status(body, code)
        result: Object = body
        return result


def _below(path: str, subresource: str) -> str:
    return f"{path}/{subresource}" if subresource else path
