"""The scheduler: which node a pod is bound to. Filters and scores are pure functions, a module for each plugin."""
