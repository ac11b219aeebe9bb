"""What published operators keep in their modules is dropped after each test."""

import sys
from importlib.util import find_spec

import pytest

OPERATORS = ("dask_gateway_server", "dask_kubernetes", "luigi", "opentf", "patroni")
MISSING = [name for name in OPERATORS if find_spec(name) is None]
if MISSING:
    raise pytest.UsageError(f"{', '.join(MISSING)}: pip install --requirement tests/operators/requirements.txt")


@pytest.fixture(autouse=True)
def _no_task_of_luigi_is_kept():
    """Luigi keeps each task, and with it the connections of its client."""
    yield
    if "luigi" in sys.modules:
        sys.modules["luigi"].task_register.Register.clear_instance_cache()
