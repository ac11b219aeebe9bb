"""HTTPS with a generated certificate authority, and bearer tokens."""

import ssl

import aiohttp
import pytest
import trustme

from fakekube.apiserver.user import AUTHENTICATED, User
from fakekube.server.certificates import Authority
from tests.server.rig import CONFIGMAPS, new_runner, on_a_loop, served

TOKENS = {
    "admin-token": User("admin", groups=("system:masters", AUTHENTICATED)),
    "alice-token": User("alice", groups=("dev", AUTHENTICATED)),
}
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@on_a_loop
async def test_clients_that_trust_the_authority_are_served():
    authority = Authority()
    async with served(tls=authority.server_context(), trust=authority.client_context()) as api:
        assert api.url.startswith("https://127.0.0.1:")
        assert (await api.call("GET", "/version"))[0] == 200
        async with api.session.get(f"{api.url}{CONFIGMAPS}?watch=true") as response:
            await api.call("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
            assert b'"ADDED"' in await response.content.readline()


@on_a_loop
async def test_clients_that_do_not_trust_the_authority_are_not_served(caplog):
    authority, other = Authority(), Authority()
    async with served(tls=authority.server_context(), trust=other.client_context()) as api:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await api.call("GET", "/version")
        assert await api.raw(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n") == b""
    assert not caplog.records


@pytest.mark.parametrize(("name", "fits"), [("localhost", True), ("127.0.0.1", True), ("example.com", False)])
@on_a_loop
async def test_the_certificate_names_its_server(name, fits):
    authority = Authority()
    async with served(tls=authority.server_context(), trust=authority.client_context()) as api:
        request = api.session.get(f"https://127.0.0.1:{api.server.port}/version", server_hostname=name)
        if fits:
            assert (await request).status == 200
        else:
            with pytest.raises(aiohttp.ClientConnectorCertificateError, match=name):
                await request


def test_old_tls_versions_are_rejected():
    assert Authority().server_context().minimum_version == ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("header", "user"),
    [
        ("Bearer admin-token", "admin"),
        ("bearer  alice-token ", "alice"),
        ("Basic YTpi", "system:anonymous"),
        (None, "system:anonymous"),
    ],
)
@on_a_loop
async def test_the_user_of_a_token(header, user):
    async with served(tokens=TOKENS) as api:
        headers = {"Authorization": header} if header else {}
        code, review, _ = await api.call("POST", WHOAMI, {}, **headers)
        assert (code, review["status"]["userInfo"]["username"]) == (201, user)


@on_a_loop
async def test_an_unknown_token():
    async with served(tokens=TOKENS) as api:
        for method, path, body in (("GET", "/version", None), ("POST", CONFIGMAPS, {"metadata": {"name": "a"}})):
            refusal = await api.refused(method, path, body, Authorization="Bearer x")
            assert refusal == (401, "Unauthorized", "Unauthorized")


@on_a_loop
async def test_what_a_user_may_not_do():
    async with served(new_runner(TOKENS, "RBAC")) as api:
        body = {"metadata": {"name": "a"}}
        assert (await api.call("POST", CONFIGMAPS, body, Authorization="Bearer admin-token"))[0] == 201
        code, reason, message = await api.refused("GET", CONFIGMAPS, Authorization="Bearer alice-token")
        assert (code, reason) == (403, "Forbidden")
        assert message == (
            'configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" '
            'in the namespace "default"'
        )


def certified(authority, ca, **subject):
    """A client's TLS with a certificate of `ca`."""
    context = authority.client_context()
    ca.issue_cert("client.example.com", **subject).configure_cert(context)
    return context


@pytest.mark.parametrize(
    ("subject", "name", "groups"),
    [
        pytest.param({"common_name": "jane", "organization_name": "dev"}, "jane", ["dev", AUTHENTICATED], id="both"),
        pytest.param({"common_name": "jane"}, "jane", None, id="no-organization"),
        pytest.param({"organization_name": "dev"}, "admin", ["system:masters", AUTHENTICATED], id="nameless"),
    ],
)
@on_a_loop
async def test_the_user_of_a_certificate(subject, name, groups):
    authority, ca = Authority(), trustme.CA()
    tls = authority.server_context(client_ca=ca.cert_pem.bytes().decode())
    trust = certified(authority, ca, **subject)
    async with served(new_runner(TOKENS, "RBAC"), tls=tls, trust=trust) as api:
        code, review, _ = await api.call("POST", WHOAMI, {}, Authorization="Bearer admin-token")
        assert code == 201
        user = review["status"]["userInfo"]
        assert user["username"] == name
        assert groups is None or user["groups"] == groups
        credential = user.get("extra", {}).get("authentication.kubernetes.io/credential-id", [""])[0]
        assert credential.startswith("X509SHA256=") == (name == "jane")


@on_a_loop
async def test_a_client_without_a_certificate_may_use_a_token():
    authority, ca = Authority(), trustme.CA()
    tls = authority.server_context(client_ca=ca.cert_pem.bytes().decode())
    async with served(new_runner(TOKENS, "RBAC"), tls=tls, trust=authority.client_context()) as api:
        code, review, _ = await api.call("POST", WHOAMI, {}, Authorization="Bearer alice-token")
        assert (code, review["status"]["userInfo"]["username"]) == (201, "alice")


@on_a_loop
async def test_certificates_of_other_authorities_do_not_connect():
    authority, ca = Authority(), trustme.CA()
    tls = authority.server_context(client_ca=ca.cert_pem.bytes().decode())
    trust = certified(authority, trustme.CA(), common_name="jane")
    async with served(tls=tls, trust=trust) as api:
        with pytest.raises((aiohttp.ClientError, OSError)):
            await api.call("GET", "/version")
