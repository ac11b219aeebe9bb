"""What the tests of detectors have in common: an operator of Databases, and the findings at the end."""

import kopf
import kubernetes

from fakekube.harness.engine import engine_of
from tests.harness.planted import API, CRD, database


def texts(kube):
    """The findings when the test is over."""
    engine_of(kube).check_findings(warn=lambda warning: None)
    return [str(one) for one in kube.findings]


def found(kube):
    """The names of the detectors that have found something, when the test is over."""
    return sorted({text[1 : text.index("]")] for text in texts(kube)})


def operator(reconcile, *, owns=()):
    """An operator with a controller of Databases."""

    def add(manager):
        controller = manager.controller("c").for_(API, "Database")
        for kind in owns:
            controller = controller.owns(*kind)
        controller.complete(reconcile)

    return add


def read(client, request):
    return client.get(API, "Database", request.name, request.namespace)


def run(kube, reconcile, *, owns=(), seconds=60, **options):
    kube.apply(CRD, database())
    started = kube.start(operator(reconcile, owns=owns), **options)
    kube.advance(seconds)
    return started


def resize(kube, size=2):
    kube.patch(API, "Database", "a", {"spec": {"size": size}})


def start_kopf(kube, register, seconds=60):
    """Start an operator of kopf for Databases, whose handlers `register(registry)` adds, and create one."""
    kube.apply(CRD)
    kube.access.configure()
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)
    register(registry)
    task = kube.task(kopf.operator(registry=registry, namespaces=["default"], standalone=True), name="kopf-op")
    kube.apply(database())
    kube.advance(seconds)
    return task


def start_program(kube, function, *arguments, seconds=60):
    """Start a thread with the official client, which is the first argument of `function`, and a Database."""
    kube.apply(CRD, database())
    kube.thread(function, kubernetes.client.CoreV1Api(kube.access.api_client()), *arguments, name="program")
    kube.advance(seconds)
