"""The workflows of the repository host are valid and agree with the project: interpreters, extras, paths.

Those of the repositories in `docs/examples` follow the same rules.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.name: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yml"))}

#: Of the examples, too.
ALL = {
    str(path.relative_to(ROOT)): path
    for path in sorted([*FOLDER.glob("*.yml"), *ROOT.glob("docs/examples/*/.github/workflows/*.yml")])
}


def commands(workflow):
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


COMMANDS = {name: "\n".join(commands(workflow)) for name, workflow in WORKFLOWS.items()}


def test_the_quick_tests_run_on_each_interpreter_of_the_classifiers():
    stated = [match[1] for one in PROJECT["classifiers"] if (match := re.fullmatch(r".*Python :: (3\.\d+)", one))]
    assert WORKFLOWS["ci.yml"]["jobs"]["quick"]["strategy"]["matrix"]["python"] == stated
    lowest = WORKFLOWS["ci.yml"]["jobs"]["lowest"]["strategy"]["matrix"]["python"]
    assert lowest == [stated[0], stated[-1]]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_commands_name_extras_and_files_that_exist(name):
    extras = {one for group in re.findall(r"'\.\[([\w,]+)\]'", COMMANDS[name]) for one in group.split(",")}
    assert extras <= PROJECT["optional-dependencies"].keys()
    paths = re.findall(r"(?<![\w/])(?:tests|docs|\.ci|\.mkdocs)[\w./-]*(?=[\s'\"]|$)", COMMANDS[name])
    assert [path for path in paths if not (ROOT / path).exists() and path != "tests.mutation"] == []


@pytest.mark.parametrize("name", ALL)
def test_a_workflow_may_read_only_unless_a_job_says_otherwise(name):
    assert yaml.safe_load(ALL[name].read_text())["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("name", ALL)
def test_each_job_has_a_time_out(name):
    jobs = yaml.safe_load(ALL[name].read_text())["jobs"]
    assert all(job["timeout-minutes"] <= 300 for job in jobs.values())


@pytest.mark.parametrize("name", ALL)
def test_an_action_of_others_is_pinned_to_a_commit_and_says_its_version(name):
    used = re.findall(r"uses: (?!\./)(.*)", ALL[name].read_text())
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []


def test_a_version_of_an_action_is_one_commit():
    used = {use for path in ALL.values() for use in re.findall(r"uses: (?!\./)(.*)", path.read_text())}
    assert len({use.partition("@")[0] + use.rpartition(" ")[2] for use in used}) == len(used)


FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"

#: Schemas of check-jsonschema, which `.pre-commit-config.yaml` runs, too.
VALID = {
    "github-workflows": list(ALL.values()),
    "github-actions": sorted(ROOT.glob(".github/actions/*/action.yml")),
    "dependabot": [ROOT / ".github" / "dependabot.yml"],
    "github-issue-config": [FORMS / "config.yml"],
    "github-issue-forms": [path for path in sorted(FORMS.glob("*.yml")) if path.name != "config.yml"],
}


@pytest.mark.slow
@pytest.mark.parametrize("schema", VALID)
def test_files_are_valid(schema):
    assert VALID[schema]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *VALID[schema]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_workflow_with_a_misspelt_key_is_not_valid(tmp_path):
    wrong = tmp_path / "wrong.yml"
    wrong.write_text((FOLDER / "ci.yml").read_text().replace("runs-on:", "run-on:"))
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", wrong]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
