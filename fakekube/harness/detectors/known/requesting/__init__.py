"""Detectors of requests and their answers."""
