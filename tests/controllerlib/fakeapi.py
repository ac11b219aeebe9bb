"""A small in-memory API server behind a Transport, with injected failures.

It keeps one revision and one history; a watch is a cursor on it. It does not validate or default: tests of
controllerlib need its order and timing, not its schema.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controllerlib.client.names import copy_json
from controllerlib.client.selector import parse_field_selector, parse_selector

#: (apiVersion, kind) -> (plural, namespaced)
KINDS = {
    ("v1", "Pod"): ("pods", True),
    ("v1", "ConfigMap"): ("configmaps", True),
    ("v1", "Namespace"): ("namespaces", False),
    ("v1", "Node"): ("nodes", False),
    ("v1", "Event"): ("events", True),
    ("events.k8s.io/v1", "Event"): ("events", True),
    ("apps/v1", "Deployment"): ("deployments", True),
    ("apps/v1", "ReplicaSet"): ("replicasets", True),
    ("batch/v1", "Job"): ("jobs", True),
    ("coordination.k8s.io/v1", "Lease"): ("leases", True),
    ("example.com/v1", "Backup"): ("backups", True),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was received."""

    at: float
    verb: str
    path: str
    query: Mapping[str, str]
    user_agent: str


@dataclass(frozen=True, slots=True)
class Change:
    revision: int
    type: str
    prefix: str
    obj: Any
    old: Any


Answer = tuple[int, Mapping[str, str], Any]
#: Called with each request before it is served; a result or an exception is its answer.
Fault = Callable[[Asked], Answer | None]


def status(code: int, reason: str, message: str = "") -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
            "message": message or reason, "metadata": {}}  # fmt: skip


def refuse(code: int, reason: str, message: str = "") -> Answer:
    return code, {}, status(code, reason, message)


class Watch:
    """A cursor on the history; ends when `end` is called."""

    def __init__(self, api: "FakeApi", prefix: str, revision: int, select: Callable[[Any], bool]) -> None:
        self._api, self._prefix, self._revision, self._select = api, prefix, revision, select
        self.initial: list[dict[str, Any]] = []
        self._news = asyncio.Event()
        self._end: dict[str, Any] | str | None = "open"
        self.timer: asyncio.TimerHandle | None = None

    def wake(self) -> None:
        self._news.set()

    def end(self, error: dict[str, Any] | None = None) -> None:
        """End normally, or with an ERROR event."""
        self._end = error
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        for event in self.initial:
            yield event
        while True:
            self._news.clear()
            for change in [c for c in self._api.history if c.revision > self._revision]:
                if self._end != "open":
                    break
                self._revision = change.revision
                if change.prefix.startswith(self._prefix) and (event := self._translate(change)):
                    yield event
            if self._end != "open":
                if self._end is not None:
                    yield {"type": "ERROR", "object": self._end}
                return
            await self._news.wait()

    def _translate(self, change: Change) -> dict[str, Any] | None:
        before = change.old is not None and self._select(change.old)
        after = change.type != "DELETED" and self._select(change.obj)
        if change.type == "BOOKMARK":
            return {"type": "BOOKMARK", "object": change.obj}
        kind = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}.get((before, after))
        return {"type": kind, "object": copy_json(change.obj)} if kind else None

    async def aclose(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self in self._api.watches:
            self._api.watches.remove(self)


class FakeApi:
    """A Transport. `down`: connections are refused. `silent`: changes are not delivered to open watches."""

    def __init__(self, *, watch_timeout: bool = False, streaming: bool = True) -> None:
        self.kinds = dict(KINDS)
        self.objects: dict[str, dict[str, Any]] = {}
        self.history: list[Change] = []
        self.revision = 0
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        self.watches: list[Watch] = []
        self.down = False
        self._timeouts, self._streaming = watch_timeout, streaming

    # --- what tests do

    def put(self, api_version: str, kind: str, name: str, namespace: str = "default", **fields: Any) -> dict[str, Any]:
        """Create or change an object, as another client would; keywords such as `labels` set the corresponding
        fields.
        """
        plural, namespaced = self.kinds[api_version, kind]
        prefix = self._prefix(api_version, plural, namespace if namespaced else "")
        old = self.objects.get(f"{prefix}/{name}")
        meta = copy_json(old["metadata"]) if old else {"name": name, "uid": f"uid-{self.revision + 1}", "generation": 1}
        if namespaced:
            meta["namespace"] = namespace
        meta.update(fields.pop("metadata", {}))
        obj = {**(old or {}), "apiVersion": api_version, "kind": kind, **fields, "metadata": meta}
        if old and old.get("spec") != obj.get("spec"):
            meta["generation"] = old["metadata"].get("generation", 1) + 1
        return self._commit("MODIFIED" if old else "ADDED", prefix, name, obj)

    def remove(self, api_version: str, kind: str, name: str, namespace: str = "default") -> None:
        plural, namespaced = self.kinds[api_version, kind]
        prefix = self._prefix(api_version, plural, namespace if namespaced else "")
        self._commit("DELETED", prefix, name, self.objects[f"{prefix}/{name}"])

    def bookmark(self, api_version: str, kind: str) -> None:
        """Send a bookmark to the watches of a kind."""
        self.revision += 1
        obj = {"apiVersion": api_version, "kind": kind, "metadata": {"resourceVersion": str(self.revision)}}
        prefix = self._prefix(api_version, self.kinds[api_version, kind][0], "")
        self.history.append(Change(self.revision, "BOOKMARK", prefix, obj, None))
        self._wake()

    def end_watches(self, error: dict[str, Any] | None = None) -> None:
        for watch in list(self.watches):
            watch.end(error)

    def requests(self, verb: str = "", path: str = "") -> list[Asked]:
        return [a for a in self.asked if verb in ("", a.verb) and a.path.endswith(path)]

    # --- Transport

    async def request(
        self, method: str, path: str, *, query: Sequence[tuple[str, str]] = (), headers: Mapping[str, str] = {},
        body: Any = None,
    ) -> Answer:  # fmt: skip
        asked = self._ask(method.lower(), path, query, headers)
        if (answer := self._fault(asked)) is not None:
            return answer
        if path in ("/api/v1", *(f"/apis/{version}" for version, _ in self.kinds)):
            return self._discover(path.removeprefix("/apis/").removeprefix("/api/"))
        prefix, name, subresource = self._parse(path)
        served = {plural for plural, _ in self.kinds.values()}
        if not served & set(prefix.split("/")):
            return refuse(404, "NotFound", "the server could not find the requested resource")
        if method == "GET":
            return self._read(prefix, name, asked.query)
        return self._write(method, prefix, name, subresource, copy_json(body), headers)

    async def open_watch(
        self, path: str, *, query: Sequence[tuple[str, str]] = (), headers: Mapping[str, str] = {}
    ) -> Answer:
        asked = self._ask("watch", path, query, headers)
        if (answer := self._fault(asked)) is not None:
            return answer
        prefix, _, _ = self._parse(path)
        streaming = asked.query.get("sendInitialEvents") == "true"
        if streaming and not self._streaming:
            return refuse(422, "Invalid", "sendInitialEvents is forbidden for watch")
        version = asked.query.get("resourceVersion", "")
        select = _selector(asked.query)
        watch = Watch(self, prefix, self.revision if streaming or not version else int(version), select)
        if streaming or not version:
            objects = [o for p, o in sorted(self.objects.items()) if p.startswith(prefix + "/") and select(o)]
            watch.initial = [{"type": "ADDED", "object": copy_json(obj)} for obj in objects]
        if streaming:
            end = {"resourceVersion": str(self.revision), "annotations": {"k8s.io/initial-events-end": "true"}}
            watch.initial.append({"type": "BOOKMARK", "object": {"metadata": end}})
        if self._timeouts:
            seconds = float(asked.query.get("timeoutSeconds", "300"))
            watch.timer = asyncio.get_running_loop().call_later(seconds, watch.end)
        self.watches.append(watch)
        return 200, {}, watch

    async def aclose(self) -> None:
        self.end_watches()

    # --- inside

    def _ask(self, verb: str, path: str, query: Sequence[tuple[str, str]], headers: Mapping[str, str]) -> Asked:
        asked = Asked(asyncio.get_running_loop().time(), verb, path, dict(query), headers.get("User-Agent", ""))
        self.asked.append(asked)
        return asked

    def _fault(self, asked: Asked) -> Answer | None:
        if self.down:
            raise ConnectionRefusedError("connection refused")
        for fault in self.faults:
            if (answer := fault(asked)) is not None:
                return answer
        return None

    def _discover(self, version: str) -> Answer:
        rows = [{"name": plural, "kind": kind, "namespaced": namespaced}
                for (own, kind), (plural, namespaced) in self.kinds.items() if own == version]  # fmt: skip
        return 200, {}, {"kind": "APIResourceList", "groupVersion": version, "resources": rows}

    def _prefix(self, version: str, plural: str, namespace: str) -> str:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{root}/{plural}/{namespace}" if namespace else f"{root}/{plural}"

    def _parse(self, path: str) -> tuple[str, str, str]:
        """Return (prefix of stored paths, name, subresource); objects are stored as root/plural/namespace/name."""
        parts = path.strip("/").split("/")
        roots = 2 if parts[0] == "api" else 3
        root, rest = "/" + "/".join(parts[:roots]), parts[roots:]
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces":
            namespace, rest = rest[1], rest[2:]
        rest += [""] * (3 - len(rest))
        prefix = f"{root}/{rest[0]}/{namespace}" if namespace else f"{root}/{rest[0]}"
        return prefix, rest[1], rest[2]

    def _read(self, prefix: str, name: str, query: Mapping[str, str]) -> Answer:
        if name:
            obj = self.objects.get(f"{prefix}/{name}")
            return (200, {}, copy_json(obj)) if obj else refuse(404, "NotFound", f'"{name}" not found')
        select = _selector(query)
        items = [copy_json(o) for p, o in sorted(self.objects.items()) if p.startswith(prefix + "/") and select(o)]
        return 200, {}, {"kind": "List", "metadata": {"resourceVersion": str(self.revision)}, "items": items}

    def _write(
        self, method: str, prefix: str, name: str, subresource: str, body: Any, headers: Mapping[str, str]
    ) -> Answer:
        if method == "POST":
            name = body["metadata"]["name"]
            if f"{prefix}/{name}" in self.objects:
                return refuse(409, "AlreadyExists", f'"{name}" already exists')
            body["metadata"].setdefault("uid", f"uid-{self.revision + 1}")
            body["metadata"].setdefault("generation", 1)
            return 201, {}, self._commit("ADDED", prefix, name, body)
        old = self.objects.get(f"{prefix}/{name}")
        if old is None:
            return refuse(404, "NotFound", f'"{name}" not found')
        if method == "DELETE":
            self._commit("DELETED", prefix, name, old)
            return 200, {}, {"kind": "Status", "status": "Success"}
        obj = _merge(old, body) if method == "PATCH" else body
        sent = (body.get("metadata") or {}).get("resourceVersion")
        if sent and sent != old["metadata"]["resourceVersion"]:
            return refuse(409, "Conflict", "the object has been modified")
        if subresource == "status":
            obj = {**old, "status": obj.get("status")}
        obj = {**obj, "metadata": {**obj["metadata"], **{k: old["metadata"].get(k) for k in ("uid", "generation")}}}
        if obj.get("spec") != old.get("spec"):
            obj["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1
        unversioned = {**obj, "metadata": {**obj["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}}
        if unversioned == old:
            return 200, {}, copy_json(old)
        return 200, {}, self._commit("MODIFIED", prefix, name, obj)

    def _commit(self, kind: str, prefix: str, name: str, obj: dict[str, Any]) -> dict[str, Any]:
        self.revision += 1
        path = f"{prefix}/{name}"
        old = self.objects.get(path)
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.revision)}}
        if kind == "DELETED":
            del self.objects[path]
        else:
            self.objects[path] = obj
        self.history.append(Change(self.revision, kind, prefix, obj, old))
        self._wake()
        return copy_json(obj)

    def _wake(self) -> None:
        for watch in self.watches:
            watch.wake()


def _selector(query: Mapping[str, str]) -> Callable[[Any], bool]:
    labels, fields = (
        parse_selector(query.get("labelSelector", "")),
        parse_field_selector(query.get("fieldSelector", "")),
    )

    def select(obj: Any) -> bool:
        meta = obj["metadata"]
        paths = {"metadata.name": meta.get("name"), "metadata.namespace": meta.get("namespace", "")}
        return labels.matches(meta.get("labels")) and all((paths.get(p) == v) is equal for p, v, equal in fields)

    return select


def _merge(old: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(old, dict):
        return patch
    merged = {key: value for key, value in old.items() if patch.get(key, "") is not None}
    return {**merged, **{key: _merge(old.get(key), value) for key, value in patch.items() if value is not None}}
