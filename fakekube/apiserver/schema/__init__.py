"""Schemas of objects: the fields of a kind and their types, values and metadata."""
