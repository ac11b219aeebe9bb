"""Benchmarks are not run by the suite; this keeps them importable."""

from importlib import import_module
from pathlib import Path

import pytest

BENCHES = sorted(path.stem for path in (Path(__file__).parent / "bench").glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", BENCHES)
def test_a_bench_can_be_imported(name):
    assert import_module(f"tests.bench.{name}").__doc__
