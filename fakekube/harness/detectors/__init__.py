"""Detectors: defects of operators that are found without an assertion of the test."""
