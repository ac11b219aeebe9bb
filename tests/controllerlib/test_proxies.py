"""The proxy for a URL by the environment's variables."""

import pytest

from controllerlib.client.proxies import is_excepted, proxy_for

BOTH = {"HTTP_PROXY": "http://plain:1", "HTTPS_PROXY": "http://secure:2"}


@pytest.mark.parametrize(
    ("url", "environment", "proxy"),
    [
        pytest.param("http://api", BOTH, "http://plain:1", id="http"),
        pytest.param("https://api:6443", BOTH, "http://secure:2", id="https"),
        pytest.param("https://api", {"https_proxy": "proxy:3128"}, "http://proxy:3128", id="small-letters-no-scheme"),
        pytest.param("https://api", {"HTTP_PROXY": "http://plain:1"}, None, id="of-the-other-scheme"),
        pytest.param("https://api", {}, None, id="none"),
        pytest.param("https://localhost:6443", BOTH, None, id="localhost"),
        pytest.param("https://127.0.0.2", BOTH, None, id="loopback"),
        pytest.param("https://[::1]:6443", BOTH, None, id="loopback-6"),
        pytest.param("https://api.example.com", {**BOTH, "NO_PROXY": "x, .Example.com"}, None, id="excepted"),
        pytest.param("https://api.example.com", {**BOTH, "no_proxy": "example.com:6443"}, "http://secure:2",
                     id="excepted-at-another-port"),
        pytest.param("https://api.example.com:6443", {**BOTH, "no_proxy": "example.com:6443"}, None, id="at-this-port"),
        pytest.param("https://api.example.com", {**BOTH, "no_proxy": "example.com:443"}, None, id="at-its-usual-port"),
    ],
)  # fmt: skip
def test_the_proxy_of_a_url(url: str, environment: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(url, environment) == proxy


@pytest.mark.parametrize(
    ("entry", "host", "excepted"),
    [
        ("*", "anything", True),
        ("example.com", "example.com", True),
        ("example.com", "api.example.com", True),
        ("example.com", "notexample.com", False),
        (".example.com", "api.example.com", True),
        (".example.com", "example.com", False),
        ("*.example.com", "api.example.com", True),
        ("*.example.com", "example.com", False),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1:443", "10.0.0.1", True),
        ("10.0.0.1:444", "10.0.0.1", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.0.0.0/8", "api.example.com", False),
        ("fd00::/8", "fd00::1", True),
        ("[fd00::1]:443", "fd00::1", True),
        ("fd00::1", "fd00::1", True),
        ("not/a/network", "10.0.0.1", False),
    ],
)
def test_exceptions(entry: str, host: str, excepted: bool) -> None:
    assert is_excepted(entry, host, 443) is excepted
