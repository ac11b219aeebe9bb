"""Subresources that do more than write a part of their object: actions, Scale, and connections."""
