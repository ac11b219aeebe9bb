"""The atoms of nodes: eviction, preemption, drain and loss, for the pods of operators and of their workloads."""

import pytest

from fakekube.simulation.nodeplans import node_faults
from fakekube.simulation.plan import parse_plan
from fakekube.simulation.realism import Facts, IllegalPlan, check_legal
from fakekube.simulation.scenario import ScenarioRunner
from tests.simulation.samples.definitions import API, child, custom, definition, ensure, find, report
from tests.simulation.test_correct_operators import wrong

NODES = {"nodes": 2, "controllers": ["*"]}
CONTAINERS = {"containers": [{"name": "main", "image": "main:1"}]}


def pod(name, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {**CONTAINERS, **spec}}


def keeping(*children):
    """An operator that keeps objects for each store, made by the functions `children`, and reports where its pod is."""

    def build(manager):
        live = manager.api_reader

        async def reconcile(request, client):
            store = await find(live, API, "Store", request.name, request.namespace)
            if store is None:
                return
            for one in children:
                await ensure(live, one(store), field="none")
            where = await find(live, "v1", "Pod", request.name, request.namespace) or {"spec": {}}
            await report(live, store, node=where["spec"].get("nodeName", ""))

        builder = manager.controller("store").for_(API, "Store").owns("v1", "Pod")
        builder.owns("apps/v1", "Deployment").complete(reconcile)

    return build


def own_pod(store, **spec):
    return child(store, "Pod", store["metadata"]["name"], spec={**CONTAINERS, **spec})


def workload(store, kind="Deployment", api_version="apps/v1", **spec):
    labels = {"app": store["metadata"]["name"]}
    template = {"metadata": {"labels": labels}, "spec": {**CONTAINERS, **spec.pop("pod", {})}}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    return child(
        store, kind, store["metadata"]["name"], api_version=api_version, spec={**selector, "template": template, **spec}
    )


def scenario(*children, before=()):
    def run(fakekube):
        fakekube.apply(definition("Store", size="integer"))
        for one in before:
            fakekube.create(one)
        fakekube.start(keeping(*children))
        fakekube.create(custom("Store", size=1))
        fakekube.advance(30)

    return run


def observed(atoms, run, **cluster):
    """The observation of a run under a plan, and its cluster."""
    kept = []

    def keeping_it(fakekube):
        kept.append(fakekube)
        run(fakekube)

    found = ScenarioRunner(keeping_it, {**NODES, **cluster}).run(parse_plan(f"FK1 seed=3 {atoms}"))
    return found, kept[0]


def planned(run):
    reference = observed("dup", run)[0]
    return [str(one) for one in node_faults(reference, reference.by_operators())]


def changes(found, target, verb):
    return [one.actor for one in found.commits if one.anchor.target == target and one.anchor.verb == verb]


READY = "@update pod/a{status}#2"


@pytest.mark.parametrize("atom", ["evict(pod/a)", "preempt(pod/a)", "drain(pod/a, 60)", "lose(pod/a, 600)"])
@pytest.mark.slow
def test_a_pod_that_leaves_its_node_is_replaced_without_an_alarm(atom):
    assert wrong(scenario(own_pod), atom + READY, cluster=NODES) == []
    found = observed(atom + READY, scenario(own_pod))[0]
    assert len(changes(found, "pod/a", "create")) == 2
    assert found.moved


@pytest.mark.slow
def test_a_node_that_is_back_in_time_keeps_its_pods():
    found = observed("lose(pod/a, 120)" + READY, scenario(own_pod))[0]
    assert len(changes(found, "pod/a", "create")) == 1
    ready = [
        condition["status"]
        for one in found.commits
        if one.anchor.target == "pod/a" and one.after is not None
        for condition in one.after["status"].get("conditions", ())
        if condition["type"] == "Ready"
    ]
    assert ready[-1] == "True"
    assert "False" in ready[ready.index("True") :]


@pytest.mark.slow
def test_an_eviction_waits_for_the_disruption_budget():
    def run(fakekube):
        scenario(own_pod)(fakekube)
        assert fakekube.get("v1", "Pod", "a")["metadata"]["uid"] == uids[0]
        fakekube.patch("policy/v1", "PodDisruptionBudget", "a", {"spec": {"minAvailable": 0}})
        fakekube.advance(30)

    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a"}}
    budget["spec"] = {"minAvailable": 1, "selector": {"matchLabels": {"owner": "a"}}}

    def guarded(fakekube):
        fakekube.create(budget)

        def remember(kube):
            uids.extend(one["metadata"]["uid"] for one in kube.list("v1", "Pod"))
            return True

        fakekube.always(remember, "never fails")
        run(fakekube)

    uids = []
    found, cluster = observed("evict(pod/a)" + READY, guarded)
    assert (found.failure, len(dict.fromkeys(uids))) == ("", 2)
    refused = [one for one in cluster.requests(verb="create", subresource="eviction") if one.code == 429]
    assert len(refused) >= 5


@pytest.mark.slow
def test_a_drain_leaves_pods_of_daemon_sets_and_uncordons_the_node():
    agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}}
    template = {"metadata": {"labels": {"app": "agent"}}, "spec": CONTAINERS}
    agent["spec"] = {"selector": {"matchLabels": {"app": "agent"}}, "template": template}
    found = observed("drain(pod/a, 60)" + READY, scenario(own_pod, before=[agent]))[0]
    nodes = [
        one
        for one in found.commits
        if one.anchor.target.startswith("node/") and "spec.unschedulable" in one.anchor.fields
    ]
    assert [(one.after["spec"].get("unschedulable"), one.actor) for one in nodes] == [(True, "race"), (None, "race")]
    assert 60 <= nodes[1].at - nodes[0].at < 61
    assert changes(found, "pod/agent-*", "delete") == []
    assert len(changes(found, "pod/a", "delete")) == 1


def service(store):
    return child(
        store, "Service", "web", spec={"selector": {"app": store["metadata"]["name"]}, "ports": [{"port": 80}]}
    )


def two_pods(store):
    return workload(store, "StatefulSet", replicas=2, serviceName="web")


def on_each_node(store):
    return workload(store, "DaemonSet")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("children", "atom"),
    [((two_pods, service), "evict(pod/a-*)"), ((on_each_node,), "lose(pod/a-*, 600)")],
    ids=["addresses-of-two-pods", "pods-of-each-node"],
)
def test_what_lists_or_counts_pods_that_have_moved_is_no_alarm(children, atom):
    def run(fakekube):
        scenario(*children)(fakekube)
        fakekube.patch(API, "Store", "a", {"spec": {"size": 2}})
        fakekube.advance(30)

    assert wrong(run, f"{atom}@update store/a{{spec.size}}#1", cluster=NODES) == []


# --- which pods


@pytest.mark.slow
def test_pods_of_operators_and_of_their_workloads_are_planned():
    assert any(one.startswith("evict(pod/a)@") for one in planned(scenario(own_pod)))
    assert any(one.startswith("lose(pod/a-") for one in planned(scenario(workload)))


@pytest.mark.slow
def test_pods_of_the_test_and_pods_that_run_to_an_end_are_not_planned():
    assert planned(scenario(before=[pod("mine")])) == []
    job = {"kind": "Job", "api_version": "batch/v1", "pod": {"restartPolicy": "Never"}}
    assert planned(scenario(lambda store: workload(store, **job))) == []


@pytest.mark.slow
def test_a_node_with_a_pod_that_runs_to_an_end_is_not_lost():
    ending = pod("once", restartPolicy="Never")
    names = {one.partition("(")[0] for one in planned(scenario(own_pod, before=[ending]))}
    assert names == {"evict", "preempt"}


@pytest.mark.parametrize(
    ("atom", "facts", "problem"),
    [
        ("evict(pod/a)@create cm/a#1", Facts(), "no kubelet runs"),
        ("evict(cm/a)@create cm/a#1", Facts(nodes=True), "'cm/a' is no pod"),
        ("lose(pod/a, 0)@create cm/a#1", Facts(nodes=True), "lasts 0 s"),
        ("drain(pod/a, 60)@get cm/a#1", Facts(nodes=True), "a read commits nothing"),
    ],
)
def test_faults_of_nodes_that_no_cluster_has_are_refused(atom, facts, problem):
    with pytest.raises(IllegalPlan, match=problem):
        check_legal(parse_plan(f"FK1 {atom}"), facts)
