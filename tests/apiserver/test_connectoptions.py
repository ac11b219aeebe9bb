"""The options of connections, which are read from the query (`core/v1` conversion of url.Values)."""

import pytest

from fakekube.apiserver.endpoints.subresources.connectoptions import connect_options
from fakekube.apiserver.wire.request import Request, parse_query


def options(kind, query, path=""):
    return connect_options(kind, Request("GET", "/", parse_query(query)), path)


@pytest.mark.parametrize(
    ("kind", "query", "found"),
    [
        ("PodExecOptions", "", {}),
        *(("PodExecOptions", f"{name}=true", {name: True}) for name in ("stdin", "stdout", "stderr", "tty")),
        *(("PodAttachOptions", f"{name}=1", {name: True}) for name in ("stdin", "stdout", "stderr", "tty")),
        ("PodExecOptions", "stdin=false&tty=0&stdout=", {"stdout": True}),
        ("PodExecOptions", "stdin=true&stdin=false", {"stdin": True}),
        ("PodExecOptions", "stdin=maybe&tty=FALSE", {"stdin": True}),
        ("PodExecOptions", "container=a", {"container": "a"}),
        ("PodExecOptions", "container=", {}),
        ("PodExecOptions", "command=ls&command=-l&command=", {"command": ["ls", "-l", ""]}),
        ("PodAttachOptions", "command=ls&container=a", {"container": "a"}),
        ("PodAttachOptions", "ports=80", {}),
        ("PodPortForwardOptions", "ports=80,443&ports=9", {"ports": [80, 443, 9]}),
        ("PodPortForwardOptions", "ports=x,1", {"ports": [1]}),
        ("PodPortForwardOptions", "stdin=true", {}),
        ("PodProxyOptions", "stdin=true", {}),
    ],
)
def test_the_options_of_a_query(kind, query, found):
    assert options(kind, query) == found


@pytest.mark.parametrize("kind", ["PodProxyOptions", "ServiceProxyOptions", "NodeProxyOptions"])
def test_a_proxy_has_the_path_of_its_request(kind):
    assert options(kind, "path=/other", "/metrics") == {"path": "/metrics"}
