"""Checks that are shared by many kinds."""
