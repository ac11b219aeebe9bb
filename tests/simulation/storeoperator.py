"""A small operator for tests of the engine: a store has a ConfigMap with its size, a Secret, and a status."""

from controllerlib.cache import CacheOptions, Selection
from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report


def build(manager):
    live = manager.api_reader

    async def reconcile(request, client):
        store = await find(client, API, "Store", request.name, request.namespace)
        if store is None:
            return
        size = store["spec"]["size"]
        await ensure(live, child(store, "ConfigMap", request.name, data={"size": str(size)}))
        await ensure(live, child(store, "Secret", request.name), field="data")
        await report(live, store, size=size)

    manager.controller("store").for_(API, "Store").owns("v1", "ConfigMap").complete(reconcile)


#: Informers that list with resourceVersion=0.
LISTS = CacheOptions(sync_period_jitter=0.0, default=Selection(bookmarks=False))


def listing(fakekube):
    """As `scenario`; informers list, rather than stream what exists."""
    scenario(fakekube, cache=LISTS)


def scenario(fakekube, **options):
    """A store is created and resized."""
    fakekube.apply(definition("Store", size="integer"))
    fakekube.start(build, **options)
    fakekube.create(custom("Store", size=1))
    fakekube.advance(60)
    fakekube.patch(API, "Store", "a", {"spec": {"size": 2}})
    fakekube.advance(60)
    assert fakekube.get(API, "Store", "a")["status"]["size"] == 2


def ran(atoms, scenario=scenario, seed=3):
    """The observation of one run under a plan, and its log."""
    clusters = []

    def kept(fakekube):
        clusters.append(fakekube)
        scenario(fakekube)

    observed = ScenarioRunner(kept).run(parse_plan(f"FK1 seed={seed} {atoms}"))
    return observed, clusters[0].log()


def violations(atoms, scenario=scenario):
    """What a run under a plan does wrong."""
    runner = ScenarioRunner(scenario)
    explorer = Explorer(runner.run, Settings(), lambda: runner.facts)
    judge = explorer.reference()[1]
    return judge.violations(explorer.observe(parse_plan(f"FK1 seed=0 {atoms}")))


def facts(scenario):
    """What the rules of legality know of a scenario."""
    runner = ScenarioRunner(scenario)
    runner.run(parse_plan("FK1 seed=0"))
    return runner.facts
