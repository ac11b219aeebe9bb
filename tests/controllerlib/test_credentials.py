"""Credentials: kubeconfig, exec plugins, tokens, certificates, proxies, in-cluster."""

import json
import os
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web
from kubernetes import client, config

from controllerlib.client import credentials
from controllerlib.client.credentials import Credentials, from_kubeconfig, get_config, in_cluster_config
from controllerlib.client.http import HttpTransport
from tests.controllerlib.httpserver import Instant, Proxy, Server, real

EXEC = "client.authentication.k8s.io/v1"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
    for name in (*names, *(name.lower() for name in names)):
        monkeypatch.delenv(name, raising=False)


class Home:
    """A directory with a kubeconfig, a certificate authority and server certificates."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = trustme.CA()
        self.authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.authority.issue_cert("127.0.0.1").configure_cert(self.tls)
        self.authority.configure_trust(self.tls)
        self.tls.verify_mode = ssl.CERT_OPTIONAL
        self.seen: list[dict[str, str]] = []
        self.peers: list[str] = []
        self.codes: list[int] = []
        self.own("me")

    def own(self, name: str) -> None:
        """Write a client certificate."""
        own = self.authority.issue_cert(f"{name}@example.com", common_name=name)
        own.cert_chain_pems[0].write_to_path(str(self.folder / "cert.pem"))
        own.private_key_pem.write_to_path(str(self.folder / "key.pem"))

    def kubeconfig(self, url: str, user: dict[str, Any], name: str = "config", **cluster: Any) -> str:
        cluster = {"server": url, "certificate-authority": "ca.pem", **cluster}
        path = self.folder / name
        path.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}, {"name": "nobody", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}},
                         {"name": "anonymous", "context": {"cluster": "c", "user": "nobody"}}],
        }))  # fmt: skip
        return str(path)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert") or {}
        self.peers.append(next((v for group in peer.get("subject", ()) for k, v in group if k == "commonName"), ""))
        self.seen.append({k: v for k, v in request.headers.items()
                          if k == "Authorization" or k.startswith("Impersonate")})  # fmt: skip
        return web.json_response({}, status=self.codes.pop(0) if self.codes else 200)

    @property
    def tokens(self) -> list[str]:
        return [seen.get("Authorization", "") for seen in self.seen]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def served(home: Home, test: Callable[[Server], Awaitable[None]], *, tls: bool = True) -> None:
    """Run a test against a server."""

    async def main() -> None:
        async with Server(home.handle, home.tls if tls else None) as server:
            await test(server)

    real(main)


def printing(status: dict[str, Any]) -> dict[str, Any]:
    """Return an exec plugin that prints an ExecCredential."""
    credential = json.dumps({"apiVersion": EXEC, "kind": "ExecCredential", "status": status})
    return {"exec": {"apiVersion": EXEC, "command": "echo", "args": [credential], "interactiveMode": "Never"}}


USERS: list[Any] = [
    pytest.param({"token": "secret"}, "Bearer secret", "", id="token"),
    pytest.param({"username": "me", "password": "pass"}, "Basic bWU6cGFzcw==", "", id="password"),
    pytest.param({"client-certificate": "cert.pem", "client-key": "key.pem"}, "", "me", id="certificate"),
    pytest.param(printing({"token": "from-exec"}), "Bearer from-exec", "", id="exec"),
    pytest.param({}, "", "", id="anonymous"),
]


@pytest.mark.parametrize(("user", "token", "peer"), USERS)
def test_users_of_a_kubeconfig(home: Home, user: dict[str, Any], token: str, peer: str) -> None:
    async def test(server: Server) -> None:
        async with HttpTransport.from_kubeconfig(home.kubeconfig(server.url, user)) as transport:
            assert (await transport.request("GET", "/version"))[0] == 200

    served(home, test)
    assert [home.tokens, home.peers] == [[token], [peer]]


@pytest.mark.parametrize(
    ("changes", "token"),
    [
        pytest.param({}, "t", id="named"),
        pytest.param({"users": None}, "", id="no-users"),
        pytest.param({"contexts": [{"name": "c", "context": {"cluster": "c"}}]}, "", id="no-user-in-the-context"),
        pytest.param({"users": None, "contexts": [{"name": "c", "context": {"cluster": "c"}}]}, "", id="neither"),
        pytest.param({"users": [{"name": "other", "user": {"token": "x"}}]}, "", id="another-user"),
        pytest.param({"users": [{"name": "u", "user": None}]}, "", id="an-empty-user"),
    ],
)
def test_a_context_without_a_user_is_anonymous(home: Home, changes: dict[str, Any], token: str) -> None:
    path = Path(home.kubeconfig("http://127.0.0.1:1", {"token": "t"}))
    content = {**yaml.safe_load(path.read_text()), **changes}
    path.write_text(yaml.safe_dump({name: value for name, value in content.items() if value is not None}))
    cluster, user, folder = credentials._entries(str(path), None)
    assert cluster["server"] == "http://127.0.0.1:1"
    assert user.get("token", "") == token
    assert folder == (str(home.folder) if user else "")


def test_another_context(home: Home) -> None:
    async def test(server: Server) -> None:
        path = home.kubeconfig(server.url, {"token": "secret"})
        async with HttpTransport.from_kubeconfig(path, "anonymous") as transport:
            await transport.request("GET", "/version")

    served(home, test)
    assert home.tokens == [""]


def test_an_exec_plugin_may_return_a_certificate(home: Home) -> None:
    pair = {"clientCertificateData": (home.folder / "cert.pem").read_text(),
            "clientKeyData": (home.folder / "key.pem").read_text()}  # fmt: skip

    async def test(server: Server) -> None:
        async with HttpTransport.from_kubeconfig(home.kubeconfig(server.url, printing(pair))) as transport:
            await transport.request("GET", "/version")

    served(home, test)
    assert home.peers == ["me"]


def test_an_exec_plugin_is_run_again_when_its_token_is_rejected(home: Home) -> None:
    script = home.folder / "plugin.sh"
    script.write_text(
        "#!/bin/sh\n"
        f'echo x >> "{home.folder}/runs"\n'
        f'n=$(wc -l < "{home.folder}/runs" | tr -d " ")\n'
        f'echo "{{\\"apiVersion\\":\\"{EXEC}\\",\\"kind\\":\\"ExecCredential\\",'
        '\\"status\\":{\\"token\\":\\"t$n\\"}}"\n'
    )
    script.chmod(0o755)
    user = {"exec": {"apiVersion": EXEC, "command": str(script), "interactiveMode": "Never"}}
    home.codes = [200, 401, 200]

    async def test(server: Server) -> None:
        clock = Instant()
        known = from_kubeconfig(home.kubeconfig(server.url, user), clock=clock)
        async with HttpTransport(credentials=known, clock=clock) as transport:
            codes = [(await transport.request("GET", "/version"))[0] for _ in range(3)]
            clock.time += 3600
            await transport.request("GET", "/version")
        assert codes == [200, 401, 200]

    served(home, test)
    assert home.tokens == ["Bearer t1", "Bearer t1", "Bearer t2", "Bearer t2"]


def test_an_exec_plugin_that_fails_when_it_is_run_again(home: Home) -> None:
    script = home.folder / "plugin.sh"
    credential = json.dumps({"apiVersion": EXEC, "kind": "ExecCredential", "status": {"token": "t"}})
    script.write_text(f"#!/bin/sh\necho '{credential}'\n")
    script.chmod(0o755)
    user = {"exec": {"apiVersion": EXEC, "command": str(script), "interactiveMode": "Never"}}
    home.codes = [401]

    async def test(server: Server) -> None:
        async with HttpTransport.from_kubeconfig(home.kubeconfig(server.url, user)) as transport:
            await transport.request("GET", "/version")
            script.write_text("#!/bin/sh\nexit 1\n")
            with pytest.raises(PermissionError, match=r"getting credentials: exec: .* returned no credentials"):
                await transport.request("GET", "/version")

    served(home, test)


def test_a_failing_exec_plugin_does_not_result_in_an_anonymous_user(home: Home) -> None:
    user = {"exec": {"apiVersion": EXEC, "command": "false", "interactiveMode": "Never"}}
    with pytest.raises(config.ConfigException, match="exec: false returned no credentials"):
        from_kubeconfig(home.kubeconfig("https://127.0.0.1:1", user))


def test_a_token_file_is_read_again_every_minute(home: Home) -> None:
    (home.folder / "token").write_text("first\n")

    async def test(server: Server) -> None:
        clock = Instant()
        known = from_kubeconfig(home.kubeconfig(server.url, {"tokenFile": "token"}), clock=clock)
        async with HttpTransport(credentials=known, clock=clock) as transport:
            for later in (0, 59, 1):
                clock.time += later
                await transport.request("GET", "/version")
                (home.folder / "token").write_text("second\n")

    served(home, test)
    assert home.tokens == ["Bearer first", "Bearer first", "Bearer second"]


def test_a_token_file_that_is_missing_temporarily(home: Home) -> None:
    token = home.folder / "token"
    token.write_text("first")
    home.codes = [200, 200, 401, 200]

    async def test(server: Server) -> None:
        clock = Instant()
        known = from_kubeconfig(home.kubeconfig(server.url, {"tokenFile": "token"}), clock=clock)
        token.unlink()
        async with HttpTransport(credentials=known, clock=clock) as transport:
            with pytest.raises(PermissionError, match=r"getting credentials: .*No such file"):
                await transport.request("GET", "/nothing-yet")
            token.write_text("first")
            await transport.request("GET", "/version")
            token.unlink()
            clock.time += 60
            await transport.request("GET", "/with-what-there-is")
            await transport.request("GET", "/refused")
            for _ in range(2):
                with pytest.raises(PermissionError):
                    await transport.request("GET", "/not-again")
            token.write_text("second")
            await transport.request("GET", "/version")

    served(home, test)
    assert home.tokens == ["Bearer first", "Bearer first", "Bearer first", "Bearer second"]


def test_a_new_client_certificate_is_used(home: Home) -> None:
    async def test(server: Server) -> None:
        clock = Instant()
        user = {"client-certificate": "cert.pem", "client-key": "key.pem"}
        known = from_kubeconfig(home.kubeconfig(server.url, user), clock=clock)
        async with HttpTransport(credentials=known, clock=clock) as transport:
            await transport.request("GET", "/version")
            home.own("new")
            await transport.request("GET", "/version")
            clock.time += 60
            await transport.request("GET", "/version")

    served(home, test)
    assert home.peers == ["me", "me", "new"]


def test_impersonation(home: Home) -> None:
    user = {"token": "secret", "as": "alice", "as-uid": "7", "as-groups": ["dev", "ops"],
            "as-user-extra": {"scopes": ["a"]}}  # fmt: skip
    groups: list[list[str]] = []
    plain = home.handle

    async def handle(request: web.Request) -> web.StreamResponse:
        groups.append(request.headers.getall("Impersonate-Group"))
        return await plain(request)

    home.handle = handle  # type: ignore[method-assign]

    async def test(server: Server) -> None:
        async with HttpTransport.from_kubeconfig(home.kubeconfig(server.url, user)) as transport:
            await transport.request("GET", "/version")

    served(home, test)
    assert groups == [["dev", "ops"]]
    assert home.seen[0]["Impersonate-User"] == "alice"
    assert [home.seen[0]["Impersonate-Uid"], home.seen[0]["Impersonate-Extra-scopes"]] == ["7", "a"]


CLUSTERS: list[Any] = [
    pytest.param({}, True, id="trusted"),
    pytest.param({"certificate-authority": "other.pem"}, False, id="of-another-authority"),
    pytest.param({"certificate-authority": "other.pem", "insecure-skip-tls-verify": True}, True, id="unchecked"),
    pytest.param({"tls-server-name": "elsewhere"}, False, id="under-another-name"),
    pytest.param({"tls-server-name": "127.0.0.1"}, True, id="under-its-name"),
]


@pytest.mark.parametrize(("cluster", "trusted"), CLUSTERS)
def test_certificate_authorities(home: Home, cluster: dict[str, Any], trusted: bool) -> None:
    trustme.CA().cert_pem.write_to_path(str(home.folder / "other.pem"))

    async def test(server: Server) -> None:
        path = home.kubeconfig(server.url, {"token": "secret"}, **cluster)
        async with HttpTransport.from_kubeconfig(path) as transport:
            if trusted:
                assert (await transport.request("GET", "/version"))[0] == 200
            else:
                with pytest.raises(OSError, match=r"(?i)certificate"):
                    await transport.request("GET", "/version")

    served(home, test)
    assert len(home.seen) == int(trusted)


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_through_a_proxy(home: Home, tls: bool) -> None:
    async def test(server: Server) -> None:
        async with Proxy() as proxy:
            path = home.kubeconfig(server.url, {"token": "secret"}, **{"proxy-url": proxy.url})
            async with HttpTransport.from_kubeconfig(path) as transport:
                assert (await transport.request("GET", "/version"))[0] == 200
            assert proxy.asked[0].startswith("CONNECT 127.0.0.1:" if tls else f"GET {server.url}/version")
            if tls:
                assert "secret" not in "".join(proxy.headers)

    served(home, test, tls=tls)
    assert home.tokens == ["Bearer secret"]


def test_proxies_of_the_environment(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home.kubeconfig("https://api.example.com:6443", {"token": "secret"})
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert from_kubeconfig(path).proxy == "http://proxy:3128"
    monkeypatch.setenv("NO_PROXY", "localhost,.example.com")
    assert from_kubeconfig(path).proxy is None


def test_an_unsupported_proxy(home: Home) -> None:
    path = home.kubeconfig("https://api.example.com", {}, **{"proxy-url": "socks5://proxy:1080"})
    with pytest.raises(ValueError, match="only HTTP and HTTPS proxies can be used, not socks5://proxy:1080"):
        from_kubeconfig(path)


# --- in a cluster, and wherever


@pytest.fixture
def pod(home: Home, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Simulate the files and the environment of a pod."""
    from kubernetes.config import incluster_config

    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(home.folder / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(home.folder / "ca.pem"))
    (home.folder / "token").write_text("of-the-pod")

    def at(url: str) -> None:
        host, _, port = url.removeprefix("https://").partition(":")
        monkeypatch.setitem(os.environ, "KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setitem(os.environ, "KUBERNETES_SERVICE_PORT", port)

    return at


def test_in_a_cluster(home: Home, pod: Callable[[str], None]) -> None:
    async def test(server: Server) -> None:
        pod(server.url)
        async with HttpTransport.in_cluster() as transport:
            assert (await transport.request("GET", "/version"))[0] == 200

    served(home, test)
    assert home.tokens == ["bearer of-the-pod"]


def test_a_rejected_token_of_a_pod_is_read_again(home: Home, pod: Callable[[str], None]) -> None:
    home.codes = [401, 200]

    async def test(server: Server) -> None:
        pod(server.url)
        async with HttpTransport.in_cluster() as transport:
            await transport.request("GET", "/version")
            (home.folder / "token").write_text("new")
            await transport.request("GET", "/version")

    served(home, test)
    assert home.tokens == ["bearer of-the-pod", "bearer new"]


def test_the_search_order_of_credentials(
    home: Home, pod: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(config.ConfigException):
        in_cluster_config()
    (home.folder / ".kube").mkdir()
    home.kubeconfig("http://at-home", {}, ".kube/config")
    monkeypatch.setenv("HOME", str(home.folder))
    assert get_config().url == "http://at-home"
    pod("https://in-cluster:443")
    assert get_config().url == "https://in-cluster:443"
    monkeypatch.setenv("KUBECONFIG", home.kubeconfig("http://named", {}))
    assert get_config().url == "http://named"
    assert HttpTransport.from_environment().url == "http://named"


def test_a_missing_kubeconfig() -> None:
    with pytest.raises(config.ConfigException):
        from_kubeconfig("/nowhere")


def test_the_proxy_of_a_bare_configuration() -> None:
    own = client.Configuration(host="https://api.example.com/")
    own.proxy = "http://proxy:3128"
    assert Credentials(own).proxy == "http://proxy:3128"
    own.no_proxy = "example.com"
    assert Credentials(own).proxy is None


def test_a_bare_configuration() -> None:
    own = client.Configuration(host="https://api.example.com/")
    own.api_key["authorization"] = "abc"
    own.api_key_prefix["authorization"] = "Token"
    known = Credentials(own)

    async def main() -> None:
        assert list(await known.headers()) == [("Authorization", "Token abc")]

    real(main)
    assert repr(known) == "<Credentials https://api.example.com>"
    context = known.tls()
    assert context is not None
    assert context.check_hostname
    own.assert_hostname = False
    assert not known.tls().check_hostname  # type: ignore[union-attr]
    assert Credentials(client.Configuration(host="http://x")).tls() is None
    assert credentials._REFRESH == 60.0
