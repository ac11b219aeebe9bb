"""Calls of operators to outside APIs: recorded, and failing before or after they take effect, or answered late."""

import pytest

from fakekube import FakeKube
from fakekube.simulation.atoms import Failure, Late, Lost
from fakekube.simulation.planning import Planner
from tests.simulation.samples.definitions import API, custom, definition, find, report
from tests.simulation.storeoperator import ran


class Down(Exception):
    """The outside API does not answer."""


class Shelf:
    """An outside API with both kinds of methods, and items as those of a dict."""

    def __init__(self):
        self.items = {}

    def __iter__(self):
        return iter(self.items)

    def __setitem__(self, name, value):
        self.items[name] = value

    async def put(self, name):
        self.items[name] = 1
        return name

    def take(self, name):
        return self.items.pop(name, None)


def scenario(use, shelf, seen=None, error=Down):
    """An operator that uses a shelf for each store, and reports what has become of that."""

    def run(fakekube):
        api = fakekube.exploration.external("shelf", shelf, error=error)

        def build(manager):
            live = manager.api_reader

            async def reconcile(request, client):
                store = await find(live, API, "Store", request.name, request.namespace)
                if store is None:
                    return
                try:
                    await use(api, request.name)
                    failed = ""
                except error as problem:
                    failed = type(problem).__name__
                if seen is not None:
                    seen.append((failed, dict(shelf.items)))
                await report(live, store, done=True)

            manager.controller("store").for_(API, "Store").complete(reconcile)

        fakekube.apply(definition("Store", size="integer"))
        fakekube.start(build)
        fakekube.create(custom("Store", size=1))
        fakekube.settle()

    return run


async def putting(api, name):
    assert await api.put(name) == name


async def setting(api, name):
    api[name] = 2


async def taking(api, name):
    api.take(name)


@pytest.mark.parametrize(
    ("use", "call"),
    [(putting, "put/a"), (setting, "setitem/a"), (taking, "take/a")],
    ids=["coroutine", "item", "function"],
)
def test_calls_are_recorded(use, call):
    observed = ran("dup", scenario(use, Shelf()))[0]
    assert str(observed.calls[0][0]) == f"call external/shelf/{call}#1"
    assert observed.calls[0][1] is (use is putting)


@pytest.mark.parametrize("atom", ["error", "lost(reset)"])
@pytest.mark.parametrize(("use", "call"), [(putting, "put"), (setting, "setitem")], ids=["coroutine", "item"])
def test_a_call_fails_before_or_after_it_takes_effect(atom, use, call):
    seen = []
    observed = ran(f"{atom}@call external/shelf/{call}/a#1", scenario(use, Shelf(), seen))[0]
    assert observed.fired == (0,)
    assert (seen[0][0], bool(seen[0][1])) == ("Down", atom != "error")
    assert seen[1][0] == ""


def test_a_call_fails_as_often_as_the_plan_says():
    seen = []
    ran("error(503, 2)@call external/shelf/put/a#1", scenario(putting, Shelf(), seen))
    assert [failed for failed, *_ in seen][:3] == ["Down", "Down", ""]


def test_an_answer_is_late_while_watches_go_on():
    async def put_and_wait(api, name):
        await api.put(name)
        answered.append(name)

    def two_stores(fakekube):
        scenario(put_and_wait, Shelf())(fakekube)
        before.extend(answered)
        fakekube.create(custom("Store", "b", size=1))
        fakekube.settle()

    answered, before = [], []
    observed = ran("late(until=create store/b#1)@call external/shelf/put/a#1", two_stores)[0]
    assert observed.fired == (0,)
    assert (before, sorted(set(answered))) == ([], ["a", "b"])


def test_calls_of_the_test_do_not_fail_and_are_not_recorded():
    def run(fakekube):
        shelf = fakekube.exploration.external("shelf", Shelf(), error=Down)
        shelf["mine"] = 1
        shelf.take("mine")
        scenario(putting, Shelf())(fakekube)

    observed = ran("error@call external/shelf/setitem/mine#1", run)[0]
    assert observed.failure == ""
    assert all("mine" not in str(anchor) for anchor, _ in observed.calls)


def test_an_ordinary_test_gets_the_fake_itself():
    with FakeKube() as kube:
        shelf = Shelf()
        assert kube.exploration.external("shelf", shelf) is shelf


@pytest.mark.parametrize("fake", [{"a": 1}, ["a"], {"a"}], ids=["dict", "list", "set"])
def test_what_stands_for_a_fake_behaves_as_it_does(fake):
    def run(fakekube):
        api = fakekube.exploration.external("fake", fake)
        found.append((list(api), len(api), "a" in api, api == fake, isinstance(api, type(fake)), repr(api)))
        scenario(putting, Shelf())(fakekube)

    found = []
    ran("dup", run)
    assert found == [(["a"], 1, True, True, True, repr(fake))]


def test_attributes_of_a_fake_can_be_set():
    def run(fakekube):
        shelf = Shelf()
        api = fakekube.exploration.external("shelf", shelf)
        api.items = {"b": 2}
        assert shelf.items == {"b": 2}
        scenario(putting, Shelf())(fakekube)

    assert ran("dup", run)[0].failure == ""


@pytest.mark.slow
def test_only_coroutines_are_answered_late():
    plans = {
        use: [plan.atoms[0] for plan in Planner(ran("dup", scenario(use, Shelf()))[0]).singles()]
        for use in (putting, setting)
    }
    at_calls = {
        use: {type(one) for one in atoms if getattr(getattr(one, "at", None), "verb", "") == "call"}
        for use, atoms in plans.items()
    }
    assert at_calls == {putting: {Failure, Lost, Late}, setting: {Failure, Lost}}
