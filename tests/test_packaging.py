"""What is installed: a wheel with every module and data file, and an editable install whose types are found."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PACKAGES = ("controllerlib", "fakekube")

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


def test_a_wheel_has_every_file_of_both_packages(built):
    kind, wheel = built
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"controllerlib/py.typed", "fakekube/py.typed", "fakekube/data/schemas.json"} <= files
    assert names == (files if kind == "wheel" else {"_fakekube.pth"})


def test_an_install_shows_its_types(python, tmp_path):
    (tmp_path / "user.py").write_text(USER)
    options = ["--strict", "--python-executable", python, "--cache-dir", tmp_path / "cache", "--follow-imports=silent"]
    command = [sys.executable, "-m", "mypy", "--config-file=", *options, "user.py"]
    found = subprocess.run([str(part) for part in command], cwd=tmp_path, capture_output=True, text=True).stdout
    revealed, called, misused, _ = found.splitlines()
    assert re.search(r'type is "controllerlib\.[\w.]+\.Result"', revealed)
    assert re.search(r"fakekube\.[\w.]+\.RequestRecord\b", called)
    assert "[arg-type]" in misused
