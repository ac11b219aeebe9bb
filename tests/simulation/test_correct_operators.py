"""Correct operators under plans that made oracles fail, and operators with a bug that the same oracles must find."""

import pytest

from controllerlib import Result
from controllerlib.controller import generation_changed
from controllerlib.workqueue import ItemFastSlowRateLimiter
from fakekube.simulation.explorer import Explorer, Settings, base_of
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, BY_LABEL, child, custom, definition, ensure, find, labelled


def wrong(scenario, atoms, seed=0, cluster=None, **settings):
    """What a run under a plan does wrong, as texts. The plan must take effect."""
    runner = ScenarioRunner(scenario, cluster or {})
    explorer = Explorer(runner.run, Settings(seed=seed, **settings), lambda: runner.facts)
    reference = explorer.reference()
    plan = parse_plan(f"FK1 seed={seed} {atoms}")
    observed = explorer.observe(plan)
    if atoms not in ("fresh", "rollback", "dup", "order"):
        assert set(observed.fired) == set(range(len(plan.atoms)))
    return [str(one) for one in explorer.violations(plan, observed, {base_of(plan): reference})]


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


@pytest.mark.slow
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


# --- atoms last for minutes


def scheduling(bug):
    """Every six hours a job runs. The bug: the next time is computed from a status that may be an old one."""

    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            plan = await find(client if bug else live, API, "Plan", request.name, request.namespace)
            if plan is None:
                return None
            status = plan.get("status") or {"runs": 0, "next": 0}
            now = int(manager.clock.now().timestamp())
            if now < status["next"]:
                return Result(requeue_after=status["next"] - now)
            name = f"{request.name}-{now}" if bug else f"{request.name}-{status['runs'] + 1}"
            await ensure(live, child(plan, "ConfigMap", name, data={"kind": "run"}))
            await live.patch_status(plan, {"status": {"runs": status["runs"] + 1, "next": now + 6 * 3600}})
            return Result(requeue_after=5 if bug else 6 * 3600)

        manager.controller("plan").for_(API, "Plan", predicates=[generation_changed]).complete(reconcile)

    return build


def two_days(build):
    def scenario(fakekube):
        fakekube.apply(definition("Plan"))
        fakekube.start(build)
        fakekube.create(custom("Plan"))
        fakekube.advance(days=2)
        fakekube.patch(API, "Plan", "a", {"metadata": {"labels": {"seen": "yes"}}})
        fakekube.advance(hours=1)
        assert fakekube.get(API, "Plan", "a")["status"]["runs"] == 9

    return scenario


STATUS = "update plan/a{status.next,status.runs}"
LABELLED = "update plan/a{metadata.labels.seen}#1"
LONG_ATOMS = [
    f"hold(plan, create plan/a#1..{LABELLED})",
    f"gap(plan, {STATUS}#1..{STATUS}#9)",
    f"down(until={LABELLED})@{STATUS}#1",
    f"pause(until={LABELLED})@{STATUS}#2",
]


@pytest.mark.slow
@pytest.mark.parametrize("atom", LONG_ATOMS)
def test_x2_an_atom_whose_end_does_not_come_lasts_minutes(atom):
    assert wrong(two_days(scheduling(bug=False)), atom) == []


@pytest.mark.slow
def test_x2_an_operator_that_an_old_status_misleads_is_found():
    found = wrong(two_days(scheduling(bug=True)), f"hold(plan, {STATUS}#2..{STATUS}#3)")
    assert [one for one in found if one.startswith(("O2: cm/a-", "O3: cm/a-"))]


# --- retries


def flaky(limiter):
    """An operator that retries as a limiter has it, which `limiter` makes; None: the default one."""

    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            store = await find(live, API, "Store", request.name, request.namespace)
            if store is not None:
                await ensure(live, child(store, "ConfigMap", request.name, data={"type": store["spec"]["type"]}))

        options = {"rate_limiter": limiter} if limiter else {}
        manager.controller("store").for_(API, "Store").with_options(**options).complete(reconcile)

    return build


def changed_meanwhile(build):
    def scenario(fakekube):
        fakekube.apply(definition("Store", type="string"))
        fakekube.start(build)

        async def change():
            await fakekube.clock.sleep_until(1.276)  # right after the eighth retry
            fakekube.patch(API, "Store", "a", {"spec": {"type": "1"}})

        fakekube.task(change())
        fakekube.create(custom("Store", type="0"))
        fakekube.advance(60)

    return scenario


def test_x3_events_between_failures_are_no_retries():
    assert wrong(changed_meanwhile(flaky(None)), "error(503, 12)@create cm/a#1") == []


def test_x3_constant_retries_are_found():
    build = flaky(lambda: ItemFastSlowRateLimiter(0.1, 0.1, 3))
    found = wrong(changed_meanwhile(build), "error(503, 30)@create cm/a#1")
    assert "O5: store retries default/a at constant intervals below a second" in found


# --- what a new incarnation has read


def counting(manager):
    """A fleet has as many ConfigMaps as the cache has it."""

    async def reconcile(request, client):
        fleet = await find(client, API, "Fleet", request.name, request.namespace)
        size = 0 if fleet is None else fleet["spec"]["size"]
        have = await client.list("v1", "ConfigMap", request.namespace, label_selector=f"owner={request.name}")
        for one in have:
            if int(one["metadata"]["name"].rpartition("-")[2]) >= size:
                await client.delete(one)
        for number in range(size):
            await ensure(manager.api_reader, labelled(fleet, "ConfigMap", f"{request.name}-{number}", data={"x": "y"}))

    manager.controller("fleet").for_(API, "Fleet").watches("v1", "ConfigMap", BY_LABEL).complete(reconcile)


def two_fleets(build):
    def scenario(fakekube):
        fakekube.apply(definition("Fleet", size="integer"))
        fakekube.start(build)
        fakekube.create(custom("Fleet", size=3))
        fakekube.create(custom("Fleet", "b", size=2))
        fakekube.create(custom("Fleet", "c", size=1))
        fakekube.advance(60)
        fakekube.patch(API, "Fleet", "a", {"spec": {"size": 1}})
        fakekube.advance(60)
        fakekube.delete(API, "Fleet", "c")
        fakekube.advance(60)

    return scenario


@pytest.mark.parametrize("until", ["update fleet/a{spec.size}#1", "delete fleet/c#1"])
def test_x4_a_new_incarnation_has_read_the_current_state(until):
    assert wrong(two_fleets(counting), f"down(until={until})@create cm/b-1#1") == []


def test_x4_a_deletion_because_of_an_old_object_is_found():
    def scenario(fakekube):
        fakekube.apply(definition("Fleet", size="integer"))
        fakekube.start(counting)
        fakekube.create(custom("Fleet", size=1))
        fakekube.advance(60)
        fakekube.patch(API, "Fleet", "a", {"spec": {"size": 2}})
        fakekube.create({**labelled(fakekube.get(API, "Fleet", "a"), "ConfigMap", "a-1"), "data": {"x": "y"}})
        fakekube.advance(60)

    found = wrong(scenario, "hold(fleet, update fleet/a{spec.size}#1..delete cm/a-1#1)")
    assert any(one.startswith("O11: cm/a-1 is deleted because of fleet/a at generation 1") for one in found)


# --- a test that only settles


def publishing(bug):
    """A page has a ConfigMap. The bug: the status is written first, from what may be an old object."""

    def build(manager):
        async def reconcile(request, client):
            page = await find(client, API, "Page", request.name, request.namespace)
            if page is None or (page.get("status") or {}).get("observedGeneration") == page["metadata"]["generation"]:
                return
            status = {**page, "status": {"observedGeneration": page["metadata"]["generation"]}}
            if bug:
                await client.update_status(status)
            await ensure(
                manager.api_reader, child(page, "ConfigMap", request.name, data={"text": page["spec"]["text"]})
            )
            if not bug:
                await client.update_status(status)

        manager.controller("page").for_(API, "Page").complete(reconcile)

    return build


def settled(build):
    def scenario(fakekube):
        fakekube.apply(definition("Page", text="string"))
        fakekube.start(build)
        fakekube.create(custom("Page", text="x"))
        fakekube.settle()
        fakekube.patch(API, "Page", "a", {"spec": {"text": "y"}})
        fakekube.settle()
        assert fakekube.get("v1", "ConfigMap", "a")["data"]["text"] == "y"

    return scenario


OBSERVED = "update page/a{status.observedGeneration}#1"
TEXT = "update page/a{spec.text}#1"


@pytest.mark.parametrize(
    "atoms",
    [
        f"pause(until={TEXT})@create cm/a#1",
        f"pause(until={TEXT})@create cm/a#1 + crash@{OBSERVED}",
        f"down(until={TEXT})@create cm/a#1",
        "error(503, 5)@update cm/a{data.text}#1",
        "lost(reset)@update cm/a{data.text}#1",
    ],
)
def test_x5_after_a_fault_a_test_settles_when_the_work_is_done(atoms):
    assert wrong(settled(publishing(bug=False)), atoms) == []


def test_x5_work_that_is_never_done_is_found():
    found = wrong(settled(publishing(bug=True)), "error(503, 1)@update cm/a{data.text}#1")
    assert any(one.startswith("O2: cm/a data.text") for one in found)
    assert any("AssertionError" in one for one in found)


# --- owners that are gone


def pooling(owned):
    """A pool has a worker, which belongs to it; the pool is read from the cache."""

    def build(manager):
        async def reconcile(request, client):
            pool = await find(client, API, "Pool", request.name, request.namespace)
            if pool is not None and not await client.list(
                "v1", "ConfigMap", request.namespace, label_selector="owner=a"
            ):
                make = child if owned else labelled
                await client.create(make(pool, "ConfigMap", f"{request.name}-", data={"x": "y"}))

        manager.controller("pool").for_(API, "Pool").watches("v1", "ConfigMap", BY_LABEL).complete(reconcile)

    return build


def deleted_pool(build):
    def scenario(fakekube):
        fakekube.apply(definition("Pool"))
        fakekube.start(build)
        fakekube.create(custom("Pool"))
        fakekube.advance(60)
        fakekube.delete(API, "Pool", "a")
        for worker in fakekube.list("v1", "ConfigMap", label_selector="owner=a"):
            fakekube.delete("v1", "ConfigMap", worker["metadata"]["name"])
        fakekube.advance(60)

    return scenario


GONE = "hold(pool, delete pool/a#1..rest)"


@pytest.mark.slow
@pytest.mark.parametrize("atom", [GONE, "gap(pool, delete pool/a#1..rest)"])
def test_workers_of_a_pool_that_is_gone_are_collected(atom):
    collected = {"controllers": ["garbagecollector"]}
    assert wrong(deleted_pool(pooling(owned=True)), atom, cluster=collected) == []


@pytest.mark.slow
def test_workers_without_an_owner_are_left():
    collected = {"controllers": ["garbagecollector"]}
    found = wrong(deleted_pool(pooling(owned=False)), GONE, cluster=collected)
    assert any(one.startswith("O2: cm/a-*~1 is there at the end") for one in found)


# --- a status that names what was made for a former spec


def activated(is_child_of):
    """An operator that makes a ConfigMap for an active store and names it in the status, also when it is gone.

    is_child_of: whether the status of a store names the ConfigMap.
    """

    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            store = await find(client, API, "Store", request.name, request.namespace)
            if store is None:
                return
            child_of = await find(live, "v1", "ConfigMap", request.name, request.namespace)
            if store["spec"]["active"]:
                await ensure(live, child(store, "ConfigMap", request.name))
            elif child_of is not None:
                await client.delete(child_of)
            status = {**store.get("status", {}), "phase": "Running" if store["spec"]["active"] else "Stopped"}
            if is_child_of(store):
                status["child"] = request.name
            if status != store.get("status"):
                await client.update_status({**store, "status": status})

        manager.controller("store").for_(API, "Store").complete(reconcile)

    return build


def stopped(build):
    def scenario(fakekube):
        fakekube.apply(definition("Store", active="boolean"))
        fakekube.start(build)
        fakekube.create(custom("Store", active=True))
        fakekube.settle()
        fakekube.patch(API, "Store", "a", {"spec": {"active": False}})
        fakekube.settle()

    return scenario


MISSED = ["hold(store, create store/a#1..update store/a{spec.active}#1)", "down(until=update store/a{spec.active}#1)@create cm/a#1"]  # fmt: skip


@pytest.mark.parametrize("atoms", MISSED)
def test_a_status_need_not_name_what_an_operator_was_never_asked_for(atoms):
    assert wrong(stopped(activated(lambda store: store["spec"]["active"])), atoms) == []


def test_a_status_must_name_what_it_names_with_the_last_spec_alone():
    """The operator sets the field only if it sees the store in its first generation."""
    scenario = stopped(activated(lambda store: store["metadata"]["generation"] == 1))
    assert wrong(scenario, MISSED[0]) == ["O2: store/a status.child 'a' (reference) != None"]


# --- annotations that an operator copies into a template, whose hash is in the names of ReplicaSets


def annotated(manager):
    """An operator that copies the annotations of a store into the template of its Deployment."""
    live = manager.api_reader

    async def reconcile(request, client):
        store = await find(live, API, "Store", request.name, request.namespace)
        if store is None:
            return
        if not store.get("status"):
            await live.update_status({**store, "status": {"seen": True}})
            return
        meta = {"labels": {"app": request.name}, "annotations": store["metadata"].get("annotations", {})}
        template = {"metadata": meta, "spec": {"containers": [{"name": "main", "image": "x"}]}}
        spec = {"selector": {"matchLabels": meta["labels"]}, "template": template}
        await ensure(live, child(store, "Deployment", request.name, api_version="apps/v1", spec=spec))

    manager.controller("store").for_(API, "Store").complete(reconcile)


@pytest.mark.slow
def test_the_hash_of_a_template_with_the_annotation_of_a_competing_writer_is_no_difference():
    def scenario(fakekube):
        fakekube.apply(definition("Store"))
        fakekube.start(annotated)
        fakekube.create(custom("Store"))
        fakekube.advance(60)

    cluster = {"controllers": ["deployment", "replicaset", "scheduler", "kubelet"]}
    assert wrong(scenario, "race(annotate)@update store/a{status.seen}#1", cluster=cluster) == []
