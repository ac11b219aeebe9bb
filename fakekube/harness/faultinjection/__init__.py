"""Fault injection beyond single requests: crashes, stopped processes, held watches, restarts, and hooks for engines."""
