"""What published operators keep in their modules is dropped after each test."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _no_task_of_luigi_is_kept():
    """Luigi keeps each task, and with it the connections of its client."""
    yield
    if "luigi" in sys.modules:
        sys.modules["luigi"].task_register.Register.clear_instance_cache()
