"""An operator with a bit of everything, as a coroutine and as a plain function: plots, their beds, and what is wrong.

A Thing of size n owns n ConfigMaps, the beds. It is given a finalizer, counts its runs and beds in its status, and looks
again every ten minutes. Some runs fail, each at its own count; a Thing called `lost` is beyond help.
"""

from collections import Counter
from collections.abc import Callable, Generator
from typing import Any

from controllerlib import ApiError, ControllerOptions, Manager, Request, Result, TerminalError
from controllerlib.client.errors import is_already_exists, is_not_found
from controllerlib.controller.finalizers import add_finalizer, remove_finalizer
from controllerlib.controller.owners import set_controller_reference
from tests.controllerlib.minding import API, KIND, config_map

FINALIZER = "example.com/gardener"

#: Steps of a reconcile: each yields a method of the client and its arguments, and is sent the answer.
Steps = Generator[tuple[str, tuple[Any, ...], dict[str, Any]], Any, Result | None]


def call(method: str, *args: Any, **options: Any) -> Generator[tuple[str, tuple[Any, ...], dict[str, Any]], Any, Any]:
    return (yield method, args, options)


class Gardener:
    """What is done, apart from waiting for it."""

    def __init__(self) -> None:
        self._runs: Counter[str] = Counter()

    def steps(self, request: Request) -> Steps:
        self._runs[request.name] += 1
        if self._runs[request.name] % 5 == 3:
            raise ConnectionError("rain")
        if request.name == "lost":
            raise TerminalError("nothing grows here")
        try:
            plot = yield from call("get", API, KIND, request.name, request.namespace)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise
        if "deletionTimestamp" in plot["metadata"]:
            return (yield from self._leave(plot))
        plot, is_new = add_finalizer(plot, FINALIZER)
        if is_new:
            plot = yield from call("update", plot)
        for number in range(plot["spec"]["size"]):
            yield from self._dig(plot, number)
        return (yield from self._report(plot))

    def _dig(self, plot: Any, number: int) -> Generator[Any, Any, None]:
        bed = config_map(f"{plot['metadata']['name']}-bed-{number}", labels={"plot": plot["metadata"]["name"]})
        try:
            yield from call("create", set_controller_reference(plot, bed))
        except ApiError as error:
            if not is_already_exists(error):
                raise

    def _report(self, plot: Any) -> Steps:
        beds = yield from call(
            "list", "v1", "ConfigMap", plot["metadata"]["namespace"],
            label_selector=f"plot={plot['metadata']['name']}",
        )  # fmt: skip
        status = {"beds": len(beds), "size": plot["spec"]["size"]}
        if plot.get("status") != status:
            yield from call("patch_status", plot, {"status": status})
        return Result(requeue_after=600)

    def _leave(self, plot: Any) -> Steps:
        yield from call(
            "delete_collection", "v1", "ConfigMap", plot["metadata"]["namespace"],
            label_selector=f"plot={plot['metadata']['name']}",
        )  # fmt: skip
        plot, is_left = remove_finalizer(plot, FINALIZER)
        if is_left:
            yield from call("update", plot)
        return None


def awaiting(gardener: Gardener) -> Callable[..., Any]:
    """The reconciler for the loop."""

    async def reconcile(request: Request, client: Any) -> Result | None:
        steps = gardener.steps(request)
        step = steps.send
        value: Any = None
        while True:
            try:
                method, args, options = step(value)
            except StopIteration as end:
                return end.value
            try:
                value, step = await getattr(client, method)(*args, **options), steps.send
            except ApiError as error:
                value, step = error, steps.throw

    return reconcile


def blocking(gardener: Gardener) -> Callable[..., Any]:
    """The same for a thread."""

    def reconcile(request: Request, client: Any) -> Result | None:
        steps = gardener.steps(request)
        step = steps.send
        value: Any = None
        while True:
            try:
                method, args, options = step(value)
            except StopIteration as end:
                return end.value
            try:
                value, step = getattr(client, method)(*args, **options), steps.send
            except ApiError as error:
                value, step = error, steps.throw

    return reconcile


def garden(make: Callable[[Gardener], Any], **options: Any) -> Callable[[Manager], None]:
    """The operator, with reconcilers that `make` makes."""

    def build(manager: Manager) -> None:
        builder = manager.controller("gardener").for_(API, KIND).owns("v1", "ConfigMap")
        builder.with_options(ControllerOptions(**options)).complete(make(Gardener()))

    return build
