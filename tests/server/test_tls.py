"""HTTPS with a generated certificate authority, and bearer tokens."""

import asyncio
import json
import logging
import ssl
from datetime import UTC, datetime

import aiohttp
import pytest
import trustme
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fakekube.apiserver.auth.clientcertificate import UID
from fakekube.apiserver.user import AUTHENTICATED, User
from fakekube.server.certificates import Authority
from fakekube.server.httpconnection import HttpProtocols
from tests.server.rig import CONFIGMAPS, FUSE, closed, new_runner, on_a_loop, served

TOKENS = {
    "admin-token": User("admin", groups=("system:masters", AUTHENTICATED)),
    "alice-token": User("alice", groups=("dev", AUTHENTICATED)),
}
COMMON_NAME = NameOID.COMMON_NAME

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
        ("bearer alice-token ", "alice"),
        ("bearer  alice-token", "system:anonymous"),
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
    tls = authority.requesting_context(client_ca=ca.cert_pem.bytes())
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
    tls = authority.requesting_context(client_ca=ca.cert_pem.bytes())
    async with served(new_runner(TOKENS, "RBAC"), tls=tls, trust=authority.client_context()) as api:
        code, review, _ = await api.call("POST", WHOAMI, {}, Authorization="Bearer alice-token")
        assert (code, review["status"]["userInfo"]["username"]) == (201, "alice")


async def as_user(served_api, **headers):
    code, review, _ = await served_api.call("POST", WHOAMI, {}, **headers)
    return code, review["status"]["userInfo"]["username"] if code == 201 else review["message"]


UNKNOWN, ANONYMOUS = (401, "Unauthorized"), (201, "system:anonymous")


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        pytest.param({}, (201, "jane"), id="valid"),
        pytest.param({"ca": trustme.CA()}, UNKNOWN, id="other-authority"),
        pytest.param({"not_after": datetime(2021, 1, 1, tzinfo=UTC)}, UNKNOWN, id="expired"),
        pytest.param({"not_before": datetime(2039, 1, 1, tzinfo=UTC)}, UNKNOWN, id="not-valid-yet"),
        pytest.param({"usages": [ExtendedKeyUsageOID.SERVER_AUTH]}, UNKNOWN, id="server-only"),
        pytest.param({"usages": [ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]}, (201, "jane"), id="any-usage"),
        pytest.param({"usages": []}, (201, "jane"), id="no-usages"),
        pytest.param({"names": {}}, ANONYMOUS, id="no-names"),
        pytest.param({"names": {COMMON_NAME: "jane", UID: ""}}, UNKNOWN, id="empty-uid"),
    ],
)
@on_a_loop
async def test_a_certificate_is_verified_after_the_handshake(change, answer):
    authority, ca = Authority(), trustme.CA()
    tls = authority.requesting_context(client_ca=ca.cert_pem.bytes())
    trust = authority.client_context()
    presented(trust, change.pop("ca", ca), **change)
    async with served(new_runner(TOKENS, "AlwaysAllow"), tls=tls, trust=trust) as api:
        assert await as_user(api) == answer
        code, name = await as_user(api, Authorization="Bearer alice-token")
        assert (code, name) == (201, "jane" if answer == (201, "jane") else "alice")
        assert (await as_user(api, Authorization="Bearer x")) == (answer if answer == (201, "jane") else UNKNOWN)


@on_a_loop
async def test_the_uid_of_a_certificate():
    authority, ca = Authority(), trustme.CA()
    trust = authority.client_context()
    presented(trust, ca, names={COMMON_NAME: "jane", UID: "u-1"})
    tls = authority.requesting_context(client_ca=ca.cert_pem.bytes())
    async with served(tls=tls, trust=trust) as api:
        _, review, _ = await api.call("POST", WHOAMI, {})
        assert review["status"]["userInfo"]["uid"] == "u-1"


@pytest.mark.parametrize(
    ("sent", "answer"),
    [pytest.param(True, (201, "jane"), id="sent"), pytest.param(False, UNKNOWN, id="not-sent")],
)
@on_a_loop
async def test_an_intermediate_authority_must_be_sent(sent, answer):
    authority, root = Authority(), trustme.CA()
    between = root.create_child_ca()
    leaf = between.issue_cert("client.example.com", common_name="jane")
    trust = authority.client_context()
    if sent:
        leaf.configure_cert(trust)
    else:
        with leaf.cert_chain_pems[0].tempfile() as chain, leaf.private_key_pem.tempfile() as key:
            trust.load_cert_chain(chain, key)
    tls = authority.requesting_context(client_ca=root.cert_pem.bytes())
    async with served(tls=tls, trust=trust) as api:
        assert await as_user(api) == answer


@on_a_loop
async def test_the_certificate_of_the_administrator():
    authority = Authority()
    trust = authority.client_context()
    client = authority.administrator()
    with trustme.Blob(client.certificate).tempfile() as chain, trustme.Blob(client.key).tempfile() as key:
        trust.load_cert_chain(chain, key)
    async with served(new_runner({}, "RBAC"), tls=authority.requesting_context(), trust=trust) as api:
        assert await as_user(api) == (201, "kubernetes-admin")
        assert (await api.call("POST", CONFIGMAPS, {"metadata": {"name": "a"}}))[0] == 201


@on_a_loop
async def test_large_bodies_and_watches_over_a_requesting_context():
    authority = Authority()
    body = {"metadata": {"name": "a"}, "data": {"text": "x" * 500_000}}
    async with (
        served(tls=authority.requesting_context(), trust=authority.client_context()) as api,
        api.session.get(f"{api.url}{CONFIGMAPS}?watch=true") as response,
    ):
        assert (await api.call("POST", CONFIGMAPS, body))[0] == 201
        event = b""
        while not event.endswith(b"\n"):
            event += await response.content.readany()
        assert json.loads(event)["object"]["data"] == body["data"]


@on_a_loop
async def test_an_unknown_token_is_refused_without_static_tokens():
    async with served(tokens={}) as api:
        assert (await api.refused("GET", "/version", Authorization="Bearer x"))[:2] == (401, "Unauthorized")
        assert (await api.call("GET", "/version"))[0] == 200


def presented(context, ca, *, names=None, usages=(ExtendedKeyUsageOID.CLIENT_AUTH,), not_before=None, not_after=None):
    """Let a client present a certificate of `ca`, with the attributes of its subject by their identifiers."""
    names = {COMMON_NAME: "jane"} if names is None else names
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.load_pem_x509_certificate(ca.cert_pem.bytes())
    subject = x509.Name([x509.NameAttribute(kind, value, _validate=False) for kind, value in names.items()])
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer.subject).serial_number(7)
    builder = builder.not_valid_before(not_before or datetime(2020, 1, 1, tzinfo=UTC))
    builder = builder.not_valid_after(not_after or datetime(2040, 1, 1, tzinfo=UTC)).public_key(key.public_key())
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    made = builder.sign(load_pem_private_key(ca.private_key_pem.bytes(), None), SHA256())
    chain = trustme.Blob(made.public_bytes(Encoding.PEM))
    private = trustme.Blob(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with chain.tempfile() as chain_file, private.tempfile() as key_file:
        context.load_cert_chain(chain_file, key_file)


def test_a_ca_that_follows_from_a_number():
    first, again, other = Authority(7), Authority(7), Authority(8)
    assert (first.certificate, first.key) == (again.certificate, again.key)
    assert first.certificate != other.certificate
    assert first.server_context().minimum_version == ssl.TLSVersion.TLSv1_2


@on_a_loop
async def test_f7_the_end_of_a_connection_that_the_server_closes_logs_nothing(caplog):
    """F7: asyncio's transport of a TLS connection that was closed twice raises when it is asked about it."""
    authority, made, begun, ended = Authority(), [], asyncio.Event(), asyncio.Event()

    async def wait(request):
        begun.set()
        await ended.wait()
        return web.Response()

    protocols = HttpProtocols(wait)

    def connection():
        made.append(protocols())
        return made[-1]

    server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0, ssl=authority.server_context())
    port, context = server.sockets[0].getsockname()[1], authority.client_context()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="127.0.0.1")
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
    await begun.wait()
    made[0].transport.close()
    made[0].transport.close()
    assert await reader.read() == b""
    await closed(writer)
    ended.set()
    await protocols.shutdown(FUSE)
    server.close()
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []
