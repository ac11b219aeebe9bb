"""The wall clock with time-machine instead of freezegun."""

import datetime
import json
import subprocess
import sys
import time
from time import time as bound_before

import pytest

from fakekube import FakeKube
from fakekube.virtualtime import Bubble

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def test_user_code_reads_virtual_time():
    with Bubble(wall_clock="time-machine") as bubble:
        bubble.advance(hours=1)
        assert datetime.datetime.now(datetime.UTC) == START + datetime.timedelta(hours=1)
        assert type(datetime.datetime.now()) is type(START)
        assert time.time() == bound_before() == START.timestamp() + 3600
        time.sleep(60)
        assert time.time() == START.timestamp() + 3660
        thread = bubble.thread(lambda: time.sleep(60) or seen.append(time.time()))
        seen = []
        bubble.join(thread)
        assert seen == [START.timestamp() + 3720]
    assert time.time() > START.timestamp() + 4000 or time.time() < START.timestamp()


def test_a_cluster_uses_it_and_the_official_client_reads_timestamps():
    from kubernetes import client

    with FakeKube(wall_clock="time-machine") as cluster:
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        cluster.advance(60)
        found = client.CoreV1Api(cluster.access.api_client()).read_namespaced_config_map("a", "default")
        assert datetime.datetime.now(datetime.UTC) - found.metadata.creation_timestamp == datetime.timedelta(seconds=60)
        assert json.loads(json.dumps(str(found.metadata.creation_timestamp))) == "2026-01-01 00:00:00+00:00"


def test_two_libraries_do_not_freeze_time_at_once():
    import freezegun

    with (
        freezegun.freeze_time("2020-01-01", ignore=["kubernetes"]),
        pytest.raises(RuntimeError, match="another library has frozen time"),
    ):
        Bubble(wall_clock="time-machine").__enter__()


def test_without_the_package_the_error_names_the_extra():
    code = """
import sys
sys.modules["time_machine"] = None
from fakekube.virtualtime import Bubble
try:
    Bubble(wall_clock="time-machine").__enter__()
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        done.stdout
        == "wall_clock='time-machine' needs the package time-machine: pip install 'fakekube[time-machine]'\n"
    )


def test_an_unknown_library_is_rejected():
    with pytest.raises(ValueError, match="wall_clock='frozen': pass True, False, 'freezegun' or 'time-machine'"):
        FakeKube(wall_clock="frozen")
