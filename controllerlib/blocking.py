"""The client as code that blocks uses it: sync reconcilers, in their own threads."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from controllerlib.client import Client
from controllerlib.core.names import Object
from controllerlib.createorupdate import Mutate, OperationResult, create_or_patch, create_or_update

T = TypeVar("T")


class BlockingClient:
    """Every method of Client, waiting for the answer. For threads only: on the loop itself it raises RuntimeError."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self._client, self._loop = client, loop
        #: a virtual-time loop has a way of its own to let a thread wait for a coroutine
        self._own: Callable[[Coroutine[Any, Any, Any]], Any] | None = getattr(loop, "run_from_thread", None)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        """See Client.get."""
        return self._wait(self._client.get(api_version, kind, name, namespace))

    def list(self, api_version: str, kind: str, namespace: str | None = None, **options: Any) -> Sequence[Object]:
        """See Client.list."""
        return self._wait(self._client.list(api_version, kind, namespace, **options))

    def create(self, obj: Any, **options: Any) -> Object:
        """See Client.create."""
        return self._wait(self._client.create(obj, **options))

    def update(self, obj: Any, **options: Any) -> Object:
        """See Client.update."""
        return self._wait(self._client.update(obj, **options))

    def update_status(self, obj: Any, **options: Any) -> Object:
        """See Client.update_status."""
        return self._wait(self._client.update_status(obj, **options))

    def patch(self, target: Any, patch: Any, **options: Any) -> Object:
        """See Client.patch."""
        return self._wait(self._client.patch(target, patch, **options))

    def patch_status(self, target: Any, patch: Any, **options: Any) -> Object:
        """See Client.patch_status."""
        return self._wait(self._client.patch_status(target, patch, **options))

    def apply(self, obj: Any, **options: Any) -> Object:
        """See Client.apply."""
        return self._wait(self._client.apply(obj, **options))

    def delete(self, target: Any, *names: Any, **options: Any) -> Object:
        """See Client.delete."""
        return self._wait(self._client.delete(target, *names, **options))

    def delete_collection(self, api_version: str, kind: str, namespace: str | None = None, **options: Any) -> Object:
        """See Client.delete_collection."""
        return self._wait(self._client.delete_collection(api_version, kind, namespace, **options))

    def create_or_update(self, obj: Object, mutate: Mutate) -> OperationResult:
        """See createorupdate.create_or_update; `mutate` runs on the loop and must not block."""
        return self._wait(create_or_update(self._client, obj, mutate))

    def create_or_patch(self, obj: Object, mutate: Mutate) -> OperationResult:
        """See createorupdate.create_or_patch; `mutate` runs on the loop and must not block."""
        return self._wait(create_or_patch(self._client, obj, mutate))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if asyncio._get_running_loop() is not None:
            work.close()
            raise RuntimeError("a blocking call inside a coroutine: await the client's own method instead")
        if self._own is not None:
            answer: T = self._own(work)
            return answer
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
