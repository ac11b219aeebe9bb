"""Threads of a bubble: one runs at a time, in a reproducible order."""
