"""Detectors of operators that trigger themselves, or each other."""
