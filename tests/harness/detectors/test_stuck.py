"""N2: reconciles, handlers and threads that wait for ever are found, with the place; those that wait for work are not."""

import asyncio
import queue
import threading
import time

import kopf
import pytest

from controllerlib import Result
from fakekube import FakeKube
from fakekube.harness.engine import engine_of
from tests.harness.operators import build, config_map


def stuck(kube):
    """The findings of these detectors when the test is over."""
    engine_of(kube).check_findings(warn=lambda warning: None)
    return [str(one) for one in kube.findings if one.detector.startswith("stuck-")]


def line_of(text):
    """The line of this file that ends with a comment."""
    with open(__file__, encoding="utf-8") as file:
        (number,) = [number for number, line in enumerate(file, 1) if line.rstrip().endswith(f"# {text}")]
    return f"test_stuck.py:{number}"


class Minder:
    """Reconciles that wait for ever, each at a line with a comment."""

    def __init__(self):
        self.lock, self.event, self.queue = asyncio.Lock(), asyncio.Event(), asyncio.Queue()
        self.results = queue.Queue()
        self.plain = threading.Lock()

    async def leaks_lock(self, request):
        await self.lock.acquire()  # leaks_lock
        raise LookupError("never released")

    async def locks_twice(self, request):
        async with self.lock, self.lock:  # locks_twice
            pass

    async def waits_for_event(self, request):
        await self.event.wait()  # waits_for_event

    async def waits_for_queue(self, request):
        await self.queue.get()  # waits_for_queue

    async def waits_for_future(self, request):
        await asyncio.get_running_loop().create_future()  # waits_for_future

    async def waits_for_task(self, request):
        await asyncio.create_task(self.waits_in_task())

    async def waits_in_task(self):
        await self.event.wait()  # waits_for_task

    async def gathers(self, request):
        await asyncio.gather(self.waits_in_gather(), self.waits_in_gather())

    async def waits_in_gather(self):
        await self.event.wait()  # gathers

    async def in_group(self, request):
        async with asyncio.TaskGroup() as group:
            group.create_task(self.waits_in_group())

    async def waits_in_group(self):
        await self.event.wait()  # in_group

    async def in_thread(self, request):
        await asyncio.to_thread(self.waits_in_thread)

    def waits_in_thread(self):
        self.results.get()  # in_thread

    def plain_event(self, request):
        threading.Event().wait()  # plain_event

    def plain_lock(self, request):
        with self.plain:
            self.plain.acquire()  # plain_lock


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("leaks_lock", "an asyncio.Lock"),
        ("locks_twice", "an asyncio.Lock"),
        ("waits_for_event", "an asyncio.Event"),
        ("waits_for_queue", "an asyncio.Queue"),
        ("waits_for_future", "a future"),
        ("waits_for_task", "an asyncio.Event"),
        ("gathers", "an asyncio.Event"),
        ("in_group", "an asyncio.Event"),
        ("in_thread", "a queue.Queue"),
        ("plain_event", "a threading.Event"),
        ("plain_lock", "a lock that thread bubble-worker-1 holds"),
    ],
)
def test_n2_a_reconcile_that_waits_for_ever(kube, how, what):
    kube.create(config_map("a"))
    kube.start(build(getattr(Minder(), how)))
    kube.advance(60)
    (found,) = stuck(kube)
    assert found.startswith("[stuck-reconcile] minder reconciling default/a [")
    assert f" at {line_of(how)} in Minder." in found
    assert f" for {what}, without a timeout" in found
    row = [one for one in kube.timeline.by("minder") if "has not ended" in one.what]
    assert [one.what for one in row] == [
        f"reconcile default/a #{2 if how == 'leaks_lock' else 1} has not ended: it waits for {what} "
        f"({found.partition(' at ')[2].partition(' for ')[0]})"
    ]
    assert row[0].object == ("", "configmaps", "default", "a")
    assert row[0] in list(kube.timeline.of("v1", "ConfigMap", "a"))


async def test_n2_in_an_async_test(fakekube):
    fakekube.create(config_map("a"))
    await fakekube.start(build(Minder().waits_for_event))
    assert "has not ended: it waits for an asyncio.Event" in str(fakekube.timeline)
    fakekube.findings.allow("stuck-reconcile", reason="it is what the test is for")


def test_n2_the_row_of_a_finished_reconcile_replaces_it(kube):
    gate = asyncio.Event()

    async def reconcile(request):
        await gate.wait()

    kube.create(config_map("a"))
    kube.start(build(reconcile))
    before = len(kube.timeline)
    gate.set()
    kube.settle()
    assert len(kube.timeline) == before
    assert "has not ended" not in str(kube.timeline)
    assert stuck(kube) == []


def test_n2_the_row_is_kept_when_the_cluster_is_closed():
    with FakeKube(detect={"stuck-reconcile": "off"}) as kube:
        kube.create(config_map("a"))
        kube.start(build(Minder().waits_for_event))
    assert "reconcile default/a #1 has not ended" in str(kube.timeline)


# --- waits that end, or may


class Patient:
    """Reconciles that are fine."""

    def __init__(self, kube):
        self.kube, self.lock, self.event = kube, asyncio.Lock(), asyncio.Event()
        self.plain, self.plain_event = threading.Lock(), threading.Event()
        self.jobs = queue.Queue()

    async def sleeps(self, request):
        await asyncio.sleep(3600)

    def sleeps_plainly(self, request):
        time.sleep(3600)

    async def has_timeout(self, request):
        async with asyncio.timeout(3600):
            await self.event.wait()

    async def waits_with_timeout(self, request):
        await asyncio.wait_for(self.event.wait(), 3600)

    def waits_plainly_with_timeout(self, request):
        self.plain_event.wait(3600)

    async def queues_for_lock(self, request):
        async with self.lock:
            await asyncio.sleep(3600)

    def queues_for_plain_lock(self, request):
        with self.plain:
            time.sleep(3600)

    async def is_set_by_timer(self, request):
        asyncio.get_running_loop().call_later(3600, self.event.set)
        await self.event.wait()

    async def is_set_by_task(self, request):
        self.task = asyncio.create_task(self.sets())
        await self.event.wait()

    async def sets(self):
        await asyncio.sleep(3600)
        self.event.set()

    async def waits_for_slow_task(self, request):
        await asyncio.gather(asyncio.sleep(3600), self.has_timeout(request))

    async def is_set_by_a_later_reconcile(self, request):
        if request.name == "b":
            return Result(requeue_after=3600)
        await self.event.wait()
        return None

    async def waits_for_the_server(self, request, client):
        await client.list("v1", "Secret")

    def is_answered_by_worker(self, request):
        threading.Thread(target=self.works, daemon=True).start()
        done = threading.Event()
        self.jobs.put(done)
        done.wait()

    def works(self):
        done = self.jobs.get()
        time.sleep(3600)
        done.set()

    async def runs_process_like_thread(self, request):
        await asyncio.to_thread(time.sleep, 3600)


FINE = [name for name in vars(Patient) if not name.startswith("_") and name not in ("sets", "works")]


@pytest.mark.parametrize("how", FINE)
def test_n2_a_reconcile_whose_wait_ends_is_fine(kube, how):
    kube.create(config_map("a"))
    kube.create(config_map("b"))
    kube.fault(verb="list", resource="secrets", delay=3600)
    kube.start(build(getattr(Patient(kube), how), workers=2))
    kube.advance(60)
    assert stuck(kube) == []


@pytest.mark.parametrize("how", ["pause", "kill"])
def test_n2_an_operator_that_does_not_run_is_not_judged(kube, how):
    kube.create(config_map("a"))
    operator = kube.start(build(Minder().waits_for_event))
    (kube.faults.pause if how == "pause" else kube.kill)(operator)
    kube.advance(60)
    assert stuck(kube) == []


# --- threads, and the official client


def main_of_two_locks(first, second, met):
    with first:
        met.wait()
        with second:  # main_of_two_locks
            pass


def test_n2_threads_that_wait_for_each_others_locks(kube):
    first, second, met = threading.Lock(), threading.Lock(), threading.Barrier(2)
    kube.thread(main_of_two_locks, first, second, met, name="left")
    kube.thread(main_of_two_locks, second, first, met, name="right")
    kube.advance(60)
    found = stuck(kube)
    assert [one.partition(" has waited")[0] for one in found] == [
        "[stuck-thread] the thread left",
        "[stuck-thread] the thread right",
    ]
    place = f"{line_of('main_of_two_locks')} in main_of_two_locks"
    assert f"at {place} for a lock that thread right holds, without a timeout" in found[0]
    assert [one.what for one in kube.timeline.by("left")] == [
        f"waits for a lock that thread right holds at {place}, and nothing ends the wait"
    ]


def test_n2_a_thread_that_waits_for_the_lock_of_an_ended_thread(kube):
    from kubernetes import client, watch

    lock = threading.Lock()

    def leaks():
        lock.acquire()

    def operator():
        core = client.CoreV1Api(kube.access.api_client())
        for event in watch.Watch().stream(core.list_namespaced_config_map, "default"):
            with lock:  # operator
                core.read_namespaced_config_map(event["object"].metadata.name, "default")

    kube.create(config_map("a"))
    kube.thread(leaks)
    kube.thread(operator, name="operator")
    kube.advance(60)
    (found,) = stuck(kube)
    assert found.startswith(f"[stuck-thread] the thread operator has waited at {line_of('operator')} in ")


def test_n2_threads_that_wait_for_work_or_for_a_lock_that_is_used_are_fine(kube):
    from kubernetes import client, watch

    jobs, lock, ready = queue.Queue(), threading.Lock(), threading.Event()

    def works():
        while True:
            jobs.get()

    def watches():
        core = client.CoreV1Api(kube.access.api_client())
        for _ in watch.Watch().stream(core.list_namespaced_config_map, "default"):
            jobs.put(None)

    def holds():
        with lock:
            ready.set()
            time.sleep(3600)

    def queues():
        ready.wait()
        with lock:
            pass

    def main():
        threading.Event().wait()

    for each in (works, watches, holds, queues, main):
        kube.thread(each)
    kube.create(config_map("a"))
    kube.advance(60)
    assert stuck(kube) == []


# --- kopf


def run_kopf(kube, where, decorate, handler, **options):
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(lambda **_: kopf.ConnectionInfo(server=kube.access.url))
    decorate("configmaps", registry=registry, **options)(handler)
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    arguments = {"registry": registry, "settings": settings, "clusterwide": True, "standalone": True}
    if where == "thread":
        kube.thread(lambda: kopf.run(**arguments))
    else:
        kube.task(kopf.operator(**arguments))
    kube.create(config_map("a"))
    kube.advance(60)


async def create_waits(**_):
    await asyncio.Event().wait()  # create_waits


def create_waits_plainly(**_):
    threading.Event().wait()  # create_waits_plainly


@pytest.mark.slow
@pytest.mark.parametrize("where", ["task", "thread"])
@pytest.mark.parametrize("handler", [create_waits, create_waits_plainly])
def test_n2_a_handler_of_kopf_that_waits_for_ever(kube, where, handler):
    run_kopf(kube, where, kopf.on.create, handler)
    (found,) = stuck(kube)
    place = f"{line_of(handler.__name__)} in {handler.__name__}"
    assert found.startswith(f"[stuck-reconcile] the handler {handler.__name__} has waited at {place} for a")


async def daemon_waits(stopped, **_):
    await asyncio.Event().wait()


async def daemon_until_stopped(stopped, **_):
    await stopped.wait()


async def create_sleeps(**_):
    await asyncio.sleep(3600)


def create_sleeps_plainly(**_):
    time.sleep(3600)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["task", "thread"])
@pytest.mark.parametrize(
    ("decorate", "handler"),
    [
        (kopf.daemon, daemon_waits),
        (kopf.daemon, daemon_until_stopped),
        (kopf.on.create, create_sleeps),
        (kopf.on.create, create_sleeps_plainly),
    ],
)
def test_n2_daemons_and_slow_handlers_of_kopf_are_fine(kube, where, decorate, handler):
    run_kopf(kube, where, decorate, handler)
    assert stuck(kube) == []


def test_n2_it_fails_the_test():
    kube = FakeKube()
    with kube:
        kube.create(config_map("a"))
        kube.start(build(Minder().waits_for_event))
        with pytest.raises(AssertionError, match=r"\[stuck-reconcile\]"):
            kube.findings.check()
