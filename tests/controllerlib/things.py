"""The custom resource Thing, and operators that reconcile it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

from controllerlib import ControllerOptions, Manager
from controllerlib.clock import SystemClock, sleep
from controllerlib.controller.predicate import Predicate
from controllerlib.random import FixedRandom
from fakekube import FakeKube

API, KIND, THINGS = "example.com/v1", "Thing", "things"
MINUTE, HOUR = 60.0, 3600.0

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": THINGS, "singular": "thing", "kind": KIND, "listKind": "ThingList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def thing(name: str, *, size: int = 1, **meta: Any) -> dict[str, Any]:
    """Return a Thing; keywords are metadata."""
    meta = {"name": name, "namespace": "default", **meta}
    return {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": {"size": size}}


def config_map(name: str, **meta: Any) -> dict[str, Any]:
    """Return a ConfigMap; keywords are metadata."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", **meta}}


def create_things(kube: FakeKube, *names: str) -> list[dict[str, Any]]:
    """Create the CRD and a Thing of each name; return the Things as stored."""
    kube.apply(CRD)
    return kube.apply(*(thing(name) for name in names)) if names else []


def resize(kube: FakeKube, name: str, size: int) -> dict[str, Any]:
    return kube.patch(API, KIND, name, {"spec": {"size": size}})


async def nothing(request: Any) -> None:
    """A reconciler that does nothing."""


def things_operator(
    reconcile: Any = nothing, *, name: str = "minder", predicates: Sequence[Predicate] = (), **options: Any
) -> Callable[[Manager], None]:
    """Return the build function of an operator with one controller of Things; keywords are its options."""

    def build(manager: Manager) -> None:
        builder = manager.controller(name).for_(API, KIND, predicates=predicates)
        builder.with_options(ControllerOptions(**options)).complete(reconcile)

    return build


#: Options of a manager without jitter: a watch lasts five minutes, and backoff is not extended.
STEADY: dict[str, Any] = {"random": FixedRandom()}


@contextmanager
def outage(kube: FakeKube, resource: str = THINGS) -> Iterator[None]:
    """End open watches, and fail lists and watches while the body runs."""
    with ExitStack() as faults:
        for verb in ("list", "watch"):
            faults.enter_context(kube.fault(verb=verb, resource=resource, error=503))
        kube.faults.cut_watches()
        yield


def expire_watches(kube: FakeKube, number: int = 1) -> None:
    """End open watches so that they cannot be resumed: 410 Gone and a relist follow."""
    kube.create(config_map(f"something-else-{number}"))
    kube.faults.compact()
    kube.faults.cut_watches()


async def elapse(seconds: float) -> None:
    """Wait for virtual time."""
    await sleep(SystemClock(), seconds)


def seconds(times: Sequence[timedelta]) -> list[float]:
    return [time.total_seconds() for time in times]
