"""Answers are the same in every process: no byte depends on Python's hash seed."""

import os
import subprocess
import sys

import pytest

from tests.determinism.test_determinism import ROOT

pytestmark = pytest.mark.slow


def answers(hash_seed):
    env = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "tests.determinism.answers"]
    return subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def test_answers_do_not_depend_on_the_hash_seed():
    first, second = answers("0"), answers("2")
    assert len(first) > 2_500
    assert [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]] == []
