"""PodTemplates, and what all kinds with a pod template share."""
