"""Simulated nodes and pods as a test sees them: `nodes.add()`, `nodes[...]`, `pods()`, and their arguments."""
