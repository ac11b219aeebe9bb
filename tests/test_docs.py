"""Every Python block of the documentation runs.

The blocks of a page are one module, in their order. A block whose first line is a comment with a path (`# operator.py`,
`# deploy/web.yaml`) is that file, which the others can import or apply. Code in a comment of the page (`<!-- python`)
runs, too, and is not shown. Blocks that are text of a test of this project run there.
"""

import re
from pathlib import Path

import pytest

from fakekube import FakeKube
from tests.innerruns import LEAN

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TESTS = "\n".join(path.read_text() for path in sorted((ROOT / "tests").rglob("*.py")))

_BLOCK = re.compile(r"^(```|<!-- )(python|yaml|ini|toml)\n(.*?)^(?:```|-->)$", re.M | re.S)
_FILE = re.compile(r"# ([\w./-]+\.(?:py|yaml|ini|toml))\n")

pytest_plugins = ["pytester"]

pytestmark = pytest.mark.slow


def blocks(page):
    """The blocks of a page that do not run elsewhere: the path of a file or nothing, and the text."""
    for fence, kind, text in _BLOCK.findall(page.read_text()):
        file = _FILE.match(text)
        if file is not None:
            yield file[1], text
        elif kind == "python" and (fence != "```" or text not in TESTS):
            yield "", text


def name_of(page):
    return str(page.relative_to(ROOT / "docs"))


@pytest.fixture(scope="module", autouse=True)
def _imported():
    """What the pages import lazily is imported once: pytester forgets what an inner run imports."""
    with FakeKube(controllers=["*"], nodes=1, rbac=True) as kube:
        kube.access.api_client()
        kube.webhooks.ca_bundle  # noqa: B018


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_python_of_a_page_runs(page, pytester, monkeypatch):
    module = []
    for path, text in blocks(page):
        if path:
            file = pytester.path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        else:
            module.append(text)
    if not module:
        return
    monkeypatch.syspath_prepend(pytester.path)
    pytester.makepyfile(test_page="\n\n".join(module))
    result = pytester.runpytest_inprocess(*LEAN, "-q")
    outcomes = result.parseoutcomes()
    assert outcomes.get("passed"), f"no test of {name_of(page)} ran"
    assert set(outcomes) <= {"passed", "skipped", "warnings"}, str(result.stdout)
