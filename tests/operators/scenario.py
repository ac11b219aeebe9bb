"""The published operators, each for some hours of virtual time, which give the same log in each run.

As a script it prints, for each run, the digest of the log, real seconds and requests:

    python -m tests.operators.scenario patroni --runs 5
"""

import argparse
import hashlib
import importlib
import logging
import re
import time
import warnings
from functools import partial

from fakekube import FakeKube

#: name -> module and keyword arguments of its `start` and `scenario`
OPERATORS = {
    "dask-gateway": ("test_dask_gateway", {}),
    "dask-kubernetes": ("test_dask_kubernetes", {}),
    "informer": ("test_informer", {}),
    "kopf-handlers": ("test_kopf_handlers", {}),
    "leaders-kubernetes": ("test_leader_election", {"library": "kubernetes"}),
    "leaders-kubernetes.aio": ("test_leader_election", {"library": "kubernetes.aio"}),
    "leaders-kubernetes_asyncio": ("test_leader_election", {"library": "kubernetes_asyncio"}),
    "luigi": ("test_luigi", {}),
    "opentf": ("test_opentf", {}),
    "patroni": ("test_patroni", {}),
}

#: Keys and certificates that OpenSSL makes for dask-gateway; their randomness has no seed.
KEYS = re.compile(r'"dask\.(crt|pem)":"[^"]*"')


def cluster(name, seed=2026):
    """A cluster with the controllers that the operator needs."""
    module, _ = OPERATORS[name]
    found = importlib.import_module(f"tests.operators.{module}")
    return FakeKube(seed=seed, detect={"all": "off"}, **getattr(found, "CONTROLLERS", {}))


def function(name, which):
    """`start` or `scenario` of an operator."""
    module, arguments = OPERATORS[name]
    return partial(getattr(importlib.import_module(f"tests.operators.{module}"), which), **arguments)


def give_work(name, kube):
    """What the operator waits for when it has been started, if anything."""
    module, _ = OPERATORS[name]
    getattr(importlib.import_module(f"tests.operators.{module}"), "give_work", lambda kube: None)(kube)


def run(name, seed=2026):
    """One run: its log and the number of requests."""
    with cluster(name, seed) as kube:
        kube.access.configure()
        function(name, "scenario")(kube)
        return KEYS.sub(r'"dask.\1":""', kube.log()), len(kube.requests())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=OPERATORS)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--log", help="write the last run's log to this file")
    asked = parser.parse_args()
    logging.disable()  # failures are part of the plan
    warnings.simplefilter("ignore")
    for _ in range(asked.runs):
        began = time.perf_counter()
        log, requests = run(asked.name, asked.seed)
        took = time.perf_counter() - began
        print(hashlib.sha256(log.encode()).hexdigest(), f"{took:.3f}", requests, flush=True)
    if asked.log:
        with open(asked.log, "w") as file:
            file.write(log)


if __name__ == "__main__":
    main()
