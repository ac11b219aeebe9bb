"""The models of connections: bytes in flight, who is external, requests in place, servers in threads."""

import asyncio
import errno
import socket
import ssl

import pytest

from fakekube.virtualtime.network.bytecount import Connection, Connections, CountedSocket, Flow
from fakekube.virtualtime.network.handshake import succeeds
from fakekube.virtualtime.network.inplace import Exchange, NeedsTime
from fakekube.virtualtime.network.threadservers import ThreadServers
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.simulatedprocess import HARNESS, ProcessState, SimulatedProcess, running_in
from fakekube.virtualtime.socketaddresses import name_of, numeric, peer_of, route

CLIENT, SERVER = ("127.0.0.1", 5000), ("127.0.0.1", 80)
ROUTE = (CLIENT, 80)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (("h", 1), ("h", 1)),
        (("::1", 1, 0, 0), ("::1", 1)),
        (("h",), None),
        (("h", "1"), None),
        ((1, 1), None),
        (["h", 1], None),
        ("/run/socket", None),
        (None, None),
    ],
)
def test_addresses_have_a_host_and_a_port(address, expected):
    assert numeric(address) == expected
    assert route(address, ("s", 2)) == (expected and (expected, 2))
    assert route(("c", 3), address) == (expected and (("c", 3), expected[1]))


def test_a_socket_has_a_name_and_maybe_a_peer():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert (name_of(client), peer_of(client)) == (client.getsockname(), server.getsockname())
        assert (name_of(server), peer_of(server)) == (server.getsockname(), None)
    assert (name_of(client), peer_of(client)) == (None, None)


# --- bytes


class Log(list):
    """Notes each call of a listener."""

    def on(self, notifier, what):
        notifier.add(lambda: self.append(what))


def test_listeners_are_called_in_their_order_and_may_leave():
    notifier, log = Notifier(), Log()

    def once():
        log.append("once")
        notifier.discard(once)

    assert not notifier.is_awaited()
    notifier.notify()
    notifier.add(once)
    log.on(notifier, "always")
    assert notifier.is_awaited()
    notifier.notify()
    notifier.discard(once)
    notifier.notify()
    assert log == ["once", "always", "always"]


def test_a_flow_counts_what_is_in_flight_and_tells_of_it():
    flow, log = Flow(), Log()
    log.on(flow.arrived, "arrived")
    log.on(flow.drained, "drained")
    assert (flow.in_flight, flow.readable) == (0, False)
    flow.give(5)
    assert (flow.in_flight, flow.readable, flow.sent) == (5, True, 5)
    flow.take(3)
    assert (flow.in_flight, flow.readable, flow.taken) == (2, True, 3)
    flow.give(1)
    flow.take(3)
    assert (flow.in_flight, flow.readable, flow.sent, flow.taken) == (0, False, 6, 6)
    flow.end()
    assert (flow.ended, flow.readable) == (True, True)
    assert log == ["arrived", "drained", "arrived", "drained", "arrived", "drained"]


@pytest.mark.parametrize(
    ("sent", "taken", "reads", "awaited"),
    [(5, 3, True, True), (5, 5, True, False), (0, 0, True, False), (5, 3, False, False), (5, 3, None, False)],
)
def test_bytes_are_awaited_that_a_reading_transport_has_not_taken(sent, taken, reads, awaited):
    flow = Flow()
    flow.sent, flow.taken = sent, taken
    flow.reads = None if reads is None else lambda: reads
    assert flow.is_awaited() is awaited
    flow.stop_reading()
    assert not flow.is_awaited()


def test_a_connection_says_what_keeps_it_busy():
    connection = Connection(ROUTE, external=False)
    assert list(connection.busy_reasons()) == ["the connection from 127.0.0.1:5000 is not accepted yet"]
    connection.accepted = True
    for flow, count in ((connection.up, 7), (connection.down, 9)):
        flow.reads = lambda: True
        flow.give(count)
    assert list(connection.busy_reasons()) == [
        "7 bytes are on their way from 127.0.0.1:5000 to the server",
        "9 bytes are on their way from the server to 127.0.0.1:5000",
    ]


@pytest.mark.parametrize(("up", "down", "ended", "idle"), [
    (0, 0, False, True), (1, 0, False, False), (0, 1, False, False), (0, 0, True, False),
])  # fmt: skip
def test_a_connection_is_idle_if_nothing_is_on_its_way_in_either_direction(up, down, ended, idle):
    connection = Connection(ROUTE, external=False)
    connection.up.give(up)
    connection.down.give(down)
    connection.down.ended = ended
    connection.up.ended = True
    assert connection.is_idle() is idle


def test_clients_that_were_not_announced_are_external_while_they_are_connected():
    connections, log = Connections(), Log()
    log.on(connections.external_moved, "moved")
    assert connections.is_empty()
    assert connections.find(ROUTE) is connections.find(None) is None
    own = connections.connecting(ROUTE)
    assert (own.external, own.accepted, connections.external, connections.is_empty()) == (False, False, 0, False)
    assert list(connections.busy_reasons()) == list(own.busy_reasons()) != []
    assert connections.accepted(ROUTE) is own is connections.find(ROUTE)
    assert (own.accepted, list(connections.busy_reasons()), log) == (True, [], [])
    other = connections.accepted((CLIENT, 81))
    assert (other.external, other.accepted, connections.external, log) == (True, True, 1, ["moved"])
    other.up.reads = lambda: True
    other.up.give(3)
    assert list(connections.busy_reasons()) == []
    assert list(connections) == [own, other]
    connections.closed(own)
    assert (connections.external, log) == (1, ["moved"])
    connections.closed(other)
    connections.closed(other)
    assert (connections.external, connections.is_empty(), log) == (0, True, ["moved", "moved"])
    assert (other.up.ended, other.down.ended, other.up.reads) == (True, True, None)


def test_a_port_that_the_kernel_gives_to_another_client_is_another_connection():
    connections = Connections()
    connections.connecting(ROUTE)
    first = connections.accepted(ROUTE)
    second = connections.accepted(ROUTE)
    assert (second is first, second.external, connections.external) == (False, True, 1)
    connections.closed(first)
    assert connections.find(ROUTE) is second
    assert connections.external == 1


def test_pending_connections_end_when_the_server_stops_listening():
    connections = Connections()
    pending, accepted = connections.connecting(ROUTE), connections.accepted((CLIENT, 81))
    connections.refuse_pending()
    assert list(connections) == [accepted]
    assert (pending.down.ended, accepted.down.ended) == (True, False)


def test_a_counted_socket_counts_each_way_to_read_and_write():
    near, far = socket.socketpair()
    sends, takes, closed = Flow(), Flow(), []
    number = near.fileno()
    with far, CountedSocket.of(near, sends=sends, takes=takes, at_close=lambda: closed.append(1)) as counted:
        assert (counted.fileno(), near.fileno(), counted.getblocking()) == (number, -1, False)
        assert counted.send(b"abc") == 3
        assert counted.sendmsg([b"de", b"f"]) == 3
        assert (sends.sent, far.recv(100)) == (6, b"abcdef")
        far.sendall(b"12345")
        assert counted.recv(2) == b"12"
        buffer = bytearray(10)
        assert counted.recv_into(buffer) == 3
        assert takes.taken == 5
        counted.shutdown(socket.SHUT_RD)
        assert not sends.ended
        counted.shutdown(socket.SHUT_WR)
        assert sends.ended
        counted.close()
        counted.close()
    assert closed == [1]


# --- requests that are answered in place


class Conversation:
    """Answers each line in capitals; `reset` and `slow` are what they say."""

    closes = False

    def __init__(self):
        self.heard = b""

    def feed(self, data):
        self.heard += data
        if b"reset" in data:
            raise ConnectionResetError
        if b"slow" in data:
            raise NeedsTime("a watch", streams=b"stream" in data)
        self.closes = b"last" in data
        return self.heard.upper() if data.endswith(b"\n") else None


def test_a_request_is_answered_when_it_is_complete():
    made = []
    exchange = Exchange(lambda: made.append(Conversation()) or made[-1])
    exchange.send(b"he")
    assert (exchange.readable, exchange.is_new, bytes(exchange.request)) == (False, False, b"he")
    exchange.send(b"y\n")
    assert (exchange.readable, exchange.is_new, bytes(exchange.request), exchange.ended) == (True, True, b"", False)
    assert exchange.take(2, keep=True) == b"HE"
    assert exchange.take(2) == b"HE"
    assert exchange.take(100) == b"Y\n"
    assert not exchange.readable
    exchange.send(b"last\n")
    assert (exchange.readable, exchange.ended, len(made)) == (True, True, 1)
    exchange.take(100)
    assert exchange.readable


@pytest.mark.parametrize("streams", [False, True])
def test_a_request_that_needs_time_keeps_its_bytes(streams):
    made = []
    exchange = Exchange(lambda: made.append(Conversation()) or made[-1])
    exchange.send(b"get ")
    with pytest.raises(NeedsTime, match="a watch"):
        exchange.send(b"slow stream\n" if streams else b"slow\n")
    assert (exchange.streams, exchange.readable) == (streams, False)
    assert exchange.release() == (b"get slow stream\n" if streams else b"get slow\n")
    assert exchange.release() == b""
    exchange.send(b"new\n")
    assert (exchange.take(10), len(made)) == (b"NEW\n", 2)


def test_a_reset_is_an_error_of_each_read():
    exchange = Exchange(Conversation)
    exchange.send(b"reset")
    assert (exchange.readable, exchange.ended, exchange.is_new) == (True, True, True)
    for _ in range(2):
        with pytest.raises(ConnectionResetError) as caught:
            exchange.take(10)
        assert caught.value.errno == errno.ECONNRESET


def test_a_request_does_not_stream_unless_it_says_so():
    assert (NeedsTime("time").streams, str(NeedsTime("time"))) == (False, "time")


@pytest.mark.parametrize("server", [None, True, "context"])
def test_a_server_without_a_context_makes_no_handshake(server):
    assert not succeeds(True, server, "localhost")


def test_a_handshake_that_fails_is_no_error():
    plain = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)  # without a certificate
    assert not succeeds(ssl.create_default_context(), plain, "localhost")
    assert not succeeds(True, plain, None)


# --- servers in threads


@pytest.fixture
def pair():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            yield server, client, accepted


@pytest.mark.parametrize("order", ["listens-first", "accepts-later", "never"])
def test_both_ends_of_a_connection_belong_to_a_thread_that_listens_or_accepts(pair, order):
    server, client, accepted = pair
    servers, heard = ThreadServers(), Log()
    heard.on(servers.listening, 1)
    host, port = server.getsockname()
    assert not servers.serve(host, port)
    if order == "listens-first":
        servers.listens(server)
        servers.listens(server)
        assert servers.serve(host, port)
        assert not servers.serve(host, port + 1)
        assert not servers.serve("127.0.0.2", port)
    servers.connected(client, server.getsockname())
    if order == "accepts-later":
        servers.accepted(accepted)
    is_inside = order != "never"
    assert (servers.has(client), servers.has(accepted), servers.has(server)) == (is_inside, is_inside, False)
    assert heard == [1] * (order == "listens-first")
    servers.closes(client)
    assert not servers.has(client)
    assert not servers.has(accepted)
    servers.accepted(accepted)
    assert not servers.has(client)
    servers.closes(server)
    assert not servers.serve(host, port)


def test_a_thread_that_listens_everywhere_serves_each_address():
    servers = ThreadServers()
    with socket.create_server(("0.0.0.0", 0)) as server:
        servers.listens(server)
        assert servers.serve("127.0.0.1", server.getsockname()[1])
        assert servers.serve("192.0.2.1", server.getsockname()[1])


def test_sockets_of_other_families_belong_to_none():
    servers = ThreadServers()
    one, other = socket.socketpair()
    with one, other:
        servers.listens(one)
        servers.connected(one, "/run/socket")
        servers.accepted(one)
        servers.closes(one)
        assert not servers.has(one)
    servers.closes(one)


# --- the addresses of a loop


@pytest.fixture
def served(loop):
    """A server on the loop, and its address."""
    server = loop.run_until_complete(loop.create_server(asyncio.Protocol, "127.0.0.1", 0))
    yield server, server.sockets[0].getsockname()
    server.close()
    loop.run_until_complete(loop.settle())


def test_a_server_is_found_at_its_address_while_it_listens(loop, served):
    server, (host, port) = served
    network = loop.network
    assert network.served((host, port)).server is server
    assert [network.served(address) for address in (("127.0.0.2", port), (host, port + 1), "/path")] == [None] * 3
    assert (network.is_inside(host, port), network.is_inside("localhost", port)) == (True, True)
    assert (network.is_inside("127.0.0.2", port), network.is_inside("localhost", port + 1)) == (False, False)
    assert list(network.servers()) == [server]
    server.close()
    assert network.served((host, port)) is None
    assert list(network.servers()) == []


@pytest.mark.parametrize("secure", [False, True])
def test_requests_are_answered_in_place_by_port_while_the_server_listens(loop, served, secure):
    server, (host, port) = served
    network = loop.network
    network.answer_in_place(port + 1, Conversation)
    assert not network.answers_in_place((host, port + 1))  # nothing listens there
    assert not network.answers_in_place((host, port))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if secure else None
    network.answer_in_place(port, Conversation, tls)
    assert network.answers_in_place((host, port))
    assert not network.answers_in_place("/path")
    with socket.create_connection((host, port)) as client:
        connection = network.connecting(client, (host, port))
        assert (connection.exchange is None, connection.secure is None) == (secure, not secure)
        assert connection.secure is None or connection.secure[1] is tls
        assert network.connection_of(client) is connection
    server.close()
    assert not network.answers_in_place((host, port))
    assert connection.down.ended
    assert network.connecting(client, (host, port)) is None


def test_a_server_that_is_down_refuses_and_a_killed_process_gets_nowhere(loop, served):
    _, address = served
    network, process = loop.network, SimulatedProcess("operator")
    elsewhere = ("127.0.0.1", 1)
    network.check(address)
    network.down.add(address[1])
    network.down.add(1)
    network.check(elsewhere)
    with pytest.raises(ConnectionRefusedError) as refused:
        network.check(address)
    assert refused.value.errno == errno.ECONNREFUSED
    process.become(ProcessState.KILLED)
    with running_in(process):
        network.check(elsewhere)
        with pytest.raises(asyncio.CancelledError, match=r"operator was killed: connect to 127\.0\.0\.1:"):
            network.check(address)
        with pytest.raises(BaseException, match="operator was killed") as ended:
            network.check(address, in_thread=True)
    assert type(ended.value).__name__ == "BubbleClosed"
    assert process.fenced_requests == [f"connect to 127.0.0.1:{address[1]}"] * 2


def test_a_connection_belongs_to_the_process_that_made_it_last(loop, served):
    _server, address = served
    network, process = loop.network, SimulatedProcess("operator")

    for owner, expected in ((process, process), (HARNESS, None), (None, None)):
        with running_in(owner):
            transport, _ = loop.run_until_complete(loop.create_connection(asyncio.Protocol, *address))
        name = transport.get_extra_info("sockname")
        assert name[1] >= 61000
        assert network.process_of(name, address) is expected
        assert network.process_of(name, ("127.0.0.1", 1)) is network.process_of(None, address) is None
        assert not network.is_external(name, address)
        assert len(list(network.open_pipes())) == 2
        transport.close()
        loop.run_until_complete(loop.settle())
        assert list(network.open_pipes()) == []
    assert len(process.routes) == 1
    assert len(process.ends) == 2


def test_a_server_that_a_process_starts_ends_with_it(loop):
    process = SimulatedProcess("operator")
    with running_in(process):
        server = loop.run_until_complete(loop.create_server(asyncio.Protocol, "127.0.0.1", 0))
    assert process.servers == [server]
    loop.processes.kill(process)
    assert not server.is_serving()
    loop.run_until_complete(loop.settle())


@pytest.mark.slow
def test_an_external_client_is_one_that_no_code_of_the_loop_has_connected(loop, served):
    _, address = served
    moved = Log()
    moved.on(loop.network.connections.external_moved, 1)
    with socket.create_connection(address) as client:
        loop.run_until_complete(loop.settle())
        assert loop.network.is_external(client.getsockname(), address)
        assert not loop.network.is_external(client.getsockname(), ("127.0.0.1", 1))
        before = len(moved)
        client.sendall(b"hello")
        loop.run_until_complete(loop.settle())
        assert len(moved) > before >= 1
    loop.run_until_complete(loop.settle())
    assert loop.network.connections.external == 0


def test_open_pipes_are_in_the_order_of_their_addresses(loop, served):
    _, address = served
    ends = [loop.run_until_complete(loop.create_connection(asyncio.Protocol, *address))[0] for _ in range(4)]
    names = [end.get_extra_info("sockname") for end in loop.network.open_pipes()]
    assert names == sorted(names)
    assert len(names) == 8
    for end in ends:
        end.abort()
    loop.run_until_complete(loop.settle())
