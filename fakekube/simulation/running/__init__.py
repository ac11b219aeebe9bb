"""One run of a test under a plan: what is injected, what is recorded, and how the run ends."""
