"""The examples of pages of the documentation: the Python blocks of a page are one module of tests."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"

#: Without plugins that are slow to import.
LEAN = [f"-pno:{name}" for name in ("cacheprovider", "benchmark", "hypothesispytest", "anyio")]


@pytest.mark.parametrize(("page", "tests"), [("state", 9), ("backends", 3)])
def test_the_examples_of_a_page_pass(pytester, page, tests):
    text = (DOCS / f"{page}.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    pytester.makepyfile("\n\n".join(blocks))
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(passed=tests)
