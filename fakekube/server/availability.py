"""Checks whether the servers of APIServices are available, and reads their discovery (kube-aggregator
`AvailableConditionController`, `discoveryManager`).

A check is due when an APIService or its Service changes, after a failure with back-off, and each RECHECK seconds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from fakekube.apiserver import aggregation
from fakekube.apiserver.aggregation import AGGREGATOR, Condition
from fakekube.apiserver.apiserver import ApiServer
from fakekube.apiserver.auth import authenticationinfo
from fakekube.apiserver.call import RequestContext
from fakekube.apiserver.needs import Forwarded
from fakekube.apiserver.registry.apiregistration.autoregister import COLLECTION
from fakekube.server.proxyclient import ProxyClient

Object = dict[str, Any]

#: Seconds between two checks, and the limits of the back-off after failures.
RECHECK = 30.0
FIRST_RETRY, LAST_RETRY = 0.005, 30.0

#: The time limit of a check in seconds.
TIMEOUT = 5.0

#: The media types of aggregated discovery.
AGGREGATED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")
)


class AvailabilityChecks:
    """Runs the checks that are due in a task, which ends when no APIService has a Service.

    `spawn` starts a coroutine as a task.
    """

    def __init__(
        self,
        apiserver: ApiServer,
        client: ProxyClient,
        context: RequestContext,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._apiserver, self._client, self._context, self._spawn = apiserver, client, context, spawn
        self._due: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._task: asyncio.Task[None] | None = None
        self._changed: asyncio.Event | None = None

    def mark(self, name: str) -> None:
        """Check an APIService as soon as possible."""
        self._due[name] = 0.0
        if self._changed is not None:
            self._changed.set()
        if self._task is None or self._task.done():
            self._task = self._spawn(self._run())

    async def aclose(self) -> None:
        """End the task."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        while self._due:
            name = min(self._due, key=self._due.__getitem__)
            if self._due[name] > loop.time():
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(self._due[name]):
                        await self._changed.wait()
                continue
            due = [one for one, at in self._due.items() if at <= loop.time()]
            for one in due:
                del self._due[one]
            waits = await asyncio.gather(*map(self.checked, due))  # a slow server does not delay the others
            for one, wait in zip(due, waits, strict=True):
                if wait is not None:
                    self._due.setdefault(one, loop.time() + wait)

    async def checked(self, name: str) -> float | None:
        """Check an APIService. Returns the seconds until the next check (None: a change of its Service comes first)."""
        entry = self._apiserver.store.get(COLLECTION, name)
        if entry is None or not entry.object["spec"].get("service"):
            self._failures.pop(name, None)
            return None
        proxy = self._client.front_proxy
        self._apiserver.controllers.publish(authenticationinfo.request_header(proxy.ca, proxy.NAME), self._context)
        condition = self._apiserver.controllers.unavailable(entry.object)
        if condition is not None:
            self._apiserver.controllers.set_available(name, condition, self._context)
            return None
        problem = await self._problem(entry.object)
        if problem:
            self._apiserver.controllers.set_available(
                name, Condition("False", "FailedDiscoveryCheck", problem), self._context
            )
            failures = self._failures[name] = self._failures.get(name, -1) + 1
            return min(FIRST_RETRY * 2.0 ** min(failures, 20), LAST_RETRY)
        self._failures.pop(name, None)
        self._apiserver.controllers.set_available(name, aggregation.PASSED, self._context)
        resources = await self._resources(entry.object)
        openapi = await self._openapi(entry.object)
        found = aggregation.remote_version(entry.object, resources, fresh=resources is not None, openapi=openapi)
        self._apiserver.controllers.show_remote({name: found})
        return RECHECK

    async def _problem(self, api_service: Object) -> str:
        """The reason why the discovery of a group and version cannot be read ("": it can)."""
        path = aggregation.path_of(api_service)
        answer, _ = await self._get(api_service, path)
        if answer.unresolved:
            return answer.problem
        url = f"{self._client.url_of(aggregation.service_of(api_service))}{path}"
        if answer.problem:
            return f'failing or missing response from {url}: Get "{url}": {answer.problem}'
        if not 200 <= answer.status < 300:
            return f"failing or missing response from {url}: bad status from {url}: {answer.status}"
        return ""

    async def _resources(self, api_service: Object) -> list[Object] | None:
        """The resources of an APIService: of aggregated discovery, else of its APIResourceList; None if neither can be
        read."""
        group, version = api_service["spec"].get("group") or "", api_service["spec"]["version"]
        answer, body = await self._get(api_service, "/apis", ("Accept", AGGREGATED))
        kind = {key.lower(): value for key, value in answer.headers}.get("content-type", "")
        if answer.status == 200 and "apidiscovery.k8s.io" in kind:
            return _read(lambda: aggregation.resources_of(_object(body), group, version) or [])
        answer, body = await self._get(api_service, aggregation.path_of(api_service), ("Accept", "application/json"))
        return _read(lambda: aggregation.converted(_object(body))) if answer.status == 200 else None

    async def _openapi(self, api_service: Object) -> dict[int, Object]:
        """The OpenAPI documents of an APIService, by version, as far as its server has them."""
        paths = {2: "/openapi/v2", 3: f"/openapi/v3{aggregation.path_of(api_service)}"}
        found = {}
        for version, path in paths.items():
            answer, body = await self._get(api_service, path, ("Accept", "application/json"))
            document = _object(body) if answer.status == 200 else {}
            if document and all(isinstance(document.get(part) or {}, dict) for part in ("paths", "definitions")):
                found[version] = document
        return found

    async def _get(self, api_service: Object, path: str, *headers: tuple[str, str]) -> tuple[Forwarded, bytes]:
        forward = aggregation.forward(api_service, "GET", path, AGGREGATOR, headers=headers)
        return await self._client.fetch(forward, TIMEOUT)


def _read(parse: Callable[[], list[Object]]) -> list[Object] | None:
    """What `parse` reads of a document; None if the document does not have the shape that it should have."""
    try:
        return parse()
    except (AttributeError, KeyError, TypeError):
        return None


def _object(body: bytes) -> Object:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
