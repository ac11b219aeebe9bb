"""Interactive exec: a handler that answers each line, and clients that poll for output with time-outs."""

import pytest
from kubernetes import client, config
from kubernetes.stream import stream, ws_client

from fakekube import ExecResult
from fakekube.harness.engine import engine_of

# the official client leaves the socket of a session to the garbage collector
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
}


@pytest.fixture
def shell(fakekube):
    fakekube.create(POD)

    @fakekube.pods.on_exec
    def run(request):
        line = yield "$ "
        while line and line != b"exit\n":
            line = yield ExecResult(stdout=b"you said " + line, stderr="!")
        return ExecResult("bye\n", exit_code=3)

    return fakekube


def opened(cluster, protocol=None, **options):
    api_client = cluster.access.api_client()
    if protocol:
        api_client.set_default_header("sec-websocket-protocol", protocol)
    return opened_by(client.CoreV1Api(api_client), **options)


def opened_by(api, **options):
    options = {"command": ["sh"], "stdin": True, "stdout": True, "stderr": True, "_preload_content": False, **options}
    return stream(api.connect_get_namespaced_pod_exec, "a", "default", **options)


def converse(session):
    said = [session.read_stdout(timeout=5)]
    for line in ("one\n", "two\n"):
        session.write_stdin(line)
        said.append(session.readline_stdout(timeout=5))
        said.append(session.read_stderr(timeout=5))
    session.write_stdin("exit\n")
    said.append(session.read_stdout(timeout=5))
    session.run_forever(timeout=5)
    said.append(session.returncode)
    session.close()
    return said


def test_f14_a_client_polls_for_the_output_of_an_interactive_command(shell):
    assert converse(opened(shell)) == ["$ ", "you said one", "!", "you said two", "!", "bye\n", 3]


def test_f14_so_does_a_client_in_a_thread(shell):
    seen = []
    shell.thread(lambda: seen.append(converse(opened(shell)))).join()
    assert seen == [["$ ", "you said one", "!", "you said two", "!", "bye\n", 3]]


def test_f14_a_poll_without_output_takes_virtual_time(shell):
    session = opened(shell)
    assert session.read_stdout(timeout=5) == "$ "
    assert shell.clock.monotonic() < 1
    session.update(timeout=3600)
    assert shell.clock.monotonic() == pytest.approx(3600)
    session.close()


def test_f14_without_input_an_interactive_command_reads_its_end(shell):
    session = opened(shell, stdin=False)
    session.run_forever(timeout=5)
    assert (session.returncode, session.read_all()) == (3, "$ bye\n")
    session.close()


@pytest.mark.skipif(not hasattr(ws_client.WSClient, "close_channel"), reason="the official client has it from 36 on")
def test_f14_a_handler_that_is_not_interactive_still_gets_its_input_as_a_whole(fakekube):
    fakekube.create(POD)
    fakekube.pods.on_exec(lambda request: b"got " + request.stdin)
    session = opened(fakekube)
    session.write_stdin("all")
    session.close_channel(0)
    session.run_forever(timeout=5)
    assert session.read_all() == "got all"
    session.close()


def exchange(session, *written):
    for text in written:
        session.write_stdin(text)
    session.run_forever(timeout=60)
    session.close()
    return session.read_stdout(timeout=0), session.returncode


@pytest.mark.parametrize("protocol", ["v5.channel.k8s.io", "v4.channel.k8s.io"])
@pytest.mark.parametrize("written", [(), ("a",), ("a" * 100, "b" * 100)], ids=["nothing", "once", "in-parts"])
def test_a_client_that_does_not_end_its_input_gets_the_output(fakekube, protocol, written):
    fakekube.create(POD)
    fakekube.pods.on_exec(lambda request: b"got " + request.stdin)
    seen = []
    engine_of(fakekube).bubble.join(
        fakekube.thread(lambda: seen.append(exchange(opened(fakekube, protocol), *written)))
    )
    assert seen == [("got " + "".join(written), 0)]
    assert fakekube.clock.monotonic() < 1


def test_a_command_gets_what_a_client_has_written_before_it_left(fakekube):
    fakekube.create(POD)
    got = []
    fakekube.pods.on_exec(lambda request: got.append(request.stdin))

    def writes():
        session = opened(fakekube)
        session.write_stdin("one ")
        session.write_stdin("two")
        session.close()

    fakekube.thread(writes).join()
    fakekube.settle()
    assert got == [b"one two"]


@pytest.mark.fakekube(configure=True)
def test_a_client_of_tls_polls_for_output_in_virtual_time(shell):
    config.load_incluster_config()
    seen = []

    def run():
        session = opened_by(client.CoreV1Api())
        seen.append(converse(session))

    def waits():
        session = opened_by(client.CoreV1Api())
        session.update(timeout=3600)
        session.update(timeout=3600)
        seen.append(shell.clock.monotonic())
        session.close()

    shell.thread(run).join()
    shell.thread(waits).join()
    assert seen == [["$ ", "you said one", "!", "you said two", "!", "bye\n", 3], 3600]
    run()
    assert seen[2] == seen[0]
