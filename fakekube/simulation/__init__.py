"""Simulation: a test runs again and again under faults that a real cluster may produce, and each run is judged."""
