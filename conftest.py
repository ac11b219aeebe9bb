"""Configuration of this repository's own test run."""
