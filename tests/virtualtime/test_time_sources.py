"""The table in docs/concepts/time-sources.md: each row is backed by the test that it names."""

import _thread
import asyncio
import concurrent.futures
import datetime
import multiprocessing.pool
import os
import queue
import re
import sched
import select
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fakekube.server.certificates import Authority
from fakekube.virtualtime import Bubble, NotQuiescent
from fakekube.virtualtime.patches import polls, selects
from tests.virtualtime.server import Server

#: Created before any bubble.
OLD_LOCK = _thread.allocate_lock()
REAL = [time.perf_counter]


@pytest.fixture
def bubble():
    with Bubble(patience=1) as bubble:
        yield bubble


@pytest.fixture
def takes(bubble):
    """The virtual seconds that a function takes in the test and in a thread: (test, thread)."""

    def takes(function):
        before = bubble.clock.monotonic()
        function()
        between = bubble.clock.monotonic()
        thread = bubble.thread(function)
        bubble.join(thread)
        assert thread.error is None
        return between - before, bubble.clock.monotonic() - between

    return takes


def refused(bubble, function, match="blocks the event loop"):
    async def coroutine():
        function()

    with pytest.raises(RuntimeError, match=match):
        bubble.run(coroutine())
    return True


def test_each_row_names_a_test():
    table = Path(__file__).parents[2].joinpath("docs/concepts/time-sources.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", table))
    assert named == {name for name in globals() if name.startswith("test_")} - {"test_each_row_names_a_test"}


def test_asyncio(bubble):
    async def main():
        loop = asyncio.get_running_loop()
        started = loop.time()
        await asyncio.sleep(10)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 10)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.Event().wait()
        called = asyncio.Event()
        loop.call_later(10, called.set)
        await called.wait()
        return loop.time() - started

    seen = []
    assert bubble.run(main()) == 40
    bubble.join(bubble.thread(lambda: seen.append(asyncio.run(main()))))
    assert seen == [40]
    server = Server(bubble)

    async def connects():
        await asyncio.open_connection(server.host, server.port)

    with pytest.raises(RuntimeError, match="a client on another event loop"):
        asyncio.run(connects())
    before = bubble.clock.us
    asyncio.run(asyncio.sleep(0.01))
    assert bubble.clock.us == before  # it was real time


def test_time_sleep(bubble, takes):
    assert takes(lambda: time.sleep(60)) == (60, 60)
    assert refused(bubble, lambda: time.sleep(60))


def test_wall_clock(bubble):
    bubble.advance(3600)
    start = datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.UTC)

    def read():
        return (
            time.time(),
            time.time_ns() / 1e9,
            time.clock_gettime(time.CLOCK_REALTIME),
            time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9,
            datetime.datetime.now(datetime.UTC),
            datetime.datetime.utcnow().replace(tzinfo=datetime.UTC),
            time.gmtime().tm_hour,
        )

    async def coroutine():
        return read()

    seen = []
    bubble.join(bubble.thread(lambda: seen.append(read())))
    assert read() == bubble.run(coroutine()) == seen[0] == (*[start.timestamp()] * 4, start, start, 1)


def test_local_time(bubble):
    bubble.advance(3600)
    start = datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.UTC).astimezone()
    local = start.replace(tzinfo=None)

    def read():
        now = datetime.datetime.now
        return (
            now().astimezone(),
            now(),
            datetime.datetime.today(),
            datetime.datetime.fromtimestamp(time.time()),
            datetime.date.today(),
            time.localtime()[:9],
            time.strftime("%c"),
            time.ctime(),
            time.asctime(),
        )

    async def coroutine():
        return read()

    seen = []
    bubble.join(bubble.thread(lambda: seen.append(read())))
    text = local.ctime()  # in the C locale, as `%c`
    expected = (start, local, local, local, local.date(), time.localtime(start.timestamp())[:9], text, text, text)
    assert read() == bubble.run(coroutine()) == seen[0] == expected


def test_monotonic(bubble, takes):
    def both():
        before = time.monotonic(), time.perf_counter()
        time.sleep(60)
        assert (time.monotonic() - before[0], time.perf_counter() - before[1]) == (60, 60)

    assert takes(both) == (60, 60)


def test_events(bubble, takes):
    def barrier():
        with pytest.raises(threading.BrokenBarrierError):
            threading.Barrier(2).wait(60)

    def condition():
        with (waiting := threading.Condition()):
            waiting.wait(60)

    for wait in (
        lambda: threading.Event().wait(60),
        lambda: threading.Semaphore(0).acquire(timeout=60),
        condition,
        barrier,
    ):
        assert takes(wait) == (60, 60)
        assert refused(bubble, wait)


def test_locks(bubble, takes):
    def waits():
        for make in (threading.Lock, threading.RLock):
            lock = make()
            holder = threading.Thread(target=lambda lock=lock: (lock.acquire(), time.sleep(60), lock.release()))
            holder.start()
            time.sleep(1)
            with lock:
                pass
            holder.join()

    bubble.join(bubble.thread(waits))
    assert bubble.clock.monotonic() == 120
    lock = threading.Lock()
    lock.acquire()
    assert refused(bubble, lock.acquire)


@pytest.mark.slow
def test_old_locks(bubble):
    with OLD_LOCK:
        thread = bubble.thread(OLD_LOCK.acquire, name="waiter")
        with pytest.raises(NotQuiescent, match="thread waiter neither parked nor ended"):
            bubble.settle()
    bubble.join(thread)
    OLD_LOCK.release()


def test_queues(bubble, takes):
    for make in (queue.Queue, queue.LifoQueue, queue.SimpleQueue):

        def gets(make=make):
            with pytest.raises(queue.Empty):
                make().get(timeout=60)

        assert takes(gets) == (60, 60)
        assert refused(bubble, gets)


def test_joins_and_timers(bubble):
    def operator():
        timer = threading.Timer(60, time.sleep, [30])
        timer.start()
        timer.join()

    bubble.join(bubble.thread(operator))
    assert bubble.clock.monotonic() == 90

    def joins():
        thread = bubble.thread(time.sleep, 60)
        bubble.loop.threads.run_ready()
        thread.real.join()

    assert refused(bubble, joins)


def test_thread_pools(bubble, takes):
    def works():
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(time.sleep, 60) for _ in range(4)]
            assert len(list(concurrent.futures.as_completed(jobs))) == 4
            slow = pool.submit(time.sleep, 60)
            assert concurrent.futures.wait([slow], timeout=30).not_done == {slow}

    assert takes(works) == (180, 180)

    async def coroutine():
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            await asyncio.get_running_loop().run_in_executor(pool, time.sleep, 60)

    before = bubble.clock.monotonic()
    bubble.run(coroutine())
    assert bubble.clock.monotonic() - before == 60


def test_old_thread_pools(bubble):
    log = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()

        def waits():
            pool.submit(time.sleep, 60).result()
            log.append(bubble.clock.monotonic())

        bubble.join(bubble.thread(waits))
        assert pool.submit(int).result() == 0
        assert log == [60]

        async def main():
            await asyncio.get_running_loop().run_in_executor(pool, time.sleep, 60)
            log.append(bubble.clock.monotonic())

        bubble.run(main())
        assert log == [60, 120]


def test_process_pools(bubble):
    async def coroutine():
        ticking = asyncio.create_task(asyncio.sleep(1))
        with concurrent.futures.ProcessPoolExecutor(1) as pool:
            assert await asyncio.get_running_loop().run_in_executor(pool, abs, -1) == 1
        return ticking.done()

    assert bubble.run(coroutine()) is False


def test_multiprocessing_pools(bubble):
    bubble.loop.call_later(0.001, lambda: None)
    with multiprocessing.pool.ThreadPool(1) as pool:
        assert pool.apply_async(abs, (-1,)).get(timeout=10) == 1
    assert bubble.clock.us == 0


def test_sched(bubble, takes):
    def runs():
        scheduler = sched.scheduler()
        scheduler.enter(60, 1, lambda: None)
        scheduler.run()

    assert takes(runs) == (60, 60)
    assert refused(bubble, runs)


def test_selectors(bubble, takes):
    server = Server(bubble)

    def waits():
        with socket.create_connection((server.host, server.port)) as sock:
            assert select.select([sock], [], [], 20) == ([], [], [])
            sock.sendall(b"GET /slow?after=10 HTTP/1.0\r\n\r\n")
            assert select.select([sock], [], [], 20) == ([sock], [], [])

    assert takes(waits) == (30, 30)
    assert refused(bubble, waits)


def test_tls(bubble, takes):
    authority = Authority(secret=1)
    server = Server(bubble, ssl_context=authority.server_context(["127.0.0.1"]))
    trust = ssl.create_default_context(cadata=authority.certificate.decode())

    def waits():
        with (
            socket.create_connection((server.host, server.port)) as plain,
            trust.wrap_socket(plain, server_hostname=server.host) as sock,
        ):
            # what follows a handshake is read with the first response
            sock.sendall(b"GET /now HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"200 OK" in sock.recv(1000)
            sock.sendall(b"GET /slow?after=10 HTTP/1.1\r\nHost: a\r\n\r\n")
            assert select.select([sock], [], [], 5) == ([], [], [])
            assert select.select([sock], [], [], 20) == ([sock], [], [])
            assert b"200 OK" in sock.recv(1000)
            sock.settimeout(20)
            with pytest.raises(TimeoutError):
                sock.recv(1000)

    assert takes(waits) == (30, 30)
    assert refused(bubble, waits)


@pytest.mark.skipif(not hasattr(select, "epoll"), reason="Linux has it")
def test_epoll(bubble):
    """P3: as the default reactor of Twisted, which wakes itself with a pipe."""
    server = Server(bubble)
    seen = []

    def waits():
        reader, writer = os.pipe()
        with select.epoll() as poller, socket.create_connection((server.host, server.port)) as sock:
            poller.register(reader, select.EPOLLIN)
            poller.register(sock, select.EPOLLIN)
            assert poller.poll(20) == []
            seen.append(bubble.clock.monotonic())
            sock.sendall(b"GET /slow?after=10 HTTP/1.0\r\n\r\n")
            assert poller.poll(20) == [(sock.fileno(), select.EPOLLIN)]
            poller.unregister(sock)
            seen.append(bubble.clock.monotonic())
            timer = threading.Timer(5, os.write, [writer, b"x"])
            timer.start()
            assert poller.poll() == [(reader, select.EPOLLIN)]
            seen.append(bubble.clock.monotonic())
        assert poller.closed
        os.close(reader)
        os.close(writer)

    thread = bubble.thread(waits)
    bubble.join(thread)
    assert thread.error is None
    assert seen == [20, 30, 35]


def test_kqueue(monkeypatch):
    """P3: refused, since it waits in real time; only BSD and macOS have it."""
    monkeypatch.setattr(select, "kqueue", object, raising=False)
    monkeypatch.setattr(polls, "REAL_KQUEUE", object)
    monkeypatch.setitem(polls.ORIGINALS, "kqueue", object)
    monkeypatch.setattr(selects, "REAL_KQUEUE", object)
    with Bubble() as bubble:
        refusals = []

        def operator():
            try:
                select.kqueue()
            except RuntimeError as error:
                refusals.append(str(error))

        bubble.join(bubble.thread(operator))
        assert refusals[0].startswith("select.kqueue() waits in real time: use select.poll()")
    assert type(select.kqueue()) is object


def test_selectors_of_others(other_server, bubble, takes):
    def waits():
        with socket.create_connection(other_server) as sock:
            assert select.select([sock], [], [], 0.02) == ([], [], [])

    assert takes(waits) == (0, 0)


def test_sockets_of_threads(bubble, takes):
    """P1: a server in a thread of the bubble, which answers after some time."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve():
        for _ in range(2):
            connection, _ = listening.accept()
            with connection:
                time.sleep(10)
                connection.sendall(connection.recv(1))
                time.sleep(10)

    def waits():
        with socket.create_connection(listening.getsockname()) as sock:
            sock.sendall(b"a")
            sock.settimeout(5)
            with pytest.raises(TimeoutError):
                sock.recv(1)
            assert select.select([sock], [], [], 3) == ([], [], [])
            assert bubble.clock.monotonic() % 20 == 8
            sock.settimeout(None)
            assert sock.recv(1) == b"a"
            assert sock.recv(1) == b""

    with listening:
        bubble.thread(serve)
        bubble.settle()
        assert takes(waits) == (20, 20)


def test_socket_time_outs(bubble, takes):
    server = Server(bubble)

    def waits():
        with socket.create_connection((server.host, server.port), timeout=60) as sock:
            sock.sendall(b"GET /never HTTP/1.0\r\n\r\n")
            with pytest.raises(TimeoutError):
                sock.recv(1)

    assert takes(waits) == (60, 60)
    assert refused(bubble, waits)


def test_sockets_to_others(other_server, bubble, takes):
    def waits():
        with socket.create_connection(other_server) as sock:
            sock.settimeout(0.02)
            with pytest.raises(TimeoutError):
                sock.recv(1)

    assert takes(waits) == (0, 0)


def test_subprocesses(bubble, takes):
    bubble.loop.call_later(0.001, lambda: None)

    def runs():
        assert subprocess.run([sys.executable, "-c", ""], check=True, timeout=30).returncode == 0
        with pytest.raises(subprocess.TimeoutExpired):
            subprocess.run([sys.executable, "-c", "import threading; threading.Event().wait()"], timeout=0.05)

    assert takes(runs) == (0, 0)


@pytest.mark.slow
def test_subprocesses_of_asyncio(bubble):
    async def runs():
        command = (sys.executable, "-c", "print(1)")
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        assert await asyncio.wait_for(process.communicate(), 30) == (b"1\n", None)
        process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL)
        assert await asyncio.wait_for(process.wait(), 30) == 0

    async def waits():
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "import threading; threading.Event().wait()"
        )
        try:
            await process.wait()
        finally:
            process.kill()
            await process.wait()

    bubble.run(runs())
    assert bubble.clock.us == 0
    with pytest.raises(NotQuiescent, match="waiting for process"):
        bubble.run(waits())


def test_own_threads(bubble):
    instants = []

    def waits():
        assert not threading.Event().wait(0.01)
        instants.append(bubble.clock.monotonic())

    async def starts():
        thread = threading.Thread(target=waits)
        thread.start()
        await asyncio.sleep(60)
        return thread

    assert bubble.clock.monotonic() == 0
    thread = bubble.run(starts())
    assert bubble.clock.monotonic() == 60
    thread.join(5)
    assert len(instants) == 1
    thread = threading.Thread(target=waits)
    thread.start()
    thread.join(5)
    assert instants[1:] == [60]

    bubble.join(bubble.thread(lambda: _joined(threading.Thread(target=waits))))
    assert instants[2:] == [60.01]


def _joined(thread):
    thread.start()
    thread.join()


def test_signals(bubble):
    seen = []

    def operator():
        signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
        time.sleep(60)

    thread = bubble.thread(operator)
    bubble.settle()
    bubble.signal(thread, signal.SIGTERM)
    bubble.join(thread)
    assert seen == [signal.SIGTERM]
    assert bubble.clock.monotonic() == 60


def test_alarms(bubble):
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    rung = []
    before = signal.signal(signal.SIGVTALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
        started = REAL[0]()
        while not rung and REAL[0]() - started < 5:
            pass
    finally:
        signal.signal(signal.SIGVTALRM, before)
    assert rung == [1]
    assert bubble.clock.us == 0
