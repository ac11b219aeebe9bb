"""Detectors of what code leaves behind or blocks: tasks, threads, errors in a log."""
