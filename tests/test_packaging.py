"""What is installed: a wheel with every module and data file, and an editable install whose types are found."""

import ast
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("controllerlib", "fakekube")

#: What starts a private key in PEM, spelt so that this file has none.
PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*" + rb"PRIVATE KEY")

USER = """
from controllerlib import Result
from fakekube import FakeKube

def test(fakekube: FakeKube) -> None:
    reveal_type(Result(requeue_after=1.0))
    reveal_type(fakekube.requests)
    Result(requeue_after="1 s")
"""


def run(*command, cwd):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["wheel", "editable"])
def built(request, tmp_path_factory):
    """A wheel of this tree, as the build backend makes it for pip: nothing is downloaded."""
    folder = tmp_path_factory.mktemp(request.param)
    hook = f"import sys, hatchling.build as b; b.build_{request.param}(sys.argv[1])"
    run(sys.executable, "-c", hook, folder, cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return request.param, wheel


@pytest.fixture
def python(built, tmp_path):
    """The interpreter of a virtual environment in which nothing but this project is installed."""
    _, wheel = built
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    return python


@pytest.mark.slow
def test_a_wheel_has_every_file_of_both_packages(built):
    kind, wheel = built
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.match("fakekube/data/build_*.py")
    }
    assert {"controllerlib/py.typed", "fakekube/py.typed", "fakekube/data/schemas.json"} <= files
    assert names == (files if kind == "wheel" else {"_fakekube.pth"})


@pytest.mark.slow
def test_a_wheel_has_no_private_key(built):
    _, wheel = built
    archive = zipfile.ZipFile(wheel)
    assert [name for name in archive.namelist() if PRIVATE_KEY.search(archive.read(name))] == []


@pytest.mark.slow
def test_an_install_has_the_version_of_the_package(built):
    _, wheel = built
    assert wheel.name.split("-")[1] == version_in_the_source()


@pytest.mark.slow
def test_an_sdist_has_all_that_its_tests_and_its_documentation_need(tmp_path):
    run(sys.executable, "-c", "import sys, hatchling.build as b; b.build_sdist(sys.argv[1])", tmp_path, cwd=ROOT)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (root,) = (path for path in tmp_path.iterdir() if path.is_dir())
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--collect-only",
        "-m",
        "",
        "-p",
        "no:cacheprovider",
        "tests/test_packaging.py",
    ]
    assert "test_a_wheel_has_every_file" in run(*command, "tests/test_readme.py", "tests/test_docs.py", cwd=root)
    assert {path.name for path in root.iterdir()} >= {
        ".ci",
        ".mkdocs.yml",
        "docs",
        "NOTICE",
        "SECURITY.md",
        "conftest.py",
    }


@pytest.mark.slow
def test_an_install_shows_its_types(python, tmp_path):
    (tmp_path / "user.py").write_text(USER)
    options = ["--strict", "--python-executable", python, "--cache-dir", tmp_path / "cache", "--follow-imports=silent"]
    command = [sys.executable, "-m", "mypy", "--config-file=", *options, "user.py"]
    found = subprocess.run([str(part) for part in command], cwd=tmp_path, capture_output=True, text=True).stdout
    revealed, called, misused, _ = found.splitlines()
    assert re.search(r'type is "controllerlib\.[\w.]+\.Result"', revealed)
    assert re.search(r"fakekube\.[\w.]+\.RequestRecord\b", called)
    assert "[arg-type]" in misused


def version_in_the_source():
    tree = ast.parse((ROOT / "fakekube" / "__init__.py").read_text())
    (value,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__"
    )
    return ast.literal_eval(value)


@pytest.mark.parametrize("path", sorted((ROOT / "fakekube" / "data").glob("*.json")), ids=lambda path: path.name)
def test_the_notice_names_each_file_of_data_from_kubernetes(path):
    assert f"fakekube/data/{path.name} " in (ROOT / "NOTICE").read_text()


def test_the_table_of_dependencies_has_a_row_for_each():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.match(r"[\w.-]+", one)[0] for one in project["dependencies"]}
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Dependencies")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w.-]+)` \|", section, re.M)) == names
