"""Detectors of children, finalizers and what objects have in public."""
