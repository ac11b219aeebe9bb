"""What `fakekube serve` says of tokens, and a kubeconfig that works as it was written."""

import shutil
import subprocess
import urllib.error

import pytest

from tests.cli.test_serve import FUSE, READY, TOKENS, get, kubeconfig_of, started, url_of

ANONYMOUS = "  warning: requests without a token are allowed, too; --authorization-mode RBAC checks access"


@pytest.fixture
def folder(tmp_path):
    """The working directory of a command."""
    made = tmp_path / "work"
    made.mkdir()
    return made


@pytest.fixture
def tokens(folder):
    path = folder / "tokens.csv"
    path.write_text(TOKENS)
    path.chmod(0o600)
    return path


@pytest.mark.slow
def test_row12_anonymous_requests_are_mentioned(folder, tokens):
    with started("serve", "--port", "0", "--token-auth-file", "tokens.csv", folder=folder) as server:
        said = server.lines_to(READY)
    assert ANONYMOUS in said
    assert not any("readable" in line for line in said)


@pytest.mark.slow
def test_row12_with_rbac_they_are_those_of_a_user(folder, tokens):
    options = ("--token-auth-file", "tokens.csv", "--authorization-mode", "RBAC")
    with started("serve", "--port", "0", *options, folder=folder) as server:
        said = server.lines_to(READY)
    assert ANONYMOUS not in said
    assert "  requests without a token are those of system:anonymous" in said


@pytest.mark.slow
def test_row12_a_token_file_that_everybody_can_read_is_mentioned(folder, tokens):
    tokens.chmod(0o644)
    with started("serve", "--port", "0", "--token-auth-file", "tokens.csv", folder=folder) as server:
        said = server.lines_to(READY)
    assert "  warning: tokens.csv is readable by every user of this machine (chmod 600 tokens.csv)" in said


@pytest.mark.slow
def test_row12_plain_http_has_no_certificate_authority(folder, tokens):
    with started("serve", "--port", "0", "--token-auth-file", "tokens.csv", folder=folder) as server:
        said = server.lines_to(READY)
    assert said[2] == "  use --kubeconfig FILE to write a kubeconfig with a token"
    assert not any("certificate" in line for line in said)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--tls",), ("--token-auth-file", "tokens.csv")])
def test_f17_an_unknown_token_is_rejected(folder, tokens, options):
    with started("serve", "--port", "0", "--kubeconfig", "kc", *options, folder=folder) as server:
        url = url_of(server.lines_to(READY))
        _, _, trust = kubeconfig_of(folder / "kc")
        with pytest.raises(urllib.error.HTTPError) as refused:
            get(f"{url}/api/v1/namespaces", token="unknown", trust=trust)
        refused.value.close()
    assert refused.value.code == 401


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize(
    "options", [("--tls",), ("--token-auth-file", "tokens.csv"), ("--tls", "--token-auth-file", "tokens.csv")]
)
def test_f17_kubectl_works_with_the_kubeconfig_as_written(folder, tokens, options):
    with started("serve", "--port", "0", "--kubeconfig", "kc", *options, folder=folder) as server:
        server.lines_to(READY)
        command = ["kubectl", "--kubeconfig", str(folder / "kc"), "get", "namespaces", "-o", "name"]
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=FUSE, check=False
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert "namespace/default" in done.stdout
