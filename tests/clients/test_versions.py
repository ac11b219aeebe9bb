"""The documentation's table of clients says which versions are tried."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "docs" / "server" / "clients.md"


@pytest.mark.parametrize("package", ["kubernetes_asyncio", "kr8s", "lightkube", "pykube-ng", "kopf"])
def test_the_readme_names_the_version_that_is_here(package):
    (said,) = re.findall(rf"^\| `{package}` \| ([0-9.]+) \|", README.read_text(), re.M)
    assert version(package) == said
