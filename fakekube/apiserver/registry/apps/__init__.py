"""apps: workloads."""
