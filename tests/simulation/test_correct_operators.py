"""Correct operators under plans that made oracles fail, and operators with a bug that the same oracles must find."""

from fakekube.simulation.explorer import Explorer, Settings
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, child, custom, definition, find


def wrong(scenario, atoms, seed=0, **settings):
    """What a run under a plan does wrong, as texts. The plan must take effect."""
    runner = ScenarioRunner(scenario)
    explorer = Explorer(runner.run, Settings(seed=seed, **settings), lambda: runner.facts)
    judge = explorer.reference()[1]
    plan = parse_plan(f"FK1 seed={seed} {atoms}")
    observed = explorer.observe(plan)
    if atoms not in ("fresh", "rollback", "dup", "order"):
        assert set(observed.fired) == set(range(len(plan.atoms)))
    return [str(one) for one in judge.violations(observed)]


# --- addresses and ports that the server allocates


def service(owner, **spec):
    return child(owner, "Service", owner["metadata"]["name"], spec={"ports": [{"port": 80}], **spec})


def serving(build_service):
    """An operator that makes a Service for each store, as `build_service(store, old)` returns it."""

    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            store = await find(live, API, "Store", request.name, request.namespace)
            if store is None:
                return
            old = await find(live, "v1", "Service", request.name, request.namespace)
            wanted = build_service(store, old)
            if old is None:
                await client.create(wanted)
            elif wanted is None:
                await client.delete(old)
            elif old["spec"]["type"] != wanted["spec"].get("type", "ClusterIP"):
                await client.update({**old, "spec": {**old["spec"], **wanted["spec"]}})

        manager.controller("store").for_(API, "Store").owns("v1", "Service").complete(reconcile)

    return build


def two_stores(build):
    def scenario(fakekube):
        fakekube.apply(definition("Store", type="string"))
        fakekube.start(build)
        fakekube.create(custom("Store", type="ClusterIP"))
        fakekube.create(custom("Store", "b", type="NodePort"))
        fakekube.advance(60)
        fakekube.patch(API, "Store", "a", {"spec": {"type": "NodePort"}})
        fakekube.advance(60)

    return scenario


def test_x1_a_retry_may_get_another_address():
    scenario = two_stores(serving(lambda store, old: service(store, type=store["spec"]["type"])))
    for atoms in ("error(503, 1)@create svc/a#1", "error(500, 2)@create svc/b#1", "crash@create svc/a#1", "fresh"):
        assert wrong(scenario, atoms) == []


def test_x1_a_service_without_an_address_is_another_one():
    def headless_again(store, old):
        """Knows only in the first attempt that the Service is to have an address."""
        seen = store["metadata"]["name"] in attempts
        attempts.add(store["metadata"]["name"])
        return service(store, **({"clusterIP": "None"} if seen and old is None else {}))

    def scenario(fakekube):
        attempts.clear()
        two_stores(serving(headless_again))(fakekube)

    attempts = set()
    found = wrong(scenario, "error(503, 1)@create svc/a#1")
    assert any(one.startswith("O2: svc/a") and "clusterIP" in one for one in found)
    assert not any("O2: ip/" in one or "O3: ip/" in one for one in found)


def test_x1_o8_a_service_keeps_its_address_where_a_new_one_has_none():
    def switched(store, old):
        return service(store, **({"clusterIP": "None"} if store["spec"]["type"] == "NodePort" else {}))

    build = serving(switched)

    def scenario(fakekube):
        fakekube.apply(definition("Store", type="string"))
        fakekube.start(build)
        fakekube.create(custom("Store", type="ClusterIP"))
        fakekube.advance(60)
        fakekube.patch(API, "Store", "a", {"spec": {"type": "NodePort"}})
        fakekube.advance(60)

    assert any("spec.clusterIP" in one for one in wrong(scenario, "fresh"))
