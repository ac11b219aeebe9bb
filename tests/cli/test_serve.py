"""`fakekube serve`."""

import base64
import contextlib
import json
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from tests.cli.commands import FUSE, READY, fakekube, started, url_of

pytestmark = pytest.mark.slow

TOKENS = 'alice-token,alice,1,dev\nadmin-token,admin,2,"system:masters,ops"\n'

MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: made}
---
apiVersion: v1
kind: Namespace
metadata: {name: made}
"""


@pytest.fixture
def folder(tmp_path):
    """The working directory of a command, and of its temporary files."""
    made = tmp_path / "work"
    made.mkdir()
    return made


def get(url, *, token="", trust=None):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, context=trust, timeout=FUSE) as answer:
        return json.load(answer)


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=FUSE) as answer:
        return json.load(answer)


def group_versions(url, group):
    return get(f"{url}/apis/{group}")["versions"]


def kubeconfig_of(path):
    """Address, token and trust of a kubeconfig."""
    content = yaml.safe_load(path.read_text())
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    trust = None
    if ca := cluster.get("certificate-authority-data"):
        trust = ssl.create_default_context(cadata=base64.b64decode(ca).decode())
    return cluster["server"], user.get("token", ""), trust


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal(folder, number):
    with started("serve", "--port", "0", folder=folder) as server:
        said = server.lines_to(READY)
        url = url_of(said)
        assert url.startswith("http://127.0.0.1:")
        assert said[2:-1] == [f"  kubectl --server {url} get namespaces"]
        assert get(f"{url}/version")["minor"] == "36"
        with urllib.request.urlopen(f"{url}/api/v1/namespaces?watch=1", timeout=FUSE) as watch:
            assert json.loads(watch.readline())["type"] == "ADDED"
            assert server.end(number) == (0, ["stopping"])
            assert all(json.loads(line)["type"] == "ADDED" for line in watch)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "hinted"),
    [
        ((), False),
        (("--controllers", "*"), True),
        (("--controllers", "*", "--nodes", "0"), True),
        (("--controllers", "*", "--nodes", "1"), False),
        (("--controllers", "scheduler,kubelet"), False),
    ],
)
def test_controllers_without_nodes_have_a_hint(folder, options, hinted):
    with started("serve", "--port", "0", *options, folder=folder) as server:
        said = server.lines_to(READY)
    hint = "  no nodes: pods stay Pending; --nodes 2 simulates two nodes, with a scheduler and kubelets"
    assert (hint in said) == hinted


def test_the_port_that_was_asked_for(folder):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with started("serve", "--port", str(port), folder=folder) as server:
        assert url_of(server.lines_to(READY)) == f"http://127.0.0.1:{port}"


def test_the_version_that_was_asked_for(folder):
    with started("serve", "--port", "0", "--kubernetes-version", "v1.25.3", folder=folder) as server:
        url = url_of(server.lines_to(READY))
        assert get(f"{url}/version")["minor"] == "25"
        groups = {group["name"] for group in get(f"{url}/apis")["groups"]}
        assert "resource.k8s.io" not in groups
        assert [one["version"] for one in group_versions(url, "autoscaling")] == ["v2", "v1", "v2beta2"]


def test_a_port_in_use(folder):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = fakekube("serve", "--port", str(port), "--manifests", "nowhere", folder=folder)  # which is not read
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Error: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_an_unavailable_address(folder):
    done = fakekube("serve", "--port", "0", "--bind-address", "203.0.113.7", folder=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: cannot listen on 203.0.113.7:0: Cannot assign requested address\n"


def test_listening_on_every_address_warns(folder):
    with started("serve", "--port", "0", "--bind-address", "0.0.0.0", folder=folder) as server:
        said = server.lines_to(READY)
        assert "  warning: all requests to this address are allowed" in said
        assert get(f"{url_of(said)}/version")["minor"] == "36"


HOOKED = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: absent}
webhooks:
- name: absent.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: POLICY
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
"""


def test_b9_manifests_wait_for_the_webhooks_that_match_them(folder):
    (folder / "a.yaml").write_text(HOOKED.replace("POLICY", "Ignore"))
    with started("serve", "--port", "0", "--manifests", "a.yaml", folder=folder) as server:
        assert "  loaded 2 objects from a.yaml" in server.lines_to(READY)
    (folder / "a.yaml").write_text(HOOKED.replace("POLICY", "Fail"))
    done = fakekube("serve", "--port", "0", "--manifests", "a.yaml", folder=folder)
    assert done.returncode == 1
    assert 'failed calling webhook "absent.example.com"' in done.stderr


def test_kubeconfig_and_manifests(folder):
    (folder / "manifests").mkdir()
    (folder / "manifests" / "a.yaml").write_text(MANIFEST)
    with started("serve", "--port", "0", "--manifests", "manifests", "--kubeconfig", "kc", folder=folder) as server:
        said = server.lines_to(READY)
        url = url_of(said)
        assert said[2:-1] == [
            "  loaded 2 objects from manifests",
            "  kubectl --kubeconfig kc get namespaces",
        ]
        assert stat.S_IMODE((folder / "kc").stat().st_mode) == 0o600
        assert kubeconfig_of(folder / "kc") == (url, "", None)
        assert get(f"{url}/api/v1/namespaces/made/configmaps/a")["metadata"]["name"] == "a"


def test_manifests_are_not_loaded_into_a_data_directory_that_has_a_cluster(folder):
    (folder / "a.yaml").write_text(MANIFEST)
    said = []
    for _ in range(2):
        options = ("--manifests", "a.yaml", "--data-dir", "data")
        with started("serve", "--port", "0", *options, folder=folder) as server:
            said.append(server.lines_to(READY)[2])
    assert said == ["  loaded 2 objects from a.yaml", "  a.yaml: not loaded, because data has a cluster already"]


@pytest.mark.parametrize("mode", ["AlwaysAllow", "RBAC"])
def test_https_with_a_token(folder, mode):
    (folder / "tokens.csv").write_text(TOKENS)
    options = ("--tls", "--token-auth-file", "tokens.csv", "--authorization-mode", mode, "--kubeconfig", "kc")
    with started("serve", "--port", "0", *options, folder=folder) as server:
        url = url_of(server.lines_to(READY))
        address, token, trust = kubeconfig_of(folder / "kc")
        assert (address, token) == (url, "admin-token")
        assert url.startswith("https://127.0.0.1:")
        assert get(f"{url}/api/v1/namespaces", token=token, trust=trust)["items"]
        for other, code in (
            ("nobody", 401),
            ("alice-token", 403 if mode == "RBAC" else 200),
            ("", 403 if mode == "RBAC" else 200),
        ):
            try:
                get(f"{url}/api/v1/namespaces", token=other, trust=trust)
                found = 200
            except urllib.error.HTTPError as error:
                found = error.code
                error.close()
            assert found == code, other


def test_the_kubeconfig_of_the_administrator(folder):
    options = ("--tls", "--authorization-mode", "Node,RBAC", "--kubeconfig", "kc")
    with started("serve", "--port", "0", *options, folder=folder) as server:
        url = url_of(server.lines_to(READY))
        user = yaml.safe_load((folder / "kc").read_text())["users"][0]["user"]
        assert user.keys() == {"client-certificate-data", "client-key-data"}
        _, _, trust = kubeconfig_of(folder / "kc")
        with pytest.raises(urllib.error.HTTPError, match="Forbidden"):
            get(f"{url}/api/v1/namespaces", trust=trust)
        for name, data in (("crt", user["client-certificate-data"]), ("key", user["client-key-data"])):
            (folder / name).write_bytes(base64.b64decode(data))
        trust.load_cert_chain(folder / "crt", folder / "key")
        assert get(f"{url}/api/v1/namespaces", trust=trust)["items"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_uses_the_certificate_of_the_administrator(folder):
    with started("serve", "--port", "0", "--tls", "--kubeconfig", "kc", folder=folder) as server:
        server.lines_to(READY)
        command = [
            "kubectl",
            "--kubeconfig",
            str(folder / "kc"),
            "auth",
            "whoami",
            "-o",
            "jsonpath={.status.userInfo.username}",
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=FUSE, check=False
        )
        assert (done.returncode, done.stdout) == (0, "kubernetes-admin")


def test_the_keys_of_service_accounts(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    (folder / "sa.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "sa.pub").write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    options = (
        "--service-account-signing-key-file", "sa.key", "--service-account-key-file", "sa.pub",
        "--service-account-issuer", "https://issuer.example.com", "--api-audiences", "one,two",
    )  # fmt: skip
    with started("serve", "--port", "0", *options, folder=folder) as server:
        url = url_of(server.lines_to(READY))
        found = get(f"{url}/.well-known/openid-configuration")
        assert found["issuer"] == "https://issuer.example.com"
        assert found["jwks_uri"] == f"{url}/openid/v1/jwks"
        assert found["id_token_signing_alg_values_supported"] == ["ES256"]
        [published] = get(f"{url}/openid/v1/jwks")["keys"]
        assert (published["kty"], published["crv"]) == ("EC", "P-256")


def test_each_server_has_a_key_of_its_own(folder):
    keys = []
    for _ in range(2):
        with started("serve", "--port", "0", folder=folder) as server:
            keys.append(get(f"{url_of(server.lines_to(READY))}/openid/v1/jwks")["keys"][0]["kid"])
    assert keys[0] != keys[1]


def test_admission_plugins(folder):
    options = (
        "--enable-admission-plugins",
        "ServiceAccount,NodeRestriction",
        "--disable-admission-plugins",
        "Priority",
    )
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    with started("serve", "--port", "0", *options, folder=folder) as server:
        url = f"{url_of(server.lines_to(READY))}/api/v1/namespaces/default"
        with pytest.raises(urllib.error.HTTPError, match="Forbidden"):
            post(f"{url}/pods", pod)
        post(f"{url}/serviceaccounts", {"metadata": {"name": "default"}})
        spec = post(f"{url}/pods", pod)["spec"]
        assert (spec["serviceAccountName"], "priority" in spec) == ("default", False)


def test_without_a_kubeconfig_it_shows_how_to_get_one(folder):
    with started("serve", "--port", "0", "--tls", folder=folder) as server:
        assert server.lines_to(READY)[2] == (
            "  use --kubeconfig FILE to write a kubeconfig with the certificate authority and credentials"
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--token-auth-file", "no.csv"], "--token-auth-file no.csv: No such file or directory"),
        (["--token-auth-file", "."], "--token-auth-file .: Is a directory"),
        (["--client-ca-file", "empty"], "--client-ca-file needs --tls: without it clients present no certificates"),
        (["--tls", "--client-ca-file", "no.pem"], "--client-ca-file no.pem: No such file or directory"),
        (["--tls", "--client-ca-file", "short.csv"], "--client-ca-file short.csv: the file has no certificates"),
        (["--token-auth-file", "empty"], "--token-auth-file empty: the file has no tokens"),
        (
            ["--token-auth-file", "short.csv"],
            "--token-auth-file short.csv: line 2: a token file has at least three columns "
            "(token, user name, user uid)",
        ),
        (
            ["--authorization-mode", "RBAC"],
            "--authorization-mode RBAC needs --token-auth-file or --tls: without them requests are denied",
        ),
        (["--manifests", "nowhere"], "--manifests nowhere: no such file or directory"),
        (["--manifests", "none"], "--manifests none: no manifests in this directory (looked for .yaml, .yml, .json)"),
        (["--manifests", "bad.yaml"], "--manifests bad.yaml:1: document 1 is not a Kubernetes object: apiVersion and kind are required"),
        (
            ["--manifests", "unknown.yaml"],
            "--manifests unknown.yaml:1: Thing 'a': the cluster has no kind 'Thing' in 'unknown.example.com/v1'",
        ),
        (
            ["--manifests", "invalid.yaml"],
            "--manifests invalid.yaml:1: ConfigMap 'A': ConfigMap \"A\" is invalid: metadata.name: Invalid value: \"A\": ",
        ),
        (["--service-cluster-ip-range", "a"], "service-cluster-ip-range[0] is not a valid cidr"),
        (
            ["--webhook-service", "default/hook=http://127.0.0.1:1"],
            "--webhook-service default/hook=http://127.0.0.1:1: 'http://127.0.0.1:1' is not a URL like https://127.0.0.1:9443",
        ),
        (
            ["--webhook-service", "hook=https://127.0.0.1:1"],
            "--webhook-service hook=https://127.0.0.1:1: the Service is not in the form NAMESPACE/NAME",
        ),
        (
            ["--webhook-service", "a/b=https://127.0.0.1:1", "--webhook-service", "a/b=https://127.0.0.1:2"],
            "--webhook-service a/b=https://127.0.0.1:2: the Service has an address already, https://127.0.0.1:1",
        ),
        (["--kubeconfig", "nowhere/kc"], "--kubeconfig nowhere/kc: No such file or directory"),
        (["--kubeconfig", "none"], "--kubeconfig none: Is a directory"),
        (["--enable-admission-plugins", "Nope"], '--enable-admission-plugins plugin "Nope" is unknown'),
        (["--disable-admission-plugins", "Nope"], '--disable-admission-plugins plugin "Nope" is unknown'),
        (
            ["--enable-admission-plugins", "AlwaysDeny"],
            '--enable-admission-plugins plugin "AlwaysDeny" is not supported by this server',
        ),
        (
            ["--enable-admission-plugins", "Priority", "--disable-admission-plugins", "PodSecurity,Priority"],
            "--[Priority] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
        (["--service-account-signing-key-file", "no.pem"], "--service-account-signing-key-file no.pem: No such file"),
        (["--service-account-key-file", "no.pem"], "--service-account-key-file no.pem: No such file"),
        (["--service-account-signing-key-file", "empty"], "--service-account-signing-key-file, --service-account-key-file: "),
    ],
)  # fmt: skip
def test_invalid_options(folder, options, message):
    (folder / "empty").write_text("\n")
    (folder / "short.csv").write_text("token,user,1\ntoken,user\n")
    (folder / "none").mkdir()
    (folder / "bad.yaml").write_text("a: 1\n")
    (folder / "unknown.yaml").write_text("{apiVersion: unknown.example.com/v1, kind: Thing, metadata: {name: a}}")
    (folder / "invalid.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: A}}")
    before = sorted(folder.rglob("*"))
    done = fakekube("serve", "--port", "0", *options, folder=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {message}")
    assert done.stderr.count("\n") == 1
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "--port", "70000"], "Invalid value for '--port': 70000 is not in the range 0<=x<=65535."),
        (["serve", "--port", "http"], "Invalid value for '--port': 'http' is not a valid integer range."),
        (["serve", "--authorization-mode", "No"], 'authorization-mode "No" is not a valid mode'),
        (["serve", "--authorization-mode", "RBAC,RBAC"], 'authorization-mode "RBAC" is specified more than once'),
        (
            ["serve", "--authorization-mode", "Node,Webhook"],
            'authorization-mode "Webhook" is not supported by this server',
        ),
        (
            ["serve", "--kubernetes-version", "1.12"],
            "Kubernetes version '1.12' is not supported: choose a minor version from 1.25 to",
        ),
        (["serve", "--nothing"], "No such option"),
        (["nothing"], "No such command 'nothing'."),
        (["run"], "Missing argument 'COMMAND...'."),
    ],
)
def test_options_that_do_not_fit_together(folder, arguments, message):
    done = fakekube(*arguments, folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: ")
    assert message in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["serve", "run"]),
        (["--version"], ["version"]),
        (
            ["serve", "-h"],
            ["--port", "--bind-address", "--token-auth-file", "--authorization-mode", "--kubeconfig", "--manifests", "--tls"],
        ),
        (["run", "--help"], ["--manifests", "COMMAND", "fakekube run --manifests deploy/ -- ./smoke.sh"]),
    ],
)  # fmt: skip
def test_help(folder, arguments, words):
    done = fakekube(*arguments, folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    for word in words:
        assert word in done.stdout


def test_help_imports_only_what_it_needs():
    code = "import sys; from fakekube import cli; print('aiohttp' in sys.modules, 'fakekube.apiserver.apiserver' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
