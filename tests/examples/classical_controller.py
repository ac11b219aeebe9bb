"""A controller written by hand, as in the founding articles: informer, indexer, rate-limited queue, workers; it
gives up after five retries."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from controllerlib import Client
from controllerlib.cache import ClientListWatch, ResourceEventHandlerFuncs, SharedIndexInformer, last_state
from controllerlib.workqueue import ItemExponentialFailureRateLimiter, WorkQueue, work_queue

MAX_RETRIES = 5

log = logging.getLogger(__name__)


def key_of(obj: dict) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def by_node(pod: dict) -> list[str]:
    node = pod["spec"].get("nodeName")
    return [node] if node else []


class PodController:
    """Calls `sync(pod or None)` for each pod that changed."""

    def __init__(self, client: Client, sync: Callable[[str, dict | None], Awaitable[None]], workers: int = 2) -> None:
        self._sync, self._workers = sync, workers
        self.queue: WorkQueue[str] = work_queue(ItemExponentialFailureRateLimiter(0.005, 1000.0), name="pods")
        self.informer = SharedIndexInformer(
            ClientListWatch(client, "v1", "Pod"), name="pods", indexers={"node": by_node}
        )
        self.given_up: list[str] = []
        self.informer.add_handler(
            ResourceEventHandlerFuncs(
                add=lambda pod, initial: self.queue.add(key_of(pod)),
                update=lambda old, new: self.queue.add(key_of(new)),
                delete=lambda pod: self.queue.add(key_of(last_state(pod))),
            )
        )

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.informer.run())
            await self.informer.synced.wait()
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while (key := await self.queue.get()) is not None:
            try:
                await self._sync(key, self.informer.indexer.get_by_key(key))
            except Exception as error:
                self._failed(key, error)
            else:
                self.queue.forget(key)
            finally:
                self.queue.done(key)

    def _failed(self, key: str, error: Exception) -> None:
        if self.queue.num_requeues(key) < MAX_RETRIES:
            self.queue.add_rate_limited(key)
            return
        log.warning("giving up", extra={"key": key, "error": str(error)})
        self.queue.forget(key)
        self.given_up.append(key)
