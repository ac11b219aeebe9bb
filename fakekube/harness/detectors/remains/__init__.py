"""Detectors of what an operator leaves behind: tasks, coroutines and threads."""
