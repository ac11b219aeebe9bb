"""Who may use the control API."""

import pytest

from fakekube.apiserver.wire.status import StatusError
from fakekube.control.guard import Guard, is_loopback

LOCAL, EVERYWHERE = Guard(is_local=True, tokens=["secret"]), Guard(is_local=False, tokens=["other", "secret"])
HOST = {"host": "127.0.0.1:8001"}
TOKEN = {"authorization": "Bearer secret"}
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("guard", "headers", "peer", "code"),
    [
        pytest.param(LOCAL, HOST, "127.0.0.1", 0, id="this-machine"),
        pytest.param(LOCAL, {"host": "localhost"}, "::1", 0, id="by-name"),
        pytest.param(LOCAL, {"host": "[::1]:8001"}, "::ffff:127.0.0.1", 0, id="ipv6"),
        pytest.param(LOCAL, {"host": "attacker.example.com:8001"}, "127.0.0.1", 403, id="dns-rebinding"),
        pytest.param(LOCAL, {"host": "localhost.attacker.example"}, "127.0.0.1", 403, id="a-name-that-looks-alike"),
        pytest.param(LOCAL, {}, "127.0.0.1", 403, id="no-host"),
        pytest.param(LOCAL, HOST, "10.0.0.7", 401, id="another-machine"),
        pytest.param(LOCAL, {**HOST, **TOKEN}, "10.0.0.7", 0, id="another-machine-with-the-token"),
        pytest.param(EVERYWHERE, HOST, "127.0.0.1", 401, id="this-machine-of-an-open-server"),
        pytest.param(EVERYWHERE, {"host": "ci.example.com", **TOKEN}, "10.0.0.7", 0, id="the-token"),
        pytest.param(EVERYWHERE, {"host": "x", "authorization": "Bearer secre"}, "10.0.0.7", 401, id="part-of-the-token"),
        pytest.param(EVERYWHERE, {"host": "x", "authorization": "Bearer "}, "10.0.0.7", 401, id="an-empty-token"),
        pytest.param(EVERYWHERE, {"host": "x", "authorization": "Basic secret"}, "10.0.0.7", 401, id="another-scheme"),
        pytest.param(LOCAL, {**HOST, "origin": "https://attacker.example"}, "127.0.0.1", 403, id="another-site"),
        pytest.param(LOCAL, {**HOST, "origin": "http://127.0.0.1:9"}, "127.0.0.1", 403, id="another-port"),
        pytest.param(LOCAL, {**HOST, "origin": "null"}, "127.0.0.1", 403, id="a-sandboxed-page"),
        pytest.param(LOCAL, {**HOST, "origin": "http://127.0.0.1:8001"}, "127.0.0.1", 0, id="its-own-page"),
        pytest.param(LOCAL, {**HOST, "sec-fetch-site": "cross-site"}, "127.0.0.1", 403, id="an-image-of-another-site"),
        pytest.param(LOCAL, {**HOST, "sec-fetch-site": "none"}, "127.0.0.1", 0, id="the-address-bar"),
        pytest.param(EVERYWHERE, {**HOST, **TOKEN, "origin": "https://a.example"}, "10.0.0.7", 403, id="another-site-with-the-token"),
        pytest.param(LOCAL, {**HOST, "content-type": "text/plain"}, "127.0.0.1", 415, id="a-form"),
        pytest.param(LOCAL, {**HOST, "content-type": FORM}, "127.0.0.1", 415, id="a-form-of-a-browser"),
        pytest.param(LOCAL, {**HOST, "content-type": FORM, "user-agent": "curl/8.1"}, "127.0.0.1", 0, id="curl-d"),
        pytest.param(LOCAL, {**HOST, "content-type": "application/json; charset=utf-8"}, "127.0.0.1", 0, id="json"),
        pytest.param(Guard(is_local=False), {"host": "x", "authorization": "Bearer "}, "127.0.0.1", 401, id="no-token-known"),
    ],
)  # fmt: skip
def test_who_is_admitted(guard, headers, peer, code):
    try:
        guard.check("POST", headers, peer)
        found = 0
    except StatusError as error:
        found = error.code
    assert found == code


@pytest.mark.parametrize(
    ("address", "found"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("::ffff:127.0.0.1", True), ("10.0.0.1", False),
     ("0.0.0.0", False), ("fe80::1%eth0", False), ("", False), ("localhost", False)],
)  # fmt: skip
def test_addresses_of_the_loopback_interface(address, found):
    assert is_loopback(address) == found
