"""Subresources that are more than a part of their object: actions, other kinds, connections."""
