"""The snippets of docs/server/control-api.md run as they are written, with curl and Node."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.cli.commands import fakekube

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs/server/control-api.md").read_text()


def block(language):
    return re.search(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)[1]


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
