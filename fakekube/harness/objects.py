"""What the test itself reads and writes: objects, by a direct call that never waits."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from controllerlib import ApiError
from controllerlib.client import Writable, from_status
from fakekube.apiserver.resource import Resource
from fakekube.harness.arguments import (
    check_delete_options,
    check_values,
    is_text_of_manifests,
    selector,
    taken_apart,
    written,
)
from fakekube.server import manifests
from fakekube.server.direct import DirectTransport
from fakekube.server.runner import ControlPlane, WouldWait
from fakekube.virtualtime import Deadlock

Object = dict[str, Any]

Source = str | Path | Writable | Iterable[Writable]
"""A file, a directory, an object (also a model of the official client), or several."""

#: The User-Agent of what the test itself does.
TEST_AGENT = "test"


class Objects:
    """The objects of a server, as a test handles them. What it hands out is the test's own copy."""

    def __init__(self, plane: ControlPlane, drive: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._core, self._drive = plane.core, drive
        self._transport = DirectTransport(plane, headers={"User-Agent": TEST_AGENT})

    def apply(self, *sources: Source) -> builtins.list[Object]:
        """Create or replace. Raises ManifestError naming what is wrong."""
        if not sources:
            raise TypeError("apply() takes what is to be applied: files, directories, objects")
        objects: builtins.list[Object] = []
        for source in sources:
            if isinstance(source, str) and is_text_of_manifests(source):
                raise manifests.ManifestError(
                    f"apply() got the text of manifests, {source[:30]!r}...: give it the path of a file, or "
                    "`apply(yaml.safe_load_all(text))`"
                )
            if isinstance(source, str | Path):
                objects += manifests.read(source)
            elif isinstance(source, Iterable) and not (
                isinstance(source, Mapping | bytes) or hasattr(source, "to_dict")
            ):
                for one in source:
                    objects += taken_apart(written("apply", one))
            else:
                objects += taken_apart(written("apply", source))
        return manifests.apply(self._core, self._transport, objects)

    def create(self, value: Writable) -> Object:
        obj = written("create", value)
        resource = self.resource(obj["apiVersion"], obj["kind"])
        namespace = (obj.get("metadata") or {}).get("namespace") or "default"
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
        """Of a namespace, or of all (None); each with its apiVersion and kind."""
        resource = self.resource(api_version, kind)
        if not isinstance(namespace, str | None) or namespace == "":
            raise ValueError(f"namespace={namespace!r}: a namespace's name, or None for all")
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

    def delete(self, api_version: str, kind: str, name: str, namespace: str, options: Mapping[str, Any]) -> Object:
        check_delete_options(options)
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options} if options else None
        return self._call("DELETE", self._path(api_version, kind, name, namespace), body=body)

    def resource(self, api_version: str, kind: str) -> Resource:
        """Raises LookupError for a kind that the server does not have."""
        if not isinstance(api_version, str) or not isinstance(kind, str):
            raise TypeError(f"apiVersion and kind are texts, not {api_version!r} and {kind!r}")
        found = self._core.catalog.find_kind(api_version, kind)
        if found is None:
            raise LookupError(manifests.no_kind(api_version, kind, list(self._core.catalog.resources())))
        return found

    def _path(self, api_version: str, kind: str, name: str, namespace: str | None) -> str:
        if not name:
            raise ValueError(f"which {kind}? Its name is empty")
        if not isinstance(name, str) or not isinstance(namespace, str | None):
            raise TypeError(f"name and namespace of a {kind} are texts, not {name!r} and {namespace!r}")
        if "/" in name:
            raise ValueError(f"name={name!r}: the namespace is an argument of its own, after the name")
        return f"{manifests.collection_path(self.resource(api_version, kind), namespace or 'default')}/{name}"

    def _call(self, method: str, path: str, **more: Any) -> Object:
        try:
            code, _, body = self._transport.request_now(method, path, **more)
        except WouldWait:
            code, _, body = self._waited(method, path, more)
        if code >= 400:
            raise from_status(body, code)
        result: Object = body
        return result

    def _waited(self, method: str, path: str, more: Mapping[str, Any]) -> Any:
        """A request that needs a webhook's answer, or is delayed. Raises WouldWait where it may not wait."""
        try:
            return self._drive(self._transport.request(method, path, **more))
        except (WouldWait, Deadlock):
            raise WouldWait(
                f"{method} {path} must wait, for a webhook or a fault: in an async test use a client "
                f"(`controllerlib.Client(fakekube.transport())`), or let the fault match other user agents than "
                f"{TEST_AGENT!r}"
            ) from None


def _below(path: str, subresource: str) -> str:
    return f"{path}/{subresource}" if subresource else path
