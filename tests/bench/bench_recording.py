"""What recording costs a reconcile-heavy test: `pytest tests/bench/bench_recording.py`.

The same operator runs with all records, and with an observer and listeners that do nothing. CPU seconds are counted,
those of the garbage collector, too.
Goal: at most 10 % where every second reconcile writes, with the detectors off. The share with detectors, and that of a
reconcile that only reads its cache and so costs little more than its recording, are shown without a goal.
"""

import gc
import time
from collections import Counter
from statistics import median

import pytest

from controllerlib import Result
from controllerlib.observer import NOOP_OBSERVER
from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from fakekube.harness.operators import managers

OBJECTS, HOURS, PAIRS = 10, 24, 25

MAPS = [
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{i:02}", "namespace": "default"}}
    for i in range(OBJECTS)
]


def operator(writes):
    def build(manager):
        runs = Counter()

        async def reconcile(request, client):
            found = await client.get("v1", "ConfigMap", request.name, namespace=request.namespace)
            runs[request] += 1
            if writes and runs[request] % 2:
                await client.update({**found, "data": {"run": str(runs[request])}})
            return Result(requeue_after=900)

        manager.controller("minder").for_("v1", "ConfigMap").complete(reconcile)

    return build


def seconds(recording, writes, detectors="off"):
    """The CPU seconds of a day, in which each object is reconciled every quarter of an hour, and after each write."""
    gc.collect()
    settings_of = managers.settings_of
    try:
        if not recording:
            managers.settings_of = lambda bubble, observer, *more: settings_of(bubble, NOOP_OBSERVER, *more)
        with FakeKube(wall_clock=False, detect={"all": detectors} if detectors else {}) as kube:
            if not recording:
                engine_of(kube).server._request_listeners.clear()
                engine_of(kube).server._listeners.clear()
            for one in MAPS:
                kube.create(one)
            kube.start(operator(writes))
            began = time.process_time()
            kube.advance(hours=HOURS)
            return time.process_time() - began
    finally:
        managers.settings_of = settings_of


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("writes", "goal"), [(True, 0.10), (False, None)], ids=["every second one writes", "none writes"]
)
def test_recording(benchmark, writes, goal):
    """Runs one after the other are compared, and the median is shown: a pair that was disturbed does not count."""
    kinds = [(True, "off"), (True, ""), (False, "off")]
    rounds = [[seconds(recording, writes, detectors) for recording, detectors in kinds] for _ in range(PAIRS)]
    share = median(recorded / bare for recorded, _, bare in rounds) - 1
    with_detectors = median(detected / bare for _, detected, bare in rounds) - 1
    benchmark.pedantic(seconds, args=(True, writes), rounds=1)
    benchmark.extra_info["share of recording"] = f"{share:.1%}"
    benchmark.extra_info["share of recording and detectors"] = f"{with_detectors:.1%}"
    print(f"recording costs {share:.1%}, with detectors {with_detectors:.1%}")
    assert goal is None or share <= goal
