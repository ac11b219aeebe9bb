"""Answers the test's requests in a run with the last spec: each object is created once, as it is at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fakekube.apiserver.resource import Resource
from fakekube.apiserver.wire.request import Request, parse
from fakekube.server.manifests import collection_path
from fakekube.simulation.lastspec import Intent, Intents

Answer = tuple[int, Any, Any]

#: Sends a request: method, path and the options of a transport.
Send = Callable[..., Answer]

_DELETED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


class Kinds(Protocol):
    """The kinds of a server by their names in anchors."""

    def name(self, collection: str) -> str: ...
    def resource(self, name: str) -> Resource | None: ...


class FoldedRequests:
    """Stands between the test and the server. What the test asks of others than its own objects goes through.

    `collection`: the collection of a group, version and plural, empty if there is none.
    """

    def __init__(self, send: Send, intents: Intents, kinds: Kinds, collection: Callable[[str, str, str], str]) -> None:
        self._send, self._intents, self._kinds, self._collection = send, intents, kinds, collection

    def __call__(self, method: str, path: str, **more: Any) -> Answer:
        info = parse(Request(method, path))
        body = more.get("body")
        name = info.name or (str((body.get("metadata") or {}).get("name")) if isinstance(body, Mapping) else "")
        kind = self._kinds.name(self._collection(info.group, info.version, info.resource))
        intent = self._intents.find(kind, info.namespace, name)
        if intent is None or method == "GET" or info.subresource or not intent.changed:
            return self._send(method, path, **more)
        if method == "POST":
            return self._create(intent, body)
        return (200, {}, _DELETED) if method == "DELETE" else self._current(intent)

    def _create(self, intent: Intent, body: Any) -> Answer:
        if intent.wanted is None:
            return 201, {}, body
        found = self._post(intent)
        return found if found[0] != 409 else self._current(intent)

    def _post(self, intent: Intent) -> Answer:
        collection, body = self._written(intent)
        return self._send("POST", collection, body=body)

    def _current(self, intent: Intent) -> Answer:
        """The object as it is; if it is not there, as the test wants it."""
        collection, body = self._written(intent)
        found = self._send("GET", f"{collection}/{intent.name}")
        return found if found[0] < 400 else (200, {}, body)

    def _written(self, intent: Intent) -> tuple[str, dict[str, Any]]:
        """The path of the collection, and what is written to it."""
        resource = self._kinds.resource(intent.kind)
        assert resource is not None, "the test writes objects of this kind"
        content = intent.first if intent.wanted is None else intent.wanted
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **content}
        return collection_path(resource, intent.namespace or None), body

    def complete(self) -> None:
        """Create what the test has not come to."""
        for intent in self._intents.objects:
            if intent.wanted is not None:
                self._create(intent, None)
