"""kubeconfig files, as other programs read them."""

import base64
import os
import stat

import pytest
import yaml
from kubernetes import client, config

from fakekube.server import kubeconfig


def test_the_official_client_reads_it(tmp_path):
    path = tmp_path / "kubeconfig"
    kubeconfig.write(path, "https://127.0.0.1:1", token="secret", ca=b"PEM")
    found = client.Configuration()
    config.load_kube_config(str(path), client_configuration=found)
    assert (found.host, [*found.api_key.values()]) == ("https://127.0.0.1:1", ["Bearer secret"])
    with open(found.ssl_ca_cert, "rb") as ca:
        assert ca.read() == b"PEM"


def test_empty_fields_are_omitted(tmp_path):
    content = kubeconfig.content("http://127.0.0.1:1")
    assert content["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:1", "insecure-skip-tls-verify": True}


def base64_of(data):
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("options", "user", "cluster"),
    [
        ({}, {}, {}),
        ({"token": "t"}, {"token": "t"}, {}),
        ({"ca": b"CA"}, {}, {"certificate-authority-data": base64_of(b"CA")}),
        (
            {"token": "t", "client": (b"cert", b"key")},
            {"token": "t", "client-certificate-data": base64_of(b"cert"), "client-key-data": base64_of(b"key")},
            {},
        ),
    ],
)
def test_the_content_of_a_kubeconfig(options, user, cluster):
    found = kubeconfig.content("https://a:1", **options)
    assert found.pop("users") == [{"name": "fakekube", "user": user}]
    assert found.pop("clusters") == [{"name": "fakekube", "cluster": {"server": "https://a:1", **cluster}}]
    assert found == {
        "apiVersion": "v1",
        "kind": "Config",
        "contexts": [{"name": "fakekube", "context": {"cluster": "fakekube", "user": "fakekube"}}],
        "current-context": "fakekube",
    }


@pytest.mark.parametrize("before", [None, 0o644])
def test_only_its_owner_may_read_it(tmp_path, before):
    path = tmp_path / "kubeconfig"
    if before is not None:
        path.write_text("something else")
        os.chmod(path, before)
    kubeconfig.write(path, "https://x", token="secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert yaml.safe_load(path.read_text())["users"][0]["user"] == {"token": "secret"}
    assert list(tmp_path.iterdir()) == [path]


def test_an_existing_file_is_kept_if_writing_fails(tmp_path):
    with pytest.raises(OSError, match="No such file or directory"):
        kubeconfig.write(tmp_path / "nowhere" / "kubeconfig", "https://x")
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path):
    link, target = tmp_path / "link", tmp_path / "target"
    link.symlink_to(target)
    kubeconfig.write(link, "https://x")
    assert link.is_symlink()
    assert "https://x" in target.read_text()


def test_a_directory_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError):
        kubeconfig.write(tmp_path, "https://x")
