"""Reads of stored objects that are no requests, for predicates that are checked at each change."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from controllerlib.client import parse_selector
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Entry, path_of
from fakekube.harness.arguments import selector
from fakekube.server.runner import ServerRunner

Object = dict[str, Any]


class ReadOnlyCluster:
    """The objects of a cluster as they are stored now. `now` is the virtual time. All returned objects are copies."""

    def __init__(
        self, runner: ServerRunner, resource: Callable[[str, str], Resource], now: Callable[[], datetime]
    ) -> None:
        self._runner, self._resource, self._now = runner, resource, now

    @property
    def now(self) -> datetime:
        return self._now()

    def get(self, api_version: str, kind: str, name: str, namespace: str = "default") -> Object | None:
        """An object, or None if it does not exist. Raises LookupError for an unknown kind."""
        resource = self._resource(api_version, kind)
        path = path_of(namespace if resource.namespaced else "", name)
        entry = self._runner.apiserver.store.get(resource.collection, path)
        return None if entry is None else self._decoded(resource, entry)

    def exists(self, api_version: str, kind: str, name: str, namespace: str = "default") -> bool:
        """Whether an object exists."""
        return self.get(api_version, kind, name, namespace) is not None

    def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = "default",
        *,
        label_selector: str | Mapping[str, str] = "",
    ) -> Sequence[Object]:
        """The objects of a namespace, or of all (None)."""
        resource = self._resource(api_version, kind)
        prefix = f"{namespace}/" if namespace is not None and resource.namespaced else ""
        labels = parse_selector(selector("label_selector", label_selector))
        entries = self._runner.apiserver.store.collection(resource.collection).scan(prefix, "", None)
        found: builtins.list[Object] = [self._decoded(resource, entry) for _, entry in entries]
        return [obj for obj in found if labels.matches(obj["metadata"].get("labels"))]

    def _decoded(self, resource: Resource, entry: Entry) -> Object:
        decoded: Object = orjson.loads(self._runner.apiserver.registration(resource).view.encode(entry))
        return decoded
