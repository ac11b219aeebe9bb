"""Detectors of what reconciles do."""
