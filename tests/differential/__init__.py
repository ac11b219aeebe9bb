"""Compares fakekube with another API server: both answer the same generated requests (CONTRIBUTING.md has a section)."""
