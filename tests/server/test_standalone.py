"""The server of `fakekube serve` and `fakekube run`, in this process: its options, and what clients need."""

import asyncio
import errno
import functools
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from fakekube.apiserver.needs import Service
from fakekube.apiserver.user import User
from fakekube.server import standalone
from fakekube.server.certificates import Authority
from fakekube.server.process.child import CannotRun, Signals
from fakekube.server.standalone import CannotServe, Options, Running, reason, running
from tests.server.rig import FUSE

TOKENS = 'alice-token,alice,1,dev\nadmin-token,admin,2,"system:masters,ops"\nroot-token,root,3,system:masters\n'

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: made}\n---\n"
MANIFESTS = f"{CONFIG_MAP}apiVersion: v1\nkind: Namespace\nmetadata: {{name: made}}\n"


@pytest.fixture
def files(tmp_path):
    """Writes files; returns their paths."""

    def write(**texts):
        paths = [tmp_path / name for name in texts]
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return paths[0] if len(paths) == 1 else paths

    return write


@asynccontextmanager
async def started(**options):
    async with asyncio.timeout(FUSE), running(Options(**options)) as found:
        yield found


def run(test):
    @functools.wraps(test)
    def call(*args, **kwargs):
        asyncio.run(test(*args, **kwargs))

    return call


async def get(url, *, token="", trust=None, body=None, as_text=False):
    """The answer of a GET, or of a POST with a body."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = None
    if body is not None:
        data, headers = json.dumps(body).encode(), {**headers, "Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers)

    def ask():
        with urllib.request.urlopen(request, context=trust, timeout=FUSE) as answer:
            return answer.read().decode() if as_text else json.load(answer)

    return await asyncio.to_thread(ask)


@run
async def test_it_serves_manifests_and_writes_a_kubeconfig(files, tmp_path):
    config = tmp_path / "config"
    async with started(manifests=(files(a=MANIFESTS),), kubeconfig=config, kubernetes_version="1.31") as found:
        assert (found.loaded, found.ca, found.client, found.token) == (2, None, None, "")
        url = found.server.url
        assert url.startswith("http://127.0.0.1:")
        assert (await get(f"{url}/api/v1/namespaces/made/configmaps/a"))["metadata"]["name"] == "a"
        assert (await get(f"{url}/version"))["minor"] == "31"
        written = yaml.safe_load(config.read_text())
        assert written["clusters"][0]["cluster"] == {"server": url, "insecure-skip-tls-verify": True}
        assert written["users"][0]["user"] == {}
        service = await get(f"{url}/api/v1/namespaces/default/endpoints/kubernetes")
        assert service["subsets"][0]["addresses"] == [{"ip": "127.0.0.1"}]
        assert service["subsets"][0]["ports"][0]["port"] == found.server.port
        assert (await get(f"{url}/api/v1/namespaces/kube-system/configmaps"))["items"]
        path = tmp_path / "none" / "config"
        with pytest.raises(CannotServe, match=rf"--kubeconfig {path}: No such file"):
            found.write_kubeconfig(path)


@pytest.mark.slow
@run
async def test_each_user_has_a_context(tmp_path):
    config, users = tmp_path / "config", ("alice=dev, ops", "bob")
    async with started(tls=True, user=users, kubeconfig=config, authorization_mode="RBAC") as found:
        trust = ssl.create_default_context(cadata=found.ca.decode())
        written = yaml.safe_load(config.read_text())
        assert [one["name"] for one in written["contexts"]] == ["fakekube", "alice", "bob"]
        assert written["current-context"] == "fakekube"
        administrator, alice, bob = [one["user"] for one in written["users"]]
        assert administrator.keys() == {"client-certificate-data", "client-key-data"}
        assert alice.keys() == bob.keys() == {"token"}
        review = f"{found.server.url}/apis/authentication.k8s.io/v1/selfsubjectreviews"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = await get(review, token=alice["token"], trust=trust, body=body)
        assert answer["status"]["userInfo"]["username"] == "alice"
        assert answer["status"]["userInfo"]["groups"] == ["dev", "ops", "system:authenticated"]


@run
async def test_kubectl_acts_as_a_user_also_over_plain_http(tmp_path):
    """kubectl sends no token over plain HTTP, but it impersonates there; a mode that checks access would not allow it."""
    async with started(user=("alice=dev",)) as found:
        assert found.users["alice"].keys() == {"token", "as", "as-groups"}
        assert found.tokens[found.token].groups[0] == "system:masters"
    async with started(user=("alice=dev",), authorization_mode="RBAC") as found:
        assert found.users["alice"].keys() == {"token"}


@run
async def test_the_wait_file_has_the_url_while_the_server_is_ready(files):
    path = files(ready="of an earlier server")
    async with started(wait_file=path) as found:
        assert path.read_text() == f"{found.server.url}\n"
        assert (await get(f"{found.server.url}/readyz", as_text=True)) == "ok"
    assert not path.exists()


@run
async def test_a_further_name_of_the_server_is_in_its_certificate():
    async with started(tls=True, tls_san=("fake.example.com",)) as found:
        trust = ssl.create_default_context(cadata=found.ca.decode())
        _, writer = await asyncio.open_connection(
            "127.0.0.1", found.server.port, ssl=trust, server_hostname="fake.example.com"
        )
        writer.close()


@run
async def test_every_bad_manifest_is_named_with_its_line(files):
    first, second = files(**{"a.yaml": MIXED, "b.yaml": "a: [1"})
    with pytest.raises(CannotServe) as refused:
        async with started(manifests=(first, second, Path("/none"))):
            pass
    lines = str(refused.value).splitlines()
    assert [line.partition(": ")[0].removeprefix("--manifests ") for line in lines] == [
        f"{first}:13", str(second), "/none", f"{first}:3", f"{first}:9",
    ]  # fmt: skip


#: Good and bad objects, which begin in the lines 3, 8, 9, 11 and 13.
MIXED = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: A}
---
{apiVersion: v1, kind: List, items: [
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}},
{apiVersion: v2, kind: ConfigMap, metadata: {name: a}}]}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
---
foo: 1
"""


@run
async def test_a_data_directory_keeps_objects_tokens_and_certificates(files, tmp_path):
    options = {"data_dir": tmp_path / "data", "tls": True, "user": ("alice",), "manifests": (files(a=MANIFESTS),)}
    seen = []
    for _ in range(2):
        async with started(**options) as found:
            keys = found.server.runner.apiserver.issuer.keys
            seen.append((found.ca, found.users, keys.verifying[0].id, found.server.runner.apiserver.store.size()))
            loaded = found.loaded
    assert seen[0] == seen[1]
    assert loaded == 0  # manifests are loaded into a new directory only


@run
async def test_the_revision_never_goes_back():
    async with started() as found:
        store = found.server.runner.apiserver.store
        seconds = (found.server.runner.clock.now() - standalone.REVISIONS_SINCE).total_seconds()
        assert 0 <= seconds * standalone.REVISIONS_PER_SECOND - store.revision < 60 * standalone.REVISIONS_PER_SECOND
        url = f"{found.server.url}/api/v1/pods?"
        listed = (await get(url))["metadata"]["resourceVersion"]
        assert listed == str(store.revision)
        event = await get(f"{url}watch=1&resourceVersion=60")
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        with pytest.raises(urllib.error.HTTPError) as refused:
            await get(f"{url}limit=1&resourceVersion=60&resourceVersionMatch=Exact")
        with refused.value as answer:
            assert (answer.code, json.load(answer)["reason"]) == (410, "Expired")


@run
async def test_tls_with_tokens(files):
    async with started(tls=True, token_auth_file=files(tokens=TOKENS), authorization_mode="RBAC") as found:
        trust = ssl.create_default_context(cadata=found.ca.decode())
        url = f"https://localhost:{found.server.port}/api/v1/namespaces"
        assert found.token == "admin-token"
        assert found.client is None
        assert len((await get(url, token="root-token", trust=trust))["items"]) >= 4
        for token, code in (("alice-token", 403), ("wrong", 401), ("", 403)):
            with pytest.raises(urllib.error.HTTPError) as refused:
                await get(url, token=token, trust=trust)
            assert refused.value.code == code
            refused.value.close()


@run
async def test_tls_with_the_certificate_of_the_administrator(files, tmp_path):
    other = Authority()
    async with started(tls=True, authorization_mode="RBAC", client_ca_file=files(ca=other.certificate)) as found:
        trust = ssl.create_default_context(cadata=found.ca.decode())
        chain = files(cert=found.client[0], key=found.client[1])
        trust.load_cert_chain(*chain)
        assert (await get(f"{found.server.url}/api/v1/namespaces", trust=trust))["items"]
        published = await get(
            f"{found.server.url}/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
            trust=trust,
        )
        assert published["data"]["client-ca-file"] == other.certificate.decode() + found.ca.decode()
        assert found.token == ""


@run
async def test_a_server_on_every_address_has_the_name_of_the_machine():
    async with started(bind_address="0.0.0.0", tls=True) as found:
        assert found.server.url == f"https://127.0.0.1:{found.server.port}"
    assert (
        standalone._names("0.0.0.0")
        == standalone._names("::")
        == ["localhost", "127.0.0.1", "::1", socket.gethostname()]
    )
    assert standalone._names("192.0.2.1")[-1] == "192.0.2.1"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"authorization_mode": "RBAC"}, "--authorization-mode RBAC needs --token-auth-file or --tls"),
        ({"client_ca_file": Path("x")}, "--client-ca-file needs --tls"),
        ({"client_ca_file": Path("/none"), "tls": True}, "--client-ca-file /none: No such file or directory"),
        ({"client_ca_file": Path("{bad}"), "tls": True}, "--client-ca-file .*bad: the file has no certificates"),
        ({"tls_san": ("a",)}, "--tls-san needs --tls"),
        ({"user": ("=a",)}, "--user =a: the name is empty"),
        ({"user": ("a", "a=b")}, "--user a=b: the name is taken"),
        ({"user": ("fakekube",)}, "--user fakekube: the name is taken"),
        ({"audit_log_path": Path("a")}, "--audit-policy-file and --audit-log-path need each other"),
        ({"audit_policy_file": Path("/none"), "audit_log_path": Path("-")}, "--audit-policy-file /none: No such file"),
        ({"audit_policy_file": Path("{empty}"), "audit_log_path": Path("-")}, "expected a document of kind Policy"),
        ({"wait_file": Path("/none/a")}, "--wait-file /none/a: No such file"),
        ({"token_auth_file": Path("/none")}, "--token-auth-file /none: No such file or directory"),
        ({"token_auth_file": Path("{empty}")}, "--token-auth-file .*empty: the file has no tokens"),
        ({"token_auth_file": Path("{bad}")}, "--token-auth-file .*bad: "),
        ({"manifests": (Path("/none"),)}, "--manifests /none: no such file"),
        ({"manifests": (Path("{config_map}"),)}, "--manifests .*/config_map:1: ConfigMap 'a': .*made"),
        ({"service_cluster_ip_range": "x"}, r"service-cluster-ip-range.0. is not a valid cidr"),
        ({"enable_admission_plugins": ("Nothing",)}, "--enable-admission-plugins.*Nothing"),
        ({"service_account_signing_key_file": Path("/none")}, "--service-account-signing-key-file /none: No such file"),
        ({"service_account_signing_key_file": Path("{bad}")}, "--service-account-signing-key-file, --service-account-key-file: "),
        ({"service_account_key_file": (Path("/none"),)}, "--service-account-key-file /none: No such file"),
        ({"service_account_key_file": (Path("{bad}"),)}, "--service-account-signing-key-file, --service-account-key-file: "),
        ({"webhook_service": ("a=https://127.0.0.1:1",)}, "--webhook-service a=.*not in the form NAMESPACE/NAME"),
        ({"webhook_service": ("/a=https://127.0.0.1:1",)}, "not in the form NAMESPACE/NAME"),
        ({"webhook_service": ("a/=https://127.0.0.1:1",)}, "not in the form NAMESPACE/NAME"),
        ({"webhook_service": ("a/b=http://x",)}, "is not a URL like .*example: default/my-webhook="),
        ({"webhook_service": ("a/b=https://x:1", "a/b=https://y:1")}, "has an address already, https://x:1"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_satisfied_are_named(files, options, said):
    made = dict(zip(("bad", "empty", "config_map"), files(bad="no,t", empty="", config_map=CONFIG_MAP), strict=True))

    def real(value):
        if isinstance(value, tuple):
            return tuple(map(real, value))
        return made.get(str(value).strip("{}"), value) if isinstance(value, Path) else value

    async def serve():
        async with started(**{name: real(value) for name, value in options.items()}):
            pass

    with pytest.raises(CannotServe, match=said):
        asyncio.run(serve())


@run
async def test_an_address_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotServe, match=f"cannot listen on 127.0.0.1:{port}: Address already in use"):
            async with started(port=port):
                pass


def test_services_of_webhooks():
    found = standalone._services(["a/b=https://127.0.0.1:9443", "a/c=https://[::1]:1/"])
    assert found == {Service("a", "b", 0): "https://127.0.0.1:9443", Service("a", "c", 0): "https://[::1]:1"}


@pytest.mark.parametrize(
    ("groups", "token"),
    [([], ""), ([("dev",)], "t0"), ([("dev",), ("system:masters",), ("system:masters",)], "t1")],
)
def test_the_token_of_a_superuser_comes_first(groups, token):
    tokens = {f"t{number}": User(f"u{number}", groups=each) for number, each in enumerate(groups)}
    assert Running(None, None, tokens, 0, None).token == token


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EACCES, "x (while attempting)"), "Permission denied"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (OSError("plain"), "plain"),
    ],
)
def test_the_reason_of_an_error_is_that_of_the_system(error, text):
    assert reason(error) == text


# --- a command beside the server


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status"),
    [("pass", 0), ("raise SystemExit(3)", 3), ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137)],
)
@run
async def test_the_status_of_a_command(code, status):
    assert await Signals().run([sys.executable, "-S", "-c", code], {}) == status


@pytest.mark.parametrize(
    ("mode", "status", "why"), [(None, 127, "command not found"), (0o644, 126, "permission denied")]
)
@run
async def test_a_command_that_cannot_be_run(files, mode, status, why):
    path = files(command="#!/bin/sh\n")
    if mode is None:
        path.unlink()
    else:
        path.chmod(mode)
    with pytest.raises(CannotRun, match=f"{path}: {why}") as refused:
        await Signals().run([str(path)], {})
    assert refused.value.status == status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@run
async def test_signals_are_forwarded_also_those_that_come_early(number):
    signals = Signals()
    signal.raise_signal(number)
    await asyncio.sleep(0)  # noqa: TID251 - the loop calls the handler
    code = "import signal, sys; signal.signal(int(sys.argv[1]), lambda *_: sys.exit(5)); signal.pause()"
    problems = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
    status = await signals.run([sys.executable, "-S", "-c", code, str(int(number))], {})
    assert status in (5, 128 + number)  # it may come before the handler is installed
    signal.raise_signal(number)  # the command has ended
    for _ in range(3):
        await asyncio.sleep(0)  # noqa: TID251 - as above
    assert problems == []


#: A parent that is killed while its command runs; the command's output ends when nothing holds it open any more.
ORPHANING = """
import asyncio, os, signal, sys
from fakekube.server.process.child import Signals
code = "import os, signal; os.write(1, b'runs'); os.kill(os.getppid(), signal.SIGKILL); signal.pause()"
async def main():
    await Signals().run([sys.executable, "-S", "-c", code], {})
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes end with their parent on Linux only")
def test_a_command_does_not_outlive_its_parent():
    done = subprocess.run([sys.executable, "-c", ORPHANING], stdout=subprocess.PIPE, timeout=FUSE, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"runs")


@run
async def test_a_command_ends_with_the_task_that_waits_for_it(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    waiting = asyncio.create_task(Signals().run(["sh", "-c", f"exec >{pipe}; echo runs; exec sleep 600"], {}))
    with await asyncio.to_thread(open, pipe) as said:
        assert await asyncio.to_thread(said.readline) == "runs\n"
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await asyncio.to_thread(said.readline) == ""  # the process has ended
