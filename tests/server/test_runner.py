"""A runner without a network: watches, faults, delays, listeners and stops, on a loop in virtual time."""

import asyncio
import functools
from datetime import UTC, datetime, timedelta

import pytest

from fakekube.apiserver.faults import FaultRule
from fakekube.apiserver.user import User
from fakekube.apiserver.wire.status import StatusError
from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner, WouldWait
from fakekube.server.watchstreams import _next_bookmark, _Waiter
from fakekube.virtualtime import VirtualTimeLoop
from fakekube.virtualtime.seeds import Seed

START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


class LoopClock:
    """The time of the running loop."""

    def now(self):
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self):
        return asyncio.get_running_loop().time()

    async def sleep_until(self, deadline):
        async with asyncio.timeout_at(deadline + 3600):
            await asyncio.sleep(deadline - self.monotonic())  # noqa: TID251 - a clock


class Rounds:
    """A round that the test ends."""

    def __init__(self):
        self.in_round, self.callbacks = False, []

    def when_round_ends(self, callback):
        self.callbacks.append(callback)

    def over(self):
        self.in_round = False
        for callback in self.callbacks:
            callback()


def in_virtual_time(test):
    @functools.wraps(test)
    def run(*args, **kwargs):
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as loop:
            loop.run(test(*args, **kwargs))

    return run


class Served:
    def __init__(self, **options):
        source = SeededRandom(Seed(7))
        self.apiserver = bootstrap.api_server(START, source, fixed_uids=True)
        self.runner = ServerRunner(self.apiserver, LoopClock(), source, **options)
        self.client = DirectTransport(self.runner, headers={"User-Agent": "test"})

    def write(self, name, **labels):
        code, _, body = self.client.request_now("POST", CONFIGMAPS, body={"metadata": {"name": name, "labels": labels}})
        assert code == 201, body
        return body

    def arm(self, **rule):
        self.apiserver.faults.arm(FaultRule(**rule))

    async def watch(self, **query):
        """A watch that is followed: what it delivers, each with its time, and at last "end"."""
        code, _, stream = await self.client.open_watch(CONFIGMAPS, query=list(query.items()))
        assert code == 200, stream
        seen, loop = [], asyncio.get_running_loop()
        start = loop.time()

        async def follow():
            async for event in stream:
                shown = event["object"]["metadata"].get("name") or event["object"].get("code", "")
                seen.append((round(loop.time() - start, 3), event["type"], shown))
            seen.append((round(loop.time() - start, 3), "end", ""))

        task = asyncio.create_task(follow())
        await turns()
        return seen, task


async def turns():
    for _ in range(20):
        await asyncio.sleep(0)  # noqa: TID251 - no time passes


async def passes(seconds):
    await asyncio.sleep(seconds)  # noqa: TID251 - virtual time


def kinds(seen):
    return [(type, name) for _, type, name in seen]


@in_virtual_time
async def test_a_watch_ends_at_its_timeout_and_forgets_everything():
    api = Served()
    seen, task = await api.watch(timeoutSeconds="30")
    assert [end for _, end in api.runner.watches.values()] == [30.0]
    await passes(10)
    api.write("a")
    await task
    assert seen == [(10, "ADDED", "a"), (30, "end", "")]
    assert not api.runner.watches
    await api.runner.events_sent()
    api.write("b")
    assert not api.runner.woken, "no watch is woken that has ended"


@in_virtual_time
async def test_a_write_wakes_the_watches_of_its_collection():
    api = Served()
    seen, _ = await api.watch(timeoutSeconds="30")
    api.client.request_now("POST", "/api/v1/namespaces/default/secrets", body={"metadata": {"name": "s"}})
    assert not api.runner.woken
    await api.runner.events_sent()
    api.write("a")
    assert api.runner.woken
    assert not seen
    await api.runner.events_sent()
    assert kinds(seen) == [("ADDED", "a")]
    assert not api.runner.woken
    before = asyncio.get_running_loop().time()
    await api.runner.events_sent()
    assert asyncio.get_running_loop().time() == before
    api.runner.end_watches()
    await turns()


@pytest.mark.parametrize(
    ("timeout", "writes", "times"),
    [
        (200, (), [60]),
        (200, (5,), [60]),
        (200, (5, 70), [60, 120, 180, 198]),
        (200, (5, 130), [60, 130, 180, 198]),
        (100, (5,), [60, 98]),
        (63, (5,), [60, 61]),
        (62, (), [60]),
        (10, (), [8]),
        (2, (), [0]),
    ],
)
@in_virtual_time
async def test_when_a_watch_gets_bookmarks(timeout, writes, times):
    """Each minute if there is a new revision, and two seconds before the end; an idle stream does not wake for one."""
    api = Served()
    revision = str(api.apiserver.store.revision)
    seen, task = await api.watch(timeoutSeconds=str(timeout), allowWatchBookmarks="true", resourceVersion=revision)
    for number, at in enumerate(writes):
        await passes(at - asyncio.get_running_loop().time())
        body = {"metadata": {"name": f"s{number}"}}
        api.client.request_now("POST", "/api/v1/namespaces/default/secrets", body=body)
    await task
    assert [at for at, type, _ in seen if type == "BOOKMARK"] == times
    assert seen[-1] == (timeout, "end", "")
    assert not api.runner.watches


@in_virtual_time
async def test_a_watch_without_bookmarks_gets_none():
    api = Served()
    seen, task = await api.watch(timeoutSeconds="200")
    await task
    assert seen == [(200, "end", "")]


@in_virtual_time
async def test_watches_deliver_nothing_during_a_round():
    rounds = Rounds()
    api = Served(rounds=rounds)
    rounds.in_round = True
    seen, task = await api.watch(timeoutSeconds="30")
    api.write("a")
    await passes(5)
    assert not seen
    rounds.over()
    await turns()
    assert seen == [(5, "ADDED", "a")]
    rounds.in_round = True
    api.write("b")
    await passes(5)
    rounds.over()
    await task
    assert seen == [(5, "ADDED", "a"), (10, "ADDED", "b"), (30, "end", "")]


@pytest.mark.parametrize(
    ("rule", "seen"),
    [
        ({"cut_after": 0}, [("end", "")]),
        ({"cut_after": 2}, [("ADDED", "a"), ("ADDED", "b"), ("end", "")]),
        ({"cut_at": "ADDED b"}, [("ADDED", "a"), ("end", "")]),
        ({"gone_after": 1}, [("ADDED", "a"), ("ERROR", 410), ("end", "")]),
    ],
)
@in_virtual_time
async def test_the_fault_of_a_watch(rule, seen):
    api = Served()
    api.arm(verb="watch", resource="configmaps", times=1, **rule)
    found, task = await api.watch(timeoutSeconds="30")
    for name in "abc":
        api.write(name)
        await turns()
    await task
    assert kinds(found) == seen
    assert all(at == 0 for at, *_ in found)
    assert not api.runner.watches


@in_virtual_time
async def test_each_event_of_a_watch_is_delayed():
    api = Served()
    api.arm(verb="watch", resource="configmaps", event_delay=3)
    seen, task = await api.watch(timeoutSeconds="30")
    api.write("a")
    api.write("b")
    await task
    assert seen == [(3, "ADDED", "a"), (6, "ADDED", "b"), (30, "end", "")]


@in_virtual_time
async def test_a_held_watch_ends_at_its_timeout_or_with_the_server():
    api = Served()
    api.arm(verb="watch", resource="configmaps", hold_after=1)
    held, first = await api.watch(timeoutSeconds="30")
    ended, second = await api.watch(timeoutSeconds="90")
    for name in "abc":
        api.write(name)
        await turns()
    await first
    assert held == [(0, "ADDED", "a"), (30, "end", "")]
    api.runner.end_watches()
    await second
    assert ended == [(0, "ADDED", "a"), (30, "end", "")]


@in_virtual_time
async def test_a_delayed_request_waits_and_a_stopped_server_does_not_answer_it():
    api = Served()
    api.arm(verb="create", resource="configmaps", delay=5)
    with pytest.raises(WouldWait, match=f"POST {CONFIGMAPS} cannot complete synchronously"):
        api.client.request_now("POST", CONFIGMAPS, body={"metadata": {"name": "a"}})
    assert api.client.request_now("GET", f"{CONFIGMAPS}/a")[0] == 404
    code, _, _ = await api.client.request("POST", CONFIGMAPS, body={"metadata": {"name": "a"}})
    assert (code, asyncio.get_running_loop().time()) == (201, 5)
    waiting = asyncio.create_task(api.client.request("POST", CONFIGMAPS, body={"metadata": {"name": "b"}}))
    await passes(1)
    api.runner.stop_serving()
    with pytest.raises(ConnectionResetError):
        await waiting
    assert asyncio.get_running_loop().time() == 6
    with pytest.raises(ConnectionRefusedError, match="Connection refused"):
        api.client.request_now("GET", CONFIGMAPS)
    always = DirectTransport(api.runner, always=True)
    assert always.request_now("GET", f"{CONFIGMAPS}/b")[0] == 404
    api.runner.serve_again()
    assert api.client.request_now("GET", f"{CONFIGMAPS}/a")[0] == 200


@in_virtual_time
async def test_listeners_are_called_until_they_are_removed():
    api, seen = Served(), []
    removals = [
        api.runner.on_request(lambda record: seen.append(("request", record.verb, record.name, record.code))),
        api.runner.on_answer(
            lambda request, info, response, record: seen.append(("answer", info.verb, response.status))
        ),
        api.runner.on_write(lambda change: seen.append(("write", change.collection, change.path))),
    ]
    api.write("a")
    assert seen == [
        ("write", "configmaps", "default/a"),
        ("request", "create", "a", 201),
        ("answer", "create", 201),
    ]
    for remove in removals:
        remove()
        remove()
    api.write("b")
    assert len(seen) == 3


@in_virtual_time
async def test_the_record_of_a_request():
    api = Served()
    trace = DirectTransport(api.runner, user=User("alice"), headers={"User-Agent": "me"}, trace=lambda: "op/1")
    await passes(2.5)
    trace.request_now("GET", f"{CONFIGMAPS}/none")
    trace.request_now("POST", CONFIGMAPS, body={"metadata": {"name": "x", "labels": 1}})
    missing, refused = tuple(api.runner.log)
    assert (missing.at, missing.user, missing.user_agent, missing.trace) == (2.5, "alice", "me", "op/1")
    assert (missing.verb, missing.name, missing.code, missing.reason) == ("get", "none", 404, "NotFound")
    assert missing.message == 'configmaps "none" not found'
    assert missing.revision == api.apiserver.store.revision
    assert (refused.name, refused.code, refused.serial - missing.serial) == ("x", 400, 1)
    api.write("y")
    assert tuple(api.runner.log)[-1].revision == api.apiserver.store.revision == missing.revision + 1
    assert repr(api.runner).startswith(f"<ServerRunner rev={api.apiserver.store.revision} objects=")
    assert repr(api.runner).endswith("watches=0>")


@in_virtual_time
async def test_who_sends_a_request():
    api = Served(tokens={"secret": User("alice")})
    assert api.runner.authenticate(None).name == "system:anonymous"
    assert api.runner.authenticate("Bearer secret").name == "alice"
    with pytest.raises(StatusError) as error:
        api.runner.authenticate("Bearer other")
    assert error.value.code == 401


@in_virtual_time
async def test_a_state_is_restored_and_watches_end():
    api = Served()
    api.write("a")
    saved = api.apiserver.save()
    seen, task = await api.watch(timeoutSeconds="30")
    api.write("b")
    await turns()
    api.runner.restore(saved)
    await task
    assert kinds(seen)[-1] == ("end", "")
    assert api.client.request_now("GET", f"{CONFIGMAPS}/b")[0] == 404
    assert api.client.request_now("GET", f"{CONFIGMAPS}/a")[0] == 200


@pytest.mark.parametrize(
    ("damage", "delay"), [("", 4), ("truncated", 0), ("malformed", 0), ("cut", 0), ("truncated", 4)]
)
@in_virtual_time
async def test_a_body_that_arrives_damaged_or_late(damage, delay):
    api = Served()
    api.write("a")
    rule = {"body": damage, "body_delay": delay}
    api.arm(verb="get", resource="configmaps", **{key: value for key, value in rule.items() if value})
    if damage == "cut":
        with pytest.raises(ConnectionResetError, match="Connection reset by peer: the body is incomplete"):
            await api.client.request("GET", f"{CONFIGMAPS}/a")
        return
    code, _, body = await api.client.request("GET", f"{CONFIGMAPS}/a")
    assert (code, asyncio.get_running_loop().time()) == (200, delay)
    if not damage:
        assert body["metadata"]["name"] == "a"
    else:
        assert body.startswith("<html>" if damage == "malformed" else '{"')


@in_virtual_time
async def test_a_transport_whose_server_has_ended():
    api = Served()
    api.client.retire()
    for call in (api.client.request, api.client.open_watch):
        with pytest.raises(RuntimeError, match="the cluster of this client has ended"):
            await (call("GET", "/version") if call == api.client.request else call("/version"))
    with pytest.raises(RuntimeError, match="GET /version: the cluster of this client has ended"):
        api.client.request_now("GET", "/version")


@in_virtual_time
async def test_answers_of_a_transport_are_copies_with_headers():
    api = Served()
    body = {"metadata": {"name": "a"}, "data": {"x": "1"}}
    _, headers, made = await api.client.request("POST", CONFIGMAPS, body=body)
    made["data"]["x"] = body["data"]["x"] = "2"
    assert (await api.client.request("GET", f"{CONFIGMAPS}/a"))[2]["data"] == {"x": "1"}
    assert headers["Content-Type"] == "application/json"
    code, headers, text = api.client.request_now("GET", "/healthz")
    assert (code, text, headers["Content-Type"].partition(";")[0]) == (200, "ok", "text/plain")
    found = api.client.request_now("GET", CONFIGMAPS, query=[("labelSelector", "a"), ("limit", "1")])
    assert found[2]["items"] == []
    code, _, status = await api.client.open_watch(CONFIGMAPS, query=[("labelSelector", "a=b=c")])
    assert (code, status["kind"]) == (400, "Status")


@pytest.mark.parametrize(
    ("previous", "now", "deadline", "following"),
    [
        (60, 60, 1000, 120),
        (60, 119, 1000, 120),
        (60, 120, 1000, 180),
        (60, 300, 1000, 360),
        (60, 60, 100, 98),
        (60, 98, 100, 120),
        (60, 97, 100, 98),
    ],
)
def test_the_next_bookmark_is_a_minute_later_or_two_seconds_before_the_end(previous, now, deadline, following):
    assert _next_bookmark(previous, now, deadline) == following


@in_virtual_time
async def test_a_waiter_waits_for_a_write_or_a_point_in_time():
    loop, times = asyncio.get_running_loop(), []
    waiter = _Waiter(loop)
    waiter.wake()  # nothing waits
    loop.call_at(2, waiter.wake)
    for until in (5, 4, 6, 6):
        await waiter.wait(until)
        times.append(loop.time())
        if until == 6 and len(times) == 3:
            assert loop.time() == 6
    assert times == [2, 4, 6, 6]
    waiting = asyncio.create_task(waiter.wait(100))
    await turns()
    waiter.close()
    waiter.close()
    await passes(200)
    assert not waiting.done()
    waiter.wake()
    waiter.wake()
    await waiting
