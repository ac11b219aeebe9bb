"""A server that goes on from a data directory."""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from fakekube.server import bootstrap
from fakekube.server.direct import DirectTransport
from fakekube.server.httpconnection import HeldTransport, HeldWrites
from fakekube.server.initialobjects import ClusterOptions
from fakekube.server.persistence import datadir, rowlog
from fakekube.server.persistence.datadir import DataDir
from fakekube.server.persistence.datarecovery import keep, recover
from fakekube.server.process.listening import CannotServe
from fakekube.server.process.pacedloop import PacedLoop
from fakekube.server.random import SeededRandom
from fakekube.server.runner import ServerRunner
from fakekube.server.systemclock import SystemClock
from fakekube.virtualtime.seeds import Seed
from tests.control.test_state_files import DEFINITION, SERVICE, WIDGETS

MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Server:
    """A server in a directory until `end`."""

    def __init__(self, path, *, window=20_000, port=1, fsync="off"):
        self.data = DataDir(Path(path), fsync)
        random = SeededRandom(Seed(port))
        options = ClusterOptions(address="127.0.0.1", port=port)
        made = bootstrap.api_server(datetime(2026, 1, 1, tzinfo=UTC), random, history_window=window, options=options)
        self.recovered = recover(made, self.data)
        self.runner = ServerRunner(made, SystemClock(), random)
        self.held = keep(self.runner, self.data)
        self.store = made.store
        self.client = DirectTransport(self.runner)

    def ask(self, method, path, body=None, **query):
        code, _, found = self.client.request_now(method, path, body=body, query=list(query.items()))
        assert code < 300, found
        return found

    def make(self, *names):
        for name in names:
            self.ask("POST", MAPS, {"metadata": {"name": name}})

    def state(self):
        found = {}
        for name in self.store.sizes():
            for path, entry in self.store.collection(name).live.items():
                found[name, path] = entry.revision, entry.object, entry.version
        return found

    def end(self):
        self.data.close()


@pytest.fixture
def server(tmp_path):
    """Starts servers in one directory, each after the one before."""
    running = []

    def start(**options):
        for one in running:
            one.end()
        running[:] = [Server(tmp_path / "data", **options)]
        return running[0]

    yield start
    for one in running:
        one.end()


def without_addresses(state):
    return {place: one for place, one in state.items() if not place[0].startswith("endpoint")}


def test_everything_is_there_again(server):
    first = server()
    assert not first.recovered
    first.make("a", "b")
    before = first.store.revision
    first.ask("PUT", f"{MAPS}/a", {"metadata": {"name": "a"}, "data": {"x": "1"}})
    first.ask("DELETE", f"{MAPS}/b")
    first.ask("POST", DEFINITIONS, DEFINITION)
    first.ask("POST", WIDGETS, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "size": 3})
    address = first.ask("POST", "/api/v1/namespaces/default/services", SERVICE)["spec"]["clusterIP"]
    changes = [(one.revision, one.path, one.after is None) for one in first.store.since("configmaps", before)]
    state, revision = first.state(), first.store.revision

    second = server()
    assert second.recovered
    assert (second.state(), second.store.revision) == (state, revision)
    assert [(one.revision, one.path, one.after is None) for one in second.store.since("configmaps", before)] == changes
    assert second.ask("GET", f"{WIDGETS}/w")["size"] == 3
    body = {"metadata": {"name": "t"}, "spec": {**SERVICE["spec"], "clusterIP": address}}
    code, _, said = second.client.request_now("POST", "/api/v1/namespaces/default/services", body=body)
    assert (code, "provided IP is already allocated" in said["message"]) == (422, True)
    second.make("c")
    assert second.store.revision > revision
    assert {"a", "c"} <= {path.rpartition("/")[2] for path in server().store.collection("configmaps").live}


def test_a_server_at_another_port_says_where_it_is(server):
    state = without_addresses(server(port=1).state())
    second = server(port=2)
    assert second.ask("GET", "/api/v1/namespaces/default/endpoints/kubernetes")["subsets"][0]["ports"][0]["port"] == 2
    assert without_addresses(second.state()) == state


def test_a_restored_state_is_kept(server):
    first = server()
    first.make("a")
    saved = first.runner.apiserver.save()
    first.make("b")
    first.runner.restore(saved, after=first.store.revision)
    first.make("c")
    state, revision = first.state(), first.store.revision
    second = server()
    assert (second.state(), second.store.revision) == (state, revision)


def test_changes_that_nothing_can_read_are_deleted(server, monkeypatch):
    monkeypatch.setattr(datadir, "TIDIED", 10)
    first = server(window=4)
    for number in range(40):
        first.make(f"a{number}")
        if number:
            first.ask("DELETE", f"{MAPS}/a{number - 1}")
    state, revision, compacted = first.state(), first.store.revision, first.store.compacted
    assert sum(row.collection == "configmaps" and row.path.startswith("default/a") for row in first.data.rows()) < 30
    second = server(window=4)
    assert (second.state(), second.store.revision) == (state, revision)
    assert second.store.compacted >= compacted
    code, _, _ = second.client.request_now("GET", MAPS, query=[("resourceVersion", "60"), ("resourceVersionMatch", "Exact"), ("limit", "1")])  # fmt: skip
    assert code == 410


def test_tidying_takes_as_many_steps_as_there_are_objects(tmp_path):
    """It looked for a later change of each one among all: half a minute of 18,000 objects."""

    def steps(count):
        data, seen = DataDir(tmp_path / str(count)), []
        data.replace([datadir.Row(at, "configmaps", f"default/a{at}", False, "v1", b"{}") for at in range(1, count)], 0)
        data._database.set_progress_handler(lambda: seen.append(1), 100)
        data.tidy(count)
        data.close()
        return len(seen)

    assert steps(2_000) < 3 * steps(1_000)


def test_values_are_made_once(tmp_path):
    made = []
    for value in (b"one", b"two"):
        data = DataDir(tmp_path)
        made.append(data.kept("key", partial(bytes, value)))
        data.close()
    assert made == [b"one", b"one"]


def test_the_changes_of_one_turn_are_written_before_connections_send(server):
    first = server(fsync="commit")
    held, written = first.held, first.data.rows

    async def two_writes():
        sent = asyncio.get_running_loop().create_future()
        first.make("a", "b")
        assert not {"default/a", "default/b"} & {row.path for row in written()}
        held.call(lambda: sent.set_result([row.path for row in written()][-2:]))
        assert not sent.done()
        return await sent

    assert asyncio.run(two_writes()) == ["default/a", "default/b"]
    assert not held.is_held
    assert {"default/a", "default/b"} <= server().store.collection("configmaps").live.keys()


@pytest.mark.parametrize(("others", "at_once"), [(0, True), (1, False)])
def test_a_change_is_written_at_once_if_no_other_can_come_in_the_turn(server, others, at_once):
    first = server(fsync="commit")

    def write(written):
        first.make("a")
        written.set_result((first.held.is_held, "default/a" in [row.path for row in first.data.rows()]))

    async def turn():
        loop = asyncio.get_running_loop()
        written = loop.create_future()
        loop.call_soon(write, written)
        for _ in range(others):
            loop.call_soon(bool)
        return await written

    with asyncio.Runner(loop_factory=PacedLoop) as runner:
        assert runner.run(turn()) == (not at_once, at_once)
    assert not first.held.is_held


@pytest.mark.parametrize("fsync", ["off", "commit"])
def test_what_is_pending_is_written_at_the_end(tmp_path, fsync):
    first = Server(tmp_path, fsync=fsync)

    async def one_write():
        first.make("a")
        first.end()

    asyncio.run(one_write())
    data = DataDir(tmp_path)
    assert [row.path for row in data.rows()][-1] == "default/a"
    data.close()
    assert {file.name for file in tmp_path.iterdir()} == {"lock", "state.db"}


def as_killed(server, tmp_path, **options):
    """A server of a copy of the directory as it is: what one finds after the other was killed."""
    return Server(shutil.copytree(tmp_path / "data", tmp_path / f"copy-{len(list(tmp_path.iterdir()))}"), **options)


@pytest.mark.parametrize("fsync", ["off", "commit"])
def test_each_change_is_in_the_directory_before_connections_send(server, tmp_path, fsync):
    first = server()
    assert first.held is None
    for number in range(5):
        first.make(f"a{number}")
        copy = as_killed(first, tmp_path, fsync=fsync)
        assert copy.state() == first.state()
        copy.make("later")
        copy.end()


def test_changes_go_into_the_database_when_the_mapped_file_is_full(server, tmp_path):
    first = server()
    stored = len(list(first.data.rows()))
    for number in range(40):
        first.ask("POST", MAPS, {"metadata": {"name": f"a{number}"}, "data": {"a": str(number) * 10_000}})
    assert stored < len(list(first.data.rows())) < stored + 40
    copy = as_killed(first, tmp_path)
    assert copy.state() == first.state()
    copy.end()


def test_a_change_that_the_mapped_file_has_no_room_for_goes_into_the_database(server):
    first = server()
    first.make("small")
    first.ask("POST", MAPS, {"metadata": {"name": "large"}, "data": {"a": "b" * 2 * rowlog.SIZE}})
    assert [row.path for row in first.data.rows()][-2:] == ["default/small", "default/large"]


def test_a_row_that_is_in_the_mapped_file_and_in_the_database_is_one(server, tmp_path):
    """A process may be killed between the transaction and the moment in which the file is cleared."""
    first = server()
    first.make("a", "b")
    log = (tmp_path / "data" / "newest.log").read_bytes()
    first.data.flush()
    (tmp_path / "data" / "newest.log").write_bytes(log)
    copy = as_killed(first, tmp_path)
    assert copy.state() == first.state()
    copy.end()


def test_what_was_restored_does_not_have_the_changes_before_it(server, tmp_path):
    first = server()
    saved = first.runner.apiserver.save()
    first.make("gone")
    first.runner.restore(saved, after=first.store.revision)
    copy = as_killed(first, tmp_path)
    assert copy.state() == first.state()
    assert "default/gone" not in copy.store.collection("configmaps").live
    copy.end()


class Sent(asyncio.Transport):
    """Notes what it is given."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def write(self, data):
        self.calls.append(data)

    def close(self):
        self.calls.append("close")

    def abort(self):
        self.calls.append("abort")


def test_a_held_connection_sends_in_order_and_is_aborted_at_once():
    held, below = HeldWrites(), Sent()
    transport = HeldTransport(below, held)
    buffer = bytearray(b"b")
    transport.write(b"a")
    held.hold()
    transport.write(buffer)
    buffer[:] = b"x"
    transport.writelines([b"c", b"d"])
    transport.close()
    transport.abort()
    assert below.calls == [b"a", "abort"]
    held.release()
    transport.write(b"e")
    assert below.calls == [b"a", "abort", b"b", b"cd", "close", b"e"]


# --- what is refused


def changed(path, statement):
    database = sqlite3.connect(path / "state.db")
    database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: changed(path, "PRAGMA user_version=2"), "state.db is of a newer version (2, known: 1)"),
        (lambda path: changed(path, "PRAGMA application_id=7"), "state.db is not a file of fakekube"),
        (lambda path: (path / "state.db").write_text("something else, and no database"), "file is not a database"),
        (lambda path: (path / "newest.log").write_text("something else"), "newest.log: not a file of fakekube"),
        (lambda path: (path / "state.db").write_bytes((path / "state.db").read_bytes()[:5000] + bytes(9000)), "state.db"),
    ],
    ids=["newer", "foreign", "no-database", "another-log", "torn"],
)  # fmt: skip
def test_what_is_no_data_directory_is_refused_by_name(tmp_path, spoil, said):
    Server(tmp_path).end()
    spoil(tmp_path)
    with pytest.raises(CannotServe) as refused:
        DataDir(tmp_path)
    assert str(refused.value).startswith(f"--data-dir {tmp_path}: ")
    assert said in str(refused.value)


def test_a_directory_has_one_server_at_a_time(tmp_path):
    data = DataDir(tmp_path)
    with pytest.raises(CannotServe, match=f"--data-dir {tmp_path}: another server uses it"):
        DataDir(tmp_path)
    data.close()
    DataDir(tmp_path).close()


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotServe, match=f"--data-dir {tmp_path}/file: File exists"):
        DataDir(tmp_path / "file")


#: A server whose files may not grow, which writes until it cannot, and says what was answered.
FULL = """
import resource, sys
from tests.server.persistence.test_recovery import Server
server = Server(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
for number in range(10_000):
    server.make(f"a{number}")
    print(number, flush=True)
"""


@pytest.mark.slow
def test_a_full_disk_ends_the_server_and_loses_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith("fakekube: --data-dir: a change cannot be written: ")
    answered = int(done.stdout.split()[-1])
    server = Server(tmp_path)
    kept = {
        path.removeprefix("default/a")
        for path in server.store.collection("configmaps").live
        if path.startswith("default/a")
    }
    server.end()
    assert set(map(str, range(answered + 1))) <= kept


#: A server that goes on where files may not grow.
FULL_AT_START = """
import resource, sys
from tests.server.persistence.test_recovery import CannotServe, Server
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    Server(sys.argv[1], fsync=sys.argv[2])
except CannotServe as error:
    sys.exit(str(error))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fsync", "status", "message"),
    [
        ("commit", 3, "fakekube: --data-dir: a change cannot be written: "),
        ("off", 1, "--data-dir {}: newest.log: File too large"),
    ],
)
def test_a_disk_that_is_full_at_the_start_is_one_line_and_loses_nothing(tmp_path, fsync, status, message):
    server = Server(tmp_path)
    server.make("a")
    before = server.state()
    server.end()
    done = subprocess.run(
        [sys.executable, "-c", FULL_AT_START, tmp_path, fsync], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (status, 1), done.stderr
    assert done.stderr.startswith(message.format(tmp_path))
    server = Server(tmp_path)
    assert server.state() == before
    server.end()


#: The number of servers that are killed.
LIVES = int(os.environ.get("FAKEKUBE_KILLS", "8"))


@pytest.mark.slow
@pytest.mark.timeout(60 + 3 * LIVES)
@pytest.mark.parametrize("fsync", ["off", "commit"])
def test_every_answered_write_survives_sigkill(tmp_path, fsync):
    command = [sys.executable, "-m", "tests.server.persistence.killing", tmp_path / "data", "--lives", str(LIVES), "--fsync", fsync]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50 + 3 * LIVES)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["writes"] >= LIVES
    assert seen["events"] > 0


def test_the_rows_are_those_of_kine(tmp_path):
    server = Server(tmp_path)
    server.make("a")
    server.data.flush()
    *_, row = server.data.rows()
    assert row[:5] == (server.store.revision, "configmaps", "default/a", False, "")
    assert json.loads(row.value)["metadata"]["name"] == "a"
    server.end()


@pytest.mark.parametrize("has_database", [False, True])
def test_a_directory_that_cannot_be_written_is_refused_by_name(tmp_path, has_database):
    path = tmp_path / "data"
    path.mkdir()
    if has_database:
        server = Server(path)
        server.make("a")
        server.end()
    for file in (*path.iterdir(), path):
        file.chmod(0o555 if file == path else 0o444)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:  # as a user who may not write there, also if the tests run as root
        try:
            if os.geteuid() == 0:
                for folder in (tmp_path.parent.parent, tmp_path.parent, tmp_path):
                    folder.chmod(0o755)
                os.setuid(65534)
            DataDir(path)
        except CannotServe as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as said:
        assert said.read() == f"--data-dir {path}: Permission denied"
    path.chmod(0o755)
