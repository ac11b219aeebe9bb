"""Configuration of this repository's own test run."""

from hypothesis import settings

pytest_plugins = ["pytester"]

# A run passes or fails for what the code is, not for luck nor for the speed of the machine. To look for new cases:
# `--hypothesis-profile search`.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", print_blob=True, deadline=None)
settings.load_profile("repeatable")
