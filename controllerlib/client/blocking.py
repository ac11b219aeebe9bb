"""A blocking client for synchronous reconcilers, which run in threads."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from controllerlib.client.client import Client
from controllerlib.client.createorupdate import Mutate, OperationResult, create_or_patch, create_or_update
from controllerlib.client.names import Object

T = TypeVar("T")
P = ParamSpec("P")


def _blocking(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["BlockingClient", P], T]:
    """Return a method with the same arguments that blocks until the answer arrives."""

    @functools.wraps(method)
    def call(self: "BlockingClient", /, *args: P.args, **options: P.kwargs) -> T:
        return self.wait_for(method(self._client, *args, **options))

    return call


class BlockingClient:
    """The methods of Client, blocking until the answer arrives.

    Only for threads other than the event loop's: in a coroutine the methods raise RuntimeError.
    """

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self._client, self._loop = client, loop
        #: A virtual-time loop provides its own way for a thread to wait for a coroutine.
        self._own: Callable[[Coroutine[Any, Any, Any]], Any] | None = getattr(loop, "run_from_thread", None)

    get = _blocking(Client.get)
    list = _blocking(Client.list)
    create = _blocking(Client.create)
    update = _blocking(Client.update)
    update_status = _blocking(Client.update_status)
    patch = _blocking(Client.patch)
    patch_status = _blocking(Client.patch_status)
    apply = _blocking(Client.apply)
    delete = _blocking(Client.delete)
    delete_collection = _blocking(Client.delete_collection)

    def create_or_update(self, obj: Object, mutate: Mutate) -> OperationResult:
        """See `createorupdate.create_or_update`; `mutate` runs on the event loop and must not block."""
        return self.wait_for(create_or_update(self._client, obj, mutate))

    def create_or_patch(self, obj: Object, mutate: Mutate) -> OperationResult:
        """See `createorupdate.create_or_patch`; `mutate` runs on the event loop and must not block."""
        return self.wait_for(create_or_patch(self._client, obj, mutate))

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the event loop and return its result."""
        if asyncio._get_running_loop() is not None:
            work.close()
            raise RuntimeError("BlockingClient was called on the event loop: await the method of Client instead")
        if self._own is not None:
            answer: T = self._own(work)
            return answer
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
