"""Detectors of loops of writes, by one controller or client, and by two that overwrite each other."""
