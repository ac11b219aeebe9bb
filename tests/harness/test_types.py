"""The types of FakeKube: what type checkers say of a user's tests, and that the options follow what they describe."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest
from mypy import api

import fakekube
from controllerlib import Manager
from fakekube import FaultRule, RequestRecord
from fakekube.harness import keywords

USER = Path(__file__).with_name("typed_user.py")

#: The arguments of Manager that the cluster sets.
SET_BY_THE_CLUSTER = {"clock", "gate", "observer", "random"}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_mypy_rejects_a_misspelt_argument(tmp_path):
    """`type: ignore` marks what must be rejected; an unused one is an error, too (warn_unused_ignores)."""
    config = tmp_path / "mypy.ini"
    config.write_text("[mypy]\nstrict = True\nwarn_unreachable = True\n[mypy-kubernetes.*]\nfollow_imports = skip\n")
    flags = ["--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent"]
    said, problems, status = api.run([*flags, str(USER)])
    assert [said.splitlines(), problems, status] == [["Success: no issues found in 1 source file"], "", 0]


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_pyright_rejects_a_misspelt_argument(tmp_path):
    """`pyright: ignore` marks what must be rejected; an unused one is an error, too."""
    settings = {
        "include": [str(USER)],
        "extraPaths": [str(Path(fakekube.__file__).parent.parent)],
        "typeCheckingMode": "standard",
        "enableTypeIgnoreComments": False,
        "reportUnnecessaryTypeIgnoreComment": "error",
    }
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "-p", str(project), "--pythonpath", sys.executable, "--outputjson"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(run.stdout)["generalDiagnostics"]
    assert [(one["range"]["start"]["line"] + 1, one["message"]) for one in found] == []


@pytest.mark.parametrize(
    ("described", "names"),
    [
        (keywords.RequestFields, set(RequestRecord._fields)),
        (
            keywords.ManagerOptions,
            set(inspect.signature(Manager).parameters) - SET_BY_THE_CLUSTER - {"transport"},
        ),
    ],
)
def test_the_options_follow_what_they_describe(described, names):
    assert set(described.__annotations__) == names


#: The arguments of a rule that the cluster sets, and the names of others in the faults that take them.
OF_THE_CLUSTER = {"draw", "except_agent"}
RENAMED = {"body_delay": "delay", "event_delay": "delay", "webhook": "delay"}


def test_each_argument_of_a_rule_is_an_argument_of_one_fault():
    kinds = (keywords.Fault, keywords.WatchFault, keywords.BodyFault, keywords.WebhookFault)
    arguments = {RENAMED.get(name, name) for name in inspect.signature(FaultRule).parameters}
    assert set().union(*(kind.__annotations__ for kind in kinds)) - {"refused"} == arguments - OF_THE_CLUSTER


def test_the_types_of_request_fields_are_those_of_a_record():
    assert get_type_hints(keywords.RequestFields) == get_type_hints(RequestRecord)
