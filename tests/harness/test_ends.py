"""How tests end: whatever is left running, blocks or refuses to end, in milliseconds or with an error that names it."""

import asyncio
import gc
import os
import signal
import sys
import threading
import time

import kopf
import pytest

from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from fakekube.virtualtime import NotQuiescent
from fakekube.virtualtime.errors import ProcessEnded
from tests.harness.operators import build, config_map, every

pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version v1.36:UserWarning")

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Gadget", "plural": "gadgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def gadget(name):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {},
    }


def seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


@pytest.fixture
def real():
    """A cluster without frozen time, so that a test can measure how long it takes; short patience."""
    return FakeKube(wall_clock=False, patience=0.3)


# --- F1: connections and threads that are open at the end ------------------------------------------------------------


@pytest.mark.parametrize("transport", ["memory", "tcp"])
@pytest.mark.parametrize("how", ["task", "create_task"])
def test_f1_a_watch_of_kubernetes_asyncio_that_is_open_at_the_end(transport, how):
    from kubernetes_asyncio import client, config, watch

    seen = []

    async def follow(kube):
        configuration = client.Configuration()
        await config.load_kube_config(str(kube.access.kubeconfig), client_configuration=configuration)
        async with client.ApiClient(configuration) as api:
            while True:  # reconnects, as an operator does
                try:
                    async with watch.Watch() as stream:
                        async for event in stream.stream(client.CoreV1Api(api).list_namespaced_config_map, "default"):
                            seen.append(event["object"].metadata.name)  # noqa: PERF401
                except Exception:
                    await asyncio.sleep(1)

    kube = FakeKube(wall_clock=False, transport=transport)
    with kube:
        kube.create(config_map("a"))
        if how == "task":
            kube.task(follow(kube))
        else:
            engine_of(kube).bubble.loop.create_task(follow(kube))
        kube.settle()
        kube.advance(1)
        taken = seconds(kube.close)
    assert "a" in seen
    assert taken < 2


def test_f1_the_scheduler_takes_no_ended_thread_again():
    with FakeKube(wall_clock=False) as kube:
        loop = engine_of(kube).bubble.loop

        async def late():
            await asyncio.to_thread(int)
            try:
                await asyncio.Event().wait()
            finally:
                await loop.run_in_executor(None, int)

        task = kube.task(late())
        kube.settle()
        assert seconds(kube.close) < 2
        assert task.done()


# --- F7, F11: kopf ---------------------------------------------------------------------------------------------------


def operator_of_kopf(fakekube, seen, **options):
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**_):
        return kopf.ConnectionInfo(server=fakekube.access.url)

    @kopf.on.create("example.com", "v1", "gadgets", registry=registry)
    async def created(name, **_):
        seen.append(name)

    @kopf.daemon("example.com", "v1", "gadgets", registry=registry)
    async def runs(stopped, **_):
        await stopped.wait()

    @kopf.timer("example.com", "v1", "gadgets", interval=60, registry=registry)
    def ticks(**_):
        time.sleep(1)

    return kopf.operator(registry=registry, namespaces=["default"], standalone=True, **options)


@pytest.fixture
def with_crd(fakekube):
    fakekube.apply(CRD)


@pytest.mark.usefixtures("with_crd")
def test_f7_a_kopf_operator_that_is_left_running(fakekube):
    seen = []
    fakekube.task(operator_of_kopf(fakekube, seen))
    fakekube.create(gadget("a"))
    fakekube.advance(minutes=5)
    assert seen == ["a"]
    fakekube.close()
    assert engine_of(fakekube).bubble.loop.is_closed()


@pytest.mark.usefixtures("with_crd")
def test_f11_time_goes_on_after_a_kopf_operator_was_cancelled(fakekube):
    seen = []
    operator = fakekube.task(operator_of_kopf(fakekube, seen))
    fakekube.create(gadget("a"))
    fakekube.advance(minutes=1)
    operator.cancel()
    fakekube.advance(hours=2)  # kopf sends SIGKILL 600 s after it was cancelled
    assert operator.done()
    assert fakekube.clock.monotonic() == 2 * 3600 + 60
    fakekube.task(operator_of_kopf(fakekube, seen))
    fakekube.create(gadget("b"))
    fakekube.advance(minutes=1)
    assert seen == ["a", "b"]


@pytest.mark.usefixtures("with_crd")
async def test_f11_a_kopf_operator_that_the_test_creates_and_cancels(fakekube):
    seen = []
    operator = asyncio.create_task(operator_of_kopf(fakekube, seen))
    fakekube.create(gadget("a"))
    await fakekube.advance(60)
    operator.cancel()
    await asyncio.sleep(7200)
    assert operator.cancelled()
    assert seen == ["a"]


@pytest.mark.usefixtures("with_crd")
async def test_f7_a_kopf_operator_that_is_told_to_stop_and_one_that_fails(fakekube):
    seen, stop = [], asyncio.Event()
    operator = fakekube.task(operator_of_kopf(fakekube, seen, stop_flag=stop))
    fakekube.create(gadget("a"))
    await fakekube.advance(60)
    stop.set()
    await fakekube.advance(hours=2)
    assert operator.done()

    registry = kopf.OperatorRegistry()

    @kopf.on.startup(registry=registry)
    async def fails(**_):
        await asyncio.sleep(5)
        raise kopf.PermanentError("it cannot start")

    fakekube.task(kopf.operator(registry=registry, namespaces=["default"], standalone=True))
    with pytest.raises(Exception, match="One or more handlers failed"):
        await fakekube.advance(hours=2)
    await fakekube.advance(hours=2)


@pytest.mark.usefixtures("with_crd")
def test_f7_an_ending_kopf_operator_cancels_no_other_operator(fakekube):
    seen = []
    fakekube.apply(config_map("c"))
    first = fakekube.task(operator_of_kopf(fakekube, seen))
    fakekube.settle()
    later = fakekube.start(build(every(60)))["minder"]
    second = fakekube.task(operator_of_kopf(fakekube, seen))
    plain = fakekube.task(asyncio.sleep(10**7))
    fakekube.advance(1)
    first.cancel()
    fakekube.advance(minutes=10)
    assert (first.done(), second.done(), plain.done()) == (True, False, False)
    assert later.reconciles() == 11
    fakekube.create(gadget("a"))
    fakekube.advance(minutes=1)
    assert seen == ["a"]


# --- what would end pytest -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"os\.kill\(\d+, (Signals\.)?(9|SIGKILL)"),
        (lambda: os.kill(os.getpid(), 15), r"os\.kill\(\d+, 15\)"),
        (lambda: os._exit(1), r"_exit\(1\)"),
        (lambda: os.abort(), r"abort\(\)"),
        (lambda: signal.raise_signal(signal.SIGTERM), r"raise_signal"),
        (lambda: signal.pthread_kill(threading.get_ident(), signal.SIGKILL), r"pthread_kill"),
    ],
)
@pytest.mark.parametrize("where", ["task", "timer", "thread"])
def test_f11_what_would_end_the_process_is_an_error_of_the_test(fakekube, call, named, where):
    async def work():
        try:
            call()
        except Exception:
            pass

    async def sets_a_timer():
        asyncio.get_running_loop().call_later(5, call)
        await asyncio.sleep(10)

    if where == "task":
        fakekube.task(work(), name="loser")
    elif where == "timer":
        fakekube.task(sets_a_timer(), name="loser")
    else:
        fakekube.thread(call, name="loser")
    with pytest.raises(ProcessEnded, match=f"(?s)loser called .*{named}.*, which ends its process"):
        fakekube.advance(20)
    fakekube.advance(1)


def test_f11_signals_that_end_nothing_are_delivered(fakekube):
    heard = []
    before = signal.signal(signal.SIGUSR1, lambda *_: heard.append("usr1"))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        os.kill(os.getpid(), 0)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == ["usr1", "usr1"]


# --- row 3: what refuses to end --------------------------------------------------------------------------------------


def test_row3_a_reconcile_that_swallows_cancellations_is_named_at_the_end(real):
    async def stubborn(request):
        while True:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                pass

    real.__enter__()
    real.apply(config_map("a"))
    real.start(build(stubborn))
    begun = time.perf_counter()
    with pytest.raises(NotQuiescent, match=r"tasks do not end: .*minder.*test_ends\.py:\d+ in .*stubborn"):
        real.close()
    assert time.perf_counter() - begun < 3
    assert engine_of(real).bubble.loop.is_closed()


def test_row3_a_task_that_swallows_cancellations_is_named_at_the_end(real):
    async def stubborn():
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass

    real.__enter__()
    real.task(stubborn(), name="mule")
    real.settle()
    with pytest.raises(NotQuiescent, match=r"tasks do not end: mule .*test_ends\.py:\d+ in .*stubborn"):
        real.close()


def spin():
    while True:
        pass


@pytest.mark.slow
def test_row3_a_busy_reconcile_is_interrupted_and_shown(real):
    async def busy(request):
        spin()

    with real as kube:
        kube.apply(config_map("a"))
        begun = time.perf_counter()
        with pytest.raises(NotQuiescent, match=r"(?s)minder.* has blocked the event loop for 0\.3 s.*in spin"):
            kube.start(build(busy))
        assert time.perf_counter() - begun < 3


@pytest.mark.slow
def test_row3_a_busy_coroutine_in_an_async_test(real):
    async def busy():
        await asyncio.sleep(1)
        spin()

    async def main():
        real.task(busy(), name="spinner")
        with pytest.raises(NotQuiescent, match=r"spinner .* has blocked the event loop"):
            await real.advance(5)
        await real.advance(5)

    with real:
        engine_of(real).bubble.run(main())


@pytest.mark.slow
def test_row3_an_interrupted_task_is_reported_once(real, caplog):
    async def busy():
        spin()

    with real as kube:
        kube.task(busy(), name="spinner")
        with pytest.raises(NotQuiescent, match="has blocked the event loop"):
            kube.settle()
    gc.collect()
    assert not [record for record in caplog.records if "never retrieved" in record.message]


@pytest.mark.slow
def test_row3_a_busy_loop_that_catches_everything_is_interrupted_again(real):
    def hold_on():
        while True:
            try:
                sum(range(100))
            except BaseException:
                pass

    async def busy():
        hold_on()

    with real as kube:
        kube.task(busy(), name="spinner")
        with pytest.raises(NotQuiescent, match=r"(?s)spinner .* has blocked the event loop.*in hold_on"):
            kube.settle()


@pytest.mark.slow
def test_row3_a_lock_in_a_coroutine_is_interrupted(real):
    lock = threading.Lock()
    lock.acquire()

    async def deadlocked():
        lock.acquire()

    with real as kube:
        kube.task(deadlocked(), name="locked")
        with pytest.raises(NotQuiescent, match=r"(?s)locked .* has blocked the event loop.*in deadlocked"):
            kube.settle()


CANCELLED = "It was cancelled and goes on: it catches CancelledError in a loop"


@pytest.mark.slow
def test_m2_a_loop_that_catches_its_cancellation(real):
    async def clean():
        is_closed = False
        while True:
            try:
                if is_closed:
                    raise ConnectionError("the connection is closed")
                await asyncio.sleep(60)
            except BaseException:
                is_closed = True

    real.__enter__()
    real.task(clean(), name="cleaner")
    real.settle()
    with pytest.raises(NotQuiescent, match=rf"cleaner .* has blocked the event loop for 0\.3 s\. {CANCELLED}"):
        real.close()


@pytest.mark.slow
def test_m2_a_loop_that_was_not_cancelled(real):
    async def busy():
        spin()

    with real as kube:
        kube.task(busy(), name="spinner")
        with pytest.raises(NotQuiescent) as caught:
            kube.settle()
    assert "for 0.3 s: it computes for ever" in str(caught.value)
    assert "cancelled" not in str(caught.value)


@pytest.mark.slow
def test_row3_a_busy_clean_up_at_the_end(real):
    async def busy_at_the_end():
        try:
            await asyncio.Event().wait()
        finally:
            spin()

    real.__enter__()
    real.task(busy_at_the_end(), name="spinner")
    real.settle()
    begun = time.perf_counter()
    with pytest.raises(NotQuiescent, match=r"(?s)spinner .* has blocked the event loop.*in spin"):
        real.close()
    assert time.perf_counter() - begun < 5


@pytest.mark.slow
@pytest.mark.parametrize("how", ["thread", "reconcile"])
def test_row3_a_busy_thread_is_named_and_ended(real, how):
    def busy(*_):
        spin()

    before = set(threading.enumerate())
    with real as kube:
        if how == "thread":
            kube.thread(busy, name="spinner")
            with pytest.raises(NotQuiescent, match="thread spinner neither parked nor ended"):
                kube.settle()
        else:
            kube.apply(config_map("a"))
            with pytest.raises(NotQuiescent, match=r"(?s)thread .* neither parked nor ended.*in spin"):
                kube.start(build(busy))
    assert set(threading.enumerate()) == before


def locked_out(cluster):
    """Opens a cluster with a thread that waits for the lock that is returned."""
    lock = threading.Lock()
    lock.acquire()
    cluster.__enter__()
    cluster.thread(lock.acquire, name="locked-out")
    with pytest.raises(NotQuiescent, match="thread locked-out neither parked nor ended"):
        cluster.settle()
    return lock


@pytest.mark.slow
def test_row3_a_thread_that_waits_for_something_invisible_is_named_at_the_end(real):
    lock = locked_out(real)
    begun = time.perf_counter()
    with pytest.raises(NotQuiescent, match=r"threads do not end: locked-out"):
        real.close()
    assert time.perf_counter() - begun < 3
    lock.release()


@pytest.mark.slow
def test_row3_a_traced_test_ends_as_one_that_is_not(real):
    """In CPython 3.11 an exception that waits for a thread stops the traced code of all others (coverage, debuggers)."""

    def trace(frame, event, arg):
        return trace

    lock = locked_out(real)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(NotQuiescent, match=r"threads do not end: locked-out"):
            real.close()
    finally:
        sys.settrace(before)
    lock.release()


# --- row 7: what is in flight at the end -----------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["a long wait", "a held request", "a thread", "an event"])
def test_row7_a_reconcile_in_flight_at_the_end_is_cancelled(what):
    ended = []

    async def waits(request, client):
        try:
            if what == "a long wait":
                await asyncio.sleep(86_400)
            elif what == "a held request":
                await client.patch(config_map("a"), {"data": {"x": "1"}})
            else:
                await asyncio.Event().wait()
        finally:
            ended.append(what)

    def waits_in_a_thread(request):
        try:
            time.sleep(86_400)
        finally:
            ended.append(what)

    with FakeKube() as kube:
        kube.apply(config_map("a"))
        if what == "a held request":
            kube.fault(verb="patch", resource="configmaps", delay=86_400)
        operator = kube.start(build(waits_in_a_thread if what == "a thread" else waits))
        assert operator["minder"].processing == ["default/a"]
        kube.findings.allow("stuck-reconcile", reason="an event that nothing sets is one of the cases")
        at = kube.clock.us
    assert ended == [what]
    assert kube.clock.us == at  # no time passed


async def test_row7_of_an_async_test(fakekube):
    async def waits(request):
        await asyncio.sleep(86_400)

    fakekube.apply(config_map("a"))
    await fakekube.start(build(waits))
    await fakekube.advance(60)


# --- row 17: interruptions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_row17_an_interruption_in_a_reconcile_is_raised_once(fakekube, error):
    async def interrupted(request):
        raise error

    fakekube.apply(config_map("a"))
    with pytest.raises(error):
        fakekube.start(build(interrupted))
    fakekube.advance(60)
    fakekube.create(config_map("b"))
    fakekube.advance(60)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
async def test_row17_in_an_async_test(fakekube, error):
    async def interrupted():
        raise error

    task = asyncio.ensure_future(interrupted())
    fakekube.create(config_map("b"))
    assert not task.done()
    task.cancel()


def test_row17_in_a_task(fakekube):
    async def interrupted():
        await asyncio.sleep(5)
        raise KeyboardInterrupt

    fakekube.task(interrupted())
    with pytest.raises(KeyboardInterrupt):
        fakekube.advance(60)
    assert fakekube.clock.monotonic() == 5
    fakekube.advance(60)
    assert fakekube.clock.monotonic() == 65
