"""Which exceptions the stored spec of a pod gets in an update: one for each rule that one of its items violates
(`pkg/api/pod.GetValidationOptionsFromPodSpecAndMeta`)."""

import pytest

from fakekube.apiserver.registry.core.pod.validation.ratcheting import options_after

COST = "controller.kubernetes.io/pod-deletion-cost"


def selector(value, field="labelSelector"):
    return {field: {"matchExpressions": [{"key": "a", "operator": "In", "values": ["ok", value]}]}}


def node(value):
    return {"matchExpressions": [{"key": "a", "operator": "In", "values": ["ok", value]}]}


def affinity(kind, *terms, preferred=False):
    if preferred:
        wrapped = [{"weight": 1, "podAffinityTerm": term} for term in terms]
        return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": wrapped}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}}


def nodes(*terms):
    return {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
        }
    }


def pages(size, kind="limits"):
    return {"resources": {kind: {"cpu": "1", "hugepages-2Mi": size}}}


def tokens(*paths):
    sources = [{"secret": {}}, *({"serviceAccountToken": {"path": path}} for path in paths)]
    return {"volumes": [{"name": "e", "emptyDir": {}}, {"name": "p", "projected": {"sources": sources}}]}


def resizes(*policies, **more):
    return {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": policy} for policy in policies], **more}


def sysctls(*names, **spec):
    return {"securityContext": {"sysctls": [{"name": name} for name in names]}, **spec}


GOOD, BAD = (
    {"labelSelector": {"matchLabels": {"a": "b"}}},
    {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "No"}]}},
)
KEYS = {**GOOD, "matchLabelKeys": ["ok"]}
BAD_KEYS = {**GOOD, "matchLabelKeys": ["a b"]}

#: Exception -> specs that need it.
NEEDED = {
    "any_selector_values": [
        affinity("podAffinity", selector("ok"), selector("a b")),
        affinity("podAffinity", selector("a b"), selector("ok")),
        affinity("podAntiAffinity", selector("ok"), selector("a b", "namespaceSelector")),
        affinity("podAffinity", selector("a b"), preferred=True),
        affinity("podAntiAffinity", selector("a b", "namespaceSelector"), preferred=True),
    ],
    "any_node_values": [nodes(node("ok"), node("a b")), nodes(node("a b"), node("ok"))],
    "partial_pages": [
        {"containers": [pages("2Mi"), pages("1Mi")]},
        {"containers": [pages("1Mi"), pages("2Mi")]},
        {"containers": [pages("2Mi")], "initContainers": [pages("3Mi", "requests")]},
    ],
    "any_spread_selectors": [{"topologySpreadConstraints": [GOOD, BAD]}, {"topologySpreadConstraints": [BAD, GOOD]}],
    "old_spread_keys": [
        {"topologySpreadConstraints": [KEYS, BAD_KEYS]},
        {"topologySpreadConstraints": [BAD_KEYS, GOOD]},
    ],
    "any_token_paths": [tokens("ok", "../up"), tokens("/absolute", "ok"), tokens("..reserved")],
    "any_sysctls": [
        sysctls("kernel.a", "net.a", hostNetwork=True),
        sysctls("net.a", "kernel.a", hostNetwork=True),
        sysctls("kernel.shmall", "net.a", hostIPC=True),
    ],
    "restarting_init_containers": [
        {"initContainers": [{}, resizes("NotRequired", "RestartContainer")]},
        {"initContainers": [resizes("RestartContainer", "NotRequired"), resizes("NotRequired")]},
    ],
    "devices_without_host_users": [
        {"hostUsers": False, "containers": [{}, {"volumeDevices": [{"name": "d"}]}]},
        {"hostUsers": False, "containers": [{"volumeDevices": [{"name": "d"}]}, {}]},
    ],
    "host_network_without_host_users": [{"hostUsers": False, "hostNetwork": True}],
}


def exceptions(spec, meta=None, **how):
    found = options_after(spec, meta or {}, is_pod=True, **how)
    return [name for name in found.__struct_fields__ if name != "is_pod" and getattr(found, name)]


@pytest.mark.parametrize(("name", "spec"), [(name, spec) for name, specs in NEEDED.items() for spec in specs])
def test_one_violation_is_enough_for_an_exception_from_its_rule_alone(name, spec):
    assert exceptions(spec) == [name]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        affinity("podAffinity", selector("ok"), selector("ok", "namespaceSelector")),
        nodes(node("ok"), node("fine")),
        {"containers": [pages("2Mi"), pages("4Mi", "requests")], "initContainers": [pages("2Mi")]},
        {"topologySpreadConstraints": [GOOD, KEYS]},
        tokens("ok", "a/b"),
        sysctls("kernel.a", "net.a"),
        sysctls("net.a", hostIPC=True),
        sysctls("kernel.shmall", hostNetwork=True),
        {"initContainers": [resizes("RestartContainer", restartPolicy="Always"), resizes("NotRequired")]},
        {"containers": [resizes("RestartContainer")]},
        {"containers": [{"volumeDevices": [{"name": "d"}]}]},
        {"hostUsers": True, "hostNetwork": True, "containers": [{"volumeDevices": [{"name": "d"}]}]},
        {"hostUsers": False, "containers": [{"volumeMounts": [{"name": "d"}]}]},
    ],
)
def test_a_valid_spec_gets_no_exception(spec):
    assert exceptions(spec) == []


@pytest.mark.parametrize(
    ("cost", "needed"), [("0", False), ("5", False), ("-5", False), ("2147483647", False), ("2147483648", True), ("x", True), ("", True), ("+5", True)]
)  # fmt: skip
def test_costs_of_deletions_that_were_stored(cost, needed):
    assert exceptions({}, {"annotations": {COST: cost}}) == (["any_deletion_cost"] if needed else [])


@pytest.mark.parametrize("is_pod", [True, False])
def test_a_template_is_no_pod(is_pod):
    assert options_after({}, {}, is_pod=is_pod).is_pod is is_pod
