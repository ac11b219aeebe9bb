"""Simulated nodes and pods as a test sees them: `add_node()`, `node()`, `pods()`, and their arguments."""
