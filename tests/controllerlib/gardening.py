"""A sample operator with all features, as a coroutine and as a plain function.

A Thing of size n is a plot that owns n ConfigMaps, its beds. The operator adds a finalizer, reports the number of beds
in the status, and requeues after ten minutes. Some reconciles fail; a Thing called `lost` fails with a terminal error.
"""

from collections import Counter
from collections.abc import Callable, Generator
from typing import Any

from controllerlib import ApiError, ControllerOptions, Manager, Request, Result, TerminalError
from controllerlib.client.errors import is_already_exists, is_not_found
from controllerlib.controller.finalizers import add_finalizer, remove_finalizer
from controllerlib.controller.owners import set_controller_reference
from tests.controllerlib.things import API, KIND, config_map

FINALIZER = "example.com/gardener"

#: The steps of a reconcile: each yields a method of the client with its arguments and receives the result.
Steps = Generator[tuple[str, tuple[Any, ...], dict[str, Any]], Any, Result | None]


def call(method: str, *args: Any, **options: Any) -> Generator[tuple[str, tuple[Any, ...], dict[str, Any]], Any, Any]:
    return (yield method, args, options)


class Gardener:
    """The logic of the operator, independent of how it waits."""

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
    """Return the reconciler as a coroutine function."""

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
    """Return the reconciler as a plain function."""

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
    """Return the build function of the operator; `make` creates its reconciler."""

    def build(manager: Manager) -> None:
        builder = manager.controller("gardener").for_(API, KIND).owns("v1", "ConfigMap")
        builder.with_options(ControllerOptions(**options)).complete(make(Gardener()))

    return build
