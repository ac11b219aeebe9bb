"""Pure rules of the scheduler: filters, scores, preemption with budgets, and when pods are tried again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllerlib import Request
from fakekube.controllers.scheduler import (
    interpodaffinity,
    noderoom,
    preemption,
    tainttoleration,
    topologyspread,
    volumefit,
)
from fakekube.controllers.scheduler.clusterview import ClusterView, pod_info
from fakekube.controllers.scheduler.nodeaffinity import affinity as node_affinity
from fakekube.controllers.scheduler.nodeaffinity import preference as node_preference
from fakekube.controllers.scheduler.placement import NoFit, Surroundings, place, total_scores
from fakekube.controllers.scheduler.schedulingqueue import ASSIGNED_POD_ADDED, UnschedulablePods
from fakekube.controllers.scheduler.verdict import Rejection, Unschedulable
from tests.controllers import test_scheduler as cluster

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def node(name, *, labels=None, taints=(), cpu="4", memory="4Gi", pods="10", **spec):
    meta = {"name": name, "labels": {HOST: name, **(labels or {})}}
    return {
        "metadata": meta,
        "spec": {"taints": list(taints), **spec},
        "status": {"allocatable": {"cpu": cpu, "memory": memory, "pods": pods}},
    }


def pod(name, cpu="1", priority=0, *, start=None, app="web", namespace="ns", uid=None, owner="", deleted=False, **spec):
    """What the scheduler knows of a pod; `start`: the second at which it was started."""
    meta = {"name": name, "namespace": namespace, "uid": uid or name, "labels": {"app": app} if app else {}}
    if deleted:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if owner:
        meta["ownerReferences"] = [{"uid": owner, "kind": "ReplicaSet", "name": "rs", "controller": True}]
    status = {} if start is None else {"startTime": f"2026-01-01T00:00:{start:02}Z"}
    spec.setdefault("containers", [{"name": "c", "resources": {"requests": {"cpu": cpu} if cpu else {}}}])
    return pod_info({"metadata": meta, "spec": {"priority": priority, **spec}, "status": status})


class Shelf:
    """Volumes, claims and classes of a test; implements `volumefit.Volumes`."""

    def __init__(self, claims=(), volumes=(), classes=()):
        self._claims, self._volumes, self._classes = (
            {one["metadata"]["name"]: one for one in ones} for ones in (claims, volumes, classes)
        )

    def claim(self, namespace, name):
        return self._claims.get(name)

    def volume(self, name):
        return self._volumes.get(name)

    def volumes(self):
        return list(self._volumes.values())

    def storage_class(self, name):
        return self._classes.get(name)


AROUND = Surroundings(Shelf(), lambda namespace: {"name": namespace})


def view(nodes, **placed):
    """A view of nodes, with lists of pods by node."""
    found = ClusterView()
    for one in nodes:
        found.set_node(one)
    for name, pods in placed.items():
        for one in pods:
            found.place(one, name)
    return found


# --- the view


def test_the_view_counts_each_pod_once_on_its_node():
    cluster = view([node("a"), node("b")])
    one = pod("p", "1", owner="rs")
    cluster.place(one, "a")
    cluster.place(one, "a")
    assert cluster.nodes["a"].requested == {"cpu": 1000}
    assert cluster.by_controller == {"rs": {"a": 1}}
    cluster.place(one, "b")
    assert (cluster.nodes["a"].requested["cpu"], cluster.nodes["b"].requested["cpu"]) == (0, 1000)
    assert (cluster.node_of("p"), cluster.placed("p"), cluster.node_of("x"), cluster.placed("x")) == (
        "b",
        one,
        "",
        None,
    )
    cluster.place(pod("q", owner="rs"), "b")
    assert cluster.by_controller == {"rs": {"b": 2}}
    cluster.take_away("p")
    cluster.take_away("q")
    cluster.take_away("q")
    assert (cluster.by_controller, list(cluster.nodes["b"].pods)) == ({}, [])


def test_pods_of_a_node_that_is_seen_later_or_again_are_counted():
    cluster = view([node("a")], a=[pod("p")], late=[pod("q")])
    cluster.set_node(node("late"))
    cluster.set_node(node("a", cpu="8"))
    assert {name: list(one.pods) for name, one in cluster.nodes.items()} == {"a": ["p"], "late": ["q"]}
    assert cluster.nodes["a"].allocatable["cpu"] == 8000
    cluster.remove_node("a")
    assert list(cluster.nodes) == ["late"]
    cluster.set_node({**node("c"), "status": {"capacity": {"cpu": "2"}}})
    assert cluster.nodes["c"].allocatable == {"cpu": 2000}


# --- filters


def rejected(check, one):
    found = check(view([one]).nodes[one["metadata"]["name"]]) if check else None
    return found and (found.reasons, found.resolvable)


def test_unschedulable_nodes():
    closed = node("a", unschedulable=True)
    assert rejected(noderoom.unschedulable(pod("p")), closed) == (("node(s) were unschedulable",), False)
    assert rejected(noderoom.unschedulable(pod("p")), node("a")) is None
    tolerant = pod("p", tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    assert rejected(noderoom.unschedulable(tolerant), closed) is None


@pytest.mark.parametrize(
    ("effect", "tolerated", "rejects"),
    [
        ("NoSchedule", False, True),
        ("NoExecute", False, True),
        ("PreferNoSchedule", False, False),
        ("NoExecute", True, False),
    ],
)
def test_taints(effect, tolerated, rejects):
    one = pod("p", tolerations=[{"key": "k", "operator": "Exists"}] if tolerated else [])
    tainted = node("a", taints=[{"key": "k", "effect": effect}])
    reason = (("node(s) had untolerated taint(s)",), False)
    assert rejected(tainttoleration.taints(one), tainted) == (reason if rejects else None)
    soft = view([tainted]).nodes["a"]
    assert tainttoleration.untolerated_preferences(one, soft) == (effect == "PreferNoSchedule")


def test_soft_taints_are_counted():
    taints = [{"key": key, "effect": "PreferNoSchedule"} for key in "abc"]
    one = pod("p", tolerations=[{"key": "b", "operator": "Exists"}])
    assert tainttoleration.untolerated_preferences(one, view([node("a", taints=taints)]).nodes["a"]) == 2


@pytest.mark.parametrize(
    ("cpu", "present", "most", "expected"),
    [
        ("4", [], "10", None),
        ("5", [], "10", (("Insufficient cpu",), False)),
        ("3", [pod("x", "1")], "10", None),
        ("4", [pod("x", "1")], "10", (("Insufficient cpu",), True)),
        ("1", [pod("x", "1")], "1", (("Too many pods",), True)),
        ("1", [pod("x", "1")], "2", None),
        ("4", [pod("x", "1")], "1", (("Too many pods", "Insufficient cpu"), True)),
        ("5", [pod("x", "1")], "1", (("Too many pods", "Insufficient cpu"), False)),
    ],
)
def test_room(cpu, present, most, expected):
    found = noderoom.resources(pod("p", cpu))(view([node("a", pods=most)], a=present).nodes["a"])
    assert (found and (found.reasons, found.resolvable)) == expected


@pytest.mark.parametrize(
    ("has", "used", "wanted", "expected"),
    [
        (None, 0, 1, False),
        (None, 0, 0, None),
        (0, 0, 1, False),
        (1, 0, 1, None),
        (1, 0, 2, False),
        (1, 1, 1, True),
        (2, 1, 1, None),
        (2, 1, 2, True),
        (3, 2, 0, None),
    ],
)
def test_room_for_what_few_nodes_have(has, used, wanted, expected):
    """`noderesources/fit.go`: fitsRequest; what a node does not have at all, no preemption frees."""
    gpu = "example.com/gpu"
    one = node("a")
    if has is not None:
        one["status"]["allocatable"][gpu] = str(has)

    def using(name, number):
        return pod(name, containers=[{"name": "c", "resources": {"requests": {gpu: str(number)}}}])

    placed = [using("x", used)] if used else []
    found = noderoom.resources(using("p", wanted))(view([one], a=placed).nodes["a"])
    assert (found and found.resolvable) is expected
    assert found is None or found.reasons == (f"Insufficient {gpu}",)


def test_resources_are_named_in_order_and_requests_of_0_are_not_looked_at():
    requests = {"example.com/b": "1", "memory": "9Gi", "cpu": "9", "example.com/a": "1", "example.com/c": "0"}
    one = pod("p", containers=[{"name": "c", "resources": {"requests": requests}}])
    found = noderoom.resources(one)(view([node("a")]).nodes["a"])
    assert found.reasons == tuple(
        f"Insufficient {name}" for name in ("cpu", "memory", "example.com/a", "example.com/b")
    )


def with_port(name, port, ip=None, protocol=None):
    found = {"hostPort": port, "containerPort": 1, "hostIP": ip, "protocol": protocol}
    return pod(name, containers=[{"name": "c", "ports": [{k: v for k, v in found.items() if v}]}])


@pytest.mark.parametrize(
    ("mine", "theirs", "conflict"),
    [
        ((80,), (80,), True),
        ((80,), (81,), False),
        ((80, None, "UDP"), (80,), False),
        ((80, None, "TCP"), (80,), True),
        ((80, "1.1.1.1"), (80, "2.2.2.2"), False),
        ((80, "1.1.1.1"), (80, "1.1.1.1"), True),
        ((80, "1.1.1.1"), (80,), True),
        ((80, "0.0.0.0"), (80, "2.2.2.2"), True),
    ],
)
def test_host_ports(mine, theirs, conflict):
    check = noderoom.ports(with_port("p", *mine))
    found = check(view([node("a")], a=[with_port("x", *theirs)]).nodes["a"])
    assert (found is not None) is conflict
    assert noderoom.ports(pod("p")) is None
    initial = pod("p", initContainers=[{"name": "i", "restartPolicy": "Always", "ports": [{"hostPort": 80}]}])
    assert (initial.ports, pod("q", containers=[{"name": "c", "ports": [{"containerPort": 80}]}]).ports) == (
        {("0.0.0.0", "TCP", 80)},
        frozenset(),
    )


def test_node_affinity_is_a_filter_and_a_score():
    def terms(*keys):
        return [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in keys]

    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms("x", "y")}}
    one = pod("p", affinity={"nodeAffinity": rule})
    message = (("node(s) didn't match Pod's node affinity/selector",), False)
    assert rejected(node_affinity(one), node("a")) == message
    assert rejected(node_affinity(one), node("a", labels={"y": "1"})) is None
    assert rejected(node_affinity(pod("p", nodeSelector={"x": "1"})), node("a", labels={"x": "2"})) == message
    assert node_affinity(pod("p")) is None
    weighted = [{"weight": 3, "preference": terms("x")[0]}, {"weight": 5, "preference": terms("y")[0]}]
    weighted.append({"weight": 7, "preference": {}})
    soft = pod("p", affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}})
    found = view([node("a"), node("b", labels={"x": "1"}), node("c", labels={"x": "1", "y": "1"})])
    assert [node_preference(soft, one) for one in found.nodes.values()] == [0, 3, 8]


# --- spreading


def spreading(when="DoNotSchedule", key=ZONE, skew=1, app="web", **more):
    constraint = {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": when, **more}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": app}}}]}


ZONES = [node("a", labels={ZONE: "x"}), node("b", labels={ZONE: "x"}), node("c", labels={ZONE: "y"}), node("d")]


def spread_over(one, nodes=ZONES, **placed):
    cluster = view(nodes, **placed)
    check = topologyspread.spread(one, cluster)
    return [name for name, found in cluster.nodes.items() if check(found) is None]


@pytest.mark.parametrize(
    ("options", "placed", "fits"),
    [
        ({}, {}, "abc"),
        ({}, {"a": 1}, "c"),
        ({}, {"a": 1, "c": 1}, "abc"),
        ({"skew": 2}, {"a": 1}, "abc"),
        ({"skew": 2}, {"a": 1, "b": 1}, "c"),
        ({"app": "other"}, {"a": 3}, "abc"),
        ({"minDomains": 2}, {"a": 1, "c": 1}, "abc"),
        ({"minDomains": 3}, {"a": 1, "c": 1}, ""),
        ({"key": HOST}, {"a": 1}, "bcd"),
    ],
)
def test_topology_spread(options, placed, fits):
    pods = {name: [pod(f"{name}{number}") for number in range(count)] for name, count in placed.items()}
    assert spread_over(pod("p", **spreading(**options)), **pods) == list(fits)


def test_which_pods_and_nodes_count_for_topology_spread():
    one = pod("p", **spreading())
    others = [pod("gone", deleted=True), pod("far", namespace="other"), pod("else", app="db")]
    assert spread_over(one, a=others) == ["a", "b", "c"]
    selecting = pod("p", nodeSelector={ZONE: "x"}, **spreading())
    assert spread_over(selecting, a=[pod("1")]) == ["a", "b", "c"]  # only nodes that it selects take part
    assert spread_over(selecting) == ["a", "b", "c"]
    ignoring = pod("p", nodeSelector={ZONE: "x"}, **spreading(nodeAffinityPolicy="Ignore"))
    assert spread_over(ignoring, a=[pod("1")]) == ["c"]
    tainted = [*ZONES[:2], node("c", labels={ZONE: "y"}, taints=[{"key": "k", "effect": "NoSchedule"}])]
    assert spread_over(one, tainted, a=[pod("1")]) == ["c"]
    assert spread_over(pod("p", **spreading(nodeTaintsPolicy="Honor")), tainted, a=[pod("1")]) == ["a", "b", "c"]
    check = topologyspread.spread(one, view(ZONES))
    missing = check(view(ZONES).nodes["d"])
    assert (missing.reasons, missing.resolvable) == (
        ("node(s) didn't match pod topology spread constraints (missing required label)",),
        False,
    )


def test_a_node_needs_the_keys_of_all_constraints_to_be_counted():
    both = spreading()["topologySpreadConstraints"] + spreading(key="rack", skew=9)["topologySpreadConstraints"]
    racks = [
        node("a", labels={ZONE: "x", "rack": "1"}),
        node("c", labels={ZONE: "y", "rack": "1"}),
        node("z", labels={ZONE: "z"}),
    ]
    one = pod("p", topologySpreadConstraints=both)
    assert spread_over(one, racks, a=[pod("1")], c=[pod("2")]) == ["a", "c"]


def test_crowding_by_soft_constraints_and_by_controller():
    placed = {"a": [pod("1"), pod("2", owner="rs")], "c": [pod("3", owner="rs")]}
    cluster = view(ZONES, **placed)

    def crowds(one):
        score = topologyspread.crowding(one, cluster)
        return None if score is None else [score(found) for found in cluster.nodes.values()]

    assert crowds(pod("p", **spreading("ScheduleAnyway"))) == [2, 2, 1, 0]
    assert crowds(pod("p")) is None
    assert crowds(pod("p", owner="rs")) == [2, 1, 2, 0]  # on the node, and in its zone
    assert crowds(pod("p", owner="other")) == [0, 0, 0, 0]
    assert crowds(pod("p", owner="rs", **spreading())) is None


# --- affinity between pods


def terms(*apps, key=ZONE, kind="podAffinity", **more):
    listed = [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more} for app in apps]
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": listed}}}


def fitting(one, **placed):
    cluster = view(ZONES, **placed)
    check = interpodaffinity.affinity(one, cluster, AROUND.namespace_labels)
    return "".join(name for name, found in cluster.nodes.items() if check is None or check(found) is None)


@pytest.mark.parametrize(
    ("one", "placed", "fits"),
    [
        (pod("p"), {}, "abcd"),
        (pod("p", **terms("db")), {}, ""),
        (pod("p", **terms("db")), {"a": [pod("1", app="db")]}, "ab"),
        (pod("p", **terms("db", key=HOST)), {"a": [pod("1", app="db")]}, "a"),
        (pod("p", **terms("web")), {}, "abc"),  # the first of a group
        (pod("p", **terms("web")), {"c": [pod("1")]}, "c"),
        (pod("p", **terms("web", "db")), {}, ""),
        (pod("p", **terms("db")), {"a": [pod("1", app="db", namespace="other")]}, ""),
        (pod("p", **terms("db", namespaces=["other"])), {"a": [pod("1", app="db", namespace="other")]}, "ab"),
        (pod("p", **terms("db", namespaces=["other"])), {"a": [pod("1", app="db")]}, ""),
        (pod("p", **terms("db", namespaceSelector={})), {"a": [pod("1", app="db", namespace="other")]}, "ab"),
        (
            pod("p", **terms("db", namespaceSelector={"matchLabels": {"name": "x"}})),
            {"a": [pod("1", app="db", namespace="other")], "c": [pod("2", app="db", namespace="x")]},
            "c",
        ),
        (pod("p", **terms("db", kind="podAntiAffinity")), {"a": [pod("1", app="db")]}, "cd"),
        (
            pod("p", **terms("db", "x", kind="podAntiAffinity")),
            {"a": [pod("1", app="db")], "c": [pod("2", app="x")]},
            "d",
        ),
        (pod("p", **terms("db", kind="podAntiAffinity")), {"a": [pod("1")], "d": [pod("2", app="db")]}, "abcd"),
        (pod("p"), {"a": [pod("1", app="db", **terms("web", kind="podAntiAffinity"))]}, "cd"),
        (pod("p"), {"d": [pod("1", app="db", **terms("web", kind="podAntiAffinity"))]}, "abcd"),
        (pod("p", app="x"), {"a": [pod("1", app="db", **terms("web", kind="podAntiAffinity"))]}, "abcd"),
        (pod("p"), {"a": [pod("p", **terms("web", kind="podAntiAffinity"))]}, "abcd"),  # itself
    ],
)
def test_affinity_between_pods(one, placed, fits):
    assert fitting(one, **placed) == fits


def test_terms_are_satisfied_by_pods_that_match_all_of_them():
    both = pod("p", **terms("db", "web"))
    assert fitting(both, a=[pod("1", app="db")], b=[pod("2", app="web")]) == ""
    keys = terms("web")["affinity"]["podAffinity"], terms("web", key="rack")["affinity"]["podAffinity"]
    (name,) = keys[0]
    two = pod("p", affinity={"podAffinity": {name: [*keys[0][name], *keys[1][name]]}})
    nodes = [node("a", labels={ZONE: "x"}), node("b", labels={ZONE: "x", "rack": "1"})]
    cluster = view(nodes, a=[pod("1")])  # it matches both terms, but has no rack
    check = interpodaffinity.affinity(two, cluster, AROUND.namespace_labels)
    assert all(check(found) is not None for found in cluster.nodes.values())


def test_preferred_terms_add_up():
    def weighted(app, weight, key=ZONE):
        return {
            "weight": weight,
            "podAffinityTerm": {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key},
        }

    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    one = pod(
        "p",
        affinity={
            "podAffinity": {preferred: [weighted("db", 5), weighted("db", 2, HOST)]},
            "podAntiAffinity": {preferred: [weighted("web", 3)]},
        },
    )
    cluster = view(ZONES, a=[pod("1", app="db"), pod("2")], c=[pod("3"), pod("4")])
    score = interpodaffinity.preference(one, cluster, AROUND.namespace_labels)
    assert [score(found) for found in cluster.nodes.values()] == [4, 2, -6, 0]
    assert interpodaffinity.preference(pod("p"), cluster, AROUND.namespace_labels) is None


# --- volumes

WAITING = {
    "metadata": {"name": "local"},
    "volumeBindingMode": "WaitForFirstConsumer",
    "provisioner": "kubernetes.io/no-provisioner",
}
MADE = {**WAITING, "metadata": {"name": "made"}, "provisioner": "csi.example.com"}


def claim(name, storage_class="local", *, size="2Gi", modes=("ReadWriteOnce",), volume="", bound=False, **annotations):
    meta = {"name": name, "annotations": dict(annotations)}
    if bound:
        meta["annotations"][volumefit.BIND_COMPLETED] = "yes"
    spec = {"storageClassName": storage_class, "accessModes": list(modes), "resources": {"requests": {"storage": size}}}
    return {"metadata": meta, "spec": spec | ({"volumeName": volume} if volume else {})}


def volume(name, size="2Gi", storage_class="local", *, modes=("ReadWriteOnce",), on="", taken=False):
    spec = {"capacity": {"storage": size}, "storageClassName": storage_class, "accessModes": list(modes)}
    if on:
        terms_of = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [on]}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms_of}}
    return {"metadata": {"name": name}, "spec": spec | ({"claimRef": {"name": "x"}} if taken else {})}


def using(*names):
    return pod("p", volumes=[{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names])


@pytest.mark.parametrize(
    ("shelf", "problem"),
    [
        (Shelf(), 'persistentvolumeclaim "c" not found'),
        (
            Shelf([{**claim("c"), "metadata": {"name": "c", "deletionTimestamp": "t"}}]),
            'persistentvolumeclaim "c" is being deleted',
        ),
        (Shelf([claim("c", "")]), "pod has unbound immediate PersistentVolumeClaims"),
        (
            Shelf([claim("c", "now")], [], [{"metadata": {"name": "now"}}]),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
def test_claims_that_no_node_can_help(shelf, problem):
    with pytest.raises(Unschedulable) as raised:
        volumefit.claims_of(using("c"), shelf)
    assert str(raised.value) == problem


def test_claims_of_a_pod():
    bound, waiting = claim("b", volume="v", bound=True), claim("p-e")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    waiting["metadata"] |= {"namespace": "ns", "ownerReferences": [owner]}
    shelf = Shelf([bound, waiting], [volume("v")], [WAITING])
    one = pod("p", volumes=[{"name": "b", "persistentVolumeClaim": {"claimName": "b"}}, {"name": "e", "ephemeral": {}}])
    one.pod["spec"]["volumes"][1]["ephemeral"] = {"volumeClaimTemplate": {}}
    found = volumefit.claims_of(one, shelf)
    assert ([v["metadata"]["name"] for v in found.bound], list(found.waiting)) == (["v"], [waiting])
    assert volumefit.claims_of(pod("p", volumes=[{"name": "x", "emptyDir": {}}]), shelf) is None
    assert volumefit.binding(None, shelf) is None


TOPOLOGY = [{"matchLabelExpressions": [{"key": ZONE, "values": ["x"]}]}]


@pytest.mark.parametrize(
    ("claims", "volumes", "classes", "fits"),
    [
        ([claim("c", volume="v", bound=True)], [volume("v", on="a")], [], "a"),
        ([claim("c", volume="v", bound=True)], [volume("v")], [], "abcd"),
        ([claim("c")], [volume("v", on="b")], [WAITING], "b"),
        ([claim("c")], [volume("v", on="b", taken=True)], [WAITING], ""),
        ([claim("c")], [volume("v", "1Gi")], [WAITING], ""),
        ([claim("c")], [volume("v", storage_class="other")], [WAITING], ""),
        ([claim("c", modes=["ReadWriteMany"])], [volume("v")], [WAITING], ""),
        ([claim("c", "made")], [], [MADE], "abcd"),
        ([claim("c", "made")], [], [{**MADE, "allowedTopologies": TOPOLOGY}], "ab"),
        ([claim("c", "made", **{volumefit.SELECTED_NODE: "c"})], [], [MADE], "c"),
        ([claim("c", "made"), claim("d")], [volume("v", on="d")], [MADE, WAITING], "d"),
    ],
)
def test_nodes_where_volumes_can_be_used(claims, volumes, classes, fits):
    shelf = Shelf(claims, volumes, classes)
    check = volumefit.binding(volumefit.claims_of(using(*(one["metadata"]["name"] for one in claims)), shelf), shelf)
    assert "".join(name for name, found in view(ZONES).nodes.items() if check(found) is None) == fits


def test_the_smallest_volume_is_chosen_then_the_first_by_name():
    shelf = Shelf([], [volume("c", "3Gi"), volume("b", "2Gi"), volume("a", "2Gi"), volume("d", "1Gi")])
    found = view([node("a")]).nodes["a"]
    assert volumefit.volume_for(claim("x"), found, shelf)["metadata"]["name"] == "a"
    assert volumefit.volume_for(claim("x", size="9Gi"), found, shelf) is None


# --- scores and choice


def test_least_allocated_and_balanced():
    cluster = view([node("a", cpu="4", memory="800Mi"), node("none", cpu="0", memory="0")], a=[pod("x", "1")])
    found = cluster.nodes["a"]
    assert noderoom.least_allocated(*noderoom.used_parts(pod("p", "1"), found)) == (0.5 + 0.5) / 2 * 100
    assert noderoom.balanced_allocation(*noderoom.used_parts(pod("p", "2"), found)) == (1 - 0.25 / 2) * 100
    assert noderoom.least_allocated(*noderoom.used_parts(pod("p", "9"), found)) == 25.0
    assert noderoom.least_allocated(*noderoom.used_parts(pod("p"), cluster.nodes["none"])) == 0.0


def test_the_weights_of_scores():
    taint = {"key": "k", "effect": "PreferNoSchedule"}
    nodes = [
        node("a", labels={"disk": "ssd"}),
        node("b", taints=[taint]),
        node("c", taints=[taint, taint | {"key": "l"}]),
    ]
    cluster = view(nodes)
    found = list(cluster.nodes.values())
    plain = total_scores(pod("p"), [found[0]], cluster, AROUND)["a"]
    parts = noderoom.used_parts(pod("p"), found[0])
    assert plain == int(noderoom.least_allocated(*parts)) + int(noderoom.balanced_allocation(*parts)) > 0
    assert total_scores(pod("p"), found, cluster, AROUND) == {"a": plain + 300, "b": plain + 150, "c": plain}
    expression = {"key": "disk", "operator": "Exists"}
    rule = [{"weight": 1, "preference": {"matchExpressions": [expression]}}]
    wants = pod("p", affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": rule}})
    assert total_scores(wants, found, cluster, AROUND)["a"] == plain + 500
    owned = pod("p", owner="rs")
    cluster.place(pod("x", "0", owner="rs"), "b")
    scores = total_scores(owned, found, cluster, AROUND)
    assert scores["a"] - scores["c"] == 300
    assert total_scores(pod("q"), found, cluster, AROUND)["a"] == scores["a"] - 200


def test_nominated_pods_take_room_only_while_a_node_is_chosen():
    cluster = view([node("a", cpu="2"), node("b", cpu="2")])
    assert place(pod("p", "2"), cluster, AROUND, [("a", pod("n", "1"))], lambda names: names[0]) == "b"
    assert cluster.nodes["a"].pods == {}
    with pytest.raises(NoFit) as raised:
        place(pod("p", "2"), cluster, AROUND, [("a", pod("n", "1")), ("b", pod("m", "1"))], lambda names: names[0])
    assert str(raised.value) == "0/2 nodes are available: 2 Insufficient cpu."
    assert raised.value.plugins() == {"NodeResourcesFit"}
    assert place(pod("p", "2"), cluster, AROUND, [], lambda names: "/".join(names)) == "a/b"
    with pytest.raises(NoFit, match="no nodes available to schedule pods"):
        place(pod("p"), view([]), AROUND, [], min)
    with pytest.raises(NoFit) as raised:
        place(using("c"), cluster, AROUND, [], min)
    assert raised.value.text("more") == '0/2 nodes are available: persistentvolumeclaim "c" not found. more'
    assert raised.value.plugins() == {"VolumeBinding"}


# --- preemption


def preempting(one, cluster, budgets=()):
    try:
        return place(one, cluster, AROUND, [], lambda names: names[0])
    except NoFit as fit:
        found, text = preemption.candidates(one, cluster, AROUND, fit, budgets)
        return found, text


def victims(one, cluster, budgets=()):
    found, _ = preempting(one, cluster, budgets)
    return {each.node: ([v.name for v in each.victims], each.violations) for each in found}


def budget(allowed, app="web", *, namespace="ns", disrupted=(), selector=True):
    labels = {"matchLabels": {"app": app}} if selector else {}
    status = {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, "t")}
    return {"metadata": {"namespace": namespace}, "spec": {"selector": labels}, "status": status}


def test_the_least_important_pods_go():
    cluster = view(
        [node("a")], a=[pod("high", "1", 5), pod("old", "1", 1, start=1), pod("new", "1", 1, start=2), pod("low", "1")]
    )
    before = dict(cluster.nodes["a"].pods)
    assert victims(pod("p", "1", 9), cluster) == {"a": (["low"], 0)}
    assert victims(pod("p", "2", 9), cluster) == {"a": (["new", "low"], 0)}
    assert victims(pod("p", "4", 9), cluster) == {"a": (["high", "old", "new", "low"], 0)}
    assert dict(cluster.nodes["a"].pods) == before


def test_pods_of_the_same_priority_stay():
    cluster = view(
        [node("a"), node("b"), node("c", cpu="1")], a=[pod("x", "4", 5)], b=[pod("y", "3", 5), pod("z", "1", 4)]
    )
    assert preempting(pod("p", "4", 5), cluster) == (
        [],
        "0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling.",
    )


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        ([], (["b"], 0)),
        ([budget(1)], (["c"], 0)),
        ([budget(2)], (["b"], 0)),
        ([budget(0)], (["c"], 0)),  # the pods of the budget are reprieved first
        ([budget(0, namespace="other")], (["b"], 0)),
        ([budget(0, selector=False)], (["b"], 0)),
        ([budget(0, disrupted=["a", "b"])], (["b"], 0)),
        ([budget(0), budget(0, app="db")], (["b"], 1)),
    ],
)
def test_budgets_decide_who_is_reprieved(budgets, expected):
    placed = [pod("a", "1", start=1), pod("b", "1", start=3), pod("c", "1", app="db", start=2)]
    assert victims(pod("p", "2", 9), view([node("a")], a=placed), budgets) == {"a": expected}


def test_a_budget_allows_as_many_disruptions_as_it_says():
    placed = [pod(name, "1", start=number) for number, name in enumerate("abcd")]
    cluster = view([node("a")], a=placed)
    for allowed in range(5):
        assert victims(pod("p", "4", 9), cluster, [budget(allowed)]) == {"a": (list("abcd"), 4 - allowed)}


ROWS = st.lists(
    st.tuples(st.sampled_from(["1", "2", "3"]), st.integers(-1, 3), st.integers(0, 5), st.booleans()), max_size=4
)


@settings(max_examples=150)
@given(ROWS, st.integers(1, 4), st.integers(0, 2))
def test_victims_are_those_of_the_model(rows, size, allowed):
    """All pods of lower priority leave; then they come back while the pod still fits, those that violate budgets first."""
    free, placed = 4, []
    for number, (cpu, priority, start, labelled) in enumerate(rows):
        if int(cpu) <= free:
            free -= int(cpu)
            placed.append(pod(f"p{number}", cpu, priority, start=start, app="web" if labelled else ""))
    new, cluster = pod("new", str(size), 2), view([node("a")], a=placed)
    if size <= free:
        return
    lower = sorted(
        (one for one in placed if one.priority < 2),
        key=lambda one: (-one.priority, one.pod["status"]["startTime"], one.name),
    )
    room = free + sum(one.requests["cpu"] // 1000 for one in lower)
    if not lower or room < size:
        assert victims(new, cluster, [budget(allowed)]) == {}
        return
    covered = [one for one in lower if one.labels]
    violating = covered[allowed:]
    gone = []
    for one in [*violating, *(each for each in lower if each not in violating)]:
        if room - one.requests["cpu"] // 1000 >= size:
            room -= one.requests["cpu"] // 1000
        else:
            gone.append(one)
    expected = [one.name for one in lower if one in gone]
    assert victims(new, cluster, [budget(allowed)]) == {"a": (expected, sum(one in violating for one in gone))}


def candidate(name, *rows, violations=0):
    listed = [pod(f"{name}{i}", priority=priority, start=start) for i, (priority, start) in enumerate(rows)]
    return preemption.Candidate(name, tuple(listed), violations)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (candidate("a", (9, 1), (9, 1)), candidate("b", (1, 5), violations=1)),
        (candidate("a", (1, 1), (1, 1), (1, 1)), candidate("b", (2, 5))),
        (candidate("a", (3, 1), (1, 1)), candidate("b", (3, 5), (2, 5))),
        (candidate("a", (0, 1)), candidate("b", (0, 5), (0, 5))),
        (candidate("a", (-5, 1)), candidate("b", (-5, 5), (-5, 5))),  # the sum counts each victim
        (candidate("a", (5, 1)), candidate("b", (5, 5), (-3, 5))),
        # three victims are less than two if their priorities are low enough
        (
            candidate("a", (10**9, 1), (-(10**9) - 5 * 10**8, 1), (-(10**9) - 5 * 10**8, 1)),
            candidate("b", (10**9, 5), (10**9, 5)),
        ),
        (candidate("a", (3, 5), (1, 0)), candidate("b", (3, 4), (1, 9))),  # the later start of the most important one
        (candidate("a", (3, 5), (3, 6)), candidate("b", (3, 4), (3, 9))),
        (candidate("a", (3, 5)), candidate("b", (3, 5))),  # the first one
    ],
)
def test_the_node_where_preemption_does_the_least_harm(better, worse):
    assert preemption.best([better, worse]).node == "a"
    if better.victims[0].pod["status"] != worse.victims[0].pod["status"] or len(better.victims) != len(worse.victims):
        assert preemption.best([worse, better]).node == "a"


@pytest.mark.fakekube(controllers=["scheduler"])
def test_a_pod_waits_for_the_victims_on_its_nominated_node(fakekube):
    cluster.priority(fakekube, "low", 1)
    cluster.priority(fakekube, "high", 10)
    cluster.add(fakekube, cluster.node("a", cpu="2"))
    for name in ("one", "two"):
        cluster.place(fakekube, cluster.pod(name, cpu="1", priorityClassName="low"))
    assert cluster.place(fakekube, cluster.pod("p", cpu="1", priorityClassName="high")) is None
    assert len(fakekube.events(reason="Preempted")) == 1
    fakekube.patch("v1", "Node", "a", {"metadata": {"labels": {"look": "again"}}}, "")
    fakekube.advance(5)
    assert cluster.why(fakekube, "p").endswith("not eligible due to a terminating pod on the nominated node.")
    assert len(fakekube.events(reason="Preempted")) == 1


@pytest.mark.fakekube(controllers=["scheduler"])
def test_a_pod_whose_class_never_preempts_waits(fakekube):
    cluster.priority(fakekube, "polite", 10, preemptionPolicy="Never")
    cluster.add(fakekube, cluster.node("a", cpu="1"))
    cluster.place(fakekube, cluster.pod("one", cpu="1"))
    assert cluster.place(fakekube, cluster.pod("p", cpu="1", priorityClassName="polite")) is None
    assert cluster.why(fakekube, "p").endswith("preemption: not eligible due to preemptionPolicy=Never.")
    assert fakekube.events(reason="Preempted") == []


def test_nodes_where_preemption_does_not_help():
    fit = NoFit(2, {"a": Rejection("X", ("no",), resolvable=False)})
    found, text = preemption.candidates(pod("p", priority=5), view([node("a"), node("b")]), AROUND, fit, [])
    assert (list(found), text) == ([], "0/2 nodes are available: 2 Preemption is not helpful for scheduling.")


# --- trying again


def test_pods_wait_until_an_event_concerns_them():
    waiting, key, other = UnschedulablePods(), Request("ns", "p"), Request("ns", "q")
    waiting.tried(key, "u", 3, frozenset({"PodTopologySpread"}), 100.0)
    waiting.tried(other, "v", 0, frozenset({"NodeAffinity"}), 100.0)
    assert waiting.released(ASSIGNED_POD_ADDED, 100.25) == [(key, 0.75, 3)]
    assert waiting.released(ASSIGNED_POD_ADDED, 100.25) == []  # once
    waiting.tried(key, "u", 3, frozenset(), 101.0)
    assert waiting.released(ASSIGNED_POD_ADDED, 101.0) == [(key, 2.0, 3)]  # without plugins: by any event
    waiting.tried(key, "new", 3, frozenset(), 102.0)
    assert sorted(waiting.released(None, 110.0), key=str) == [(key, 0.0, 3), (other, 0.0, 0)]
    waiting.tried(key, "new", 3, frozenset(), 111.0)
    waiting.forget(key)
    assert waiting.released(None, 200.0) == []
