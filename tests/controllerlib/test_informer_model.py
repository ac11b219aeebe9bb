"""A model-based test: an informer follows a server with random writes and failures."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllerlib import Client
from controllerlib.cache import ClientListWatch
from controllerlib.cache.informercontroller import InformerOptions
from controllerlib.cache.realfifo import RealFIFOOptions
from controllerlib.cache.reflector import ReflectorOptions
from controllerlib.cache.sharedinformer import SharedIndexInformer
from controllerlib.client.names import DeletedFinalStateUnknown, meta_namespace_key
from controllerlib.random import FixedRandom, SeededRandom
from fakekube import FakeKube
from tests.controllerlib.things import config_map, elapse

pytestmark = pytest.mark.slow

MAPS = "configmaps"
Names = st.sampled_from(["a", "b", "c", "d"])
Kept = st.sampled_from(["yes", "no"])

Steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), Names, Kept),
        st.tuples(st.sampled_from(["remove", "recreate"]), Names),
        st.tuples(st.sampled_from(["cut", "expire", "bookmark", "elsewhere"])),
        st.tuples(st.just("trouble"), st.sampled_from(["list", "watch", "*"]),
                  st.sampled_from([429, 500, 503, 504, "before", "after"]), st.sampled_from([1, 5, 40])),
        st.tuples(st.just("wait"), st.sampled_from([0.0, 0.5, 5.0, 70.0, 700.0])),
    ),
    min_size=6,
    max_size=40,
)  # fmt: skip


class Hearing:
    """Keeps the state that its notifications describe; an inconsistent one is an error."""

    def __init__(self, *, slow: float = 0.0) -> None:
        self.known: dict[str, Any] = {}
        self._slow = slow

    def on_add(self, obj: Any, is_in_initial_list: bool) -> Any:
        assert meta_namespace_key(obj) not in self.known
        return self._keep(obj)

    def on_update(self, old: Any, new: Any) -> Any:
        assert self.known[meta_namespace_key(new)] == old
        return self._keep(new)

    def on_delete(self, notified: Any) -> Any:
        obj = notified.obj if isinstance(notified, DeletedFinalStateUnknown) else notified
        before = self.known.pop(meta_namespace_key(obj))
        if isinstance(notified, DeletedFinalStateUnknown):
            assert before == obj, "a tombstone holds the last state that was known"
        else:
            assert version(obj) > version(before)
        return self._rest()

    def _keep(self, obj: Any) -> Any:
        before = self.known.get(meta_namespace_key(obj))
        assert before is None or version(before) <= version(obj), "nothing goes back"
        self.known[meta_namespace_key(obj)] = obj
        return self._rest()

    def _rest(self) -> Any:
        return elapse(self._slow) if self._slow else None


def version(obj: Any) -> int:
    return int(obj["metadata"]["resourceVersion"])


class World:
    """A cluster, an informer of its ConfigMaps with two handlers, and the server's state at each revision."""

    def __init__(self, kube: FakeKube, options: InformerOptions, selector: str, slow: float, random: Any) -> None:
        self.kube, self.selector = kube, selector
        client = Client(kube.access.transport(), user_agent="informer")
        self.informer = SharedIndexInformer(
            ClientListWatch(client, "v1", "ConfigMap", label_selector=selector),
            name=MAPS, resync_period=90.0, options=options, clock=kube.clock, random=random,
            indexers={"kept": lambda obj: [obj["metadata"]["labels"]["keep"]]},
        )  # fmt: skip
        self.handlers = [Hearing(), Hearing(slow=slow)]
        for handler, period in zip(self.handlers, (0.0, None), strict=True):
            self.informer.add_handler(handler, resync_period=period)
        self._others = self._writes = 0
        self.past: list[list[Any]] = [[]]
        self.kube.task(self.informer.run())

    def server(self) -> list[Any]:
        found = self.kube.list("v1", "ConfigMap", None, label_selector=self.selector)
        return sorted(found, key=lambda obj: str(meta_namespace_key(obj)))

    def put(self, name: str, keep: str) -> None:
        obj = config_map(name, labels={"keep": keep})
        if self.kube.exists("v1", "ConfigMap", name):
            self._writes += 1
            obj["data"] = {"number": str(self._writes)}
            self.kube.update(obj)
        else:
            self.kube.create(obj)

    def remove(self, name: str) -> None:
        if self.kube.exists("v1", "ConfigMap", name):
            self.kube.delete("v1", "ConfigMap", name)

    def recreate(self, name: str) -> None:
        self.remove(name)
        self.note()
        self.put(name, "yes")

    def cut(self) -> None:
        self.kube.faults.cut_watches()

    def expire(self) -> None:
        self.elsewhere()
        self.kube.faults.compact()
        self.kube.faults.cut_watches()

    def bookmark(self) -> None:
        """A write of another kind advances the revision for the next bookmark."""
        self.elsewhere()
        self.kube.advance(seconds=61)

    def elsewhere(self) -> None:
        self._others += 1
        meta = {"name": f"n{self._others}"}
        self.kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})

    def trouble(self, verb: str, what: Any, seconds: float) -> None:
        """Fail requests for some time."""
        rule: dict[str, Any] = {"reset": what} if isinstance(what, str) else {"error": what}
        with self.kube.fault(verb=verb, resource=MAPS, **rule):
            self.kube.faults.cut_watches()
            self.kube.advance(seconds=seconds)

    def wait(self, seconds: float) -> None:
        self.kube.advance(seconds=seconds)

    def note(self) -> None:
        """Record the state of the server."""
        now = self.server()
        if now != self.past[-1]:
            self.past.append(now)

    def check(self) -> None:
        """The store equals the server's state at some revision, later than before, and so does the handler's state."""
        self.kube.settle()
        store = self.informer.indexer
        while self.past[0] != store.list() and len(self.past) > 1:
            self.past.pop(0)
        assert self.past[0] == store.list()
        known = self.handlers[0].known
        assert [known[key] for key in sorted(known)] == store.list()

    def check_end(self) -> None:
        """All notifications are delivered."""
        self.kube.advance(minutes=5)
        store, server = self.informer.indexer, self.server()
        assert store.list() == server
        for handler in self.handlers:
            assert [handler.known[key] for key in sorted(handler.known)] == server
        for keep in ("yes", "no"):
            assert store.by_index("kept", keep) == [obj for obj in server if obj["metadata"]["labels"]["keep"] == keep]
        assert len(self.kube.requests(verb="watch", user_agent="informer", code=200)) >= 1


LISTING = ReflectorOptions(streaming=False, page_size=2)

VARIANTS = {
    "head": (InformerOptions(), "", 0.0),
    "head-selected": (InformerOptions(), "keep=yes", 3.0),
    "listed": (InformerOptions(reflector=LISTING), "", 0.0),
    "one-by-one": (InformerOptions(batches=False), "keep=yes", 0.0),
    "not-atomic": (InformerOptions(real_fifo=RealFIFOOptions(False, False, False)), "", 3.0),
    "delta-fifo": (InformerOptions(fifo="delta", reflector=LISTING), "keep=yes", 0.0),
}


@pytest.mark.parametrize("variant", VARIANTS)
@given(steps=Steps, seed=st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_the_cache_follows_the_server(variant: str, steps: Sequence[Any], seed: int) -> None:
    random: Any = SeededRandom(seed) if seed else FixedRandom()
    with FakeKube(seed=seed, wall_clock=False, detect={"all": "off"}) as kube:
        world = World(kube, *VARIANTS[variant], random)
        for verb, *args in steps:
            getattr(world, verb)(*args)
            world.note()
            world.check()
        world.check_end()
