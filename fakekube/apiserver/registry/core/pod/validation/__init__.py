"""Validation of pods and of pod templates."""
