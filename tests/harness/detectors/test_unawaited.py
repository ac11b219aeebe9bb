"""Coroutines of the project's own client that an operator does not await."""

import asyncio

import pytest

from controllerlib import create_or_update
from fakekube import FakeKube, FindingError
from fakekube.harness.engine import engine_of
from tests.harness.detectors.scenes import operator, read, resize, run, texts
from tests.harness.planted import API, CRD, database

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


async def notify(text):
    await asyncio.sleep(1)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_m1_a_function_of_the_operator_is_named_with_the_line_of_its_call(kube):
    async def reconcile(request, client):
        await read(client, request)
        notify(
            "it is there",
        )

    run(kube, reconcile)
    line = reconcile.__code__.co_firstlineno + 2
    assert texts(kube) == [
        f"[unawaited-coroutine] notify(...) was called and never awaited (test_unawaited.py:{line}), in c reconciling "
        "default/a [added]"
    ]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_m1_a_conditional_call(kube):
    async def reconcile(request, client):
        notify("one") if request.name else await notify("two")
        await read(client, request)

    run(kube, reconcile)
    line = reconcile.__code__.co_firstlineno + 1
    (text,) = texts(kube)
    assert f"never awaited (test_unawaited.py:{line})" in text


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_m1_a_coroutine_of_a_variable_that_is_assigned_again(kube):
    async def reconcile(request, client):
        for text in ("one", "two"):
            call = notify(text)
        await call

    run(kube, reconcile)
    line = reconcile.__code__.co_firstlineno + 2
    (text,) = texts(kube)
    assert text.startswith(
        f"[unawaited-coroutine] notify(...) was called and never awaited (dropped at test_unawaited.py:{line}), in c"
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_m1_a_coroutine_that_a_library_drops_is_named_with_its_definition(kube):
    async def reconcile(request, client):
        asyncio.get_running_loop().call_soon(notify, "soon")
        await asyncio.sleep(1)

    run(kube, reconcile)
    line = notify.__code__.co_firstlineno
    (text,) = texts(kube)
    assert text.startswith(
        f"[unawaited-coroutine] notify(...), defined at test_unawaited.py:{line}, was called and never awaited (the "
        "place of the call is not known; PYTHONASYNCIODEBUG=1 finds it)"
    )


@pytest.fixture
def tracking(kube):
    """As `PYTHONASYNCIODEBUG=1`."""
    engine_of(kube).bubble.loop.set_debug(True)


@pytest.mark.filterwarnings("ignore:(?s)coroutine .* was never awaited")
def test_a_coroutine_of_a_variable_is_named_with_the_line_of_its_call_if_asyncio_tracks_it(kube, tracking):
    async def reconcile(request, client):
        call = notify("kept")
        await read(client, request)
        return call and None

    run(kube, reconcile)
    line = reconcile.__code__.co_firstlineno + 1
    assert texts(kube) == [
        f"[unawaited-coroutine] notify(...) was called and never awaited (test_unawaited.py:{line}), in c reconciling "
        "default/a [added]"
    ]


@pytest.mark.filterwarnings("ignore:(?s)coroutine .* was never awaited")
@pytest.mark.parametrize("name", ["called", "method"])
def test_a_coroutine_of_a_variable_is_named_with_its_definition(kube, name):
    class Announcer:
        async def method(self):
            """Announce nothing."""

    calls = {"called": lambda: notify("kept"), "method": Announcer().method}

    async def reconcile(request, client):
        call = calls[name]()
        await read(client, request)
        return call and None

    run(kube, reconcile)
    (text,) = texts(kube)
    assert ", defined at test_unawaited.py:" in text
    assert "(the place of the call is not known; PYTHONASYNCIODEBUG=1 finds it)" in text


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_m1_a_call_of_another_client(kube):
    kubernetes_asyncio = pytest.importorskip("kubernetes_asyncio")

    async def work():
        config = kubernetes_asyncio.client.Configuration(host="http://127.0.0.1:1")
        async with kubernetes_asyncio.client.ApiClient(config) as api:
            kubernetes_asyncio.client.CoreV1Api(api).delete_namespaced_pod("a", "default")
        await asyncio.sleep(1e6)

    kube.task(work())
    kube.advance(1)
    line = work.__code__.co_firstlineno + 3
    (text,) = texts(kube)
    assert text.startswith("[unawaited-coroutine] ApiClient.")
    assert text.endswith(f"(...) was called and never awaited (test_unawaited.py:{line})")


def test_m1_what_is_awaited_later(kube):
    async def reconcile(request, client):
        call = notify("later")
        await read(client, request)
        await call

    kube.apply(CRD, database())
    kube.start(operator(reconcile))
    kube.advance(60)
    assert texts(kube) == []


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("where", ["manager", "object", "closure"])
def test_r10_coroutines_that_an_operator_keeps(where):
    class Pending:
        """What an object of the operator keeps."""

    def build(manager):
        pending = manager if where == "manager" else Pending()
        closure = []

        async def reconcile(request, client):
            if closure or hasattr(pending, "work"):
                return
            work = [notify(request.name) for _ in range(2)]
            if where == "closure":
                closure.extend(work)
            else:
                pending.work = {"of": work}

        operator(reconcile)(manager)

    with pytest.raises(FindingError) as caught:
        closing(build)
    (finding,) = caught.value.findings
    line = notify.__code__.co_firstlineno
    assert finding.text == (
        f"notify(...) was called and never awaited: c keeps the coroutine (defined at test_unawaited.py:{line})"
    )
    assert finding.times == 2


def test_r10_coroutines_that_an_operator_starts_later():
    def build(manager):
        pending = manager.pending = []

        async def reconcile(request, client):
            pending.append(notify(request.name))
            if len(pending) == 1:
                await asyncio.gather(*pending)
            else:
                manager.task = asyncio.create_task(pending[-1])

        operator(reconcile)(manager)

    assert closing(build).findings == []


def closing(build):
    with FakeKube() as kube:
        kube.apply(CRD, database())
        kube.start(build)
        kube.advance(60)
        resize(kube)
        kube.settle()
    return kube
