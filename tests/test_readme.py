"""The README's promises: every Python block is text of an example that ran, every file that it links is there."""

import inspect
import re
import tomllib
from pathlib import Path

import click
import pytest

from fakekube import FakeKube, cli
from fakekube.harness.face import DESKS
from tests import face
from tests.differential.__main__ import parser as differential_parser
from tests.mutation.__main__ import parser as mutation_parser

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = "\n".join(path.read_text() for path in sorted((ROOT / "tests" / "examples").glob("*.py")))


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", README, re.M | re.S))
def test_python_blocks_are_text_of_examples(block):
    assert block in EXAMPLES


HOW_TO = (ROOT / "docs" / "howto" / "wait-for-a-deployment.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", HOW_TO, re.M | re.S))
def test_the_how_to_of_controllers_is_text_of_examples(block):
    assert block in EXAMPLES


FAULTS = (ROOT / "docs" / "desks" / "faults.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"^```python\n(.*?)^```", FAULTS, re.M | re.S))
def test_the_page_about_faults_is_text_of_examples(block):
    assert block in EXAMPLES


#: PyPI shows the README without the repository, so its links are absolute.
FILES = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Source"] + "/blob/main/"
LINKS = re.findall(r"\]\(([^)]+)\)", README)


@pytest.mark.parametrize("link", LINKS)
def test_links_are_absolute_and_lead_to_files(link):
    assert link.startswith(FILES)
    assert (ROOT / link.removeprefix(FILES).partition("#")[0]).exists()


def test_the_second_command_runs_the_quick_tests():
    """`.ci/run` appends options to it."""
    assert re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)[1].endswith("/pytest -n 2\n")


#: Options of other programs: examples, pip, pytest, kubectl, kopf, `.ci/run`, benchmarks, and the replay of the packs.
FOREIGN = frozenset(
    [
        "--all-interpreters",
        "--all-namespaces",
        "--before",
        "--cascade",
        "--context",
        "--image",
        "--replicas",
        "--junitxml",
        "--config-file",
        "--editable",
        "--full-trace",
        "--help",
        "--ignore",
        "--junitxml",
        "--leader-elect",
        "--lf",
        "--namespace",
        "--no-deps",
        "--pdb",
        "--quiet",
        "--requirement",
        "--fail-with-body",
        "--from-literal",
        "--standalone",
        "--url",
        "--wait",
    ]
)


def options_of(command):
    found = {name for parameter in command.params for name in parameter.opts if isinstance(parameter, click.Option)}
    return found.union(*(options_of(one) for one in getattr(command, "commands", {}).values()))


@pytest.mark.parametrize("page", PROSE, ids=lambda path: path.name)
def test_options_exist(page, pytestconfig):
    plugin = {f"--{name.replace('_', '-')}" for name in vars(pytestconfig.option) if name.startswith("fakekube_")}
    named = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", page.read_text())
    tools = {**vars(mutation_parser().parse_args([])), **vars(differential_parser().parse_args(["--url", "x"]))}
    known = options_of(cli.main) | plugin | {f"--{name.replace('_', '-')}" for name in tools}
    assert set(named) - known - FOREIGN == set()


def test_the_page_of_the_settings_has_all_options_of_pytest(pytestconfig):
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    options = [f"--{name.replace('_', '-')}" for name in vars(pytestconfig.option) if name.startswith("fakekube_")]
    assert [name for name in options if f"`{name}`" not in page] == []


#: Packages that pages name.
PACKAGES = {path.stem for path in (ROOT / "fakekube").iterdir()}


@pytest.mark.parametrize("page", PROSE, ids=lambda path: path.name)
def test_methods_of_a_cluster_exist(page):
    named = re.findall(r"(?<!import )(?<!from )\bfakekube\.([a-z_]+)[\[(.](?:([a-z_]+)\()?", page.read_text())
    assert [name for name, _ in named if name not in {*DESKS, *PACKAGES} and not hasattr(FakeKube, name)] == []
    assert [
        f"{name}.{member}"
        for name, member in named
        if member and name in DESKS and not hasattr(face.desk(name), member)
    ] == []


#: Arguments of the marker that FakeKube does not have: the plugin calls `FakeKube.configure`.
MARKER_ONLY = frozenset({"configure"})


@pytest.mark.parametrize("page", PROSE, ids=lambda path: path.name)
def test_arguments_of_the_marker_exist(page):
    known = {*inspect.signature(FakeKube).parameters, *MARKER_ONLY}
    named = [
        name
        for text in re.findall(r"mark\.fakekube\((.*?)\)", page.read_text())
        for name in re.findall(r"(\w+)=", text)
    ]
    assert [name for name in named if name not in known] == []
