"""The wall clock of user code: `datetime` and `time` read virtual time; libraries that conflict with it work."""

import asyncio
import concurrent.futures
import datetime
import importlib
import logging
import pickle
import queue
import subprocess
import sys
import threading
import time

import freezegun
import pytest
import urllib3
from _pytest import timing

from fakekube.virtualtime import Bubble
from fakekube.virtualtime.patches.wallclocks.freezer import Freezer
from tests.virtualtime.server import Server

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
#: In a container, where freezegun does not find it.
REAL = [time.perf_counter]


@pytest.fixture
def bubble():
    with Bubble(patience=5) as bubble:
        yield bubble


def test_user_code_reads_virtual_time(bubble):
    bubble.advance(hours=1, milliseconds=250)
    assert datetime.datetime.now(datetime.UTC) == START + datetime.timedelta(hours=1, milliseconds=250)
    assert datetime.date.today() == START.astimezone().date()
    assert time.time() == START.timestamp() + 3600.25
    assert time.gmtime().tm_hour == 1
    time.sleep(60)
    assert time.time() == START.timestamp() + 3660.25
    assert bubble.clock.now() == datetime.datetime.now(datetime.UTC)


def test_a_deadline_loop_ends_at_its_deadline(bubble):
    """As kubernetes.leaderelection does."""
    deadline = time.time() + 1 / 3
    naps = 0
    while time.time() < deadline:
        time.sleep(deadline - time.time())
        naps += 1
        assert naps < 5
    assert bubble.clock.monotonic() == pytest.approx(1 / 3, abs=2e-6)


def test_a_function_that_a_thread_runs_reads_virtual_time_too(bubble):
    async def test():
        await asyncio.sleep(60)
        return await asyncio.to_thread(lambda: (time.time(), datetime.datetime.now(datetime.UTC)))

    moment = START + datetime.timedelta(seconds=60)
    assert bubble.run(test()) == (moment.timestamp(), moment)


def test_modules_whose_name_begins_with_an_exempt_name_read_virtual_time(bubble, monkeypatch):
    for name in ("queueing_operator", "gitops_operator", "threading_operator"):
        module = type(sys)(name)
        exec("import time\ndef now(): return time.time()", vars(module))
        assert module.now() == START.timestamp()


@pytest.mark.slow
def test_waits_for_the_real_world_are_real(bubble):
    started = REAL[0]()
    waiting = queue.Queue()
    outsider = threading.Thread(target=lambda: results.append(_expires(waiting)))
    results = []
    outsider.start()
    outsider.join()
    assert results == ["empty"]
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", "import threading; threading.Event().wait()"], timeout=0.1)
    assert REAL[0]() - started < 3
    assert bubble.clock.us == 0


def _expires(waiting):
    with pytest.raises(queue.Empty):
        waiting.get(timeout=0.05)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        job = pool.submit(threading.Event().wait, 0.1)
        with pytest.raises(TimeoutError):
            list(concurrent.futures.as_completed([job], timeout=0.02))
    asyncio.run(asyncio.sleep(0.01))
    return "empty"


def test_pytest_measures_real_durations(bubble):
    assert abs(timing.perf_counter() - REAL[0]()) < 60
    assert timing.time() > START.timestamp() or timing.time() < START.timestamp() - 60


def test_log_records_have_virtual_time(bubble, caplog):
    bubble.advance(60)
    logging.getLogger("operator").warning("late")
    assert caplog.records[-1].created == START.timestamp() + 60


def test_the_official_client_reads_timestamps(bubble):
    from kubernetes import client

    api = client.ApiClient(client.Configuration())
    pod = {"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}

    class Response:
        data = __import__("json").dumps(pod)

    read = _deserialize(api, Response, "V1Pod")
    assert read.metadata.creation_timestamp == START
    assert _deserialize(api, type("R", (), {"data": '"2026-01-01T00:00:00Z"'}), "datetime") == START
    api.close()


def _deserialize(api, response, kind):
    try:
        return api.deserialize(response, kind)
    except TypeError:  # kubernetes 37 takes the text
        return api.deserialize(response.data, kind, "application/json")


FIRST_USED_UNDER_FREEZE = """
import sys
from fakekube.virtualtime import Bubble
import {before}
with Bubble() as bubble:
    from kubernetes import client
    api = client.ApiClient(client.Configuration())
    text = '{{"metadata": {{"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}}}}'
    try:
        lease = api.deserialize(type("R", (), {{"data": text}}), "V1Lease")
    except TypeError:
        lease = api.deserialize(text, "V1Lease", "application/json")
    assert lease.metadata.creation_timestamp == bubble.clock.now(), lease
    api.close()
with Bubble() as bubble:
    assert client.V1Pod(metadata=client.V1ObjectMeta(name="a")).metadata.name == "a"
import datetime, time
assert datetime.datetime.__module__ == "datetime" and type(time.time).__name__ == "builtin_function_or_method"
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", ["time", "kubernetes.client"])
def test_a_client_that_is_first_used_under_frozen_time_works(before):
    code = FIRST_USED_UNDER_FREEZE.format(before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


CERTIFICATES = """
from fakekube.virtualtime import Bubble
{before}
with Bubble():
    import trustme
    trustme.CA().issue_cert("a.example")
trustme.CA().issue_cert("a.example")
"""


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "import trustme", "import cryptography.x509"])
def test_certificates_can_be_made_under_frozen_time_and_after_it(before):
    """`cryptography` caches the `datetime` that it uses first."""
    code = CERTIFICATES.format(before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


MODEL = """
import time
from datetime import datetime
from time import time as now, sleep
import pydantic
class Backup(pydantic.BaseModel):
    at: datetime
made = now()
"""


def test_a_module_that_is_imported_under_frozen_time_is_executed_with_real_time(bubble, tmp_path, monkeypatch):
    (tmp_path / "late_operator.py").write_text(MODEL)
    monkeypatch.syspath_prepend(tmp_path)
    import late_operator

    monkeypatch.delitem(sys.modules, "late_operator")
    assert late_operator.made == START.timestamp()
    assert late_operator.Backup(at=datetime.datetime.now(datetime.UTC)).at.year == 2026
    assert late_operator.datetime.now(datetime.UTC).year == 2026
    bubble.close()
    assert late_operator.now is time.time
    assert late_operator.datetime is datetime.datetime


def test_an_answer_of_the_server_carries_virtual_time(bubble):
    server = Server(bubble)
    bubble.advance(hours=5)
    with urllib3.PoolManager() as http:
        assert "Thu, 01 Jan 2026 05:00:00" in http.request("GET", f"{server.url}/now").headers["Date"]


def test_frozen_values_pickle(bubble):
    assert pickle.loads(pickle.dumps(datetime.datetime.now())) == datetime.datetime.now()


# --- other libraries that freeze time


def others_freeze():
    """As users do (with the exception that version 37 of the official client needs)."""
    return freezegun.freeze_time("2001-01-01", ignore=["kubernetes"])


def test_freezing_inside_is_rejected(bubble):
    with pytest.raises(RuntimeError, match="has frozen time and moves it"), others_freeze():
        pass
    bubble.advance(1)
    assert time.time() == START.timestamp() + 1


def test_frozen_time_is_rejected():
    with others_freeze():
        with pytest.raises(RuntimeError, match="freezegun has frozen time already"):
            Bubble().open()
        assert time.time() == 978_307_200


def test_freezing_works_again_afterwards(bubble):
    bubble.close()
    with others_freeze():
        assert time.time() == 978_307_200


def test_without_a_wall_clock_user_code_reads_real_time():
    with Bubble(wall_clock=False) as bubble, others_freeze():
        bubble.advance(60)
        assert time.time() == 978_307_200


def test_when_freezing_fails_nothing_stays_frozen(monkeypatch):
    class Broken(type(sys)):
        def __getattribute__(self, name):
            if name == "__dict__" and armed:
                raise LookupError("broken module")
            return super().__getattribute__(name)

    armed = []
    monkeypatch.setitem(sys.modules, "broken", Broken("broken"))
    now = time.time
    freezer = Freezer()
    armed.append(True)
    with pytest.raises(LookupError, match="broken module"):
        freezer.start(START)
    armed.clear()
    assert time.time is now
    assert datetime.datetime.__module__ == "datetime"
    freezer.start(START)
    assert time.time() == START.timestamp()
    freezer.stop()
    assert time.time is now


def test_another_wall_clock_can_be_given():
    class Recorder:
        def __init__(self):
            self.calls = []

        def start(self, now):
            self.calls.append(("start", now))

        def move(self, now):
            self.calls.append(("move", now))

        def stop(self):
            self.calls.append(("stop",))

    recorder = Recorder()
    with Bubble(wall_clock=recorder) as bubble:
        bubble.advance(5)
    assert recorder.calls == [("start", START), ("move", START + datetime.timedelta(seconds=5)), ("stop",)]


def test_a_time_function_bound_under_one_freeze_reads_the_next(tmp_path, monkeypatch):
    """Default arguments, class attributes and the like, which freezegun does not restore."""
    (tmp_path / "catches_time.py").write_text("import time\ndef now(clock=time.time):\n    return clock()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with Bubble():
        catches_time = importlib.import_module("catches_time")
        assert catches_time.now() == START.timestamp()
    assert abs(catches_time.now() - time.time()) < 60
    with Bubble() as bubble:
        bubble.advance(60)
        assert catches_time.now() == START.timestamp() + 60


def test_the_table_of_types_of_the_official_client_is_the_real_one_afterwards():
    from kubernetes.client import ApiClient

    table = ApiClient.NATIVE_TYPES_MAPPING
    before = dict(table)
    with Bubble():
        import datetime

        assert (table["date"], table["datetime"]) == (datetime.date, datetime.datetime)
        assert table["datetime"] is not before["datetime"]
    assert table == before
