"""The ways to change an object by describing the change."""
