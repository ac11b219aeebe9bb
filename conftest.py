"""Configuration of this repository's own test run."""

from hypothesis import settings

pytest_plugins = ["pytester"]

# A run passes or fails for what the code is, not for luck; who looks for new cases says `--hypothesis-profile search`.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("search", print_blob=True)
settings.load_profile("repeatable")
