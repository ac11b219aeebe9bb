"""Coroutines of the project's own client that an operator does not await."""

import asyncio

import pytest

from controllerlib import create_or_update
from tests.harness.detectors.scenes import read, run, texts
from tests.harness.planted import API

BODY = {"apiVersion": API, "kind": "Database", "metadata": {"name": "a", "namespace": "default"}}
CALLS = {
    "Client.update_status": lambda client: client.update_status(BODY),
    "Client.patch_status": lambda client: client.patch_status(BODY, {"status": {"phase": "Ready"}}),
    "Client.delete": lambda client: client.delete("v1", "ConfigMap", "x", "default"),
    "create_or_update": lambda client: create_or_update(client, BODY, lambda found: None),
}


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_the_client_that_is_not_awaited(kube, name):
    async def reconcile(request, client):
        CALLS[name](client)

    run(kube, reconcile)
    (text,) = texts(kube)
    assert text.startswith(f"[unawaited-coroutine] {name}(...) was called and never awaited (test_unawaited.py:")
    assert text.endswith(", in c reconciling default/a [added]")


def test_calls_of_a_reconcile_that_is_cancelled(kube):
    async def reconcile(request, client):
        task = asyncio.create_task(read(client, request))
        task.cancel()  # before it begins
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(1e6)

    operator = run(kube, reconcile)
    kube.kill(operator)
    kube.restart(operator)
    kube.advance(1)
    assert texts(kube) == []
