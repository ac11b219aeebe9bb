"""The pages about explorations: the reference has each word that a report prints, the tutorial shows what pytest prints."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from fakekube import FakeKube
from fakekube.simulation.atoms import Atom, parse_atom
from fakekube.simulation.coverage import Coverage
from fakekube.simulation.explorer import Exploration
from fakekube.simulation.marker import ORACLES, settings_of
from fakekube.simulation.observation import Observation
from fakekube.simulation.realism import RULES
from fakekube.simulation.report import properties, side_by_side
from fakekube.simulation.results.annotations import annotation
from tests.innerruns import LEAN
from tests.simulation.observations import commit

ROOT = Path(__file__).parent.parent
REFERENCE = (ROOT / "docs/explorations/reference.md").read_text()
TUTORIAL = (ROOT / "docs/explorations/tutorial.md").read_text()
SIMULATION = ROOT / "fakekube/simulation"

#: What prints the words of a report, below `SIMULATION`.
PRINTING = (
    *("coverage.py", "protocol.py", "report.py"),
    *("running/meter.py", "running/runend.py", "running/streamcheck.py"),
    *(
        f"{folder}/{one.name}"
        for folder in ("oracles", "results")
        for one in sorted((SIMULATION / folder).glob("*.py"))
    ),
)

pytest_plugins = ["pytester"]


def names_below(heading):
    """The names at the beginning of the code in the first column of a table of the reference."""
    section = re.split(r"^#+ ", REFERENCE.partition(f"# {heading}\n")[2], maxsplit=1, flags=re.M)[0]
    cells = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"(?:^|, | )`([\w-]+)", cell)}


def listed(error, after):
    """The names that an error lists."""
    return set(str(error.value).partition(after)[2].rstrip(")").split(", "))


def test_the_reference_has_each_atom():
    with pytest.raises(ValueError, match="expected one of") as error:
        parse_atom("nothing")
    atoms = listed(error, "expected one of ")
    assert {atom.name for atom in get_args(Atom)} <= atoms
    assert names_below("Atoms") == atoms


def test_the_reference_has_each_oracle():
    rows = re.findall(r"^\| `?(O\d+|test)`? \|", REFERENCE, re.M)
    assert rows == list(ORACLES)


@pytest.mark.parametrize("oracle", ORACLES)
def test_the_reference_has_texts_of_each_oracle(oracle):
    assert re.search(rf"^\| `{oracle}: ", REFERENCE.partition("### The texts of oracles")[2], re.M)


def test_the_reference_has_each_rule_of_legality():
    several = re.findall(r'yield "([\w-]+)", ', (SIMULATION / "realism.py").read_text())
    assert names_below("Legality") == {*RULES, *several}


def test_the_reference_has_each_argument_of_the_marker():
    with pytest.raises(TypeError, match="has no argument") as error:
        settings_of({"nothing": 1})
    assert names_below("Marker") == listed(error, "(it has ")


def test_the_reference_has_each_property():
    found = properties(Exploration(Observation(0), [], 0, Coverage()))
    assert names_below("Figures") == {name for name, _ in found}


def test_the_reference_has_an_annotation():
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": "/x"}
    made = annotation(Path("/x/tests/test_vaults.py"), 12, "exploration of test_a_vault_has_a_key", "O2: ", environment)
    assert made.strip() in REFERENCE


def test_the_reference_has_the_words_above_the_two_columns():
    made = [commit(number, "create", f"cm/{number}") for number in range(1, 9)]
    names, skipped, *_ = side_by_side(Observation(0, commits=made), Observation(0, commits=made[:-1]))
    assert re.fullmatch(r"(\w+) +\| (\w+)", names)
    assert all(f"`{one}`" in REFERENCE for one in names.replace("|", " ").split())
    assert re.sub(r"\d+", "40", skipped.strip(" |")) in REFERENCE


def texts_of(path):
    """The parts of texts in a module that have more than one word: none of docstrings, errors, assertions and patterns."""
    tree = ast.parse(path.read_text())
    other = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr | ast.Raise | ast.Assert) or (
            isinstance(node, ast.Call) and ast.unparse(node.func) in ("re.compile", "re.sub")
        ):
            is_yield = isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
            other.update(() if is_yield else map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in other:
            text = node.value.strip(" ,;:()\n")
            if " " in text:
                yield text


@pytest.mark.parametrize("module", PRINTING)
def test_the_reference_has_each_text_of_a_module(module):
    page = " ".join(REFERENCE.split())
    assert [text for text in texts_of(SIMULATION / module) if text not in page] == []


def test_texts_are_found_in_the_modules():
    found = {module for module in PRINTING if list(texts_of(SIMULATION / module))}
    assert {"report.py", "coverage.py", "oracles/finalstate.py", "results/figures.py"} <= found


# --- the tutorial


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", TUTORIAL, re.M | re.S)


@pytest.fixture(scope="module")
def imported():
    """What is imported lazily is imported once: pytester forgets what an inner run imports."""
    import fakekube.simulation.protocol  # noqa: F401

    with FakeKube() as kube:
        kube.settle()


@pytest.fixture
def explored(imported, pytester, monkeypatch):
    """The files of the tutorial, and its tests that fail when they are explored."""
    for text in blocks("python"):
        if name := re.match(r"# (\w+\.py)\n", text):
            (pytester.path / name[1]).write_text(text)
    pytester.makepyfile(test_vaults=next(text for text in blocks("python") if "CRD = {" in text))
    pytester.makepyfile(test_labels=next(text for text in blocks("text") if "second.build" in text))
    monkeypatch.syspath_prepend(pytester.path)
    monkeypatch.delenv("PYTEST_XDIST_WORKER_COUNT", raising=False)
    return pytester


def shown(containing):
    """The block of the tutorial that has a text."""
    return next(text for text in blocks("text") if containing in text)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "text"), [("test_vaults.py", "secret/a is absent"), ("test_labels.py", "labels.app")])
def test_the_tutorial_shows_the_report_and_the_kept_plans(explored, file, text):
    result = explored.runpytest_inprocess(*LEAN, "-q", file, "--fakekube-explore=pr")
    result.assert_outcomes(failed=1)
    assert shown(text) in f"{result.stdout}\n"
    (kept,) = (explored.path / ".fakekube" / "plans").iterdir()
    if file == "test_vaults.py":
        assert kept.read_text() == shown("# passed 0")
