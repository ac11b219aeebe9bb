"""The snippets of docs/server/control-api.md and its tour run as they are written, with curl and Node."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.commands import fakekube

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs/server"


def block(language, page="control-api"):
    return re.search(rf"^```{language}\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.M | re.S)[1]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl(tmp_path):
    script = block("sh").replace("http://127.0.0.1:8001", "$FAKEKUBE_URL")
    done = fakekube("run", "--", "sh", "-e", "-c", script.replace("curl -s", "echo; curl -s -f"), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    health, fault, requests, reset = map(json.loads, done.stdout.split())
    assert (health["ready"], fault["error"], requests, "revision" in reset) == (True, 409, {"items": []}, True)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_node(tmp_path):
    (tmp_path / "test.mjs").write_text(block("js"))
    done = fakekube("run", "--findings", "off", "--", "node", "test.mjs", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "[]\n")


def actions(script, comment):
    """The numbers of the actions of a tour."""
    return [int(number) for number in re.findall(rf"^{comment} (\d+)\. ", script, re.M)]


def requests(script):
    """The operations of the control API that a script in sh uses: options, and path without names and query."""
    found = re.findall(r"^K (-X \w+ )?\"?\$C(/[^ ?\"]*)", script, re.M)
    return {
        (method, re.sub(r"(?<=/)(before|node-1|deployment-controller|\$\(.*)", "*", path)) for method, path in found
    }


TOUR = ("--findings", "off", "--nodes", "1", "--controllers", "*", "--")


@pytest.mark.skipif(None in map(shutil.which, ("curl", "kubectl")), reason="curl or kubectl is not installed")
def test_thirty_actions_with_curl(tmp_path):
    script = block("sh", "control-api-tour")
    assert actions(script, "#") == list(range(1, 32))
    assert len(requests(script)) >= 30
    done = fakekube("run", *TOUR, "sh", "-e", "-c", script, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert '{"mode":"stepped"' in done.stdout


@pytest.mark.skipif(None in map(shutil.which, ("node", "kubectl")), reason="Node or kubectl is not installed")
def test_ten_actions_with_node(tmp_path):
    script = block("js", "control-api-tour")
    assert actions(script, "//") == list(range(1, 11))
    (tmp_path / "tour.mjs").write_text(script)
    done = fakekube("run", *TOUR, "node", "tour.mjs", folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
