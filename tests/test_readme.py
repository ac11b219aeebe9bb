"""The README's promises: every Python block is text of an example that ran, every file that it links is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
EXAMPLES = "\n".join(path.read_text() for path in sorted((ROOT / "tests" / "examples").glob("*.py")))


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", README, re.M | re.S))
def test_python_blocks_are_text_of_examples(block):
    assert block in EXAMPLES


@pytest.mark.parametrize("link", re.findall(r"\]\(((?!http)[^)#]+)\)", README))
def test_links_lead_somewhere(link):
    assert (ROOT / link).exists()


def test_the_second_command_runs_all_tests():
    """`.ci/run` runs it as it stands."""
    assert re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)[1].endswith("/pytest -n 2 -m ''\n")
