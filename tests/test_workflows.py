"""The workflows of the repository host agree with the project: interpreters, extras, paths."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.name: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yml"))}


def commands(workflow):
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


COMMANDS = {name: "\n".join(commands(workflow)) for name, workflow in WORKFLOWS.items()}


def test_the_quick_tests_run_on_each_interpreter_of_the_classifiers():
    stated = [match[1] for one in PROJECT["classifiers"] if (match := re.fullmatch(r".*Python :: (3\.\d+)", one))]
    assert WORKFLOWS["ci.yml"]["jobs"]["quick"]["strategy"]["matrix"]["python"] == stated


@pytest.mark.parametrize("name", WORKFLOWS)
def test_commands_name_extras_and_files_that_exist(name):
    extras = {one for group in re.findall(r"'\.\[([\w,]+)\]'", COMMANDS[name]) for one in group.split(",")}
    assert extras <= PROJECT["optional-dependencies"].keys()
    paths = re.findall(r"(?<![\w/])(?:tests|docs|\.ci|\.mkdocs)[\w./-]*(?=[\s'\"]|$)", COMMANDS[name])
    assert [path for path in paths if not (ROOT / path).exists() and path != "tests.mutation"] == []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_read_only_unless_a_job_says_otherwise(name):
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_each_job_has_a_time_out(name):
    assert all(job["timeout-minutes"] <= 300 for job in WORKFLOWS[name]["jobs"].values())


@pytest.mark.parametrize("name", WORKFLOWS)
def test_an_action_of_others_is_pinned_to_a_commit_and_says_its_version(name):
    used = re.findall(r"uses: (?!\./)(.*)", (FOLDER / name).read_text())
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []
