"""What a server makes of the answers of webhooks, and the addresses at which it calls them."""

import pytest

from fakekube.apiserver.needs import Service
from fakekube.server import webhookclient
from fakekube.server.webhookclient import WebhookClient

FAILED = "failed to call webhook: "


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (200, ""),
        (399, ""),
        (400, "the server rejected our request for an unknown reason"),
        (401, "the server has asked for the client to provide credentials"),
        (403, "unknown"),
        (404, "the server could not find the requested resource"),
        (405, "the server does not allow this method on the requested resource"),
        (415, "the server was unable to process a media type"),
        (418, "the server rejected our request for an unknown reason"),
        (429, "the server has received too many requests and has asked us to try again later"),
        (499, "the server rejected our request for an unknown reason"),
        (500, 'an error on the server ("{\\"a\\": 1}") has prevented the request from succeeding'),
        (503, 'an error on the server ("{\\"a\\": 1}") has prevented the request from succeeding'),
    ],
)
def test_the_reply_for_each_status(status, problem):
    reply = webhookclient._reply(status, b' {"a": 1}\n')
    assert reply.problem == (f"{FAILED}{problem}" if problem else "")
    assert reply.document == (None if problem else {"a": 1})


@pytest.mark.parametrize("text", [b"", b"{", b"no", b"[" * 200_000, b"\xff"])
def test_an_answer_that_is_not_json(text):
    reply = webhookclient._reply(200, text)
    assert reply.problem.startswith(FAILED)
    assert len(reply.problem) > len(FAILED)
    assert reply.document is None


def test_the_address_of_a_service():
    client, one, two = (
        WebhookClient(lambda service: f"10.0.0.1:{service.port}"),
        Service("a", "b", 443),
        Service("a", "b", 8443),
    )
    other = Service("a", "c", 443)
    assert (client.base_url(one), client.is_mapped(one)) == ("https://10.0.0.1:443", False)
    client.services[one] = "https://127.0.0.1:1"
    assert [client.base_url(each) for each in (one, two)] == ["https://127.0.0.1:1", "https://10.0.0.1:8443"]
    assert [client.is_mapped(each) for each in (one, two, other)] == [True, False, False]
    client.services[Service("a", "b", 0)] = "https://127.0.0.1:2"
    assert [client.base_url(each) for each in (one, two)] == ["https://127.0.0.1:1", "https://127.0.0.1:2"]
    assert [client.is_mapped(each) for each in (one, two, other)] == [True, True, False]


@pytest.mark.parametrize("text", ["https://a:1", "https://a:1/", "https://[::1]:9"])
def test_base_urls(text):
    assert webhookclient.base_url(text) == text.rstrip("/")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("http://a:1", "is not a URL like"),
        ("https://", "is not a URL like"),
        ("a:1", "is not a URL like"),
        ("https://a/x", "has a path"),
        ("https://a?x=1", "has a path"),
        ("https://a#x", "has a path"),
    ],
)
def test_other_base_urls_are_rejected(text, why):
    with pytest.raises(ValueError, match=why):
        webhookclient.base_url(text)


def test_the_limit_of_an_answer():
    assert webhookclient.MAX_ANSWER == 67_108_864
