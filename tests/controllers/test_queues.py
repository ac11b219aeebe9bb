"""The workers of each controller, and the delays of its retries."""

import pytest

from fakekube.controllers.catalogue import CONTROLLERS
from fakekube.controllers.controllermanager import controller_manager
from fakekube.controllers.serviceendpoints import endpointscontroller, endpointslice, mirroring
from fakekube.controllers.settings import Settings

#: How many workers each controller has if not one: kube-controller-manager's --concurrent-... options, or what its
#: `newXController` starts. Two queues that one controller serves here add their workers.
WORKERS = {
    "serviceaccount-token-controller": 10,
    "endpoints-controller": 5,
    "endpointslice-controller": 5,
    "endpointslice-mirroring-controller": 5,
    "replicationcontroller-controller": 5,
    "resourcequota-controller": 10,
    "namespace-controller": 10,
    "garbage-collector-controller": 20,
    "daemonset-controller": 2,
    "job-controller": 5,
    "job-controller-orphan-pods": 5,
    "deployment-controller": 5,
    "replicaset-controller": 5,
    "horizontal-pod-autoscaler-controller": 5,
    "statefulset-controller": 5,
    "cronjob-controller": 5,
    "certificatesigningrequest-signing-controller": 20,
    "certificatesigningrequest-approving-controller": 5,
    "ttl-controller": 5,
    "taint-eviction-controller": 8,
    "persistentvolume-expander-controller": 10,
    "clusterrole-aggregation-controller": 5,
    "ttl-after-finished-controller": 5,
    "ephemeral-volume-controller": 5,
    "resourceclaim-controller": 50,
    "service-cidr-controller": 5,
    "validatingadmissionpolicy-status-controller": 5,
    "kubelet": 10,
    "kubelet-node": 10,
    "external-provisioner": 4,
}

#: The first, the second and the longest delay of a key that fails, and whether all keys share a bucket of tokens, where
#: the queue is not controllerlib's default one (`workqueue.NewTypedItem...RateLimiter` of the controller).
RETRIES = {
    "endpointslice-controller": (1.0, 2.0, 1000.0, False),
    "endpointslice-mirroring-controller": (1.0, 2.0, 100.0, False),
    "namespace-controller": (0.005, 0.01, 60.0, True),
    "job-controller": (1.0, 2.0, 60.0, False),
    "job-controller-orphan-pods": (1.0, 2.0, 60.0, False),
    "horizontal-pod-autoscaler-controller": (15.0, 15.0, 15.0, False),
    "disruption-controller": (0.005, 0.01, 1000.0, True),
    "disruption-controller-stale-pods": (0.005, 0.01, 1000.0, True),
    "cronjob-controller": (0.005, 0.01, 1000.0, True),
    "certificatesigningrequest-signing-controller": (0.2, 0.4, 1000.0, True),
    "certificatesigningrequest-approving-controller": (0.2, 0.4, 1000.0, True),
    "ttl-after-finished-controller": (0.005, 0.01, 1000.0, True),
}

#: The controllers whose queue has no priorities: what is asked last is not done last there.
PLAIN = {
    "serviceaccount-token-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "job-controller",
    "job-controller-orphan-pods",
    "horizontal-pod-autoscaler-controller",
    "disruption-controller",
    "disruption-controller-stale-pods",
    "cronjob-controller",
    "certificatesigningrequest-signing-controller",
    "certificatesigningrequest-approving-controller",
    "ttl-after-finished-controller",
    "service-cidr-controller",
}


@pytest.fixture(scope="module")
def options():
    names = [one.name for one in CONTROLLERS if one.module]
    settings = Settings(root_ca="PEM", sign_token=lambda claims: "")
    manager = controller_manager(names, lambda user: None, settings).manager
    return {name: controller.options for name, controller in manager.controllers.items()}


def delays(limiter):
    """The first, second and longest delay of a key, and whether the 101st key at once waits for a token."""
    mine = [limiter.when("a", 0.0) for _ in range(30)]
    others = [limiter.when(f"{number}", 0.0) for number in range(100)]
    return mine[0], mine[1], mine[-1], others[-1] > mine[0]


def test_each_controller_has_its_workers(options):
    assert {name: one.max_concurrent_reconciles for name, one in options.items()} == dict.fromkeys(options, 1) | WORKERS


def test_each_controller_has_its_delays_of_retries(options):
    assert {name: delays(one.rate_limiter()) for name, one in options.items() if one.rate_limiter} == RETRIES


def test_each_controller_has_its_kind_of_queue(options):
    assert {name for name, one in options.items() if not one.use_priority_queue} == PLAIN


@pytest.mark.parametrize("module", [endpointscontroller, endpointslice, mirroring])
def test_the_controllers_of_endpoints_give_up_after_fifteen_retries(module):
    """`maxRetries` of each of them."""
    assert module.RETRIES == 15
