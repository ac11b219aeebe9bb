"""Fifty objects, three controllers, 24 virtual hours and all kinds of faults, which give the same log in each run.

Controllers a (3 workers), b (2) and c (2); 10 h resync; 5 % of their requests answered 409, 500 or 429; 1 of 11
reconciles fails; exponential back-off from 5 ms to 1000 s; requeues after about 4, 6 and 12 h; what the wall clock says
goes into the objects. As a script it prints, for each run, the digest of the log, real seconds, reconciles and
requests:

    python -m tests.determinism.scenario direct --runs 5
"""

import argparse
import hashlib
import logging
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime

from controllerlib import ControllerOptions, Manager, Result
from controllerlib.controller import generation_changed
from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from tests.determinism import wholecluster

API, KIND, PLURAL = "example.com/v1", "Widget", "widgets"
HOUR = 3600

#: controller -> workers, hours between its runs, whether it looks at changes of the spec only
CONTROLLERS = {"a": (3, 4, False), "b": (2, 6, True), "c": (2, 12, True)}

#: kind of run -> how the operators reach the server
KINDS = {"direct": "direct", "memory": "memory", "tcp": "tcp", "threads": "tcp"}

#: The kind of run without these operators: all controllers of a cluster (`wholecluster`).
WHOLE_CLUSTER = "controllers"

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": PLURAL, "singular": "widget", "kind": KIND, "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}


def widget(number):
    meta = {"name": f"w{number:02}", "namespace": "default"}
    return {"apiVersion": API, "kind": KIND, "metadata": meta, "spec": {"size": number}}


class Work:
    """What a controller does with an object, apart from reading and writing."""

    def __init__(self, kube, name, hours):
        self.name, self._seed, self._period = name, engine_of(kube).bubble.seed, hours * HOUR
        self._tries = Counter()

    def fail_sometimes(self, key):
        self._tries[key] += 1
        if self._seed.float(f"fail {self.name}", key, self._tries[key]) < 1 / 11:
            raise RuntimeError("it failed")

    def due(self, found):
        """The status to write, if it is time."""
        before = found.get("status", {}).get(self.name)
        if before and time.time() - before["time"] < self._period / 2:
            return None
        runs = before["runs"] + 1 if before else 1
        return {"status": {self.name: {"now": datetime.now(UTC).isoformat(), "time": time.time(), "runs": runs}}}

    def again(self, key):
        jitter = self._seed.float(f"jitter {self.name}", key, self._tries[key])
        return Result(requeue_after=self._period * (1 + 0.1 * jitter))


def awaiting(manager, work):
    """The reconciler as a coroutine of controllerlib's client."""

    async def reconcile(request, client):
        key = str(request)
        found = await manager.api_reader.get(API, KIND, request.name, namespace=request.namespace)
        work.fail_sometimes(key)
        if status := work.due(found):
            await client.patch_status(found, status)
        return work.again(key)

    return reconcile


def blocking(api, work):
    """The reconciler as a function of the official client, for a thread."""
    group, version = API.split("/")

    def reconcile(request):
        key = str(request)
        where = (group, version, request.namespace, PLURAL, request.name)
        found = api.get_namespaced_custom_object(*where)
        work.fail_sometimes(key)
        if status := work.due(found):
            api.patch_namespaced_custom_object_status(*where, status)
        return work.again(key)

    return reconcile


def build(kube, kind):
    def add(manager: Manager):
        for name, (workers, hours, spec_only) in CONTROLLERS.items():
            work = Work(kube, name, hours)
            reconcile = blocking(official_api(kube), work) if kind == "threads" else awaiting(manager, work)
            builder = manager.controller(name).for_(API, KIND, predicates=[generation_changed] if spec_only else [])
            builder.with_options(ControllerOptions(max_concurrent_reconciles=workers)).complete(reconcile)

    return add


def official_api(kube):
    from kubernetes import client

    return client.CustomObjectsApi(kube.access.api_client())


def run(kind, seed=2026, hours=24):
    """One run: its log, reconciles and requests."""
    if kind == WHOLE_CLUSTER:
        return wholecluster.run(seed)
    with FakeKube(seed=seed, transport=KINDS[kind], detect={"all": "off"}) as kube, ExitStack() as trouble:
        for code, share in ((409, 0.05), (500, 0.05 / 3), (429, 0.05 / 3)):  # conflicts are of writes alone
            trouble.enter_context(kube.fault(resource=PLURAL, name="w*", error=code, share=share))
        kube.apply(CRD, *(widget(number) for number in range(50)))
        kube.start(build(kube, kind))
        kube.advance(hours=hours)
        return kube.log(), len(kube.ledger), len(kube.requests())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=[*KINDS, WHOLE_CLUSTER])
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--hours", type=int, default=24, help="of the operators; the whole cluster has its own time")
    parser.add_argument("--log", help="write the last run's log to this file")
    asked = parser.parse_args()
    logging.disable()  # failures are part of the plan
    for _ in range(asked.runs):
        began = time.perf_counter()
        log, reconciles, requests = run(asked.kind, asked.seed, asked.hours)
        took = time.perf_counter() - began
        print(hashlib.sha256(log.encode()).hexdigest(), f"{took:.3f}", reconciles, requests, flush=True)
    if asked.log:
        with open(asked.log, "w") as file:
            file.write(log)


if __name__ == "__main__":
    main()
