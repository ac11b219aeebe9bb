"""What a person has to hold in the head: few names, in the README's table, each at one place; sizes of modules."""

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakekube import Cluster, ClusterSettings, FakeKube, cli
from fakekube.clustersettings import SETTINGS
from fakekube.harness.backends.realcluster import RealCluster
from fakekube.harness.face import DESKS
from fakekube.harness.keywords import BodyFault, Fault, WatchFault
from fakekube.harness.members import members_of
from tests import face
from tests.trees import modules

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()

#: The most names of the core and of a desk.
CORE, DESK = 36, 12

#: The most lines of a module and of a class, and the most modules that a module imports.
MODULE, CLASS, IMPORTS = 500, 400, 40


def test_the_core_and_each_desk_can_be_held_in_the_head(capsys):
    print("\n".join(face.rows()))
    assert sum(map(len, face.core().values())) <= CORE
    assert {name: len(face.members(name)) for name in DESKS if len(face.members(name)) > DESK} == {}


def test_what_tab_shows_is_the_core_and_the_desks():
    with FakeKube(wall_clock=False) as kube:
        shown = [name for name in dir(kube) if not name.startswith("_")]
    assert sorted(shown) == sorted([*DESKS, *(name for names in face.core().values() for name in names)])


def test_the_readme_has_the_table():
    assert "\n".join(face.rows()) in README


#: The arguments that the table of a fault on its page must name, and where it begins and ends.
FAULTS = {
    "fault": (Fault.__annotations__.keys() - {"unrealistic"}, "Which requests |", "A fault behaves"),
    "disturb_watches": (WatchFault.__annotations__.keys() - Fault.__annotations__, "of `disturb_watches`", "## Bodies"),
    "damage_bodies": (BodyFault.__annotations__.keys() - Fault.__annotations__, "of `damage_bodies`", "In direct"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_page_of_faults_names_each_argument(fault):
    arguments, begins, ends = FAULTS[fault]
    table = (ROOT / "docs/desks/faults.md").read_text().partition(begins)[2].partition(ends)[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert arguments <= {name for cell in cells for name in re.findall(r"`(\w+)", cell)}


#: The tables that pages must have.
TABLES = {
    "README.md": "readme",
    "docs/index.md": "start",
    "docs/concepts/backends.md": "needs",
    "docs/reference/settings.md": "settings",
    **{f"docs/desks/{name}.md": name for name in DESKS},
}


@pytest.mark.parametrize("page", TABLES)
def test_a_page_has_its_table(page):
    assert TABLES[page] in face.tables(ROOT / page)


@pytest.mark.parametrize("page", face.PAGES, ids=lambda path: str(path))
def test_the_tables_of_a_page_are_those_of_the_code(page):
    """`python -m tests.face` writes them."""
    assert {name: face.table(name) for name in face.tables(page)} == face.tables(page)


@pytest.mark.parametrize("made", [FakeKube, RealCluster])
@pytest.mark.parametrize("name", sorted(members_of(Cluster)))
def test_a_cluster_implements_the_protocol(made, name):
    """mypy checks the types; here: the documentation is that of the protocol, and so is each parameter's name."""
    promised, found = inspect.getattr_static(Cluster, name), inspect.getattr_static(made, name)
    assert inspect.getdoc(found)
    if not isinstance(promised, property):
        assert list(inspect.signature(found).parameters) == list(inspect.signature(promised).parameters)


@pytest.mark.parametrize("name", DESKS)
def test_each_member_of_a_desk_is_documented(name):
    made = face.desk(name)
    assert inspect.getdoc(made)
    assert [member for member in face.members(name) if not inspect.getdoc(getattr(made, member))] == []


def test_a_cluster_takes_the_fields_of_its_settings():
    assert list(inspect.signature(FakeKube).parameters) == list(inspect.signature(ClusterSettings).parameters)
    with pytest.raises(TypeError, match=r"FakeKube\(\) has no argument sed: did you mean 'seed'\? \(accepted: seed, "):
        FakeKube(sed=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", [name for name, one in SETTINGS.items() if one.metadata["flag"]])
def test_serve_has_an_option_for_a_setting(name):
    options = {flag: option for option in cli.serve.params for flag in option.opts}
    option = options[SETTINGS[name].metadata["flag"]]
    if name not in ("version", "authorization_mode"):  # serve has defaults of its own
        assert option.help.startswith(SETTINGS[name].metadata["text"])
        assert option.multiple or option.default == SETTINGS[name].default or SETTINGS[name].default is None


# --- members of others -----------------------------------------------------------------------------------------------


def room(path: Path) -> str:
    """The top-level package of a module: `fakekube/harness`, `controllerlib/cache`."""
    return "/".join(path.with_suffix("").parts[:2])


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


#: Names that namedtuples have, whose underscore only keeps them apart from fields.
OF_NAMEDTUPLES = {"_replace", "_fields", "_make", "_asdict"}


def own_names(tree: ast.Module) -> Iterator[str]:
    """The private names that a module defines or sets on its own objects."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and is_private(node.name):
            yield node.name
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and is_private(node.target.id):
            yield node.target.id


def foreign_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The private names of other objects that a module reads or sets, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in OF_NAMEDTUPLES:
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr"):
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and is_private(name.value):
                yield node.lineno, name.value


#: Private names of the interpreter and of libraries that one of our packages uses for something of its own, too.
OF_LIBRARIES = {
    "_cancelled": "asyncio.TimerHandle",
    "_instance": "anyio, in portals.py",
    "_is_owned": "threading.Condition",
    "_target": "threading.Thread",
    "_exception": "asyncio.Task",
    "_callbacks": "asyncio.Task",
    "_callback": "asyncio.Handle",
    "_scheduled": "asyncio.BaseEventLoop",
    "_children": "what asyncio.gather returns",
}


@pytest.mark.slow
def test_no_package_reads_private_members_of_another():
    defined = defaultdict(set)
    for path, tree in modules().items():
        for name in own_names(tree):
            defined[name].add(room(path))
    found = [
        f"{path}:{line} {name} of {', '.join(sorted(defined[name]))}"
        for path, tree in modules().items()
        for line, name in foreign_names(tree)
        if name in defined and room(path) not in defined[name] and name not in OF_LIBRARIES
    ]
    assert found == []


# --- sizes -----------------------------------------------------------------------------------------------------------


def is_table(path: Path, tree: ast.Module) -> bool:
    """Whether most of a module is data: assignments of literals at its top."""
    lines = len((ROOT / path).read_text().splitlines())
    data = sum(node.end_lineno - node.lineno + 1 for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))
    return data > lines / 2


@pytest.mark.slow
def test_no_module_is_too_long():
    long = {
        str(path): len((ROOT / path).read_text().splitlines())
        for path, tree in modules().items()
        if not is_table(path, tree)
    }
    assert {path: lines for path, lines in long.items() if lines > MODULE} == {}


@pytest.mark.slow
def test_no_class_is_too_long():
    found = {
        f"{path}: {node.name}": node.end_lineno - node.lineno + 1
        for path, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    assert {name: lines for name, lines in found.items() if lines > CLASS} == {}


@pytest.mark.slow
def test_no_module_imports_too_much():
    found = {
        str(path): sum(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body)
        for path, tree in modules().items()
    }
    assert {path: count for path, count in found.items() if count > IMPORTS} == {}
